// Package store is the writing store: it turns whole documents into rows of the
// graph, in transactions that readers see wholly or not at all, and keeps what
// several documents said of one thing merged. It owns the graph's lock, its
// vectors and indexes, its ontology and its run ledger. It reads no files and
// runs no models.
//
// # The commit
//
// What stands in the graph is read first, merged in memory, and written by one
// MULTI/EXEC. That is safe because one process writes a graph at a time: the
// transaction is fenced, so that EXEC does nothing once another process has
// taken the lock. All merges are pure functions of the mentions and the evidence
// that support a thing, so that the graph does not depend on the order of
// commits and taking a document out is merging again without it.
//
// The engine does not roll back when a statement of a transaction fails. Only
// statements that cannot fail on their data are sent; if one fails all the same
// (memory, a time-out set on the server), a step counter in the meta node keeps
// the last statement, which writes the documents' fingerprints, from doing
// anything, and the documents are done again.
package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"graphmill/pipeline/falkor/conn"
	"graphmill/pipeline/falkor/cypher"
	"graphmill/pipeline/falkor/shape"
)

// ErrNotLocked is returned by every writing method while the store's lock is not
// held.
var ErrNotLocked = errors.New("the graph's lock is not held")

// Store writes one graph. Its reading methods are safe for concurrent use; its
// writing methods take turns.
type Store struct {
	client  *conn.Client
	options Options

	writing sync.Mutex // one writing method at a time
	ready   bool       // the range indexes and the meta node are there
	vectors vectorState

	mu   sync.Mutex
	lock *Lock
}

// Open looks at the graph and refuses one that a newer or an older program laid
// out. It writes nothing: a graph that is not there is made by the first write.
func Open(ctx context.Context, client *conn.Client, options Options) (*Store, error) {
	if options.Graph == "" {
		return nil, errors.New("open graph: it has no name")
	}
	s := &Store{client: client, options: options}
	meta, err := s.Meta(ctx)
	if err != nil {
		return nil, err
	}
	switch {
	case meta.Exists && meta.Schema > shape.Schema:
		return nil, fmt.Errorf("open graph %s: its schema is version %d, this program knows up to %d; use a newer ingestd", options.Graph, meta.Schema, shape.Schema)
	case meta.Exists && meta.Schema < shape.Schema:
		return nil, fmt.Errorf("open graph %s: its schema is version %d, this program writes %d; run `ingestd db upgrade`", options.Graph, meta.Schema, shape.Schema)
	}
	return s, nil
}

// Graph is the graph's name.
func (s *Store) Graph() string { return s.options.Graph }

// Meta reads what the graph says of itself.
func (s *Store) Meta(ctx context.Context) (Meta, error) {
	return shape.ReadMeta(ctx, s.query, s.options.Graph)
}

// AddSource records a files root under a name, "" for a graph's only one. Its
// path may change; its name may not be given to nothing.
func (s *Store) AddSource(ctx context.Context, name, root string) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	meta, err := s.Meta(ctx)
	if err != nil {
		return err
	}
	if have, ok := meta.Sources[name]; ok && have == root {
		return nil
	}
	sources := map[string]string{name: root}
	for other, path := range meta.Sources {
		if other != name {
			sources[other] = path
		}
	}
	var lines []string
	for _, key := range sortedKeys(sources) {
		line, err := json.Marshal([2]string{key, sources[key]})
		if err != nil {
			return err
		}
		lines = append(lines, string(line))
	}
	if err := s.prepare(ctx); err != nil {
		return err
	}
	// Dies before: no root is known, the next run records it. Dies after: it is.
	return s.exec(ctx, "record source", []write{{statement: cypher.New(
		`MATCH (m:__Meta__ {id: 'default'}) SET m.sources = $sources`, cypher.Params{"sources": lines})}})
}

// query runs a reading statement. It has no time-out: a writer that waits for
// its own answer disturbs nobody.
func (s *Store) query(ctx context.Context, graph string, statement cypher.Statement) (*conn.Rows, error) {
	return s.client.Read(ctx, graph, statement, 0)
}

