package commandline

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// wrongArguments says how a command is called: its line of use names what is
// missing, or what there is too much of.
func wrongArguments(cmd *cobra.Command, args []string) error {
	got := fmt.Sprintf("%d arguments", len(args))
	switch len(args) {
	case 0:
		got = "none"
	case 1:
		got = "one argument"
	}
	_, wanted, _ := strings.Cut(cmd.Use, " ")
	return Usage("%s wants %s, and was given %s; see `%s --help`", cmd.CommandPath(), wanted, got, cmd.CommandPath())
}

// wrongFlag refuses a flag that a command does not have, with the nearest that it
// has. A group of verbs has none: there the verb was mistyped.
func wrongFlag(cmd *cobra.Command, err error, args []string) error {
	hint := ""
	unknown := (*pflag.NotExistError)(nil)
	if errors.As(err, &unknown) {
		if verb := mistyped(cmd, args); verb != "" {
			return onlyVerbs(cmd, []string{verb})
		}
		if near := nearestFlag(cmd, unknown.GetSpecifiedName()); near != "" {
			hint = fmt.Sprintf("did you mean --%s? ", near)
		}
	}
	return Usage("%v; %ssee `%s --help`", err, hint, cmd.CommandPath())
}

// mistyped is the argument that stands where a group has its verb.
func mistyped(cmd *cobra.Command, args []string) string {
	if !cmd.HasAvailableSubCommands() {
		return ""
	}
	for depth := strings.Count(cmd.CommandPath(), " "); ; depth-- {
		switch {
		case len(args) == 0 || strings.HasPrefix(args[0], "-"):
			return ""
		case depth == 0:
			return args[0]
		}
		args = args[1:]
	}
}

// nearestFlag is the flag of a command whose name is two letters from name at most,
// or begins with it; "" when there is none.
func nearestFlag(cmd *cobra.Command, name string) string {
	names := &cobra.Command{}
	cmd.Flags().VisitAll(func(flag *pflag.Flag) {
		names.AddCommand(&cobra.Command{Use: flag.Name, Run: func(*cobra.Command, []string) {}})
	})
	for names.SuggestionsMinimumDistance = 1; names.SuggestionsMinimumDistance <= 2; names.SuggestionsMinimumDistance++ {
		if near := names.SuggestionsFor(name); len(near) > 0 {
			return near[0]
		}
	}
	return ""
}
