package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sort"
	"strings"

	"github.com/redis/go-redis/v9"

	"graphmill/pipeline/falkor/conn"
	"graphmill/pipeline/falkor/cypher"
	"graphmill/pipeline/falkor/shape"
	"graphmill/pipeline/faultpoint"
)

// ErrNotEmpty says that a graph stands where one is to be restored.
var ErrNotEmpty = errors.New("it holds something already; --replace puts the snapshot in its place, or name another with --graph")

// restoreBatch is how many nodes or edges one statement of a restore writes.
const restoreBatch = 500

// besideGraph is where a graph is built before it takes its place. Its ontology
// is where any graph's is.
func besideGraph(graphName string) string { return "graphmill:{" + graphName + "}:restoring" }

// CheckSnapshot reads a snapshot to its end without keeping anything of it.
func CheckSnapshot(r io.Reader) (SnapshotHeader, SnapshotEnd, error) {
	return readSnapshot(r, func(string, *snapshotLine) error { return nil })
}

// Restore makes the graph and its ontology from a snapshot, which open opens. All
// of it is read once before anything is written; then it is built beside the
// graph, held to its digest, and takes the graph's place in one step.
//
// Dies before that step: the graph is as it was, and what was built is cleared
// away by the next restore or by a repair. Dies after: it is the snapshot's.
func (s *Store) Restore(ctx context.Context, open func() (io.ReadCloser, error), replace bool) (SnapshotEnd, error) {
	fail := func(err error) (SnapshotEnd, error) {
		return SnapshotEnd{}, fmt.Errorf("restore graph %s: %w", s.options.Graph, err)
	}
	lock := s.held()
	if lock == nil {
		return fail(ErrNotLocked)
	}
	end, err := reading(open, func(r io.Reader) (SnapshotEnd, error) {
		header, end, err := CheckSnapshot(r)
		if err == nil && header.Schema != shape.Schema {
			err = fmt.Errorf("%w: its schema is version %d, this program knows %d; use the ingestd that wrote it", ErrSnapshotVersion, header.Schema, shape.Schema)
		}
		return end, err
	})
	if err != nil {
		return fail(err)
	}
	if empty, err := s.empty(ctx); err != nil || !empty && !replace {
		return fail(errors.Join(err, notEmpty(empty)))
	}
	beside := s.beside(lock)
	defer beside.drop(context.WithoutCancel(ctx)) // it is not there any more if all went well
	if err := beside.drop(ctx); err != nil {
		return fail(err)
	}
	if _, err := reading(open, func(r io.Reader) (SnapshotEnd, error) { return end, beside.build(ctx, r) }); err != nil {
		return fail(err)
	}
	if err := beside.complete(ctx, end); err != nil {
		return fail(err)
	}
	if err := lock.check(ctx); err != nil {
		return fail(err)
	}
	if err := s.takePlace(ctx, beside.options.Graph); err != nil {
		return fail(err)
	}
	lock.prepared = false
	return end, nil
}

func notEmpty(empty bool) error {
	if empty {
		return nil
	}
	return ErrNotEmpty
}

func reading(open func() (io.ReadCloser, error), do func(io.Reader) (SnapshotEnd, error)) (SnapshotEnd, error) {
	file, err := open()
	if err != nil {
		return SnapshotEnd{}, err
	}
	end, err := do(file)
	return end, errors.Join(err, file.Close())
}

// empty reports whether neither the graph nor its ontology holds anything but
// what the graph says of itself.
func (s *Store) empty(ctx context.Context) (bool, error) {
	for _, name := range []string{s.options.Graph, shape.OntologyGraph(s.options.Graph)} {
		rows, err := s.query(ctx, name, cypher.New(`MATCH (n) WHERE NOT (n:__Meta__ OR n:__Run__) RETURN ID(n) AS n LIMIT 1`, nil))
		if conn.KindOf(err) == conn.NoGraph {
			continue
		}
		if err != nil || rows.Len() > 0 {
			return false, err
		}
	}
	return true, nil
}

// beside is a store of the graph that is built, under the lock of the one that
// stands.
func (s *Store) beside(lock *Lock) *Store {
	b := &Store{client: s.client, options: Options{Graph: besideGraph(s.options.Graph), Version: s.options.Version}}
	b.lock = &Lock{store: b, lockKey: lock.lockKey, fenceKey: lock.fenceKey, value: lock.value, count: lock.count, lease: lock.lease, lost: lock.lost}
	return b
}