// read runs a reading statement on the store's graph; a graph that is not there
// has no rows.
func (s *Store) read(ctx context.Context, statement cypher.Statement) (*conn.Rows, error) {
	rows, err := s.query(ctx, s.options.Graph, statement)
	if conn.KindOf(err) == conn.NoGraph {
		return &conn.Rows{}, nil
	}
	return rows, err
}

// write is a statement of a transaction and the graph it goes to; "" is the
// store's own.
type write struct {
	statement cypher.Statement
	graph     string
}

// exec sends statements as one transaction, if this process still holds the
// lock. The context ends nothing that was sent: an answer that nobody waited for
// would leave the caller not knowing what is written.
//
// Dies before EXEC: nothing is written. Dies after: all of it is.
func (s *Store) exec(ctx context.Context, verb string, writes []write) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	lock := s.held()
	if lock == nil {
		return fmt.Errorf("%s in graph %s: %w", verb, s.options.Graph, ErrNotLocked)
	}
	texts := make([][]byte, len(writes))
	for i, w := range writes {
		var err error
		if texts[i], err = w.statement.Append(nil); err != nil {
			return fmt.Errorf("%s in graph %s: %w", verb, s.options.Graph, err)
		}
	}
	ctx = context.WithoutCancel(ctx)
	err := s.client.Redis().Watch(ctx, func(tx *redis.Tx) error {
		if err := lock.check(ctx, tx); err != nil {
			return err
		}
		commands, err := tx.TxPipelined(ctx, func(p redis.Pipeliner) error {
			for i, w := range writes {
				graph := w.graph
				if graph == "" {
					graph = s.options.Graph
				}
				p.Do(ctx, "GRAPH.QUERY", graph, texts[i], "--compact")
			}
			return nil
		})
		if err != nil {
			return err
		}
		return firstFailure(commands)
	}, lock.fenceKey)
	if errors.Is(err, redis.TxFailedErr) {
		lock.lose()
		err = ErrLockLost
	}
	if errors.Is(err, ErrLockLost) {
		return fmt.Errorf("%s in graph %s: %w", verb, s.options.Graph, err)
	}
	return s.client.Wrap(verb+" in graph "+s.options.Graph, err)
}

// firstFailure finds an error inside the answers: the engine reports one that
// came while rows were written as the last part of a result.
func firstFailure(commands []redis.Cmder) error {
	for i, command := range commands {
		reply, err := command.(*redis.Cmd).Result()
		if err == nil {
			_, err = conn.Decode(reply)
		}
		if err != nil {
			return fmt.Errorf("statement %d of %d: %w", i+1, len(commands), err)
		}
	}
	return nil
}

func (s *Store) held() *Lock {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lock
}

// Durability says whether the server keeps what it confirmed through a power
// cut. A server that does not let this user ask is not confirmed.
func (s *Store) Durability(ctx context.Context) (Durability, error) {
	settings := map[string]string{}
	for _, name := range []string{"appendonly", "appendfsync"} {
		values, err := s.client.Redis().ConfigGet(ctx, name).Result()
		if err != nil {
			switch err = s.client.Wrap("read configuration", err); conn.KindOf(err) {
			case conn.Unreachable, conn.Timeout, conn.Loading:
				return Durability{}, err
			}
			return Durability{Reason: "durability unconfirmed: the server does not let this user read its configuration"}, nil
		}
		settings[name] = values[name]
	}
	reason := fmt.Sprintf("appendonly %s, appendfsync %s", settings["appendonly"], settings["appendfsync"])
	switch {
	case settings["appendonly"] != "yes":
		return Durability{Reason: "durability unconfirmed: " + reason + "; what was written since the last snapshot is lost with the server"}, nil
	case settings["appendfsync"] != "always":
		return Durability{Reason: "durability unconfirmed: " + reason + "; about the last second is lost with the machine"}, nil
	}
	return Durability{Confirmed: true, Reason: reason}, nil
}

// now is when something happened, as the graph keeps times.
func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
