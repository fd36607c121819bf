package configs

// RuleParameters are the chunker parameters that a rule may set.
func RuleParameters() []string {
	return []string{"chunk_tokens", "chunk_chars", "overlap_tokens", "overlap_chars", "overlap_sentences"}
}

// Setting is one line of the effective configuration.
type Setting struct {
	Key     string `json:"key"`
	Value   string `json:"value"` // secrets masked
	Origin  string `json:"origin"`
	Allowed string `json:"allowed"`
}

type origin struct{}

// Origin says where a value came from: "default", "file graphmill.yaml:12",
// "environment FALKOR_PORT", "flag --jobs".
func (c *Config) Origin(key string) string { return "" }

// Effective lists every setting in the order of the table.
func (c *Config) Effective() []Setting { return nil }
