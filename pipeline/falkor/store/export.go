package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"graphmill/pipeline/falkor/conn"
	"graphmill/pipeline/falkor/cypher"
)

// Exported receives a graph for other tools: all nodes of a class, then those of
// the next, then the edges of each kind. Everything comes in the order of ids, so
// that two graphs of one digest are exported alike. Properties are without
// vectors and without what only this program needs.
type Exported interface {
	// Begin comes first, with every class in its order.
	Begin(classes []ExportClass) error
	// Class begins the nodes or the edges of one.
	Class(c ExportClass) error
	Node(id string, labels []string, properties map[string]any) error
	Edge(from, to string, properties map[string]any) error
}

// ExportClass is a label, or a kind of edge between two labels.
type ExportClass struct {
	Name     string // "Chunk"; of edges "MENTIONED_IN"
	From, To string // labels of an edge's ends; "" of nodes
	// Properties are the names and what the engine calls their types.
	Properties []ExportProperty
}

// ExportProperty is one property, by all the types that it has.
type ExportProperty struct {
	Name  string
	Types []string // "String", "Integer", "Float", "Boolean", "List"
}

// unexported are vectors, marks for them, and what the last run did to a document.
var unexported = []string{"embedding", "embedding_pending", "status"}

// exportPage is how many nodes, and about how many edges, one statement reads.
const exportPage = 2000

// exportedEdges are the kinds of edges between labels. Those of a page are asked for
// from the end at which few of them meet.
var exportedEdges = []struct {
	kind, from, to string
	byTarget       bool
}{
	{kind: "PART_OF", from: "Document", to: "Chunk", byTarget: true},
	{kind: "HAS_SECTION", from: "Document", to: "__Section__", byTarget: true},
	{kind: "PARENT", from: "__Section__", to: "__Section__"},
	{kind: "COVERS", from: "__Section__", to: "Chunk", byTarget: true},
	{kind: "NEXT_CHUNK", from: "Chunk", to: "Chunk"},
	{kind: "MENTIONED_IN", from: "__Entity__", to: "Chunk", byTarget: true},
	{kind: "RELATES", from: "__Entity__", to: "__Entity__"},
}

var exportedLabels = []string{"Document", "__Section__", "Chunk", "__Entity__"}

// Export hands on all that other tools can use of the graph. The caller holds the
// lock, so that it is of one state. Memory is a page of rows and what one entity
// has of relations.
func (s *Store) Export(ctx context.Context, to Exported) error {
	if s.held() == nil {
		return fmt.Errorf("export graph %s: %w", s.options.Graph, ErrNotLocked)
	}
	meta, err := s.Meta(ctx)
	if err == nil && !meta.Exists {
		err = ErrNoGraph
	}
	var classes []ExportClass
	if err == nil {
		classes, err = s.exportClasses(ctx)
	}
	if err == nil {
		err = to.Begin(classes)
	}
	for i, class := range classes {
		if err == nil {
			err = to.Class(class)
		}
		switch {
		case err != nil:
		case class.From == "":
			err = s.exportNodes(ctx, class, to)
		default:
			err = s.exportEdges(ctx, class, exportedEdges[i-len(exportedLabels)].byTarget, to)
		}
	}
	if err != nil {
		return fmt.Errorf("export graph %s: %w", s.options.Graph, err)
	}
	return nil
}

// exportProperties reads which properties a class has.
func (s *Store) exportProperties(ctx context.Context, statement cypher.Statement) ([]ExportProperty, error) {
	rows, err := s.read(ctx, statement)
	if err != nil {
		return nil, err
	}
	var properties []ExportProperty
	for i := range rows.Len() {
		if name := rows.String(i, "name"); !slices.Contains(unexported, name) {
			types := rows.Strings(i, "types")
			slices.Sort(types)
			properties = append(properties, ExportProperty{name, types})
		}
	}
	return properties, rows.Err()
}

func (s *Store) exportClasses(ctx context.Context) ([]ExportClass, error) {
	var classes []ExportClass
	for _, label := range exportedLabels {
		properties, err := s.exportProperties(ctx, cypher.New(`MATCH (n:«label») UNWIND keys(n) AS k
RETURN k AS name, collect(DISTINCT typeof(n[k])) AS types ORDER BY name`, nil).WithLabel("label", label))
		if err != nil {
			return nil, err
		}
		classes = append(classes, ExportClass{Name: label, Properties: properties})
	}
	for _, e := range exportedEdges {
		properties, err := s.exportProperties(ctx, cypher.New(`MATCH (:«from»)-[r:«kind»]->(:«to») UNWIND keys(r) AS k
RETURN k AS name, collect(DISTINCT typeof(r[k])) AS types ORDER BY name`, nil).WithLabel("from", e.from).WithLabel("kind", e.kind).WithLabel("to", e.to))
		if err != nil {
			return nil, err
		}
		classes = append(classes, ExportClass{Name: e.kind, From: e.from, To: e.to, Properties: properties})
	}
	return classes, nil
}

