package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"graphmill/pipeline/engine/enginetest"
	"graphmill/pipeline/falkor/conn"
	"graphmill/pipeline/falkor/cypher"
	"graphmill/pipeline/falkor/reader"
	"graphmill/pipeline/falkor/shape"
	"graphmill/pipeline/falkor/store"
	"graphmill/pipeline/graph"
	"graphmill/pipeline/models"
	"graphmill/queryd/evidence"
	"graphmill/queryd/retrieve"
)

// watched is the reading store; it keeps the statements and may refuse some.
type watched struct {
	*reader.Reader
	refuse string // part of the statements that fail
	after  func() // called after each statement

	mu         sync.Mutex
	statements []cypher.Statement
}

func (w *watched) Query(ctx context.Context, graph string, statement cypher.Statement) (*conn.Rows, error) {
	w.mu.Lock()
	w.statements = append(w.statements, statement)
	w.mu.Unlock()
	if w.refuse != "" && strings.Contains(statement.Text(), w.refuse) {
		return nil, &conn.Error{Kind: conn.Timeout, Op: "read graph " + graph}
	}
	if w.after != nil {
		defer w.after()
	}
	return w.Reader.Query(ctx, graph, statement)
}

func searcher(t testing.TB, f *enginetest.Fixture, graph string) (*retrieve.Searcher, *watched) {
	t.Helper()
	store := &watched{Reader: reader.New(readerConnection(t, f), reader.Options{})}
	embedder, err := models.NewHashEmbedder(384)
	must(t, err)
	return &retrieve.Searcher{Store: store, Graph: graph, Embedder: func(context.Context) (models.Embedder, error) { return embedder, nil }}, store
}

func search(t testing.TB, s *retrieve.Searcher, question string, paths ...retrieve.Path) *retrieve.Result {
	t.Helper()
	result, err := s.Search(t.Context(), retrieve.Request{Question: question, TopK: 5, Paths: paths})
	must(t, err)
	return result
}

func testSearch(t *testing.T, f *enginetest.Fixture) {
	t.Run("no statement scans", func(t *testing.T) { testPlans(t, f) })
	t.Run("words", func(t *testing.T) { testWords(t, f) })
	t.Run("names", func(t *testing.T) { testNames(t, f) })
	t.Run("merged names", func(t *testing.T) { testMerged(t, f) })
	t.Run("links alone", func(t *testing.T) { testLinksAlone(t, f) })
	t.Run("failures", func(t *testing.T) { testFailures(t, f) })
	t.Run("while it is written", func(t *testing.T) { testWhileWriting(t, f) })
	t.Run("one state of the graph", func(t *testing.T) { testOneState(t, f) })
	t.Run("nearest first", func(t *testing.T) { testNearest(t, f) })
	t.Run("hops", func(t *testing.T) { testHops(t, f) })
	t.Run("faults", func(t *testing.T) { testFaults(t, f) })
}

// testNearest asks with the very words that were embedded: a score is a distance,
// and the smallest is the best.
func testNearest(t *testing.T, f *enginetest.Fixture) {
	s, store := searcher(t, f, "knowledge_graph")
	store.refuse = "fulltext"
	n := notes[0]
	result := search(t, s, n.title+" › Part\n"+n.passages[2], retrieve.Passages)
	if len(result.Passages) < 2 || result.Passages[0].Text != n.passages[2] {
		t.Errorf("passages: %+v", result.Passages)
	}
	result = search(t, s, "(Ada Lovelace, WORKED_WITH, Charles Babbage): "+n.passages[1], retrieve.Facts)
	if len(result.Facts) < 2 || result.Facts[0].Type != "WORKED_WITH" {
		t.Errorf("facts: %+v", result.Facts)
	}
	result = search(t, s, "Difference Engine\n"+n.passages[2], retrieve.FuzzyNames)
	if len(result.Entities) < 2 || result.Entities[0].Name != "Difference Engine" {
		t.Errorf("entities: %v", namesOf(result))
	}
}

