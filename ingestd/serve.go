package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"graphmill/commandline"
	"graphmill/commandline/serving"
	"graphmill/configs"
	"graphmill/ingestd/tools"
	"graphmill/planner"
	"graphmill/toolserver"
)

// filesRootFlag is what graphrag-sdk calls --root.
const filesRootFlag = "files-root"

// toolKeys are the settings of the verbs that serve or call tools.
var toolKeys = []string{
	"root", "source", "jobs", "corpus.include", "corpus.exclude", "extractors.gliner.model_dir", "embedder.kind", "embedder.model_dir",
	"mcp.include", "mcp.read_only", "mcp.finalize_policy",
}

func (a *app) serveCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve [--files-root DIR]",
		Short: "serve the tools that build the graph over MCP",
		Long: `serve speaks the Model Context Protocol as queryd serve does, with the tools that write: preview_files, set_ontology, ingest
and finalize. It reads files only under --files-root, a folder or a bucket (the setting root, GRAPHRAG_MCP_FILES_ROOT); without it, ingest takes
text. Clients are told that these tools change the graph, so that they ask first. The graph is held for each call alone:
documents are added side by side, also by several servers; what changes or finalizes runs alone, and waits at most
mcp.lock_timeout for others.`,
		Example: `  ingestd serve --files-root corpus
  {"mcpServers": {"graphmill-build": {"command": "ingestd", "args": ["serve", "--files-root", "/path/to/corpus"]}}}
  GRAPHMILL_MCP_TOKEN=alice:$TOKEN ingestd serve --files-root corpus --transport http --listen 0.0.0.0:8766`,
		Args: cobra.NoArgs,
	}
	cmd = a.Daemon(cmd, append(serving.Keys(), toolKeys...), func(ctx context.Context, broken error, load func() (*configs.Config, error)) error {
		return a.serving().Serve(ctx, broken, load)
	})
	configs.AlsoAs(cmd.Flags(), filesRootFlag, "root")
	return cmd
}

func (a *app) callCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "call TOOL [JSON]",
		Short: "run one of the served tools and print its result",
		Long: `call runs a tool with the same checks as the server's. JSON holds the arguments, {} when left out; - reads them from
standard input. It prints what a model would read; with --output json, the structured result.`,
		Example: "  ingestd call preview_files --files-root corpus\n  ingestd call ingest '{\"files\": [\"notes/*.md\"]}' --files-root corpus\n  ingestd call set_ontology - < ontology.json",
		Args:    cobra.RangeArgs(1, 2),
	}
	cmd = a.Verb(cmd, toolKeys, func(ctx context.Context, args []string) error { return a.serving().Call(ctx, args) })
	configs.AlsoAs(cmd.Flags(), filesRootFlag, "root")
	return cmd
}

func (a *app) toolsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "tools", Short: "print the tools that are served, with their schemas", Args: cobra.NoArgs,
		Example: "  ingestd tools --files-root corpus",
	}
	cmd = a.Verb(cmd, toolKeys, func(ctx context.Context, args []string) error { return a.serving().List(ctx, args) })
	configs.AlsoAs(cmd.Flags(), filesRootFlag, "root")
	return cmd
}

// serving is the program as what serves its tools.
func (a *app) serving() *serving.Program {
	return &serving.Program{
		Program: a.Program, Title: "graphmill graph builder", Guide: tools.Guide,
		Open: func(ctx context.Context, p *commandline.Program, _ bool) serving.Backend {
			return (&app{p}).newWriter(ctx)
		},
	}
}

// Tools implements serving.Backend.
func (b *writer) Tools(secrets func() []string) (*toolserver.Set, error) {
	if secrets == nil {
		secrets = b.Secrets
	}
	cfg := b.Config
	plans, err := newPlanner(cfg)
	if err != nil {
		// The tools are advertised all the same; Begin and each call say what is wrong.
		if plans, err = planner.New(nil, planner.Limits{}, strategies()); err != nil {
			return nil, err
		}
	}
	list, withheld, err := tools.New(b, tools.Options{
		Files: cfg.Root != "", FinalizePolicy: cfg.MCP.FinalizePolicy, ReadOnly: cfg.MCP.ReadOnly,
		Strategies: strategies(), Planner: plans, Time: cfg.MCP.IngestTimeout,
	})
	if err != nil {
		return nil, err
	}
	return toolserver.NewSet(list, toolserver.Options{Include: cfg.MCP.Include, Withheld: withheld, Secrets: secrets, Log: b.Log})
}

// Begin implements serving.Backend. Models are loaded by the first call that needs
// them: a server may only ever be asked for previews.
func (b *writer) Begin() error {
	if _, err := b.Tools(nil); err != nil {
		return err
	}
	if _, err := newPlanner(b.Config); err != nil {
		return err
	}
	if _, err := b.strategies(); err != nil {
		return err
	}
	if b.Config.Root != "" {
		if _, err := b.files(); err != nil {
			return err
		}
	}
	go func() {
		if _, err := b.store.Get(b.ctx, b.ctx); err != nil && b.ctx.Err() == nil {
			b.Log.Warn("the graph store is not there yet", "error", err)
		}
	}()
	return nil
}

// Trouble implements serving.Backend.
func (b *writer) Trouble(ctx context.Context) error {
	_, err := b.store.Get(ctx, b.ctx)
	return b.explain(err)
}

// Known implements serving.Backend.
func (b *writer) Known() error { return b.explain(b.store.Trouble()) }

// Graph implements serving.Backend.
func (b *writer) Graph() string { return b.Config.GraphName() }

// Secrets implements serving.Backend.
func (b *writer) Secrets() []string { return serving.Secrets(b.Config) }

// Close implements serving.Backend: calls that nobody waits for any more come to
// a document boundary first.
func (b *writer) Close() error {
	b.stop()
	b.calls.Wait()
	err := b.store.Close()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.root != nil {
		err = errors.Join(err, b.root.Close())
	}
	if b.wired != nil {
		err = errors.Join(err, b.wired.close())
	}
	return err
}
