package configs

import "github.com/spf13/pflag"

// Source is where settings come from, in rising order of weight: defaults,
// File, Env, Flags, Set.
type Source struct {
	// File is the configuration file. "" = the flag --config in Flags, else
	// GRAPHMILL_CONFIG, else ./graphmill.yaml if there is one, else none.
	File string
	// Env is the environment as os.Environ returns it. Empty variables count
	// as not set.
	Env []string
	// Flags are a command's parsed flags; those that [BindFlags] added and the
	// user gave count. May be nil.
	Flags *pflag.FlagSet
	// Set holds values by key, as text or as the field's own type, for
	// programs and tests.
	Set map[string]any
}

// Load reads and validates everything. The error is an *Error with every
// problem found, not only the first.
func Load(source Source) (*Config, error) { return nil, nil }