// testPlans asks the engine for its plan of every statement that reads a graph of
// ours: each looks things up, and none walks a label.
func testPlans(t *testing.T, f *enginetest.Fixture) {
	s, store := searcher(t, f, "knowledge_graph")
	result := search(t, s, "Who worked with Charles Babbage?")
	if n := result.RoundTrips; n != len(store.statements) || n > 13 {
		t.Errorf("one question takes %d statements, counted as %d", len(store.statements), n)
	}
	result, err := s.Search(t.Context(), retrieve.Request{Question: "Who worked with Charles Babbage?", TopK: 1, Hops: 3})
	must(t, err)
	search(t, s, "xyzzy", retrieve.ExactNames)
	for _, span := range []graph.Span{{Start: 0, End: 80}, {Start: 1, End: 80}} {
		handle, err := evidence.ParseHandle(evidence.NewHandle(graph.FileDocumentID(notes[0].path), strings.Repeat("0", 64), span, strings.Repeat("x", span.End-span.Start)))
		must(t, err)
		_, err = s.Resolve(t.Context(), handle)
		must(t, err)
	}
	s.Embedder = func(context.Context) (models.Embedder, error) { return nil, errors.New("no model") }
	search(t, s, "Who worked with Charles Babbage?")
	_, err = shape.ReadMeta(t.Context(), store.Query, "knowledge_graph")
	must(t, err)
	writer := writerConnection(t, f)
	seen := map[string]bool{}
	for _, statement := range store.statements {
		if seen[statement.Text()] {
			continue
		}
		seen[statement.Text()] = true
		plan, err := writer.Explain(t.Context(), "knowledge_graph", statement)
		must(t, err)
		if text := strings.Join(plan, "\n"); scans(plan) {
			t.Errorf("%s\nis not looked up in an index:\n%s", statement.Text(), text)
		}
	}
	if len(seen) < 15 {
		t.Errorf("only %d statements were looked at", len(seen))
	}
}

// scans reports whether a plan walks a label. There is one node with each of the
// labels that are let pass; one statement asks whether there is any chunk at all.
func scans(plan []string) bool {
	for i, line := range plan {
		switch {
		case strings.Contains(line, "All Node Scan"):
			return true
		case !strings.Contains(line, "Label Scan"), strings.Contains(line, ":__Meta__"), strings.Contains(line, ":__GraphRAGConfig__"):
		case i >= 2 && strings.Contains(plan[i-2], "Limit"):
		default:
			return true
		}
	}
	return false
}

func testWords(t *testing.T, f *enginetest.Fixture) {
	s, _ := searcher(t, f, "knowledge_graph")
	for question, want := range map[string]string{
		"C++":                              "Bjarne",
		"Node.js":                          "JavaScript",
		"AT&T":                             "Bjarne",
		"What is the capital of France?":   "capital of France",
		"tell me (now): \"finite\" - | ~%": "finite differences",
		"user@example.com polynomials":     "polynomials",
	} {
		result := search(t, s, question, retrieve.Passages)
		for _, report := range result.Trace {
			if report.Search == "full text" && (report.Hits == 0 || report.Error != "") {
				t.Errorf("%s: %+v", question, report)
			}
		}
		if !slices.ContainsFunc(result.Passages, func(p retrieve.Passage) bool {
			return strings.Contains(p.Text, want) && slices.Contains(p.FoundBy, "passages: full text")
		}) {
			t.Errorf("%s does not find %q by its words", question, want)
		}
	}
	// The engine's own score falls with the distance between the words.
	wordsOnly, store := searcher(t, f, "knowledge_graph")
	store.refuse = "vecf32"
	result := search(t, wordsOnly, "Lovelace, program, engine, tables", retrieve.Passages)
	if len(result.Passages) < 2 || !strings.Contains(result.Passages[0].Text, "Lovelace") {
		t.Errorf("what holds three of four words, far apart, is not before what holds two: %+v", result.Passages)
	}
	for _, question := range []string{"???", "| ~ % : ;", "\x00", "((((", "' OR 1=1 //", "🙂"} {
		search(t, s, question)
	}
}

