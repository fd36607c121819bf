package main

import (
	"context"

	"github.com/spf13/cobra"
)

func (a *app) callCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "call TOOL [JSON]",
		Short: "run one tool and print its result",
		Long: `call runs a tool with the same checks as the server's: arguments against the tool's schema, limits, read-only login.
JSON holds the arguments, {} when left out; - reads them from standard input. It prints what a model would read; with
--output json, the structured result. Each call is a conversation of its own: it knows no evidence numbers of others, so
that check_citations is for serve.`,
		Example: "  queryd call status\n  queryd call retrieve '{\"question\": \"Who founded Acme?\", \"top_k\": 5}'\n  queryd call retrieve - < arguments.json",
		Args:    cobra.RangeArgs(1, 2),
	}
	return a.Verb(cmd, append([]string{readOnlyKey}, modelKeys...), func(ctx context.Context, args []string) error {
		return a.serving().Call(ctx, args)
	})
}