// drop deletes the graph and its ontology.
func (s *Store) drop(ctx context.Context) error {
	for _, name := range []string{s.options.Graph, shape.OntologyGraph(s.options.Graph)} {
		err := s.client.Redis().Del(ctx, name).Err()
		if err != nil {
			return s.client.Wrap("clear away graph "+name, err)
		}
	}
	return nil
}

// build writes a snapshot's rows.
func (s *Store) build(ctx context.Context, r io.Reader) error {
	parts := map[string]*restorer{
		"graph":    {Store: s, graph: s.options.Graph},
		"ontology": {Store: s, graph: shape.OntologyGraph(s.options.Graph)},
	}
	current := (*restorer)(nil)
	_, _, err := readSnapshot(r, func(part string, line *snapshotLine) error {
		next := parts[part]
		if next == nil {
			return fmt.Errorf("%w (there is no part %q)", ErrSnapshot, part)
		}
		if current != nil && current != next {
			if err := current.flush(ctx); err != nil {
				return err
			}
		}
		current = next
		if line.Node != nil {
			return current.node(ctx, line)
		}
		return current.edge(ctx, line)
	})
	if err == nil && current != nil {
		err = current.flush(ctx)
	}
	return err
}

// restorer writes the rows of one graph, nodes first.
type restorer struct {
	*Store
	graph   string
	ids     idRuns
	written int64 // nodes
	nodes   []*snapshotLine
	edges   []*snapshotLine
}

// idRuns tells where nodes went whose ids were not contiguous. The engine gives
// the nodes of a new graph the ids 0, 1, 2, … and fills gaps before it grows, so
// that there are few.
type idRuns []struct{ was, is int64 }

func (r *idRuns) add(was, is int64) {
	if n := len(*r); n > 0 && was-(*r)[n-1].was == is-(*r)[n-1].is {
		return
	}
	*r = append(*r, struct{ was, is int64 }{was, is})
}

func (r idRuns) of(was int64) (int64, error) {
	i := sort.Search(len(r), func(i int) bool { return r[i].was > was }) - 1
	if i < 0 {
		return 0, fmt.Errorf("%w (an edge leads to node %d, which it does not hold)", ErrSnapshot, was)
	}
	return r[i].is + was - r[i].was, nil
}

func (r *restorer) node(ctx context.Context, line *snapshotLine) error {
	for _, label := range line.Labels {
		if label == "__Meta__" {
			delete(line.P, "fence") // another server's count
		}
	}
	r.ids.add(*line.Node, r.written)
	r.written++
	if r.nodes = append(r.nodes, line); len(r.nodes) < restoreBatch {
		return nil
	}
	return r.flush(ctx)
}

func (r *restorer) edge(ctx context.Context, line *snapshotLine) error {
	if len(r.nodes) > 0 {
		if err := r.flush(ctx); err != nil {
			return err
		}
	}
	if line.Edge == nil {
		return fmt.Errorf("%w (a line is neither a node nor an edge)", ErrSnapshot)
	}
	if r.edges = append(r.edges, line); len(r.edges) < restoreBatch {
		return nil
	}
	return r.flush(ctx)
}

func (r *restorer) flush(ctx context.Context) error {
	var err error
	if len(r.nodes) > 0 {
		err = r.writeNodes(ctx)
	}
	if err == nil && len(r.edges) > 0 {
		err = r.writeEdges(ctx)
	}
	r.nodes, r.edges = nil, nil
	faultpoint.Reach("between", "batches")
	return err
}

// writeNodes makes nodes without labels, so that their ids follow each other, and
// labels them then.
func (r *restorer) writeNodes(ctx context.Context) error {
	first := r.written - int64(len(r.nodes))
	rows := make([]cypher.Record, len(r.nodes))
	labels, vectors := map[string][]int64{}, map[string][]cypher.Record{}
	var order []string // labels are shown in the order in which a graph first met them
	for i, line := range r.nodes {
		id := first + int64(i)
		row, floats := record(line.P)
		rows[i] = row
		for _, label := range line.Labels {
			if labels[label] == nil {
				order = append(order, label)
			}
			labels[label] = append(labels[label], id)
		}
		for name, v := range floats {
			vectors[name] = append(vectors[name], cypher.Record{{Name: "id", Value: id}, {Name: "v", Value: []float32(v)}})
		}
	}
	if err := r.send(ctx, r.graph, cypher.New(`UNWIND $rows AS row CREATE (n) SET n = row`, over("rows", rows))); err != nil {
		return r.explain("restore nodes", err)
	}
	last, err := r.lastNodeOf(ctx, r.graph)
	if err == nil && int64(last) != r.written-1 {
		err = fmt.Errorf("the engine gave the last of %d nodes the id %d", r.written, last)
	}
	for _, label := range order {
		if err == nil {
			err = r.send(ctx, r.graph, cypher.New(`UNWIND $ids AS id MATCH (n) WHERE ID(n) = id SET n:«label»`, over("ids", labels[label])).WithLabel("label", label))
		}
	}
	for _, name := range sortedKeys(vectors) {
		if err == nil {
			err = r.send(ctx, r.graph, cypher.New(`UNWIND $rows AS row MATCH (n) WHERE ID(n) = row.id SET n.«name» = vecf32(row.v)`, over("rows", vectors[name])).WithLabel("name", name))
		}
	}
	return r.explain("restore nodes", err)
}