func (s *Store) exportNodes(ctx context.Context, class ExportClass, to Exported) error {
	return s.exportPages(ctx, class.Name, cypher.New(`MATCH (n:«label») WHERE n.id > $after WITH n ORDER BY n.id LIMIT $most
RETURN n.id AS id, labels(n) AS labels, [k IN keys(n) WHERE NOT k IN $without | [k, n[k]]] AS properties ORDER BY id`,
		nil), func(rows *conn.Rows) error {
		for i := range rows.Len() {
			labels := rows.Strings(i, "labels")
			slices.Sort(labels)
			if err := to.Node(rows.String(i, "id"), labels, pairs(rows.Value(i, "properties"))); err != nil {
				return err
			}
		}
		return nil
	})
}

// exportPages reads a statement over the ids of a label beyond $after until there
// are no more.
func (s *Store) exportPages(ctx context.Context, label string, statement cypher.Statement, do func(*conn.Rows) error) error {
	for after := ""; ; {
		rows, err := s.read(ctx, statement.With(cypher.Params{"after": after, "most": exportPage, "without": unexported}).WithLabel("label", label))
		if err != nil || rows.Len() == 0 {
			return err
		}
		if err := do(rows); err != nil {
			return err
		}
		after = rows.String(rows.Len()-1, "id")
		if err := rows.Err(); err != nil {
			return err
		}
	}
}

// exportedEdge is one edge of a page, to be sorted.
type exportedEdge struct {
	from, to, kind string
	properties     map[string]any
}

func (s *Store) exportEdges(ctx context.Context, class ExportClass, byTarget bool, to Exported) error {
	named := func(statement cypher.Statement) cypher.Statement {
		return statement.WithLabel("kind", class.Name).WithLabel("from", class.From).WithLabel("to", class.To)
	}
	near, degree := class.From, cypher.New(`MATCH (n:«label») WHERE n.id > $after WITH n ORDER BY n.id LIMIT $most
RETURN n.id AS id, outdegree(n, $kind) AS edges ORDER BY id`, nil)
	page := cypher.New(`UNWIND $ids AS id MATCH (a:«from» {id: id})-[r:«kind»]->(b:«to»)
RETURN a.id AS source, b.id AS target, coalesce(r.rel_type, r.origin, '') AS kind, [k IN keys(r) WHERE NOT k IN $without | [k, r[k]]] AS properties`, nil)
	if byTarget {
		near, degree = class.To, cypher.New(`MATCH (n:«label») WHERE n.id > $after WITH n ORDER BY n.id LIMIT $most
RETURN n.id AS id, indegree(n, $kind) AS edges ORDER BY id`, nil)
		page = cypher.New(`UNWIND $ids AS id MATCH (b:«to» {id: id})<-[r:«kind»]-(a:«from»)
RETURN a.id AS source, b.id AS target, coalesce(r.rel_type, r.origin, '') AS kind, [k IN keys(r) WHERE NOT k IN $without | [k, r[k]]] AS properties`, nil)
	}
	return s.exportPages(ctx, near, degree.With(cypher.Params{"kind": class.Name}), func(rows *conn.Rows) error {
		for i := 0; i < rows.Len(); {
			var ids []string
			for edges := 0; i < rows.Len() && (edges == 0 || edges+rows.Int(i, "edges") <= exportPage); i++ {
				if n := rows.Int(i, "edges"); n > 0 {
					ids, edges = append(ids, rows.String(i, "id")), edges+n
				}
			}
			if err := s.exportEdgesOf(ctx, named(page.With(cypher.Params{"ids": ids, "without": unexported})), byTarget, to); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *Store) exportEdgesOf(ctx context.Context, statement cypher.Statement, byTarget bool, to Exported) error {
	rows, err := s.read(ctx, statement)
	if err != nil {
		return err
	}
	edges := make([]exportedEdge, rows.Len())
	for i := range edges {
		edges[i] = exportedEdge{rows.String(i, "source"), rows.String(i, "target"), rows.String(i, "kind"), pairs(rows.Value(i, "properties"))}
	}
	slices.SortFunc(edges, func(a, b exportedEdge) int {
		if byTarget {
			return cmp.Or(cmp.Compare(a.to, b.to), cmp.Compare(a.from, b.from), cmp.Compare(a.kind, b.kind))
		}
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to), cmp.Compare(a.kind, b.kind))
	})
	for _, e := range edges {
		if err := to.Edge(e.from, e.to, e.properties); err != nil {
			return err
		}
	}
	return rows.Err()
}

// pairs reads a list of names with their values.
func pairs(value any) map[string]any {
	list, _ := value.([]any)
	out := make(map[string]any, len(list))
	for _, item := range list {
		if pair, _ := item.([]any); len(pair) == 2 {
			if name, ok := pair[0].(string); ok {
				out[name] = pair[1]
			}
		}
	}
	return out
}
