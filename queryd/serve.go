package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"graphmill/commandline"
	"graphmill/pipeline/engine"
	"graphmill/queryd/tools"
	"graphmill/toolserver"
)

// keepAliveVerb is the hidden verb that keeps an engine up for engine.linger.
const keepAliveVerb = "keep-alive"

func (a *app) serveCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "serve the tools over MCP on standard input and output",
		Long: `serve speaks the Model Context Protocol on standard input and output, for the client that starts it, and ends when the
client closes its input. Standard output is the protocol's alone; everything else goes to standard error. It starts also
when the graph store cannot be reached: each call then says why, and works once it can be.`,
		Example: `  queryd serve --graph my_graph
  {"mcpServers": {"graphmill": {"command": "queryd", "args": ["serve"]}}}`,
		Args: cobra.NoArgs,
	}
	return a.Verb(cmd, append([]string{"mcp.transport"}, modelKeys...), a.serve)
}

func (a *app) serve(ctx context.Context, _ []string) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	in, out, err := a.protocolStreams()
	if err != nil {
		return err
	}
	b := a.newBackend(ctx)
	b.patience = a.Config.Queryd.QueryTimeout
	set, err := a.newSet(b)
	if err != nil {
		return err
	}
	// The first call need not wait for the engine to start. Its error is told by
	// the call that meets it.
	go func() {
		if _, err := b.store.get(ctx, ctx); err != nil && ctx.Err() == nil {
			a.Log.Warn("the graph store is not there yet", "error", toolserver.Mask(err.Error(), a.secrets()))
		}
	}()
	err = toolserver.ServeStdio(ctx, set, toolserver.Server{
		Name: "graphmill", Title: "graphmill knowledge graph", Version: commandline.Version(), Instructions: tools.Guide(set), Log: a.Log,
	}, in, out)
	cancel()
	return errors.Join(err, b.close())
}

// protocolStreams takes standard output away from everything but the protocol:
// what a library prints goes to standard error.
func (a *app) protocolStreams() (io.ReadCloser, io.WriteCloser, error) {
	in, out := io.NopCloser(a.Stdin), a.Stdout
	file, ok := out.(*os.File)
	if !ok || file.Fd() != 1 {
		return in, nopCloser{out}, nil
	}
	fd, err := unix.FcntlInt(1, unix.F_DUPFD_CLOEXEC, 3)
	if err == nil {
		err = unix.Dup3(2, 1, 0)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("keep standard output for the protocol: %w", err)
	}
	return in, os.NewFile(uintptr(fd), "protocol"), nil
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

func (a *app) keepAliveCommand() *cobra.Command {
	cmd := &cobra.Command{Use: keepAliveVerb, Short: "keep the engine up for engine.linger", Args: cobra.NoArgs, Hidden: true}
	return a.Verb(cmd, nil, func(ctx context.Context, _ []string) error {
		return engine.KeepAlive(ctx, a.newBackend(ctx).engineOptions())
	})
}
