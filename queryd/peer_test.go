package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"graphmill/pipeline/engine/enginetest"
	"graphmill/pipeline/falkor/conn"
	"graphmill/pipeline/falkor/cypher"
	"graphmill/pipeline/models"
	"graphmill/queryd/retrieve"
)

// peerRow is a line of testdata/peer/graph.jsonl: a node, an edge or an index.
type peerRow struct {
	Graph      string // what is behind the graph's name
	Labels     []string
	Type       string
	Source     int // of an edge: the place of its ends among the graph's nodes
	Target     int
	Properties map[string]any
	Embedding  []float64
	Index      string // the statement that made it
}

// loadPeer brings the graph that graphrag-sdk built into the engine under a name,
// as it was; change may leave rows out or alter them.
func loadPeer(t testing.TB, client *conn.Client, name string, change func(*peerRow) bool) {
	t.Helper()
	file, err := os.Open("../testdata/peer/graph.jsonl")
	must(t, err)
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	nodes := map[string]int{}
	var order []string // of the groups: nodes, edges, indexes
	groups, rows := map[string]*peerRow{}, map[string][]cypher.Record{}
	for lines.Scan() {
		row := &peerRow{}
		decoder := json.NewDecoder(strings.NewReader(lines.Text()))
		decoder.UseNumber()
		must(t, decoder.Decode(row))
		if change != nil && !change(row) {
			continue
		}
		if row.Labels != nil {
			row.Source = nodes[row.Graph]
			nodes[row.Graph]++
		}
		group := fmt.Sprint(row.Graph, row.Labels, row.Type, row.Index)
		if groups[group] == nil {
			order = append(order, group)
			groups[group] = row
		}
		rows[group] = append(rows[group], row.record())
	}
	must(t, lines.Err())
	slices.SortStableFunc(order, func(a, b string) int { return groups[a].rank() - groups[b].rank() })
	for _, group := range order {
		send(t, client, name+groups[group].Graph, groups[group].statement(rows[group]))
	}
	for graph := range nodes {
		send(t, client, name+graph, cypher.New(`MATCH (n) SET n._row = NULL`, nil))
	}
	awaitIndexes(t, client, name)
}

// rank puts nodes before edges and edges before indexes.
func (r *peerRow) rank() int {
	switch {
	case r.Labels != nil:
		return 0
	case r.Type != "":
		return 1
	}
	return 2
}

func (r *peerRow) record() cypher.Record {
	var fields cypher.Record
	for _, key := range slices.Sorted(maps.Keys(r.Properties)) {
		fields = append(fields, cypher.Field{Name: key, Value: plain(r.Properties[key])})
	}
	record := cypher.Record{{Name: "row", Value: r.Source}, {Name: "to", Value: r.Target}, {Name: "p", Value: fields}}
	if r.Embedding != nil {
		record = append(record, cypher.Field{Name: "v", Value: r.Embedding})
	}
	return record
}

// statement makes all rows that are of the kind of this one.
func (r *peerRow) statement(rows []cypher.Record) cypher.Statement {
	params := cypher.Params{"rows": rows}
	switch {
	case r.Index != "":
		return cypher.Caller(r.Index, nil)
	case r.Type != "":
		return cypher.New(`UNWIND $rows AS row MATCH (a {_row: row.row}), (b {_row: row.to}) CREATE (a)-[n:«type»]->(b)
SET n += row.p, n.embedding = CASE WHEN row.v IS NULL THEN NULL ELSE vecf32(row.v) END`, params).WithLabel("type", r.Type)
	case len(r.Labels) == 2:
		return cypher.New(`UNWIND $rows AS row CREATE (n:«label»:«other» {_row: row.row}) SET n += row.p, n.embedding = vecf32(row.v)`, params).
			WithLabel("label", r.Labels[0]).WithLabel("other", r.Labels[1])
	}
	return cypher.New(`UNWIND $rows AS row CREATE (n:«label» {_row: row.row})
SET n += row.p, n.embedding = CASE WHEN row.v IS NULL THEN NULL ELSE vecf32(row.v) END`, params).WithLabel("label", r.Labels[0])
}

// plain turns what JSON gives into what a parameter takes.
func plain(value any) any {
	switch v := value.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		f, _ := v.Float64()
		return f
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = plain(v[i])
		}
		return list
	}
	return value
}

func send(t testing.TB, client *conn.Client, graph string, statement cypher.Statement) {
	t.Helper()
	text, err := statement.Append(nil)
	must(t, err)
	if err := client.Redis().Do(t.Context(), "GRAPH.QUERY", graph, text).Err(); err != nil {
		t.Fatalf("%.300s: %v", text, err)
	}
}