// testLinksAlone asks for relations around entities without a path that finds
// any.
func testLinksAlone(t *testing.T, f *enginetest.Fixture) {
	s, _ := searcher(t, f, "knowledge_graph")
	result := search(t, s, "What did Charles Babbage design?", retrieve.Links)
	if len(result.Relations) == 0 || len(result.Entities) != 0 || len(result.Passages) != 0 {
		t.Errorf("links alone: %+v", result)
	}
}

func testNames(t *testing.T, f *enginetest.Fixture) {
	s, _ := searcher(t, f, "knowledge_graph")
	for question, want := range map[string][]string{
		"Who was ADA LOVELACE's friend?": {"Ada Lovelace"},
		"Is it c++, or node.js?":         {"C++", "Node.js"},
		"(“Charles Babbage”)":            {"Charles Babbage"},
	} {
		names := namesOf(search(t, s, question, retrieve.ExactNames))
		for _, name := range want {
			if !slices.Contains(names, name) {
				t.Errorf("%s finds %v, not %s", question, names, name)
			}
		}
	}
	result := search(t, s, "Paris", retrieve.ExactNames)
	if len(result.Entities) != 2 || result.Entities[0].Type == result.Entities[1].Type {
		t.Errorf("two things of one name are %+v", result.Entities)
	}
	linked := search(t, s, "Ada Lovelace", retrieve.ExactNames, retrieve.Links)
	if len(linked.Relations) != 1 || linked.Relations[0].Type != "WORKED_WITH" || len(linked.Relations[0].Evidence) != 1 {
		t.Errorf("relations around Ada Lovelace: %+v", linked.Relations)
	}
	quote := linked.Relations[0].Evidence[0]
	if quote.Text != notes[0].passages[1] || quote.Document != notes[0].path || quote.Span.Start != len(notes[0].passages[0])+2 {
		t.Errorf("its evidence: %+v", quote)
	}
}

func namesOf(result *retrieve.Result) []string {
	var names []string
	for _, e := range result.Entities {
		names = append(names, e.Name)
	}
	return names
}

