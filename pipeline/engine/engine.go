// Package engine runs the local graph engine: it finds the programs, starts a
// server on a unix socket in the data directory, shares it between processes,
// and stops it when the last one is done. It owns the engine's files, its two
// users and their secrets. It sends no query: see pipeline/falkor for that.
//
// Who may do what is decided by flock on files in the engine's directory, which
// the kernel releases when a process dies, however it dies:
//
//	start.lock   held while somebody starts, joins, leaves or stops the engine
//	users.lock   shared by every process that uses the engine
//	server.lock  held by the server itself: inherited, and never closed by it
//	linger.lock  held by the process that stops the engine after a while
//
// The directory must be on a local file system.
package engine

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"
)

const (
	// DefaultStartTimeout: the server accepts connections within 0.1 s here, a
	// cold disk and 75 MB of programs included; loading is not counted.
	DefaultStartTimeout = 30 * time.Second
	// DefaultStopTimeout: a stop takes milliseconds unless the server is in the
	// middle of rebuilding an index. It is killed afterwards, which loses
	// nothing: every write is on disk before it is answered.
	DefaultStopTimeout = 30 * time.Second
	// DefaultMemoryShare of the machine's memory (or of the container's limit)
	// is what the graph may take: beyond it writes are refused with a clear
	// error, where the kernel would kill the server.
	DefaultMemoryShare = 0.8
)

// Options say where the engine lives and how it runs. Only DataDir is needed.
type Options struct {
	// DataDir holds everything the program keeps; the engine uses DataDir/engine.
	DataDir string
	// RedisServer and Module are the two files that are run; empty ones are
	// looked up by [Find].
	RedisServer, Module string
	// DepsDir is looked in before the usual places.
	DepsDir string
	// Linger keeps the engine up that long after its last use. It needs
	// LingerCommand.
	Linger time.Duration
	// LingerCommand is a program and its arguments that calls [KeepAlive] for
	// this data directory. It is started detached when the last user leaves.
	LingerCommand []string
	// StartTimeout bounds waiting for a server that shows no sign of work (it
	// does not answer, uses no processor time and logs nothing); a server that
	// is loading is waited for as long as it takes. 0 means DefaultStartTimeout.
	StartTimeout time.Duration
	// StopTimeout bounds the clean stop. 0 means DefaultStopTimeout.
	StopTimeout time.Duration
	// MaxMemory is what the graphs may take, in bytes. 0 means
	// DefaultMemoryShare of what there is; negative means no limit.
	MaxMemory int64
	// Progress is told, in a sentence, what is being waited for. It is called
	// from the goroutine that called Acquire. May be nil.
	Progress func(string)

	serverArguments []string // for tests
}

func (o Options) withDefaults() Options {
	if o.StartTimeout <= 0 {
		o.StartTimeout = DefaultStartTimeout
	}
	if o.StopTimeout <= 0 {
		o.StopTimeout = DefaultStopTimeout
	}
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	return o
}

// Lease is the right to use the running engine until Release.
type Lease struct {
	address     string
	credentials Credentials
	layout      layout
	options     Options
	server      instance
	users       *lockFile

	once    sync.Once
	release error
}

// Address is the path of the unix socket.
func (l *Lease) Address() string { return l.address }

// Credentials are the login this lease was acquired for.
func (l *Lease) Credentials() Credentials { return l.credentials }

// PID is the server's process.
func (l *Lease) PID() int { return l.server.PID }

// Acquire starts the engine, or joins the one that runs, as its writer. It
// returns when the engine has loaded its graphs and answers. Any number of
// leases may be held at once, in any number of processes. An error is an
// [*Error]; when the context ends while waiting, it wraps the context's.
func Acquire(ctx context.Context, options Options) (*Lease, error) {
	return acquire(ctx, options, Writer)
}