func awaitIndexes(t testing.TB, client *conn.Client, graph string) {
	t.Helper()
	for {
		rows, err := client.Read(t.Context(), graph, cypher.New(`CALL db.indexes() YIELD status RETURN status`, nil), time.Minute)
		must(t, err)
		ready := true
		for i := range rows.Len() {
			ready = ready && rows.String(i, "status") == "OPERATIONAL"
		}
		if ready {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// peerSearcher asks as queryd with the embedder that the graph was made with.
func peerSearcher(t testing.TB, f *enginetest.Fixture, graph string, dimension int) (*retrieve.Searcher, *watched) {
	t.Helper()
	s, store := searcher(t, f, graph)
	embedder, err := models.NewHashEmbedder(dimension)
	must(t, err)
	s.Embedder = func(context.Context) (models.Embedder, error) { return embedder, nil }
	return s, store
}

// testPeer asks a graph that graphrag-sdk 1.4.0 built; testdata/peer/README.md
// tells how.
func testPeer(t *testing.T, f *enginetest.Fixture) {
	writer := writerConnection(t, f)
	loadPeer(t, writer, "peer", nil)
	t.Run("paths", func(t *testing.T) { testPeerPaths(t, f) })
	t.Run("names", func(t *testing.T) { testPeerNames(t, f) })
	t.Run("spans", func(t *testing.T) { testPeerSpans(t, f, writer) })
	t.Run("update", func(t *testing.T) { testPeerUpdate(t, f, writer) })
	t.Run("models", func(t *testing.T) { testPeerModels(t, f, writer) })
	t.Run("tools", func(t *testing.T) { testPeerTools(t, f) })
	t.Run("vectors", testPeerVectors)
	if !testing.Short() {
		t.Run("size", func(t *testing.T) { testPeerSize(t, f) })
	}
}

func testPeerPaths(t *testing.T, f *enginetest.Fixture) {
	s, _ := peerSearcher(t, f, "peer", 64)
	result := search(t, s, "Who worked with Charles Babbage?")
	want := map[string]int{"facts vector": 5, "exact_names names": 1, "fuzzy_names full text": 1, "fuzzy_names vector": 5,
		"links neighbours": 3, "passages vector": 5, "passages full text": 2, "passages mentions": 2, "ranking nearness": 10}
	for _, report := range result.Trace {
		key := string(report.Path) + " " + report.Search
		if report.Error != "" || report.Hits < want[key] || want[key] == 0 {
			t.Errorf("%+v, of at least %d hits", report, want[key])
		}
		delete(want, key)
	}
	if len(want) > 0 {
		t.Errorf("not searched: %v", want)
	}
	if result.Pending || result.Changing || result.Empty {
		t.Errorf("state: %+v", result)
	}

	fact := search(t, s, "(Ada Lovelace, WORKED_WITH, Charles Babbage): Ada Lovelace worked with Charles Babbage.", retrieve.Facts).Facts[0]
	if fact.Type != "WORKED_WITH" || fact.Source != "Ada Lovelace" || fact.SourceType != "Person" || fact.Target != "Charles Babbage" ||
		fact.Statement != "Ada Lovelace worked with Charles Babbage." || fact.Support != 2 {
		t.Errorf("the nearest fact: %+v", fact)
	}
	passages := search(t, s, "Bjarne Stroustrup began C++ at AT&T in 1979, where Unix was written. Node.js runs JavaScript outside of a browser.", retrieve.Passages).Passages
	if p := passages[0]; !strings.HasPrefix(p.Text, "Bjarne") || p.Document != "languages.txt" || p.Span.End != 0 || p.First != 0 {
		t.Errorf("the nearest passage: %+v", p)
	}
	for i, p := range passages {
		for _, other := range passages[:i] {
			if p.ID == other.ID {
				t.Errorf("passage %s comes twice", p.ID)
			}
		}
	}
}

// testPeerUpdate: while the peer replaces a document, both versions are there.
func testPeerUpdate(t *testing.T, f *enginetest.Fixture, writer *conn.Client) {
	loadPeer(t, writer, "peer_update", func(row *peerRow) bool {
		if row.Properties["path"] == "languages.txt" {
			row.Properties["id"] = "languages.txt__pending__0123abcd"
		}
		return true
	})
	s, _ := peerSearcher(t, f, "peer_update", 64)
	for _, p := range search(t, s, "Bjarne Stroustrup began C++ at AT&T").Passages {
		if p.Document == "languages.txt" {
			t.Errorf("a version that does not count yet is shown: %+v", p)
		}
	}
}

// testPeerNames looks names up that the peer's own search does not find, and one
// that it wrote with two spaces.
func testPeerNames(t *testing.T, f *enginetest.Fixture) {
	s, _ := peerSearcher(t, f, "peer", 64)
	for question, want := range map[string][]string{
		"Was it c++, or node.js at at&t?":         {"C++", "Node.js", "AT&T"},
		"Where is NEW YORK?":                      {"New York", "New  York"},
		"(“Ada Lovelace’s” program)":              {"Ada Lovelace"},
		"Which river is in Paris Hilton's Paris?": {"Paris Hilton", "Paris"},
	} {
		names := namesOf(search(t, s, question, retrieve.ExactNames))
		for _, name := range want {
			if !slices.Contains(names, name) {
				t.Errorf("%s finds %q, not %s", question, names, name)
			}
		}
		if len(names) != len(want) {
			t.Errorf("%s finds %q", question, names)
		}
	}
	for _, question := range []string{"C++ Unix", "the polynomials, computed?", "What was wrote in 1843 — a program?"} {
		result := search(t, s, question, retrieve.Passages)
		if report := result.Trace[1]; report.Search != "full text" || report.Hits == 0 || report.Error != "" {
			t.Errorf("%s: %+v", question, report)
		}
	}
}

// testPeerSpans: the peer counts from the passage's begin, and a model says from
// where to where. What is no sentence about both ends is not quoted.
func testPeerSpans(t *testing.T, f *enginetest.Fixture, writer *conn.Client) {
	quotes := func(graph string) []retrieve.Quote {
		s, _ := peerSearcher(t, f, graph, 64)
		linked := search(t, s, "Luigi Menabrea", retrieve.ExactNames, retrieve.Links)
		if len(linked.Relations) != 1 || linked.Relations[0].Type != "DESCRIBED" {
			t.Fatalf("relations around Luigi Menabrea: %+v", linked.Relations)
		}
		return linked.Relations[0].Evidence
	}
	const sentence = "Luigi Menabrea described the Analytical Engine for the University of Turin."
	if got := quotes("peer"); len(got) != 1 || got[0].Text != sentence || got[0].Document != "babbage.md" || got[0].Span.End != 0 {
		t.Errorf("quotes: %+v", got)
	}
	for i, span := range []string{`[{"start": 3, "end": 40}]`, `[{"start": 100, "end": 9000}]`, `[{"start": -5, "end": -1}]`, `"no list"`, ``} {
		name := fmt.Sprint("spans", i)
		loadPeer(t, writer, name, func(row *peerRow) bool {
			if chunks, ok := row.Properties["source_chunk_ids"].([]any); ok && row.Type == "RELATES" {
				row.Properties["spans"] = fmt.Sprintf(`{"%s": %s}`, chunks[0], span)
			}
			return true
		})
		if got := quotes(name); len(got) != 1 || got[0].Text != "" || got[0].Document != "babbage.md" || got[0].Span.End != 0 {
			t.Errorf("spans %s: %+v", span, got)
		}
	}
}

// testPeerModels: vectors of another model or length are not compared, whoever
// wrote the graph; words are searched all the same.
func testPeerModels(t *testing.T, f *enginetest.Fixture, writer *conn.Client) {
	config := func(model any, dimension any) func(*peerRow) bool {
		return func(row *peerRow) bool {
			if slices.Contains(row.Labels, "__GraphRAGConfig__") {
				row.Properties["embedding_model"], row.Properties["embedding_dimension"] = model, dimension
				return model != nil
			}
			return true
		}
	}
	loadPeer(t, writer, "peer_other", config("openai/text-embedding-3-small", json.Number("64")))
	loadPeer(t, writer, "peer_long", config("hash-64@1", json.Number("1536")))
	loadPeer(t, writer, "peer_mute", config(nil, nil))
	for _, c := range []struct {
		graph     string
		dimension int
		names     []string // both models, as the error tells them
	}{
		{"peer", 384, []string{"hash-64@1 (64 dimensions)", "hash-384@1 (384 dimensions)", "embedder.model_dir"}},
		{"peer_other", 64, []string{"openai/text-embedding-3-small (64 dimensions)", "hash-64@1 (64 dimensions)", "embedder.model_dir"}},
		{"peer_long", 64, []string{"hash-64@1 (1536 dimensions)", "hash-64@1 (64 dimensions)"}},
		{"peer_mute", 384, []string{"a model that the graph does not name (64 dimensions)", "hash-384@1 (384 dimensions)"}},
		{"other_model", 384, []string{"another-model@1 (384 dimensions)", "hash-384@1 (384 dimensions)", "ingestd finalize --reembed"}},
		{"knowledge_graph", 64, []string{"hash-384@1 (384 dimensions)", "hash-64@1 (64 dimensions)", "ingestd finalize --reembed"}},
	} {
		s, _ := peerSearcher(t, f, c.graph, c.dimension)
		_, err := s.Search(t.Context(), retrieve.Request{Question: "Charles Babbage", TopK: 5, Paths: []retrieve.Path{retrieve.Facts}})
		var other *retrieve.OtherModel
		if !errors.As(err, &other) {
			t.Errorf("%s: %v", c.graph, err)
			continue
		}
		for _, name := range c.names {
			if !strings.Contains(err.Error(), name) {
				t.Errorf("%s: %q does not say %q", c.graph, err, name)
			}
		}
		result := search(t, s, "Charles Babbage")
		for _, report := range result.Trace {
			if vector := report.Search == "vector"; vector && (report.Hits > 0 || !strings.Contains(report.Error, c.names[0])) || !vector && report.Hits == 0 {
				t.Errorf("%s: %+v", c.graph, report)
			}
		}
	}
	s, _ := peerSearcher(t, f, "peer_mute", 64)
	if facts := search(t, s, "Charles Babbage", retrieve.Facts).Facts; len(facts) == 0 {
		t.Error("a graph that does not name its model is not searched")
	}
}
