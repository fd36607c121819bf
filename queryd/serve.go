package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"graphmill/commandline"
	"graphmill/commandline/serving"
	"graphmill/configs"
	"graphmill/pipeline/engine"
	"graphmill/queryd/evidence"
	"graphmill/queryd/tools"
	"graphmill/toolserver"
)

// keepAliveVerb is the hidden verb that keeps an engine up for engine.linger.
const keepAliveVerb = "keep-alive"

const readOnlyKey = "queryd.require_read_only_login"

// servingKeys are the settings that serve has flags for.
func servingKeys() []string { return append(serving.Keys(), readOnlyKey) }

func (a *app) serveCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "serve the tools over MCP",
		Long: `serve speaks the Model Context Protocol: on standard input and output for the client that starts it, until that closes its
input, or with --transport http over the network, at /mcp, and at /sse for clients that need it. Standard output is the
protocol's alone; everything else goes to standard error. It starts also when the configuration cannot be loaded, the graph
store cannot be reached or the model is missing: each call then says why, and works once that is put right. On SIGTERM it
lets calls end first.`,
		Example: `  queryd serve --graph my_graph
  {"mcpServers": {"graphmill": {"command": "queryd", "args": ["serve"]}}}
  GRAPHMILL_MCP_TOKEN=alice:$TOKEN queryd serve --transport http --listen 0.0.0.0:8765`,
		Args: cobra.NoArgs,
	}
	return a.Daemon(cmd, append(servingKeys(), modelKeys...), func(ctx context.Context, broken error, load func() (*configs.Config, error)) error {
		return a.serving().Serve(ctx, broken, load)
	})
}

// serving is the program as what serves its tools.
func (a *app) serving() *serving.Program {
	return &serving.Program{
		Program: a.Program, Title: "graphmill knowledge graph", Guide: tools.Guide,
		Open: func(ctx context.Context, p *commandline.Program, served bool) serving.Backend {
			b := (&app{p}).newBackend(ctx)
			if served {
				b.patience, b.waitOut = p.Config.Queryd.QueryTimeout, true
			}
			return b
		},
	}
}

// Tools implements serving.Backend: a session's have a ledger of their own.
func (b *backend) Tools(secrets func() []string) (*toolserver.Set, error) {
	if secrets == nil {
		secrets = b.Secrets
	}
	ledger := evidence.NewLedger(0)
	list, err := tools.New(b, tools.Options{TopK: b.Config.Queryd.TopK, Ledger: ledger})
	if err != nil {
		return nil, err
	}
	return toolserver.NewSet(list, toolserver.Options{
		MaxReplyChars: b.Config.Queryd.MaxReplyChars, ReplySetting: "queryd.max_reply_chars", Include: b.Config.MCP.Include,
		Secrets: secrets, Drop: ledger.Drop, Log: b.Log,
	})
}

// Begin implements serving.Backend. The first call need not wait for the engine to
// start or the model to load; what goes wrong is told by the call that meets it.
func (b *backend) Begin() error {
	if _, err := b.Tools(nil); err != nil {
		return err
	}
	go func() {
		if _, err := b.store.Get(b.ctx, b.ctx); err != nil && b.ctx.Err() == nil {
			b.Log.Warn("the graph store is not there yet", "error", err)
		}
	}()
	go func() {
		if _, err := b.embedder.Get(b.ctx, b.ctx); err != nil && b.ctx.Err() == nil {
			b.Log.Warn("the embedding model is not there yet", "error", err)
		}
	}()
	return nil
}

// Trouble implements serving.Backend.
func (b *backend) Trouble(ctx context.Context) error {
	if _, err := b.store.Get(ctx, b.ctx); err != nil {
		return b.explain(err)
	}
	_, err := b.embedder.Get(ctx, b.ctx)
	return err
}

// Known implements serving.Backend.
func (b *backend) Known() error {
	if err := b.store.Trouble(); err != nil {
		return b.explain(err)
	}
	return b.embedder.Trouble()
}

// Secrets implements serving.Backend.
func (b *backend) Secrets() []string { return serving.Secrets(b.Config) }

// Close gives the engine back, also after the program's context has ended.
func (b *backend) Close() error { return errors.Join(b.store.Close(), b.embedder.Close()) }

func (a *app) keepAliveCommand() *cobra.Command {
	cmd := &cobra.Command{Use: keepAliveVerb, Short: "keep the engine up for engine.linger", Args: cobra.NoArgs, Hidden: true}
	return a.Verb(cmd, nil, func(ctx context.Context, _ []string) error {
		return engine.KeepAlive(ctx, a.newBackend(ctx).engineOptions())
	})
}