// AcquireReader is Acquire for a process that only reads: it gets the reader's
// login and touches the writer's secret neither to read nor to make it. In a
// data directory that no writer has used yet, it answers [ErrNoGraph].
func AcquireReader(ctx context.Context, options Options) (*Lease, error) {
	return acquire(ctx, options, Reader)
}

func acquire(ctx context.Context, options Options, role Role) (*Lease, error) {
	options = options.withDefaults()
	layout, err := openLayout(options.DataDir, role == Writer)
	if err != nil {
		return nil, err
	}
	lease, err := join(ctx, layout, options, role)
	if err != nil {
		return nil, err
	}
	if err := lease.waitReady(ctx); err != nil {
		// The one that cannot wait must not leave a server behind that nobody uses.
		return nil, errors.Join(err, lease.Release())
	}
	return lease, nil
}

// join starts the server or finds the running one, and counts this process among
// its users. It does not wait for the server to answer: others may join meanwhile.
func join(ctx context.Context, layout layout, options Options, role Role) (*Lease, error) {
	start, err := layout.lockStart(ctx, options.Progress)
	if err != nil {
		return nil, err
	}
	defer start.unlock()
	users, err := layout.lockUsers()
	if err != nil {
		return nil, err
	}
	server, credentials, err := startOrFind(ctx, layout, options, role)
	if err != nil {
		users.unlock()
		return nil, err
	}
	return &Lease{
		address: server.Socket, credentials: credentials,
		layout: layout, options: options, server: server, users: users,
	}, nil
}

// startOrFind is called with start.lock held.
func startOrFind(ctx context.Context, layout layout, options Options, role Role) (instance, Credentials, error) {
	free, server, err := layout.findServer(ctx, options)
	if err != nil {
		return instance{}, Credentials{}, err
	}
	running := free == nil
	credentials, err := layout.credentials(role, running)
	if running {
		return server, credentials, err
	}
	if err == nil {
		server, err = layout.startServer(options, free)
	}
	if err != nil && server.PID == 0 {
		free.unlock()
	} else {
		free.handOver()
	}
	return server, credentials, err
}

// Release ends this use of the engine. The last user stops it, cleanly, unless
// [Start] asked for it to stay or the options say to linger; a writer that added
// much has it make a snapshot first. It may be called more than once.
func (l *Lease) Release() error {
	l.once.Do(func() { l.release = l.leave() })
	return l.release
}

func (l *Lease) leave() error {
	// Leaving must not hang on a context that ended: it is what runs after Ctrl-C.
	ctx, cancel := context.WithTimeout(context.Background(), 2*l.options.StopTimeout+l.options.StartTimeout)
	defer cancel()
	// Before the lock, so that others may join meanwhile.
	if err := l.save(); err != nil {
		l.options.Progress("the local engine made no snapshot (" + err.Error() + "); nothing is lost, its next start takes longer")
	}
	start, err := l.layout.lockStart(ctx, l.options.Progress)
	if err != nil {
		l.users.unlock()
		return err
	}
	defer start.unlock()
	if l.options.Linger > 0 && len(l.options.LingerCommand) > 0 {
		if err := l.layout.linger(l.options); err != nil {
			l.options.Progress(err.Error())
		}
	}
	l.users.unlock()
	return l.layout.stopIfUnused(ctx, l.options)
}

// Check tells whether the engine is still alive: nil, or an error that says how
// it ended. It is for whoever lost the connection and wants to know why.
func (l *Lease) Check() error {
	if l.server.alive() {
		return nil
	}
	return l.layout.diedError("use", l.server)
}

// stopIfUnused stops the server when this was the last user; start.lock is held.
func (l layout) stopIfUnused(ctx context.Context, options Options) error {
	server, err := l.readInstance()
	if errors.Is(err, os.ErrNotExist) || server.Pinned {
		return nil
	}
	if err != nil {
		return err
	}
	if l.hasUsers() || l.isLingering() {
		return nil
	}
	return l.stopServer(ctx, options)
}
