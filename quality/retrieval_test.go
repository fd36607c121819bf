package quality_test

import (
	"context"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"graphmill/pipeline/engine"
	"graphmill/pipeline/engine/enginetest"
	"graphmill/pipeline/falkor/conn"
	"graphmill/pipeline/falkor/cypher"
	"graphmill/pipeline/falkor/reader"
	"graphmill/pipeline/graph"
	"graphmill/pipeline/models"
	"graphmill/pipeline/models/local"
	"graphmill/quality"
	"graphmill/queryd/retrieve"
)

const (
	questionsFile   = "../examples/questions.md"
	retrievalGolden = "testdata/retrieval.golden"
	corpusGraph     = "demo"
	fusedSearch     = "fused"
	// shown is how many of each kind a search returns, as by default.
	shown = 10
	// allowedFall is one of the two answers of a question. Question vectors turned by
	// a cosine of 0.999, more than another processor turns them, moved no figure by
	// more than 0.1; 0.995 moved one question (2.5).
	allowedFall = 1.3
	// oneQuestion is what the fused search may be behind in one figure, where both
	// are near the most that there is.
	oneQuestion = 2.5
)

var builtIn = flag.String("built", "", "data directory in which the graph of examples/corpus was built already, for whoever tunes the search")

func TestRetrievalIsAsGoodAsCommitted(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the graph of examples/corpus with the models")
	}
	questions, err := quality.LoadQuestions(questionsFile)
	if err != nil {
		t.Fatal(err)
	}
	asker := openAsker(t, buildCorpus(t))
	var standings quality.Standings
	for _, q := range questions {
		answers := asker.locate(t, q)
		for _, search := range searches() {
			ranks := quality.Ranks(answers, asker.ask(t, q, search))
			standings.Add(search.name, q, ranks)
			if search.name == fusedSearch && slices.Contains(ranks, 0) {
				t.Logf("question %d is not answered among the first %d: %s %v", q.Number, shown, q.Text, ranks)
			}
		}
	}
	rows := standings.Rows()
	var written strings.Builder
	if err := quality.WriteStandings(&written, rows); err != nil {
		t.Fatal(err)
	}
	t.Logf("\n%s", written.String())
	if *update {
		if err := os.WriteFile(retrievalGolden, []byte(written.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if misses := quality.NotBetter(rows, fusedSearch, oneQuestion); len(misses) > 0 {
		t.Errorf("all paths together are not better than each alone:\n%s", strings.Join(misses, "\n"))
	}
	golden, err := os.ReadFile(retrievalGolden)
	if err != nil {
		t.Fatal(err)
	}
	want, err := quality.ReadStandings(string(golden))
	if err != nil {
		t.Fatal(err)
	}
	if falls := quality.Falls(want, rows, allowedFall); len(falls) > 0 {
		t.Errorf("retrieval got worse:\n%s\nIf that is meant, run `go test ./quality -run Retrieval -update` and say in the commit why.", strings.Join(falls, "\n"))
	}
}

// search is a way to ask.
type search struct {
	name  string
	paths []retrieve.Path
}

// searches are each path alone and all of them.
func searches() []search {
	all := []search{{name: fusedSearch}}
	for _, path := range retrieve.AllPaths() {
		all = append(all, search{string(path), []retrieve.Path{path}})
	}
	return all
}

// buildCorpus ingests examples/corpus as the demo does and returns the data
// directory.
func buildCorpus(t *testing.T) string {
	t.Helper()
	if *builtIn != "" {
		return *builtIn
	}
	program := filepath.Join(t.TempDir(), "ingestd")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "graphmill/ingestd")
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build ingestd: %v\n%s", err, text)
	}
	f := enginetest.Start(t)
	run := exec.CommandContext(t.Context(), program, "run", "--root", "../examples/corpus", "--config", "../examples/graphmill.yaml",
		"--graph", corpusGraph, "--data-dir", f.DataDir, "--quiet")
	run.Env = append(os.Environ(), "GRAPHMILL_CORPUS_FILE_TIMEOUT=10m") // the first PDF waits for its engine to compile
	if text, err := run.CombinedOutput(); err != nil {
		t.Fatalf("ingest examples/corpus: %v\n%s", err, text)
	}
	return f.DataDir
}

// asker asks the graph of the corpus.
type asker struct {
	searcher *retrieve.Searcher
	texts    map[string]squeezed // by path
}

