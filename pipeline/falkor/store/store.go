// Package store is the writing store: it turns whole documents into rows of the
// graph, in transactions that readers see wholly or not at all, and keeps what
// several documents said of one thing merged. It owns the graph's lock, its
// vectors and indexes, its ontology and its run ledger. It reads no files and
// runs no models.
//
// # The commit
//
// What stands in the graph is read first, merged in memory, and written by one
// statement. The engine does a statement wholly or not at all: readers see
// nothing of it until it is done, an error takes back what it did, and after a
// kill the append-only file has it or has not. (MULTI/EXEC around several has
// neither property: a reader that was waiting gets in between two of them, and
// nothing is taken back. It is also lost from the append-only file altogether on
// a server whose default user has no rights.)
//
// Reading first is safe because one process writes a graph at a time, or, where
// several add to it, commits take turns and a statement finds that another came
// between (see [Store.AcquireShared]). Every statement checks the fencing token in the meta node before it does anything,
// so that a process which lost the lock unawares writes nothing.
//
// All merges are pure functions of the mentions and the evidence that support a
// thing: the graph does not depend on the order of commits, and taking a
// document out is merging again without it.
package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"graphmill/pipeline/falkor/conn"
	"graphmill/pipeline/falkor/cypher"
	"graphmill/pipeline/falkor/shape"
	"graphmill/pipeline/faultpoint"
)

// keepText bounds the memory that is kept for the next statement's text.
const keepText = 8 << 20

// ErrNotLocked is returned by every writing method while the store's lock is not
// held.
var ErrNotLocked = errors.New("the graph's lock is not held")

// Store writes one graph. Its reading methods are safe for concurrent use; its
// writing methods take turns.
type Store struct {
	client  *conn.Client
	options Options

	writing  sync.Mutex // one writing method at a time
	text     []byte     // of the last statement, to be written over
	vectors  vectorState
	tracking *tracking // the run that writes, if it is to be known
	active   targets   // the merges as activeOf found them
	activeOf *Lock

	counted   kept // the counts as the last transaction of countedOf left them
	countedOf *Lock

	mu   sync.Mutex
	lock *Lock
}

// Open looks at the graph and refuses one that a newer or an older program laid
// out, or graphrag-sdk. It writes nothing: a graph that is not there is made by the first write.
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
	case !meta.Exists && meta.EmbeddingModel != "":
		return nil, fmt.Errorf("open graph %s: graphrag-sdk built it, and ingestd writes no graph but its own, since a second writer would spoil the other's bookkeeping; name another with --graph", options.Graph)
	case meta.Exists && meta.Schema > shape.Schema:
		return nil, fmt.Errorf("open graph %s: its schema is version %d, this program knows up to %d; use a newer ingestd", options.Graph, meta.Schema, shape.Schema)
	case meta.Exists && meta.Schema < shape.Schema:
		return nil, fmt.Errorf("open graph %s: its schema is version %d, this program writes %d; this version cannot upgrade it, build it again under another --graph", options.Graph, meta.Schema, shape.Schema)
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
	return s.serially(ctx, func() error { return s.addSource(ctx, name, root) })
}

func (s *Store) addSource(ctx context.Context, name, root string) error {
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
	return s.exec(ctx, "record source", cypher.New(
		`MATCH (m:__Meta__ {id: 'default'}) SET m.sources = $sources`, cypher.Params{"sources": lines}))
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

// fenceCheck fails, and with it the whole statement, unless the meta node holds
// the token and, where read is given, no commit came since so many were counted:
// range takes no step of 0.
func fenceCheck(token int64, read *int) cypher.Statement {
	if read != nil {
		return cypher.New(`OPTIONAL MATCH (m:__Meta__ {id: 'default'})
WITH range(0, 1, CASE WHEN m.fence = $token AND coalesce(m.commits, 0) = $read THEN 1 ELSE 0 END) AS fence`, cypher.Params{"token": token, "read": *read})
	}
	return cypher.New(`OPTIONAL MATCH (m:__Meta__ {id: 'default'})
WITH range(0, 1, CASE WHEN m.fence = $token THEN 1 ELSE 0 END) AS fence`, cypher.Params{"token": token})
}

// fenceHolds reads whether the graph has the lock's token still.
func (s *Store) fenceHolds(ctx context.Context, lock *Lock) (bool, error) {
	rows, err := s.read(ctx, cypher.New(`MATCH (m:__Meta__ {id: 'default'}) RETURN m.fence AS fence`, nil))
	if err != nil || rows.Len() == 0 {
		return false, err
	}
	return int64(rows.Int(0, "fence")) == lock.token(), rows.Err()
}

// exec carries out statements as one, if this process still holds the lock. The
// context ends nothing that was sent: an answer that nobody waited for would
// leave the caller not knowing what is written.
//
// Dies anywhere: all of it is written, or nothing.
func (s *Store) exec(ctx context.Context, verb string, statements ...cypher.Statement) error {
	lock := s.held()
	if lock == nil {
		return fmt.Errorf("%s in graph %s: %w", verb, s.options.Graph, ErrNotLocked)
	}
	if err := s.prepare(ctx); err != nil {
		return err
	}
	err := lock.check(ctx)
	if err != nil {
		return s.explain(verb, err)
	}
	s.counted = kept{}
	faultpoint.Reach("before", verb)
	err = s.send(ctx, s.options.Graph, cypher.Chain(append([]cypher.Statement{fenceCheck(lock.token(), lock.read)}, statements...)...))
	if err != nil && strings.Contains(err.Error(), "step argument to range()") {
		if lock.read != nil {
			if holds, err := s.fenceHolds(ctx, lock); err != nil || holds {
				return errors.Join(errOvertaken, err)
			}
		}
		lock.lose()
		err = ErrLockLost
	}
	faultpoint.Reach("after", verb)
	return s.explain(verb, err)
}

// alter carries out one statement that cannot be part of another, such as making
// an index, which it may be too late to fence: a former holder's index harms
// nobody.
func (s *Store) alter(ctx context.Context, verb string, statement cypher.Statement) error {
	lock := s.held()
	if lock == nil {
		return fmt.Errorf("%s in graph %s: %w", verb, s.options.Graph, ErrNotLocked)
	}
	err := ctx.Err()
	if err == nil {
		err = lock.check(ctx)
	}
	if err == nil {
		faultpoint.Reach("before", verb)
		err = s.send(ctx, s.options.Graph, statement)
		faultpoint.Reach("after", verb)
	}
	return s.explain(verb, err)
}

// send carries out one statement. Its text is rendered where the last one stood:
// writing methods take turns, and a large text grown from nothing is copied a
// dozen times.
func (s *Store) send(ctx context.Context, graph string, statement cypher.Statement) error {
	text, err := statement.Append(s.text[:0])
	if err != nil {
		return err
	}
	if s.text = text; cap(text) > keepText {
		s.text = nil
	}
	reply, err := s.client.Redis().Do(context.WithoutCancel(ctx), "GRAPH.QUERY", graph, text, "--compact").Result()
	if err != nil {
		return err
	}
	_, err = conn.Decode(reply)
	return err
}

func (s *Store) explain(verb string, err error) error {
	if errors.Is(err, ErrLockLost) || errors.Is(err, ErrNotLocked) {
		return fmt.Errorf("%s in graph %s: %w", verb, s.options.Graph, err)
	}
	return s.client.Wrap(verb+" in graph "+s.options.Graph, err)
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
