// Package conn talks to FalkorDB: it opens the connection, sends statements,
// decodes replies into Go values and says what went wrong and what to do about
// it. It knows no label and no property.
//
// It stands on falkordb-go's client and goes under it, to its go-redis
// connection, for every statement: the client above has no contexts, throws
// decoding errors away, reads the schema with a writing command and corrupts
// strings when it quotes them.
package conn

import (
	"context"
	"errors"
	"sync"
	"time"

	falkordb "github.com/FalkorDB/falkordb-go/v2"
	"github.com/redis/go-redis/v9"

	"graphmill/pipeline/falkor/cypher"
)

// Client is a connection pool to one server. It is safe for concurrent use.
type Client struct {
	db      *falkordb.FalkorDB
	options Options
}

// Open prepares a connection; the server is first spoken to by Ping.
func Open(options Options) (*Client, error) {
	if err := options.validate(); err != nil {
		return nil, err
	}
	r, err := options.redisOptions()
	if err != nil {
		return nil, err
	}
	Quiet()
	// FalkorDBNew would ask the server whether it is a sentinel, without a context
	// or an error.
	return &Client{db: &falkordb.FalkorDB{Conn: redis.NewClient(r)}, options: options}, nil
}

// Quiet keeps go-redis from writing lines of its own to stderr, beside the errors
// that it returns, for all its clients in the process: the edge says once what went
// wrong.
var Quiet = sync.OnceFunc(func() { redis.SetLogger(silent{}) })

type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

// Close ends all connections.
func (c *Client) Close() error { return c.db.Conn.Close() }

// Address is where the server is, for messages.
func (c *Client) Address() string { return c.options.Address() }

// Socket is the unix socket's path, or "" for a server elsewhere.
func (c *Client) Socket() string { return c.options.Socket }

// Redis is the connection underneath, for what is not Cypher: keys, transactions,
// configuration. Its errors go through [Client.Wrap].
func (c *Client) Redis() *redis.Client { return c.db.Conn }

// Ping reports whether the server answers and takes commands from this user.
func (c *Client) Ping(ctx context.Context) error {
	return c.Wrap("ping FalkorDB", c.db.Conn.Ping(ctx).Err())
}

// WaitReady pings until the server has loaded its data. A server that is still
// loading is waited for as long as ctx allows, progress being called about once
// a second with the time waited; every other error is returned at once.
func (c *Client) WaitReady(ctx context.Context, progress func(waited time.Duration)) error {
	start := time.Now()
	told := start
	for {
		err := c.Ping(ctx)
		if KindOf(err) != Loading {
			return err
		}
		if progress != nil && time.Since(told) >= time.Second {
			told = time.Now()
			progress(told.Sub(start))
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// readGrace is how much longer than the engine's own time-out the client waits
// for the engine to say so.
const readGrace = 2 * time.Second

// Read runs a statement by GRAPH.RO_QUERY, which the engine refuses if it would
// write. A timeout above 0 is enforced by the engine and, a little later, here;
// when ctx ends first, Read returns at once and the engine works on until its
// own time-out.
func (c *Client) Read(ctx context.Context, graph string, statement cypher.Statement, timeout time.Duration) (*Rows, error) {
	text, err := statement.Append(nil)
	if err != nil {
		return nil, err
	}
	args := []any{"GRAPH.RO_QUERY", graph, text, "--compact"}
	if timeout > 0 {
		args = append(args, "TIMEOUT", max(timeout.Milliseconds(), 1))
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout+readGrace)
		defer cancel()
	}
	reply, err := c.await(ctx, args)
	if err != nil {
		return nil, c.Wrap("read graph "+graph, err)
	}
	rows, err := Decode(reply)
	if err != nil {
		return nil, c.Wrap("read graph "+graph, err)
	}
	return rows, nil
}

type answer struct {
	reply any
	err   error
}

// await lets a cancelled context end the wait: go-redis itself only minds a
// deadline.
func (c *Client) await(ctx context.Context, args []any) (any, error) {
	if ctx.Done() == nil {
		return c.db.Conn.Do(ctx, args...).Result()
	}
	done := make(chan answer, 1)
	go func() {
		reply, err := c.db.Conn.Do(ctx, args...).Result()
		done <- answer{reply, err}
	}()
	select {
	case a := <-done:
		return a.reply, a.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Explain returns the engine's plan for a statement, without running it.
func (c *Client) Explain(ctx context.Context, graph string, statement cypher.Statement) ([]string, error) {
	text, err := statement.Append(nil)
	if err != nil {
		return nil, err
	}
	plan, err := c.db.Conn.Do(ctx, "GRAPH.EXPLAIN", graph, text).StringSlice()
	return plan, c.Wrap("explain on graph "+graph, err)
}
