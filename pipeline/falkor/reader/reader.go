// Package reader is the reading store: statements go out by GRAPH.RO_QUERY alone,
// which the engine refuses if they would write, each with a time-out that the
// engine enforces. It does not know the writing store; a program that has only
// this package cannot change a graph.
package reader

import (
	"context"
	"time"

	"graphmill/pipeline/falkor/conn"
	"graphmill/pipeline/falkor/cypher"
	"graphmill/pipeline/falkor/shape"
	"graphmill/pipeline/graph"
)

// Options tune a Reader; zero values are defaults.
type Options struct {
	// Timeout bounds each statement; 0 means 10 s: a search over 100,000 chunks
	// takes well under one.
	Timeout time.Duration
	// WaitOut makes a statement that was sent be waited for also when its context
	// ends: the engine cannot be interrupted, and whoever counts what it works on
	// must know when it is done. The time-out bounds the wait.
	WaitOut bool
}

const defaultTimeout = 10 * time.Second

// Reader reads graphs of one server. It is safe for concurrent use.
type Reader struct {
	client  *conn.Client
	timeout time.Duration
	waitOut bool
}

// New returns a Reader that uses client, which stays the caller's to close.
func New(client *conn.Client, options Options) *Reader {
	if options.Timeout <= 0 {
		options.Timeout = defaultTimeout
	}
	return &Reader{client: client, timeout: options.Timeout, waitOut: options.WaitOut}
}

// Query runs one statement. A text from outside is looked at first: what could
// reach out of the graph is refused with a conn.Error of kind ReadOnly.
func (r *Reader) Query(ctx context.Context, graphName string, statement cypher.Statement) (*conn.Rows, error) {
	if statement.FromCaller() {
		if err := refuse(statement.Text()); err != nil {
			return nil, r.client.Wrap("read graph "+graphName, err)
		}
	}
	if r.waitOut {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		ctx = context.WithoutCancel(ctx)
	}
	return r.client.Read(ctx, graphName, statement, r.timeout)
}

// Exists reports whether the graph was ever written. A server that cannot be
// asked is an error, not a no. Nothing is created.
func (r *Reader) Exists(ctx context.Context, graphName string) (bool, error) {
	_, err := r.Query(ctx, graphName, cypher.New("RETURN 1 AS one", nil))
	if conn.KindOf(err) == conn.NoGraph {
		return false, nil
	}
	return err == nil, err
}

// Meta reads what the graph says of itself; Meta.Exists is false for a graph
// that is not there or that another program wrote.
func (r *Reader) Meta(ctx context.Context, graphName string) (shape.Meta, error) {
	return shape.ReadMeta(ctx, r.Query, graphName)
}

// Ontology reads the ontology that goes with a graph; an empty one when none was
// ever stored.
func (r *Reader) Ontology(ctx context.Context, graphName string) (graph.Ontology, error) {
	return shape.ReadOntology(ctx, r.Query, graphName)
}

// Indexes lists the graph's indexes and how far they are.
func (r *Reader) Indexes(ctx context.Context, graphName string) ([]shape.Index, error) {
	return shape.ReadIndexes(ctx, r.Query, graphName)
}
