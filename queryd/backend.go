package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"graphmill/commandline/serving"
	"graphmill/configs"
	"graphmill/pipeline/engine"
	"graphmill/pipeline/falkor/conn"
	"graphmill/pipeline/falkor/reader"
	"graphmill/pipeline/falkor/shape"
	"graphmill/pipeline/models"
	"graphmill/toolserver"
)

// backend is what the tools read from: the graph store and the embedder, opened
// when first needed and given back by close.
type backend struct {
	*app
	ctx      context.Context // of the program
	store    serving.Lazy[*connection]
	embedder serving.Lazy[models.Embedder]
	// patience is how long a call waits for the store to be opened; 0 is without
	// end. Loading a large graph takes minutes, for which an agent should not hang.
	patience time.Duration
	// waitOut makes statements count until the engine is done with them.
	waitOut bool

	mu       sync.Mutex
	warnings []string
}

// connection is an open way to the graph store.
type connection struct {
	lease  *engine.Lease // nil for an external server
	client *conn.Client
	reader *reader.Reader
}

func (a *app) newBackend(ctx context.Context) *backend {
	b := &backend{app: a, ctx: ctx}
	b.store = serving.Lazy[*connection]{Open: b.connect, Broken: (*connection).broken, Shut: (*connection).close}
	b.embedder = serving.Lazy[models.Embedder]{Open: b.openEmbedder, Shut: models.Embedder.Close}
	return b
}

// Graph implements tools.Backend.
func (b *backend) Graph() string { return b.Config.GraphName() }

// Reader implements tools.Backend.
func (b *backend) Reader(ctx context.Context) (*reader.Reader, error) {
	waiting := ctx
	if b.patience > 0 {
		var cancel context.CancelFunc
		waiting, cancel = context.WithTimeout(ctx, b.patience)
		defer cancel()
	}
	c, err := b.store.Get(waiting, b.ctx)
	switch {
	case err == nil:
		return c.reader, nil
	case waiting.Err() != nil && ctx.Err() == nil:
		return nil, &toolserver.Error{
			Kind: toolserver.Unreachable, Message: "The graph store is not ready yet: the local engine is starting or loading its data",
			Hint: "Call again in a while", Err: err,
		}
	}
	return nil, b.explain(err)
}

// Embedder implements tools.Backend.
func (b *backend) Embedder(ctx context.Context) (models.Embedder, error) {
	return b.embedder.Get(ctx, b.ctx)
}

// Warnings implements tools.Backend.
func (b *backend) Warnings() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.warnings
}

func (c *connection) broken() bool { return c.lease != nil && c.lease.Check() != nil }

func (c *connection) close() error {
	err := c.client.Close()
	if c.lease != nil {
		err = errors.Join(err, c.lease.Release())
	}
	return err
}

