package store_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"graphmill/pipeline/engine/enginetest"
	"graphmill/pipeline/falkor/conn"
	"graphmill/pipeline/falkor/cypher"
	"graphmill/pipeline/falkor/shape"
	"graphmill/pipeline/falkor/store"
	"graphmill/pipeline/graph"
)

// connect opens a connection as the engine's writer.
func connect(t testing.TB, f *enginetest.Fixture) *conn.Client {
	t.Helper()
	client, err := conn.Open(conn.Options{Socket: f.Address, Username: f.Writer.User, Password: f.Writer.Secret})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return client
}

// locked opens a store and takes its lock.
func locked(t testing.TB, client *conn.Client, name string) *store.Store {
	t.Helper()
	s := opened(t, client, name)
	lock, err := s.Acquire(t.Context(), owner(t), 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { lock.Release(context.Background()) })
	return s
}

func opened(t testing.TB, client *conn.Client, name string) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), client, store.Options{Graph: name, Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func owner(t testing.TB) store.LockOwner {
	t.Helper()
	o, err := store.LocalOwner("run")
	if err != nil {
		t.Fatal(err)
	}
	return o
}

var nameInText = regexp.MustCompile(`\b[A-Z][a-z]+(?: [A-Z][a-z]+)*\b`)

// document stands in for the whole pipeline: paragraphs are chunks, capitalised
// words are entities, neighbours in a sentence are related, by two types when the
// sentence says so.
func document(path, text string) store.Change {
	id := graph.FileDocumentID(path)
	g := graph.DocumentGraph{Document: graph.Document{
		ID: id, Path: path, Title: "T " + path, Format: "text", SizeBytes: int64(len(text)), Status: "ingested",
		Metadata:     map[string]string{"author": "A. Writer"},
		Fingerprints: graph.Fingerprints{Content: graph.Hash(text), Plan: "p1", Ontology: "o1", Model: "m1", Format: "f1"},
	}}
	section := graph.Section{ID: graph.NewSectionID(id, 0, "All"), Title: "All", Depth: 1, Span: graph.Span{End: len(text)}}
	sub := graph.Section{ID: graph.NewSectionID(id, 1, "Sub"), Title: "Sub", Parent: section.ID, Depth: 2, Order: 1}
	relations := map[string]*graph.Relation{}
	entities := map[graph.EntityID]graph.Entity{}
	start := 0
	for i, paragraph := range strings.Split(text, "\n\n") {
		span := graph.Span{Start: start, End: start + len(paragraph)}
		start = span.End + 2
		chunk := graph.Chunk{
			ID: graph.NewChunkID(id, span, paragraph), Index: i, Text: paragraph, Span: span, FirstLine: i + 1, LastLine: i + 1,
			TokenCount: len(paragraph) / 4, Header: "All", ContentKey: graph.Hash("All", paragraph),
		}
		g.Chunks = append(g.Chunks, chunk)
		section.Chunks = append(section.Chunks, chunk.ID)
		mentions := map[graph.EntityID]*graph.EntityMention{}
		var order []graph.EntityID
		for _, at := range nameInText.FindAllStringIndex(paragraph, -1) {
			name := paragraph[at[0]:at[1]]
			kind := []string{"Person", "Place", "Odd Type"}[len(name)%3]
			entity := graph.NewEntityID(name, kind)
			entities[entity] = graph.Entity{ID: entity, Type: kind, Name: name, NameKey: graph.NameKey(name)}
			m := mentions[entity]
			if m == nil {
				m = &graph.EntityMention{Entity: entity, Chunk: chunk.ID, Names: []string{name}, Score: 0.1 + float64(len(paragraph)%9)/10.1,
					Method: "pattern", Description: paragraph, Telling: 1 / float64(len(paragraph)+1)}
				mentions[entity] = m
				order = append(order, entity)
			}
			m.Spans = append(m.Spans, graph.Span{Start: span.Start + at[0], End: span.Start + at[1]})
		}
		for k, entity := range order {
			g.Mentions = append(g.Mentions, *mentions[entity])
			if k == 0 {
				continue
			}
			for _, kind := range []string{"NEAR", "KNOWS"} {
				if kind == "KNOWS" && !strings.Contains(paragraph, "knows") {
					continue
				}
				key := string(order[k-1]) + kind + string(entity)
				r := relations[key]
				if r == nil {
					r = &graph.Relation{Source: order[k-1], Target: entity, Type: kind, SourceName: entities[order[k-1]].Name, TargetName: entities[entity].Name}
					relations[key] = r
				}
				r.Evidence = append(r.Evidence, graph.RelationEvidence{Chunk: chunk.ID, Span: span, Quote: paragraph, Score: 0.5 + 1/float64(3+len(paragraph)), Method: "cues"})
			}
		}
	}
	g.Sections = []graph.Section{section, sub}
	for _, entity := range entities {
		g.Entities = append(g.Entities, entity)
	}
	for _, relation := range relations {
		g.Relations = append(g.Relations, *relation)
	}
	return store.Change{Graph: g, Plan: "fixed/pattern/exact"}
}

func commit(t testing.TB, s *store.Store, changes ...store.Change) {
	t.Helper()
	if err := s.Commit(t.Context(), changes); err != nil {
		t.Fatal(err)
	}
}

func digest(t testing.TB, s *store.Store) string {
	t.Helper()
	d, err := s.Digest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// ask runs a statement and returns its rows as text, sorted.
func ask(t testing.TB, client *conn.Client, name string, statement cypher.Statement) []string {
	t.Helper()
	rows, err := client.Read(t.Context(), name, statement, 0)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for i := range rows.Len() {
		out = append(out, fmt.Sprint(rows.Row(i)...))
	}
	slices.Sort(out)
	return out
}

func count(t testing.TB, client *conn.Client, name string, statement cypher.Statement) int {
	t.Helper()
	rows, err := client.Read(t.Context(), name, statement, 0)
	if err != nil {
		t.Fatal(err)
	}
	return rows.Int(0, "n")
}

var corpus = []store.Change{
	document("a.txt", "Ada Lovelace met Charles Babbage in London.\n\nCharles Babbage knows Mary Somerville well, of London."),
	document("b.txt", "London is where Mary Somerville wrote.\n\nAda Lovelace knows Mary Somerville."),
	document("c.txt", "Paris has Blaise Pascal. Blaise Pascal knows Paris."),
	document("d.txt", "Ada Lovelace met Charles Babbage in London.\n\nAda Lovelace met Blaise Pascal in Paris, not in London."),
}

func TestGraphDoesNotDependOnOrderOrGroupingOfCommits(t *testing.T) {
	client := connect(t, enginetest.Start(t))
	want := ""
	for round := range 6 {
		s := locked(t, client, fmt.Sprintf("g%d", round))
		changes := slices.Clone(corpus)
		rand.New(rand.NewPCG(uint64(round), 7)).Shuffle(len(changes), func(i, j int) { changes[i], changes[j] = changes[j], changes[i] })
		for part := range slices.Chunk(changes, 1+round%4) {
			commit(t, s, part...)
		}
		got := digest(t, s)
		if want == "" {
			want = got
		}
		if got != want {
			t.Errorf("round %d, %d documents a commit: digest %s, first was %s", round, 1+round%4, got, want)
		}
	}
}

func TestCommitTwiceIsCommitOnce(t *testing.T) {
	client := connect(t, enginetest.Start(t))
	s := locked(t, client, "g")
	commit(t, s, corpus...)
	want := digest(t, s)
	commit(t, s, corpus...)
	commit(t, s, corpus[1])
	if got := digest(t, s); got != want {
		t.Error("the same documents again changed the graph")
	}
}

func TestUpdateLeavesWhatAFreshBuildMakes(t *testing.T) {
	client := connect(t, enginetest.Start(t))
	for name, text := range map[string]string{
		"changed":      "Ada Lovelace met Mary Somerville in Rome.\n\nCharles Babbage knows Mary Somerville well, of London.",
		"grown":        "A new start with Zoe Zimmer.\n\nAda Lovelace met Charles Babbage in London.\n\nCharles Babbage knows Mary Somerville well, of London.",
		"shrunk":       "Ada Lovelace met Charles Babbage in London.",
		"nothing left": "no name here",
	} {
		t.Run(name, func(t *testing.T) {
			updated, fresh := locked(t, client, "updated "+name), locked(t, client, "fresh "+name)
			b := document("a.txt", text)
			commit(t, updated, corpus...)
			commit(t, updated, b)
			commit(t, fresh, corpus[1:]...)
			commit(t, fresh, b)
			if digest(t, updated) != digest(t, fresh) {
				t.Error("the updated graph is not the one built fresh")
			}
		})
	}
}

func TestReplaceKeepsWhatOthersSupportAndDropsTheRest(t *testing.T) {
	client := connect(t, enginetest.Start(t))
	s := locked(t, client, "g")
	commit(t, s, corpus...)
	commit(t, s, document("a.txt", "Only Grace Hopper now."))
	got := ask(t, client, "g", cypher.New(`MATCH (e:__Entity__) RETURN e.name + ' ' + e.mention_count`, nil))
	want := []string{"Ada Lovelace 3", "Blaise Pascal 3", "Charles Babbage 1", "London 3", "Mary Somerville 2", "Only Grace Hopper 1", "Paris 3"}
	if !slices.Equal(got, want) {
		t.Errorf("entities %q, want %q", got, want)
	}
	edges := ask(t, client, "g", cypher.New(`MATCH (a)-[r:RELATES]->(b) RETURN a.name + ' ' + r.rel_type + ' ' + b.name + ' ' + size(r.source_chunk_ids)`, nil))
	if !slices.Contains(edges, "Ada Lovelace NEAR Charles Babbage 1") || slices.ContainsFunc(edges, func(e string) bool { return strings.HasPrefix(e, "Charles Babbage KNOWS") }) {
		t.Errorf("edges after the replacement: %q", edges)
	}
	if n := count(t, client, "g", cypher.New(`MATCH (c:Chunk) WHERE NOT (c)<-[:PART_OF]-(:Document) RETURN count(c) AS n`, nil)); n != 0 {
		t.Errorf("%d chunks belong to no document", n)
	}
}

func TestTwoTypesBetweenOnePairAreTwoEdges(t *testing.T) {
	client := connect(t, enginetest.Start(t))
	s := locked(t, client, "g")
	commit(t, s, corpus[1])
	got := ask(t, client, "g", cypher.New(`MATCH ({name: 'Ada Lovelace'})-[r:RELATES]->({name: 'Mary Somerville'}) RETURN r.rel_type + ': ' + r.fact`, nil))
	want := []string{
		"KNOWS: (Ada Lovelace, KNOWS, Mary Somerville): Ada Lovelace knows Mary Somerville.",
		"NEAR: (Ada Lovelace, NEAR, Mary Somerville): Ada Lovelace knows Mary Somerville.",
	}
	if !slices.Equal(got, want) {
		t.Errorf("edges %q, want %q", got, want)
	}
}

func TestRemovingEverythingLeavesOnlyTheMetaNode(t *testing.T) {
	client := connect(t, enginetest.Start(t))
	s := locked(t, client, "g")
	commit(t, s, corpus...)
	for _, c := range corpus {
		if err := s.Remove(t.Context(), []graph.DocumentID{c.Graph.Document.ID}); err != nil {
			t.Fatal(err)
		}
	}
	got := ask(t, client, "g", cypher.New(`MATCH (n) RETURN labels(n)[0]`, nil))
	if !slices.Equal(got, []string{"__Meta__"}) {
		t.Errorf("left over: %q", got)
	}
	documents, err := s.Documents(t.Context())
	if err != nil || len(documents) != 0 {
		t.Errorf("Documents() = %v, %v", documents, err)
	}
}

func TestRemoveLeavesWhatABuildWithoutTheDocumentMakes(t *testing.T) {
	client := connect(t, enginetest.Start(t))
	all, without := locked(t, client, "all"), locked(t, client, "without")
	commit(t, all, corpus...)
	if err := all.Remove(t.Context(), []graph.DocumentID{"file:a.txt", "file:c.txt", "file:never there.txt"}); err != nil {
		t.Fatal(err)
	}
	commit(t, without, corpus[1], corpus[3])
	if digest(t, all) != digest(t, without) {
		t.Error("the graph after the removal is not the one built without the documents")
	}
}

func TestDocumentsSaysWhatWasCommitted(t *testing.T) {
	client := connect(t, enginetest.Start(t))
	s := locked(t, client, "g")
	if documents, err := s.Documents(t.Context()); err != nil || len(documents) != 0 {
		t.Fatalf("a graph that is not there has documents %v, %v", documents, err)
	}
	commit(t, s, corpus...)
	documents, err := s.Documents(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	g := corpus[0].Graph
	want := store.StoredDocument{
		ID: "file:a.txt", Path: "a.txt", Status: "ingested", Plan: "fixed/pattern/exact", Fingerprints: g.Document.Fingerprints, Format: "text",
		SizeBytes: g.Document.SizeBytes, Chunks: 2, Entities: len(g.Entities), Relations: len(g.Relations),
	}
	if got := documents["a.txt"]; got != want || len(documents) != 4 {
		t.Errorf("%d documents, a.txt = %+v, want %+v", len(documents), got, want)
	}
}

func TestHostileTextComesBackAsItWent(t *testing.T) {
	client := connect(t, enginetest.Start(t))
	s := locked(t, client, "g")
	hostile := "\u00a0He said \"Bob'); MATCH (n) DETACH DELETE n //\\\" \x1b[31m\u200d\ufeff\u2028\u00ad $x {a:1} `b` \t\r\x7f 𝛼 Zoe"
	c := document("h.txt", hostile)
	c.Graph.Document.Title, c.Graph.Document.Metadata = hostile, map[string]string{hostile: hostile}
	c.Graph.Relations = nil
	c.Plan = hostile
	commit(t, s, c)
	got := ask(t, client, "g", cypher.New(`MATCH (d:Document)-[:PART_OF]->(c:Chunk) RETURN c.text = $x AND d.title = $x AND d.plan = $x`, cypher.Params{"x": hostile}))
	rows, err := client.Read(t.Context(), "g", cypher.New(`MATCH (c:Chunk) RETURN c.text AS text`, nil), 0)
	if err != nil || rows.String(0, "text") != hostile || !slices.Equal(got, []string{"true"}) {
		t.Errorf("came back as %q, %v, %v", rows.String(0, "text"), got, err)
	}
}

func TestCommitRefusesWhatItCouldNotWriteWhole(t *testing.T) {
	client := connect(t, enginetest.Start(t))
	s := locked(t, client, "g")
	for name, spoil := range map[string]func(g *graph.DocumentGraph){
		"a type that cannot be a label":   func(g *graph.DocumentGraph) { g.Entities[0].Type = "a`b" },
		"a label of the graph's own":      func(g *graph.DocumentGraph) { g.Entities[0].Type = "Chunk" },
		"a mention of nothing":            func(g *graph.DocumentGraph) { g.Mentions[0].Entity = "nobody__person" },
		"a mention nowhere":               func(g *graph.DocumentGraph) { g.Mentions[0].Chunk = "c0" },
		"an entity that nothing mentions": func(g *graph.DocumentGraph) { g.Mentions = nil; g.Relations = nil },
		"a relation without evidence":     func(g *graph.DocumentGraph) { g.Relations[0].Evidence = nil },
		"a relation without a type":       func(g *graph.DocumentGraph) { g.Relations[0].Type = "" },
		"an id with white space":          func(g *graph.DocumentGraph) { g.Document.ID = "file:a " },
		"a chunk twice":                   func(g *graph.DocumentGraph) { g.Chunks = append(g.Chunks, g.Chunks[0]) },
		"a section under nothing":         func(g *graph.DocumentGraph) { g.Sections[1].Parent = "s0" },
	} {
		t.Run(name, func(t *testing.T) {
			c := document("x.txt", "Ada Lovelace met Charles Babbage.")
			spoil(&c.Graph)
			if err := s.Commit(t.Context(), []store.Change{corpus[0], c}); err == nil {
				t.Error("it was committed")
			}
		})
	}
	if documents, err := s.Documents(t.Context()); err != nil || len(documents) != 0 {
		t.Errorf("something was written: %v, %v", documents, err)
	}
}

func TestOpenRefusesOtherSchemas(t *testing.T) {
	client := connect(t, enginetest.Start(t))
	s := locked(t, client, "g")
	commit(t, s, corpus[0])
	for version, want := range map[int]string{shape.Schema + 1: "newer ingestd", shape.Schema - 1: "another --graph"} {
		text, err := cypher.New(`MATCH (m:__Meta__) SET m.schema = $v`, cypher.Params{"v": version}).Render()
		if err != nil {
			t.Fatal(err)
		}
		if err := client.Redis().Do(t.Context(), "GRAPH.QUERY", "g", text).Err(); err != nil {
			t.Fatal(err)
		}
		if _, err := store.Open(t.Context(), client, store.Options{Graph: "g"}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("schema %d: %v, want a hint with %q", version, err, want)
		}
	}
}

func TestOpenRefusesAnotherProgramsGraph(t *testing.T) {
	client := connect(t, enginetest.Start(t))
	if err := client.Redis().Do(t.Context(), "GRAPH.QUERY", "g", "CREATE (:__GraphRAGConfig__ {id: 'default', embedding_model: 'm'})").Err(); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Open(t.Context(), client, store.Options{Graph: "g"}); err == nil || !strings.Contains(err.Error(), "name another with --graph") {
		t.Errorf("a graph of graphrag-sdk: %v", err)
	}
}

func TestOpenAndReadingCreateNothing(t *testing.T) {
	client := connect(t, enginetest.Start(t))
	s := opened(t, client, "never written")
	for name, read := range map[string]func() error{
		"Meta":         func() error { _, err := s.Meta(t.Context()); return err },
		"Documents":    func() error { _, err := s.Documents(t.Context()); return err },
		"Digest":       func() error { _, err := s.Digest(t.Context()); return err },
		"LoadOntology": func() error { _, err := s.LoadOntology(t.Context()); return err },
		"Runs":         func() error { _, err := s.Runs(t.Context(), 5); return err },
		"PendingCount": func() error { _, err := s.PendingCount(t.Context(), store.ChunkVector); return err },
	} {
		if err := read(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	keys, err := client.Redis().Keys(t.Context(), "*").Result()
	if err != nil || len(keys) != 0 {
		t.Errorf("keys %q, %v", keys, err)
	}
}

func TestSourcesAreKept(t *testing.T) {
	client := connect(t, enginetest.Start(t))
	s := locked(t, client, "g")
	for _, source := range [][2]string{{"", "/data/one"}, {"two", "/data/\"two\""}, {"", "/data/moved"}} {
		if err := s.AddSource(t.Context(), source[0], source[1]); err != nil {
			t.Fatal(err)
		}
	}
	meta, err := s.Meta(t.Context())
	if err != nil || len(meta.Sources) != 2 || meta.Sources[""] != "/data/moved" || meta.Sources["two"] != `/data/"two"` {
		t.Errorf("sources %v, %v", meta.Sources, err)
	}
}

// Runs are in the order in which they were written down, whatever their clocks said.
func TestTheLedgerDoesNotGoByTheClock(t *testing.T) {
	client := connect(t, enginetest.Start(t))
	s := locked(t, client, "g")
	base := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	ids := []string{"z", "b", "y", "a", "c"}
	for i, id := range ids {
		started := base
		if i == 3 {
			started = base.Add(-time.Hour)
		}
		for _, status := range []string{store.RunRunning, store.RunDone} {
			if err := s.SaveRun(t.Context(), store.Run{ID: id, Verb: "run", Started: started, Status: status}); err != nil {
				t.Fatal(err)
			}
		}
	}
	runs, err := s.Runs(t.Context(), 10)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, run := range slices.Backward(runs) {
		got = append(got, run.ID)
	}
	if !slices.Equal(got, ids) {
		t.Errorf("runs %q, want %q", got, ids)
	}
}

func TestLedgerListsRunsNewestFirst(t *testing.T) {
	client := connect(t, enginetest.Start(t))
	s := locked(t, client, "g")
	base := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	for i, id := range []string{"one", "two"} {
		run := store.Run{ID: id, Verb: "run", Started: base.Add(time.Duration(i) * time.Hour), Status: "running", Totals: map[string]int{"files": i}}
		if err := s.SaveRun(t.Context(), run); err != nil {
			t.Fatal(err)
		}
		run.Ended, run.Status = run.Started.Add(time.Minute), "done"
		if err := s.SaveRun(t.Context(), run); err != nil {
			t.Fatal(err)
		}
	}
	runs, err := s.Runs(t.Context(), 10)
	if err != nil || len(runs) != 2 || runs[0].ID != "two" || runs[0].Status != "done" || runs[1].Totals["files"] != 0 || !runs[0].Ended.Equal(base.Add(61*time.Minute)) {
		t.Errorf("runs %+v, %v", runs, err)
	}
}
