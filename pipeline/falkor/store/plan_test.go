package store

import (
	"context"
	"strings"
	"testing"

	"graphmill/pipeline/engine/enginetest"
	"graphmill/pipeline/falkor/conn"
	"graphmill/pipeline/falkor/cypher"
	"graphmill/pipeline/graph"
)

// TestLookUpsGoThroughAnIndex asks the engine for its plan of every statement of
// a commit and of the reads before it: none may walk a label.
func TestLookUpsGoThroughAnIndex(t *testing.T) {
	f := enginetest.Start(t)
	client, err := conn.Open(conn.Options{Socket: f.Address, Username: f.Writer.User, Password: f.Writer.Secret})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	s, err := Open(t.Context(), client, Options{Graph: "g"})
	if err != nil {
		t.Fatal(err)
	}
	owner, err := LocalOwner("run")
	if err != nil {
		t.Fatal(err)
	}
	lock, err := s.Acquire(t.Context(), owner, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Release(context.Background())
	if err := s.prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	asked := 0
	explain := func(statement cypher.Statement) {
		t.Helper()
		asked++
		plan, err := client.Explain(t.Context(), "g", statement)
		if err != nil {
			t.Fatalf("%v: %s", err, statement.Text())
		}
		for _, line := range plan {
			if strings.Contains(line, "Label Scan") && !strings.Contains(line, "__Meta__") || strings.Contains(line, "All Node Scan") ||
				strings.Contains(line, "Conditional Traverse") && strings.Contains(line, ":RELATES") {
				t.Errorf("plan\n\t%s\nof\n\t%s", strings.Join(plan, "\n\t"), statement.Text())
			}
		}
	}
	for _, statement := range everyStatement() {
		explain(statement)
	}
	for _, kind := range []VectorKind{ChunkVector, EntityVector, RelationVector} {
		explain(pendingCounts[kind])
		pending, _ := pendingStatement(kind, 5)
		explain(pending)
		statement, _ := vectorStatement(kind, []cypher.Record{vectorRow(Vector{Pending: Pending{Kind: kind, ID: "x"}})})
		explain(statement)
	}
	if asked < 25 {
		t.Errorf("only %d statements were looked at", asked)
	}
}

// everyStatement is a transaction that does everything at once.
func everyStatement() []cypher.Statement {
	st := &standing{
		chunks:   map[string]oldChunk{"old": {document: "d", key: "k2"}},
		entities: map[string]share{"e2": {name: "n", kind: "A"}, "e3": {name: "n", kind: "B"}},
		edges:    map[edgeKey]edge{{"e1", "e2", "R"}: {source: "e1", target: "e2", kind: "R"}},
		stale:    map[string]map[string]string{"d": {"k2": "old"}},
	}
	change := Change{Graph: graph.DocumentGraph{
		Document: graph.Document{ID: "d"},
		Chunks:   []graph.Chunk{{ID: "c1", ContentKey: "k1"}, {ID: "c2", ContentKey: "k2"}},
		Sections: []graph.Section{{ID: "s1", Chunks: []graph.ChunkID{"c1"}}, {ID: "s2", Parent: "s1"}},
		Mentions: []graph.EntityMention{{Entity: "e1", Chunk: "c1", Names: []string{"n"}}},
	}}
	evidenced := func(source, target string) edge {
		return edge{source: source, target: target, kind: "R", evidence: []evidence{{chunk: "c1", quote: "q"}}}
	}
	t := &transaction{}
	t.begin()
	t.claim([]string{"d"})
	t.strip([]string{"d"}, []string{"old"})
	t.chunks([]Change{change}, st)
	t.deleteChunks([]string{"old"})
	t.sections([]Change{change})
	t.entities(map[string]share{"e1": {name: "n", kind: "A"}, "e2": {name: "nn", kind: "A"}, "e3": {name: "n", kind: "A"}}, st)
	t.mentions([]Change{change})
	t.relations([]edge{evidenced("e1", "e2"), evidenced("e2", "e1")}, st)
	t.deleteRelations([]edgeKey{{"e1", "e2", "R"}})
	t.deleteEntities([]string{"e1"})
	t.finish([]Change{change})
	t.deleteDocuments([]string{"d"})
	statements := make([]cypher.Statement, len(t.writes))
	for i, w := range t.writes {
		statements[i] = w.statement
	}
	ids := []string{"x"}
	return append(statements, whichDocuments(ids), chunksOf(ids), mentionedIn(ids), relatedIn(ids), entitiesOf(ids), mentionsOf(ids),
		edgesOf([]cypher.Record{{{Name: "s", Value: "a"}, {Name: "t", Value: "b"}, {Name: "r", Value: "c"}}}))
}

// TestFailedStatementKeepsTheDocumentUndone breaks a statement in the middle of
// a transaction: the engine carries on, the fingerprints must not be written.
func TestFailedStatementKeepsTheDocumentUndone(t *testing.T) {
	f := enginetest.Start(t)
	client, err := conn.Open(conn.Options{Socket: f.Address, Username: f.Writer.User, Password: f.Writer.Secret})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	s, err := Open(t.Context(), client, Options{Graph: "g"})
	if err != nil {
		t.Fatal(err)
	}
	owner, err := LocalOwner("run")
	if err != nil {
		t.Fatal(err)
	}
	lock, err := s.Acquire(t.Context(), owner, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Release(context.Background())
	if err := s.prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	change := Change{Graph: graph.DocumentGraph{
		Document: graph.Document{ID: "d", Path: "d.txt", Status: "ingested", Fingerprints: graph.Fingerprints{Content: "x"}},
		Chunks:   []graph.Chunk{{ID: "c1", Text: "t", ContentKey: "k1"}},
	}}
	transaction, err := s.plan(t.Context(), []Change{change}, []string{"d"})
	if err != nil {
		t.Fatal(err)
	}
	broken := transaction.writes
	middle := len(broken) - 1
	broken = append(broken[:middle:middle], write{statement: cypher.New(`UNWIND [1] AS x MATCH (c:Chunk) SET c.text = {a: 'b'}`+counted, nil)}, broken[middle])
	steps := transaction.steps + 1
	broken[len(broken)-1] = write{statement: cypher.New(`MATCH (m:__Meta__ {id: 'default'}) WHERE m.step = $steps MATCH (d:Document) SET d.content_hash = 'x', d.status = 'ingested'`, cypher.Params{"steps": steps})}
	if err := s.exec(t.Context(), "commit", broken); err == nil {
		t.Fatal("no error")
	}
	documents, err := s.Documents(t.Context())
	if err != nil || documents["d"].Status != StatusWriting || documents["d"].Fingerprints.Content != "" {
		t.Errorf("documents %+v, %v", documents, err)
	}
	if err := s.Commit(t.Context(), []Change{change}); err != nil {
		t.Fatal(err)
	}
	if documents, err = s.Documents(t.Context()); err != nil || documents["d.txt"].Fingerprints.Content != "x" {
		t.Errorf("done again: %+v, %v", documents, err)
	}
}
