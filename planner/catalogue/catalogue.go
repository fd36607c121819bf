// Package catalogue describes strategies (chunkers, extractors, resolvers) to
// the planner: their names, the bounds of their parameters and what they cost.
// The strategies' packages fill it in, so the planner imports none of them.
package catalogue

// Kind is what a strategy does.
type Kind string

// The kinds of strategy.
const (
	Chunker   Kind = "chunker"
	Extractor Kind = "extractor"
	Resolver  Kind = "resolver"
)

// Strategy is one entry.
type Strategy struct {
	Kind        Kind
	Name        string // as rules write it
	Description string // one line
	Parameters  []Parameter
	Cost        Cost
	// Version is raised whenever the strategy gives other results than before
	// for the same input and parameters. It is part of a plan's fingerprint.
	Version int
	// Cheap strategies are allowed by the default plan limits.
	Cheap bool
}

// Parameter is a number that a rule may set. A Default outside the bounds means
// that the parameter is off unless it is set.
type Parameter struct {
	Name     string // as rules write it: "chunk_tokens"
	Default  int
	Min, Max int
	Unit     string // "tokens", "characters", "sentences"
}

// Cost is an estimate for planning, not a bill.
type Cost struct {
	ModelCallsPerChunk    float64 // calls of a remote or local language model
	TokensPerCall         float64 // of input, beyond the chunk's own
	OutputTokensPerCall   float64 // of the answer
	DocumentPerCall       bool    // each call holds the document too, up to the parameter context_tokens
	LocalSecondsPerKToken float64 // of one core, measured on 2 shared cores
	Source                string  // where the figure comes from
}