func testFailures(t *testing.T, f *enginetest.Fixture) {
	s, store := searcher(t, f, "knowledge_graph")
	store.refuse = "fulltext.queryNodes('Chunk'"
	result := search(t, s, "finite differences", retrieve.Passages)
	if len(result.Passages) == 0 {
		t.Error("one search that fails takes the others along")
	}
	if report := result.Trace[1]; report.Search != "full text" || report.Error == "" {
		t.Errorf("a failed search is told as %+v", report)
	}

	s.Embedder = func(context.Context) (models.Embedder, error) { return nil, errors.New("no model") }
	_, err := s.Search(t.Context(), retrieve.Request{Question: "finite", TopK: 5, Paths: []retrieve.Path{retrieve.Passages}})
	var failed *retrieve.AllPathsFailed
	if !errors.As(err, &failed) || !strings.Contains(err.Error(), "no model") {
		t.Errorf("when every search fails the error is %v", err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Search(ctx, retrieve.Request{Question: "finite", TopK: 5}); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled search ends with %v", err)
	}

	testPanics(t, f)

	missing, _ := searcher(t, f, "never_written")
	// Nobody waits for a model whose vector nothing would be compared with.
	missing.Embedder = func(ctx context.Context) (models.Embedder, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	var none *retrieve.MissingGraph
	if _, err := missing.Search(t.Context(), retrieve.Request{Question: "a", TopK: 1}); !errors.As(err, &none) {
		t.Errorf("a graph that is not there gives %v", err)
	}
	graphs, err := writerConnection(t, f).Redis().Do(t.Context(), "GRAPH.LIST").StringSlice()
	must(t, err)
	if slices.Contains(graphs, "never_written") {
		t.Error("asking for a graph made it")
	}
}

// testPanics has a search meet panics on goroutines of its own: they end the call
// and not the program.
func testPanics(t *testing.T, f *enginetest.Fixture) {
	t.Helper()
	embedding, _ := searcher(t, f, "knowledge_graph")
	embedding.Embedder = func(context.Context) (models.Embedder, error) { panic("no such window") }
	asking, store := searcher(t, f, "knowledge_graph")
	var asked atomic.Int32
	store.after = func() {
		if asked.Add(1) > 3 { // the first are the caller's own
			panic("no such window")
		}
	}
	for what, s := range map[string]*retrieve.Searcher{"embedding": embedding, "asking": asking} {
		func() {
			defer func() {
				if p := recover(); p == nil || !strings.Contains(fmt.Sprint(p), "no such window") {
					t.Errorf("%s: a panic comes back as %v", what, p)
				}
			}()
			_, err := s.Search(t.Context(), retrieve.Request{Question: "finite", TopK: 5})
			t.Errorf("%s: a panic is the error %v", what, err)
		}()
	}
}

// bees is a document whose every passage, description and quote ends with the
// name of its version.
func bees(version string) note {
	n := note{path: "bees.txt", title: "Bees", format: "text", entities: [][2]string{{"Queen Bee", "Person"}, {"Drone", "Person"}},
		relations: [][3]string{{"Queen Bee", "LEADS", "Drone"}}}
	for i := range 6 {
		n.passages = append(n.passages, strings.Repeat("Queen Bee leads Drone. ", i+1)+version)
	}
	return n
}

// versions are those that stand in a result.
func versions(result *retrieve.Result) []string {
	var seen []string
	add := func(text string) { seen = append(seen, text[strings.LastIndex(text, " ")+1:]) }
	for _, p := range result.Passages {
		add(p.Text)
	}
	for _, e := range result.Entities {
		add(e.Description)
	}
	for _, r := range slices.Concat(result.Facts, result.Relations) {
		for _, q := range r.Evidence {
			add(q.Text)
		}
	}
	slices.Sort(seen)
	return slices.Compact(seen)
}

// testOneState replaces a document between two statements of one search: the
// reply is of one version, or says that it may not be.
func testOneState(t *testing.T, f *enginetest.Fixture) {
	embedder, err := models.NewHashEmbedder(384)
	must(t, err)
	write(t, writerConnection(t, f), "hive", func(s *store.Store) {
		for _, c := range []struct {
			commits  int
			changing bool
		}{{0, false}, {1, false}, {2, false}, {1000, true}} {
			commit(t, s, bees("honey"))
			finalize(t, s, embedder, embedder.Model())
			reading, watched := searcher(t, f, "hive")
			var mu sync.Mutex
			made := 0
			watched.after = func() {
				mu.Lock()
				defer mu.Unlock()
				if made < c.commits {
					made++
					commit(t, s, bees([]string{"honey", "wax"}[made%2]))
				}
			}
			result, err := reading.Search(t.Context(), retrieve.Request{Question: "Queen Bee honey wax", TopK: 20})
			must(t, err)
			seen := versions(result)
			if result.Changing != c.changing || !c.changing && len(seen) != 1 {
				t.Errorf("%d commits during a search: versions %v, changing %v", made, seen, result.Changing)
			}
		}
	})
}

// testWhileWriting replaces a document again and again: a reader sees one version
// of it or the other.
func testWhileWriting(t *testing.T, f *enginetest.Fixture) {
	embedder, err := models.NewHashEmbedder(384)
	must(t, err)
	write(t, writerConnection(t, f), "bees", func(s *store.Store) {
		commit(t, s, bees("honey"))
		finalize(t, s, embedder, embedder.Model())
		done := make(chan struct{})
		go func() {
			defer close(done)
			reading, _ := searcher(t, f, "bees")
			for range 30 {
				result, err := reading.Search(t.Context(), retrieve.Request{Question: "Queen Bee honey wax", TopK: 20})
				if err != nil {
					t.Error(err)
					return
				}
				var seen []string
				for _, p := range result.Passages {
					seen = append(seen, p.Text[strings.LastIndex(p.Text, " ")+1:])
				}
				slices.Sort(seen)
				if len(slices.Compact(seen)) > 1 {
					t.Errorf("one reply holds two versions: %v", seen)
				}
			}
		}()
		for i := 0; ; i++ {
			select {
			case <-done:
				return
			default:
				commit(t, s, bees([]string{"wax", "honey"}[i%2]))
			}
		}
	})
}
