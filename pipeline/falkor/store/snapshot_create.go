package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"graphmill/pipeline/falkor/conn"
	"graphmill/pipeline/falkor/cypher"
	"graphmill/pipeline/falkor/shape"
)

// How many nodes one statement of a copy reads at most, and edges about.
const (
	copyNodes = 500
	copyEdges = 2000
)

// ErrNoGraph says that there is nothing to copy.
var ErrNoGraph = errors.New("the graph was never written")

// Snapshot writes all that the graph and its ontology hold into w. The caller
// holds the lock, so that it is of one state. Memory is a page of rows.
func (s *Store) Snapshot(ctx context.Context, w io.Writer) (SnapshotEnd, error) {
	if s.held() == nil {
		return SnapshotEnd{}, fmt.Errorf("copy graph %s: %w", s.options.Graph, ErrNotLocked)
	}
	meta, err := s.Meta(ctx)
	if err != nil {
		return SnapshotEnd{}, err
	}
	if !meta.Exists {
		return SnapshotEnd{}, fmt.Errorf("copy graph %s: %w", s.options.Graph, ErrNoGraph)
	}
	digest, err := s.Digest(ctx)
	if err != nil {
		return SnapshotEnd{}, err
	}
	out, err := newSnapshotWriter(w)
	if err != nil {
		return SnapshotEnd{}, err
	}
	err = out.json(SnapshotHeader{Format: snapshotFormat, Graph: s.options.Graph, Schema: meta.Schema, By: "graphmill " + s.options.Version, Created: stamp(time.Now())})
	for _, part := range []struct{ name, graph string }{{"graph", s.options.Graph}, {"ontology", shape.OntologyGraph(s.options.Graph)}} {
		if err == nil {
			err = out.json(map[string]string{"part": part.name})
		}
		if err == nil {
			err = s.eachNode(ctx, part.graph, out.node)
		}
		if err == nil {
			err = s.eachEdge(ctx, part.graph, out.edge)
		}
	}
	if err == nil {
		err = out.finish(digest)
	}
	if err != nil {
		return SnapshotEnd{}, fmt.Errorf("copy graph %s: %w", s.options.Graph, err)
	}
	return out.end, nil
}

// lastNodeOf is the largest internal id of a graph's nodes, -1 for none.
func (s *Store) lastNodeOf(ctx context.Context, graphName string) (int, error) {
	rows, err := s.query(ctx, graphName, lastNode)
	if conn.KindOf(err) == conn.NoGraph || err == nil && (rows.Len() == 0 || rows.Value(0, "last") == nil) {
		return -1, nil
	}
	if err != nil {
		return -1, err
	}
	return rows.Int(0, "last"), nil
}

// eachNode reads every node, in the order of internal ids.
func (s *Store) eachNode(ctx context.Context, graphName string, do func(id int64, labels []string, properties map[string]any) error) error {
	last, err := s.lastNodeOf(ctx, graphName)
	for lo := 0; err == nil && lo <= last; lo += copyNodes {
		var rows *conn.Rows
		rows, err = s.query(ctx, graphName, cypher.New(`MATCH (n) WHERE ID(n) >= $lo AND ID(n) < $hi
RETURN ID(n) AS node, labels(n) AS labels, properties(n) AS properties ORDER BY node`, cypher.Params{"lo": lo, "hi": lo + copyNodes}))
		if err != nil {
			break
		}
		for i := 0; i < rows.Len() && err == nil; i++ {
			properties, _ := rows.Value(i, "properties").(map[string]any)
			err = do(int64(rows.Int(i, "node")), rows.Strings(i, "labels"), properties)
		}
		err = errors.Join(err, rows.Err())
	}
	return err
}

// eachEdge reads every edge, in the order of the nodes that they start from, and
// of internal ids.
func (s *Store) eachEdge(ctx context.Context, graphName string, do func(from, to int64, kind string, properties map[string]any) error) error {
	last, err := s.lastNodeOf(ctx, graphName)
	if err != nil {
		return err
	}
	for lo := 0; lo <= last; lo += copyEdges {
		rows, err := s.query(ctx, graphName, cypher.New(`MATCH (n) WHERE ID(n) >= $lo AND ID(n) < $hi WITH ID(n) AS node, outdegree(n) AS edges WHERE edges > 0
RETURN node, edges ORDER BY node`, cypher.Params{"lo": lo, "hi": lo + copyEdges}))
		if err != nil {
			return err
		}
		for i := 0; i < rows.Len(); {
			from, to, edges := rows.Int(i, "node"), 0, 0
			for ; i < rows.Len() && (edges == 0 || edges+rows.Int(i, "edges") <= copyEdges); i++ {
				to, edges = rows.Int(i, "node"), edges+rows.Int(i, "edges")
			}
			if err := s.edgesFrom(ctx, graphName, from, to, do); err != nil {
				return err
			}
		}
		if err := rows.Err(); err != nil {
			return err
		}
	}
	return nil
}

// edgesFrom reads the edges of a few nodes, or of one that has very many, page by
// page.
func (s *Store) edgesFrom(ctx context.Context, graphName string, first, last int, do func(from, to int64, kind string, properties map[string]any) error) error {
	for node, after := first, -1; ; {
		rows, err := s.query(ctx, graphName, cypher.New(`MATCH (n) WHERE ID(n) >= $first AND ID(n) <= $last MATCH (n)-[r]->(m)
WITH n, r, m WHERE ID(n) > $node OR ID(r) > $after
WITH n, r, m ORDER BY ID(n), ID(r) LIMIT $most
RETURN ID(n) AS source, ID(m) AS target, ID(r) AS edge, type(r) AS type, properties(r) AS properties ORDER BY source, edge`,
			cypher.Params{"first": node, "last": last, "node": node, "after": after, "most": copyEdges}))
		if err != nil {
			return err
		}
		for i := range rows.Len() {
			node, after = rows.Int(i, "source"), rows.Int(i, "edge")
			properties, _ := rows.Value(i, "properties").(map[string]any)
			if err := do(int64(node), int64(rows.Int(i, "target")), rows.String(i, "type"), properties); err != nil {
				return err
			}
		}
		if err := rows.Err(); err != nil || rows.Len() < copyEdges {
			return err
		}
	}
}
