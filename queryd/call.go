package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"graphmill/commandline"
)

// maxArgumentBytes bounds arguments that are read from standard input.
const maxArgumentBytes = 4 << 20

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
	return a.Verb(cmd, append([]string{readOnlyKey}, modelKeys...), a.call)
}

func (a *app) call(ctx context.Context, args []string) error {
	arguments, err := a.arguments(args)
	if err != nil {
		return err
	}
	b := a.newBackend(ctx)
	set, err := a.newSet(b, nil)
	if err != nil {
		return err
	}
	reply, err := set.Call(ctx, args[0], arguments)
	if err := errors.Join(err, b.close()); err != nil {
		return err
	}
	return a.Print(json.RawMessage(reply.JSON), func(w io.Writer) { fmt.Fprint(w, reply.Text) })
}

func (a *app) arguments(args []string) ([]byte, error) {
	switch {
	case len(args) < 2:
		return []byte("{}"), nil
	case args[1] != "-":
		return []byte(args[1]), nil
	}
	data, err := io.ReadAll(io.LimitReader(a.Stdin, maxArgumentBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read arguments from standard input: %w", err)
	}
	if len(data) > maxArgumentBytes {
		return nil, commandline.Usage("the arguments on standard input are larger than %d bytes", maxArgumentBytes)
	}
	return data, nil
}
