// Package serving runs a program's tools as its configuration says: over standard
// input and output or the network, or one call from a shell. It owns what both
// programs do alike: tokens, limits and the audit, a configuration that is wrong
// and put right while the program serves, and things that are opened when they
// are first needed. It knows no tool.
package serving

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"graphmill/commandline"
	"graphmill/configs"
	"graphmill/toolserver"
)

// Keys are the settings of every verb that serves.
func Keys() []string { return []string{"mcp.transport", "mcp.listen", "mcp.metrics_listen"} }

// Backend is what the tools work with under one configuration. It is safe for
// concurrent use, and opens what it needs when that is first asked for.
type Backend interface {
	// Tools makes those of one session. secrets are masked in what they tell; nil
	// means the configuration's. It opens nothing.
	Tools(secrets func() []string) (*toolserver.Set, error)
	// Begin looks whether the configuration can be served by, and begins to open
	// what the first calls will need, without waiting for it.
	Begin() error
	// Trouble says what keeps calls from working, nil for nothing. It looks, and
	// waits as long as ctx allows.
	Trouble(ctx context.Context) error
	// Known is Trouble as it is known, without looking.
	Known() error
	Graph() string
	// Secrets are what no client and no log may see.
	Secrets() []string
	// Close waits for calls under way and gives everything back.
	Close() error
}

// Program is what serves: a program with its tools.
type Program struct {
	*commandline.Program
	// Title and Guide are what a client is told; the guide is about the tools that
	// are served.
	Title string
	Guide func(*toolserver.Set) string
	// Open makes a backend under p's configuration. ctx is the backend's: it ends
	// after the last call. served says that it outlives one call.
	Open func(ctx context.Context, p *commandline.Program, served bool) Backend
}

// with is the program with another configuration.
func (p *Program) with(cfg *configs.Config) *Program {
	inner, out := *p.Program, *p
	inner.Config = cfg
	out.Program = &inner
	return &out
}

// Serve speaks MCP until ctx ends or, over stdio, the client closes its end. It
// is the work of a [commandline.Program.Daemon].
func (p *Program) Serve(ctx context.Context, broken error, load func() (*configs.Config, error)) (err error) {
	overHTTP := p.Config.MCP.Transport == configs.TransportHTTP
	if overHTTP && concernsAddress(broken) {
		return broken
	}
	if overHTTP && concernsServing(broken) {
		cfg, err := p.serveOutOfOrder(ctx, broken, load)
		if cfg == nil || err != nil {
			return err
		}
		return p.with(cfg).Serve(ctx, nil, load)
	}
	// Calls under way end after the signal, so what they use outlives it.
	serving, cancel := context.WithCancel(context.WithoutCancel(ctx))
	tokens, err := p.tokens(overHTTP)
	if err != nil {
		cancel()
		return err
	}
	h := p.newHost(serving, load, tokens.Secrets)
	defer func() {
		cancel()
		err = errors.Join(err, h.close())
	}()
	p.Log = slog.New(toolserver.MaskLog(p.Log.Handler(), h.secrets))
	service, closeAudit, err := p.newService(h)
	if err != nil {
		return err
	}
	defer closeAudit()
	h.begin(broken)
	if overHTTP {
		return p.serveNetwork(ctx, service, h, tokens)
	}
	return p.serveStdio(ctx, service)
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
	for _, problem := range problems.Problems {
		if problem.Key == "" || strings.HasPrefix(problem.Key, "mcp.") {
			return true
		}
	}
	return false
}

func (p *Program) serveStdio(ctx context.Context, service *toolserver.Service) error {
	in, out, err := p.protocolStreams()
	if err != nil {
		return err
	}
	return service.ServeStdio(ctx, in, out)
}

// protocolStreams takes standard output away from everything but the protocol:
// what a library prints goes to standard error.
func (p *Program) protocolStreams() (io.ReadCloser, io.WriteCloser, error) {
	in, out := io.NopCloser(p.Stdin), p.Stdout
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
func (p *Program) newService(d desk) (*toolserver.Service, func(), error) {
	template, err := p.template()
	if err != nil {
		return nil, nil, err
	}
	audit, closeAudit, err := p.openAudit()
	if err != nil {
		return nil, nil, err
	}
	return toolserver.NewService(toolserver.About{
		Name: "graphmill", Title: p.Title, Version: commandline.Version(), Instructions: p.Guide(template),
	}, template, d.open, toolserver.ServiceOptions{
		Limits: p.limits(), Trouble: d.trouble, Graph: d.graph,
		Audit: audit, AuditText: p.Config.MCP.AuditArguments, Secrets: d.secrets, Log: p.Log,
	}), closeAudit, nil
}

// template is the tools as they are advertised: those that the configuration
// names, or all when it names one that there is not.
func (p *Program) template() (*toolserver.Set, error) {
	set, err := p.Open(context.Background(), p.Program, false).Tools(nil)
	if err == nil {
		return set, nil
	}
	all := *p.Config
	all.MCP.Include = nil
	return p.Open(context.Background(), p.with(&all).Program, false).Tools(nil)
}
