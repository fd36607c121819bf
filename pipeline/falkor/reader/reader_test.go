package reader_test

import (
	"context"
	"testing"
	"time"

	"graphmill/pipeline/engine/enginetest"
	"graphmill/pipeline/falkor/conn"
	"graphmill/pipeline/falkor/cypher"
	"graphmill/pipeline/falkor/reader"
)

// start makes a graph g and returns a Reader that logs in as the read-only user,
// and the writer's connection.
func start(t *testing.T, o reader.Options) (*reader.Reader, *conn.Client) {
	t.Helper()
	f := enginetest.Start(t)
	open := func(user, secret string) *conn.Client {
		client, err := conn.Open(conn.Options{Socket: f.Address, Username: user, Password: secret, ClientName: "queryd"})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { client.Close() })
		return client
	}
	writer := open(f.Writer.User, f.Writer.Secret)
	if err := writer.Redis().Do(t.Context(), "GRAPH.QUERY", "g", "CREATE (:A {x: 'one', profile: 'p'})").Err(); err != nil {
		t.Fatal(err)
	}
	return reader.New(open(f.Reader.User, f.Reader.Secret), o), writer
}

func TestReaderReadsAsTheReadOnlyUser(t *testing.T) {
	r, _ := start(t, reader.Options{})
	rows, err := r.Query(t.Context(), "g", cypher.New(`MATCH (n:A) WHERE n.x = $x RETURN n.x AS x`, cypher.Params{"x": "one"}))
	if err != nil || rows.Len() != 1 || rows.String(0, "x") != "one" {
		t.Errorf("Query() = %v", err)
	}
	if meta, err := r.Meta(t.Context(), "g"); err != nil || meta.Exists {
		t.Errorf("another program's graph: %+v, %v", meta, err)
	}
	if o, err := r.Ontology(t.Context(), "g"); err != nil || len(o.Entities) != 0 {
		t.Errorf("ontology %+v, %v", o, err)
	}
	if indexes, err := r.Indexes(t.Context(), "g"); err != nil || len(indexes) != 0 {
		t.Errorf("indexes %+v, %v", indexes, err)
	}
}

func TestExistsTellsNoGraphFromNoServer(t *testing.T) {
	r, writer := start(t, reader.Options{})
	if ok, err := r.Exists(t.Context(), "g"); !ok || err != nil {
		t.Errorf("g: %v, %v", ok, err)
	}
	if ok, err := r.Exists(t.Context(), "never"); ok || err != nil {
		t.Errorf("never: %v, %v", ok, err)
	}
	nowhere, err := conn.Open(conn.Options{Socket: t.TempDir() + "/s"})
	if err != nil {
		t.Fatal(err)
	}
	defer nowhere.Close()
	if _, err := reader.New(nowhere, reader.Options{}).Exists(t.Context(), "g"); conn.KindOf(err) != conn.Unreachable {
		t.Errorf("no server: %v", err)
	}
	if keys := writer.Redis().Keys(t.Context(), "*").Val(); len(keys) != 1 {
		t.Errorf("keys %q", keys)
	}
}

func TestWritesAreRefusedByTheEngine(t *testing.T) {
	r, writer := start(t, reader.Options{})
	for _, text := range []string{
		"CREATE (:B)", "MERGE (:B)", "MATCH (n) SET n.x = 2", "MATCH (n) DELETE n", "CREATE INDEX FOR (n:A) ON (n.x)",
		"CALL db.idx.fulltext.createNodeIndex('A', 'x')", "MATCH (n) CALL { WITH n CREATE (:B) } RETURN 1", "MATCH (n) FOREACH (i IN [1] | CREATE (:B))",
	} {
		if _, err := r.Query(t.Context(), "g", cypher.Caller(text, nil)); conn.KindOf(err) != conn.ReadOnly {
			t.Errorf("%s: %v", text, err)
		}
	}
	if n := writer.Redis().Do(t.Context(), "GRAPH.RO_QUERY", "g", "MATCH (n) RETURN count(n)").Val(); n == nil {
		t.Error("the graph is gone")
	}
}

func TestTextThatReachesOutIsRefusedBeforeItIsSent(t *testing.T) {
	r, _ := start(t, reader.Options{})
	for _, text := range []string{
		"LOAD CSV FROM 'https://example.com/x' AS row RETURN row", "load csv from 'file:///etc/passwd' as row return row",
		"LOAD/**/CSV FROM 'x' AS row RETURN row", "LOAD // x\nCSV FROM 'x' AS row RETURN row", "UNWIND [1] AS x LOAD\tCSV FROM 'x' AS row RETURN row",
		"PROFILE MATCH (n) RETURN n.x AS x", "/* x */ explain MATCH (n) RETURN n.x AS x", "CYPHER a=1 PROFILE MATCH (n) RETURN n.x AS x",
	} {
		if _, err := r.Query(t.Context(), "g", cypher.Caller(text, nil)); conn.KindOf(err) != conn.ReadOnly {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, text := range []string{"MATCH (n:A) RETURN n.profile AS x", "MATCH (n:A) WHERE n.x <> 'download csv' RETURN n.x AS x", "MATCH (profile:A) RETURN profile.x AS x"} {
		if rows, err := r.Query(t.Context(), "g", cypher.Caller(text, nil)); err != nil || rows.Len() != 1 {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestSlowReadEndsAtItsTimeOut(t *testing.T) {
	r, _ := start(t, reader.Options{Timeout: 30 * time.Millisecond})
	_, err := r.Query(t.Context(), "g", cypher.Caller(`UNWIND range(1, 3000) AS a UNWIND range(1, 3000) AS b UNWIND range(1, 1000) AS c RETURN count(c) AS x`, nil))
	if conn.KindOf(err) != conn.Timeout {
		t.Errorf("Query() = %v", err)
	}
}

// A server counts what the engine still works on, so it must not be told early.
func TestAStatementIsWaitedOutWhenItsContextEnds(t *testing.T) {
	const slow = `UNWIND range(1, 3000) AS a UNWIND range(1, 3000) AS b UNWIND range(1, 1000) AS c RETURN count(c) AS x`
	for _, waitOut := range []bool{false, true} {
		r, _ := start(t, reader.Options{Timeout: 400 * time.Millisecond, WaitOut: waitOut})
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		began := time.Now()
		_, err := r.Query(ctx, "g", cypher.Caller(slow, nil))
		cancel()
		if waited := time.Since(began) > 300*time.Millisecond; err == nil || waited != waitOut {
			t.Errorf("waited out %v: %v after %s", waitOut, err, time.Since(began))
		}
		if _, err := r.Query(ctx, "g", cypher.New("RETURN 1 AS one", nil)); err == nil {
			t.Error("a statement is sent for nobody")
		}
	}
}
