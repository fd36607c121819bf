package configs

import "github.com/spf13/pflag"

// BindFlags adds flags for the named keys to a command, with the names and
// help texts of the table. The flag --config is added by [BindConfigFlag].
func BindFlags(flags *pflag.FlagSet, keys ...string) {}
