package configs

// Setting is one line of the effective configuration.
type Setting struct {
	Key     string `json:"key"`
	Value   string `json:"value"`  // as the environment would have it; secrets masked
	Origin  string `json:"origin"` // see Config.Origin
	Allowed string `json:"allowed"`
}

// Origin says where a key's value came from: "default", "file
// graphmill.yaml:12", "environment FALKOR_PORT", "flag --jobs", "program".
func (c *Config) Origin(key string) string { return c.origins[key].String() }

// IsSet reports whether a key's value was given and is not the default.
func (c *Config) IsSet(key string) bool { return c.origins[key].layer != layerDefault }

// Effective lists every setting in the order of the table.
func (c *Config) Effective() []Setting {
	keys := Keys()
	settings := make([]Setting, len(keys))
	for i := range keys {
		key := &keys[i]
		settings[i] = Setting{
			Key:     key.Name,
			Value:   key.format(field(c, key.Name).Interface()),
			Origin:  c.Origin(key.Name),
			Allowed: key.AllowedText(),
		}
	}
	return settings
}