func (r *restorer) writeEdges(ctx context.Context) error {
	type group struct{ kind, vector string }
	groups := map[group][]cypher.Record{}
	var order []group
	for _, line := range r.edges {
		from, err := r.ids.of(line.Edge[0])
		if err != nil {
			return err
		}
		to, err := r.ids.of(line.Edge[1])
		if err != nil {
			return err
		}
		row, floats := record(line.P)
		g := group{kind: line.Type}
		entry := cypher.Record{{Name: "a", Value: from}, {Name: "b", Value: to}, {Name: "p", Value: row}}
		for name, v := range floats {
			if g.vector != "" {
				return fmt.Errorf("an edge %s has two vectors, %s and %s", line.Type, g.vector, name)
			}
			g.vector = name
			entry = append(entry, cypher.Field{Name: "v", Value: []float32(v)})
		}
		if groups[g] == nil {
			order = append(order, g)
		}
		groups[g] = append(groups[g], entry)
	}
	for _, g := range order {
		statement := cypher.New(`UNWIND $rows AS row MATCH (a) WHERE ID(a) = row.a MATCH (b) WHERE ID(b) = row.b CREATE (a)-[r:«type»]->(b) SET r = row.p`, over("rows", groups[g]))
		if g.vector != "" {
			statement = cypher.New(`UNWIND $rows AS row MATCH (a) WHERE ID(a) = row.a MATCH (b) WHERE ID(b) = row.b CREATE (a)-[r:«type»]->(b)
SET r = row.p, r.«vector» = vecf32(row.v)`, over("rows", groups[g])).WithLabel("vector", g.vector)
		}
		if err := r.send(ctx, r.graph, statement.WithLabel("type", g.kind)); err != nil {
			return r.explain("restore edges", err)
		}
	}
	return nil
}

// complete makes the indexes that a graph of this state has, and holds it to its
// digest.
func (s *Store) complete(ctx context.Context, end SnapshotEnd) error {
	s.writing.Lock()
	err := s.prepare(ctx)
	if err == nil {
		err = s.endBuilding(ctx)
	}
	s.writing.Unlock()
	if err != nil {
		return err
	}
	meta, err := s.Meta(ctx)
	if err == nil && meta.EmbeddingModel != "" && !meta.FinalizePending {
		err = s.EnsureIndexes(ctx, IndexOptions{Model: meta.EmbeddingModel, Dimension: meta.Dimension})
	}
	if err != nil || end.DigestOf != digestOf() {
		return err // a digest of other things compares with nothing
	}
	digest, err := s.Digest(ctx)
	if err == nil && digest != end.Digest {
		err = fmt.Errorf("what was built has the digest %s, the snapshot %s; the graph is as it was", digest, end.Digest)
	}
	return err
}

// takePlace puts the graph that was built, and its ontology, in the place of the
// one that stands, in one step.
func (s *Store) takePlace(ctx context.Context, built string) error {
	db := s.client.Redis()
	ontology, err := db.Exists(ctx, shape.OntologyGraph(built)).Result()
	if err != nil {
		return s.client.Wrap("restore", err)
	}
	faultpoint.Reach("before", "swap")
	_, err = db.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.Rename(ctx, built, s.options.Graph)
		if ontology > 0 {
			p.Rename(ctx, shape.OntologyGraph(built), shape.OntologyGraph(s.options.Graph))
		} else {
			p.Del(ctx, shape.OntologyGraph(s.options.Graph))
		}
		return nil
	})
	faultpoint.Reach("after", "swap")
	if err != nil && strings.Contains(err.Error(), "NOPERM") {
		err = fmt.Errorf("%w; a restore needs +rename and +del", err)
	}
	return s.client.Wrap("put graph "+s.options.Graph+" in its place", err)
}
