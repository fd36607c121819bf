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
	if err := s.endBuilding(t.Context()); err != nil {
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
	t.documents([]Change{change})
	t.strip([]string{"d"}, []string{"old"})
	t.chunks([]Change{change}, st)
	t.deleteChunks([]string{"old"})
	t.sections([]Change{change})
	t.entities(map[string]share{"e1": {name: "n", kind: "A"}, "e2": {name: "nn", kind: "A"}, "e3": {name: "n", kind: "A"}}, st)
	t.mentions([]Change{change}, targets{"e1": {id: "e2", key: "n", kind: "A"}})
	t.move([]move{{from: "e1", origin: "e1", to: "e2", kind: "A"}})
	t.records([]Merge{{ID: "m"}})
	t.deleteRecords([]string{"m"})
	t.descriptions([]Description{{ID: "d"}})
	t.forgetDescriptions([]string{"d"})
	t.relations([]edge{evidenced("e1", "e2"), evidenced("e2", "e1"), evidenced("e1", "e1")}, st)
	t.deleteRelations([]edgeKey{{"e1", "e2", "R"}})
	t.deleteEntities([]string{"e1"})
	t.deleteDocuments([]string{"d"})
	ids := []string{"x"}
	return append(t.statements, cypher.Chain(t.statements...), whichDocuments(ids), chunksOf(ids), mentionedIn(ids), relatedIn(relates)(ids), relatedIn(within)(ids), entitiesOf(ids), mentionsOf(ids),
		edgesOf(relates)([]cypher.Record{{{Name: "s", Value: "a"}, {Name: "t", Value: "b"}, {Name: "r", Value: "c"}}}))
}

// TestFailedStatementTakesAllOfACommitBack breaks a statement late in a commit.
func TestFailedStatementTakesAllOfACommitBack(t *testing.T) {
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
	change := func(text string) Change {
		return Change{Graph: graph.DocumentGraph{
			Document: graph.Document{ID: "d", Path: "d.txt", Status: "ingested", Fingerprints: graph.Fingerprints{Content: text}},
			Chunks:   []graph.Chunk{{ID: graph.ChunkID("c " + text), Text: text, ContentKey: text}},
			Entities: []graph.Entity{{ID: graph.EntityID("e " + text), Type: "T"}},
			Mentions: []graph.EntityMention{{Entity: graph.EntityID("e " + text), Chunk: graph.ChunkID("c " + text), Names: []string{text}}},
		}}
	}
	if err := s.Commit(t.Context(), []Change{change("old")}); err != nil {
		t.Fatal(err)
	}
	want, err := s.Digest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	transaction, err := s.plan(t.Context(), []Change{change("new")}, []string{"d"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	broken := append(transaction.statements, cypher.New(`MATCH (c:Chunk) SET c.text = {a: 'b'}`, nil))
	if err := s.exec(t.Context(), "commit", broken...); err == nil {
		t.Fatal("no error")
	}
	if got, err := s.Digest(t.Context()); err != nil || got != want {
		t.Errorf("part of the commit stayed, %v", err)
	}
}