// connect joins or starts the local engine as its reader, or takes queryd's own
// login on the external server.
func (b *backend) connect(ctx context.Context) (*connection, error) {
	c := &connection{}
	options := conn.Options{DialTimeout: b.Config.Falkor.DialTimeout, ClientName: "queryd", PoolSize: poolSize}
	if b.Config.Falkor.External() {
		externalServer(&options, b.Config.Falkor)
	} else {
		lease, err := engine.AcquireReader(ctx, b.engineOptions())
		if err != nil {
			return nil, err
		}
		c.lease = lease
		options.Socket = lease.Address()
		options.Username, options.Password = lease.Credentials().User, lease.Credentials().Secret
	}
	var err error
	if c.client, err = conn.Open(options); err != nil {
		if c.lease != nil {
			err = errors.Join(err, c.lease.Release())
		}
		return nil, err
	}
	c.reader = reader.New(c.client, reader.Options{Timeout: b.Config.Queryd.QueryTimeout, WaitOut: b.waitOut})
	if err := b.checkRights(ctx, c.client); err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

// poolSize is connections to the store: a search sends several statements at once.
const poolSize = 32

// externalServer fills in the reader's login, or for want of one the writer's.
func externalServer(options *conn.Options, falkor configs.Falkor) {
	options.Host, options.Port = falkor.Host, falkor.Port
	options.TLS, options.CAFile, options.Insecure = falkor.TLS, falkor.CAFile, falkor.TLSInsecure
	options.Username, options.Password = falkor.Username, falkor.Password.Reveal()
	if falkor.Reader.Username != "" {
		options.Username, options.Password = falkor.Reader.Username, falkor.Reader.Password.Reveal()
	}
}

func (b *backend) engineOptions() engine.Options {
	options := engine.Options{
		DataDir: b.Config.DataDir, RedisServer: b.Config.Engine.RedisServer, Module: b.Config.Engine.Module,
		DepsDir: b.Config.Engine.DepsDir, Linger: b.Config.Engine.Linger, StartTimeout: b.Config.Engine.StartTimeout,
		MaxMemory: b.Config.Engine.MaxMemory, Progress: b.Say,
	}
	if self, err := os.Executable(); err == nil {
		options.LingerCommand = []string{self, keepAliveVerb, "--quiet", "--data-dir", b.Config.DataDir}
		if b.Config.File != "" {
			options.LingerCommand = append(options.LingerCommand, "--config", b.Config.File)
		}
	}
	return options
}

// checkRights says, in the log and in status, when the login could write, or
// refuses it. The local engine's reader is one that cannot; it is only checked
// when that is required.
func (b *backend) checkRights(ctx context.Context, client *conn.Client) error {
	required := b.Config.Queryd.RequireReadOnlyLogin
	if !b.Config.Falkor.External() && !required {
		return nil
	}
	commands, err := writingCommands(ctx, client, b.Graph())
	switch {
	case err != nil && required:
		return fmt.Errorf("check that the login can only read: %w", err)
	case err != nil:
		b.Log.Debug("could not check the login's rights", "error", err)
		return nil
	case len(commands) == 0:
		b.setWarnings(nil)
		return nil
	}
	could := fmt.Sprintf("queryd's login at %s may also write (%s)", client.Address(), strings.Join(commands, ", "))
	remedy := fmt.Sprintf("name one that only reads in GRAPHMILL_READER_USERNAME and GRAPHMILL_READER_PASSWORD: %s", readerRule(b.Graph()))
	if required {
		return &toolserver.Error{Kind: toolserver.Config, Message: "Q" + could[1:] + ", which queryd.require_read_only_login forbids", Hint: "N" + remedy[1:]}
	}
	b.Log.Warn(could + "; " + remedy)
	b.setWarnings([]string{could + "; " + remedy})
	return nil
}

func (b *backend) setWarnings(warnings []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.warnings = warnings
}

// readerRule is the command that makes a login of that kind.
func readerRule(graph string) string {
	return fmt.Sprintf("ACL SETUSER NAME on >PASSWORD resetkeys ~%s ~%s -@all +graph.ro_query +ping +hello +client|setinfo +client|setname", graph, shape.OntologyGraph(graph))
}

// writingCommands lists the writing commands that the login may send, one of each
// way to write. Each is sent so that it does nothing, without arguments or with
// wrong ones: a login without the right is refused for that, one with it for the
// arguments.
func writingCommands(ctx context.Context, client *conn.Client, graph string) ([]string, error) {
	var allowed []string
	for _, probe := range []struct {
		command []any
		wrong   string // how the server words the complaint of the arguments
	}{
		{[]any{"GRAPH.QUERY", graph}, "wrong number of arguments"},
		{[]any{"GRAPH.DELETE"}, "wrong number of arguments"},
		{[]any{"EXPIRE", graph, "never"}, "not an integer"},
		{[]any{"FLUSHALL", "NOTHING"}, "syntax error"},
	} {
		err := client.Redis().Do(ctx, probe.command...).Err()
		switch {
		case err == nil || strings.Contains(err.Error(), probe.wrong):
			allowed = append(allowed, probe.command[0].(string))
		case strings.HasPrefix(err.Error(), "NOPERM"), strings.HasPrefix(err.Error(), "ERR unknown command"):
		default:
			return nil, client.Wrap("check the login's rights", err)
		}
	}
	return allowed, nil
}

// explain turns what the engine says into what a caller is told.
func (b *backend) explain(err error) error {
	if b.ctx.Err() != nil {
		return b.ctx.Err() // interrupted: nothing is wrong
	}
	var trouble *engine.Error
	if !errors.As(err, &trouble) {
		return err
	}
	told := &toolserver.Error{Kind: toolserver.Unreachable, Message: "Could not reach the graph store: " + trouble.Reason, Hint: trouble.Hint, Err: err}
	if errors.Is(err, engine.ErrNoGraph) {
		told.Kind, told.Message = toolserver.NoGraph, "There is no graph yet in "+b.Config.DataDir
		told.Hint = "`ingestd run --root DIR` makes one; or set --data-dir (GRAPHMILL_DATA_DIR) to where it was run"
	}
	return told
}
