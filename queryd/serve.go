package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"graphmill/commandline"
	"graphmill/configs"
	"graphmill/pipeline/engine"
	"graphmill/queryd/tools"
	"graphmill/toolserver"
)

// keepAliveVerb is the hidden verb that keeps an engine up for engine.linger.
const keepAliveVerb = "keep-alive"

// servingKeys are the settings that serve has flags for.
var servingKeys = []string{"mcp.transport", "mcp.listen", "mcp.metrics_listen", readOnlyKey}

const readOnlyKey = "queryd.require_read_only_login"

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
	return a.Daemon(cmd, append(servingKeys, modelKeys...), a.serve)
}

func (a *app) serve(ctx context.Context, broken error, load func() (*configs.Config, error)) (err error) {
	overHTTP := a.Config.MCP.Transport == configs.TransportHTTP
	if overHTTP && concernsAddress(broken) {
		return broken
	}
	if overHTTP && concernsServing(broken) {
		cfg, err := a.serveOutOfOrder(ctx, broken, load)
		if cfg == nil || err != nil {
			return err
		}
		return a.with(cfg).serve(ctx, nil, load)
	}
	// Calls under way end after the signal, so what they use outlives it.
	serving, cancel := context.WithCancel(context.WithoutCancel(ctx))
	tokens, err := a.tokens(overHTTP)
	if err != nil {
		cancel()
		return err
	}
	h := a.newHost(serving, load, tokens.Secrets)
	defer func() {
		cancel()
		err = errors.Join(err, h.close())
	}()
	a.Log = slog.New(toolserver.MaskLog(a.Log.Handler(), h.secrets))
	service, closeAudit, err := a.newService(h)
	if err != nil {
		return err
	}
	defer closeAudit()
	h.begin(broken)
	if overHTTP {
		return a.serveNetwork(ctx, service, h, tokens)
	}
	return a.serveStdio(ctx, service)
}

// concernsAddress reports whether a broken configuration leaves unknown where a
// network server listens. It is not guessed: no client would look there.
func concernsAddress(broken error) bool {
	var problems *configs.Error
	return errors.As(broken, &problems) && slices.ContainsFunc(problems.Problems, func(p configs.Problem) bool {
		return p.Key == "mcp.listen" || p.Key == "mcp.metrics_listen"
	})
}

// concernsServing reports whether a broken configuration leaves unknown what a
// network server must know.
func concernsServing(broken error) bool {
	var problems *configs.Error
	if !errors.As(broken, &problems) {
		return broken != nil
	}
	for _, p := range problems.Problems {
		if p.Key == "" || strings.HasPrefix(p.Key, "mcp.") {
			return true
		}
	}
	return false
}

func (a *app) serveStdio(ctx context.Context, service *toolserver.Service) error {
	in, out, err := a.protocolStreams()
	if err != nil {
		return err
	}
	return service.ServeStdio(ctx, in, out)
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

// desk is what a service asks when a client comes: for tools, or why there are none.
type desk interface {
	open() (*toolserver.Set, error)
	trouble(ctx context.Context) string // may wait a moment to know
	degraded() string                   // trouble as it is known; "" for none
	graph() string
	secrets() []string
}

// newService joins a desk to what is advertised, the limits and the audit.
func (a *app) newService(d desk) (*toolserver.Service, func(), error) {
	template, err := a.template()
	if err != nil {
		return nil, nil, err
	}
	audit, closeAudit, err := a.openAudit()
	if err != nil {
		return nil, nil, err
	}
	return toolserver.NewService(toolserver.About{
		Name: "graphmill", Title: "graphmill knowledge graph", Version: commandline.Version(), Instructions: tools.Guide(template),
	}, template, d.open, toolserver.ServiceOptions{
		Limits: a.limits(), Trouble: d.trouble, Graph: d.graph,
		Audit: audit, AuditText: a.Config.MCP.AuditArguments, Secrets: d.secrets, Log: a.Log,
	}), closeAudit, nil
}

// template is the tools as they are advertised: those that the configuration
// names, or all when it names one that there is not.
func (a *app) template() (*toolserver.Set, error) {
	b := a.newBackend(context.Background())
	set, err := a.newSet(b, nil)
	if err == nil {
		return set, nil
	}
	all := *a.Config
	all.MCP.Include = nil
	return a.with(&all).newSet(b, nil)
}

// with is the program with another configuration.
func (a *app) with(cfg *configs.Config) *app {
	program := *a.Program
	program.Config = cfg
	return &app{&program}
}

func (a *app) keepAliveCommand() *cobra.Command {
	cmd := &cobra.Command{Use: keepAliveVerb, Short: "keep the engine up for engine.linger", Args: cobra.NoArgs, Hidden: true}
	return a.Verb(cmd, nil, func(ctx context.Context, _ []string) error {
		return engine.KeepAlive(ctx, a.newBackend(ctx).engineOptions())
	})
}