func openAsker(t *testing.T, dataDir string) *asker {
	t.Helper()
	lease, err := engine.AcquireReader(t.Context(), enginetest.Options(t, dataDir))
	if err != nil {
		t.Fatal(err)
	}
	login := lease.Credentials()
	client, err := conn.Open(conn.Options{Socket: lease.Address(), Username: login.User, Password: login.Secret})
	if err != nil {
		t.Fatal(err)
	}
	options := local.Options{Places: models.Places{DepsDir: os.Getenv("GRAPHMILL_DEPS_DIR")}}
	runtime, err := options.OpenEngine()
	if err != nil {
		t.Fatal(err)
	}
	embedder, err := options.OpenEmbedder(runtime)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(client.Close(), embedder.Close(), runtime.Close(), lease.Release()); err != nil {
			t.Error(err)
		}
	})
	store := reader.New(client, reader.Options{})
	a := &asker{searcher: &retrieve.Searcher{
		Store: store, Graph: corpusGraph, Embedder: func(context.Context) (models.Embedder, error) { return embedder, nil },
	}}
	a.readTexts(t, store)
	return a
}

// readTexts puts the documents together from their chunks.
func (a *asker) readTexts(t *testing.T, store *reader.Reader) {
	t.Helper()
	rows, err := store.Query(t.Context(), corpusGraph, cypher.New(`MATCH (d:Document)-[:PART_OF]->(c:Chunk)
RETURN d.path AS path, c.text AS text, c.start_char AS start ORDER BY path, start`, nil))
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string][]rune{}
	for i := range rows.Len() {
		path, text, start := rows.String(i, "path"), []rune(rows.String(i, "text")), rows.Int(i, "start")
		for len(texts[path]) < start {
			texts[path] = append(texts[path], ' ')
		}
		// Chunks may overlap.
		texts[path] = append(texts[path], text[min(len(text), len(texts[path])-start):]...)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	a.texts = map[string]squeezed{}
	for path, text := range texts {
		a.texts[path] = squeeze(text)
	}
}

// squeezed is a text with single spaces that knows where its characters stood.
type squeezed struct {
	text []rune
	at   []int
}

func squeeze(text []rune) squeezed {
	var s squeezed
	for i, r := range text {
		if unicode.IsSpace(r) {
			if len(s.text) == 0 || s.text[len(s.text)-1] == ' ' {
				continue
			}
			r = ' '
		}
		s.text, s.at = append(s.text, r), append(s.at, i)
	}
	return s
}

// find is where text stands.
func (s squeezed) find(text string) (graph.Span, bool) {
	want := squeeze([]rune(strings.TrimSpace(text))).text
	whole := string(s.text)
	byteAt := strings.Index(whole, string(want))
	if len(want) == 0 || byteAt < 0 {
		return graph.Span{}, false
	}
	start := len([]rune(whole[:byteAt]))
	return graph.Span{Start: s.at[start], End: s.at[start+len(want)-1] + 1}, true
}

func (a *asker) locate(t *testing.T, q quality.Question) []quality.Place {
	t.Helper()
	var places []quality.Place
	for _, answer := range q.Answers {
		span, ok := a.texts[answer.Document].find(answer.Text)
		if !ok {
			t.Fatalf("question %d: the chunks of %s do not hold %q", q.Number, answer.Document, answer.Text)
		}
		places = append(places, quality.Place{Document: answer.Document, Span: span})
	}
	return places
}

// ask returns what a search shows, best first: passages where it searches them,
// or else facts and relations by the sentences that state them, or else entities
// by their descriptions, which are sentences of the documents too.
func (a *asker) ask(t *testing.T, q quality.Question, s search) []quality.Hit {
	t.Helper()
	result, err := a.searcher.Search(t.Context(), retrieve.Request{Question: q.Text, TopK: shown, Paths: s.paths})
	if err != nil {
		t.Fatal(err)
	}
	for _, report := range result.Trace {
		if report.Error != "" {
			t.Errorf("question %d: %+v", q.Number, report)
		}
	}
	var hits []quality.Hit
	switch {
	case s.paths == nil, slices.Contains(s.paths, retrieve.Passages):
		for _, p := range result.Passages {
			hits = append(hits, quality.Hit{{Document: p.Document, Span: p.Span}})
		}
	case slices.Contains(s.paths, retrieve.Facts), slices.Contains(s.paths, retrieve.Links):
		for _, r := range slices.Concat(result.Facts, result.Relations) {
			hits = append(hits, quotesOf(r))
		}
	default:
		for _, e := range result.Entities {
			hits = append(hits, a.placesOf(e.Description))
		}
	}
	return hits
}

func quotesOf(r retrieve.Relation) quality.Hit {
	var hit quality.Hit
	for _, quote := range r.Evidence {
		hit = append(hit, quality.Place{Document: quote.Document, Span: quote.Span})
	}
	return hit
}

func (a *asker) placesOf(sentence string) quality.Hit {
	var hit quality.Hit
	for path, text := range a.texts {
		if span, ok := text.find(sentence); ok {
			hit = append(hit, quality.Place{Document: path, Span: span})
		}
	}
	return hit
}
