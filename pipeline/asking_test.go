package pipeline_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"

	"graphmill/chunkers"
	"graphmill/extractors"
	"graphmill/pipeline"
	"graphmill/pipeline/graph"
	"graphmill/pipeline/llm"
	"graphmill/planner"
	"graphmill/planner/catalogue"
	"graphmill/resolvers"
)

// model is a language model that answers as a test tells it, and holds its
// callers to the contract of [llm.Chat].
type model struct {
	t testing.TB
	// entities and relations answer for the text of one passage; the second also
	// for the list of entities. An error is returned as it is.
	entities  func(passage string) (string, error)
	relations func(passage, entities string) (string, error)
	situate   func(r llm.Request) (string, error)

	mu    sync.Mutex
	asked []llm.Request
}

func (m *model) Fingerprint() string { return "scripted" }

func (m *model) calls() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.asked)
}

func (m *model) Ask(ctx context.Context, r llm.Request) (llm.Answer, error) {
	if err := ctx.Err(); err != nil {
		return llm.Answer{}, err
	}
	m.mu.Lock()
	m.asked = append(m.asked, r)
	m.mu.Unlock()
	text, err := "", error(nil)
	switch r.Purpose {
	case llm.Extract:
		text, err = m.entities(enclosed(m.t, r.User, "PASSAGE"))
	case llm.Verify:
		text, err = `{"corrections": [], "relations": [], "other": []}`, nil
		if m.relations != nil {
			text, err = m.relations(enclosed(m.t, r.User, "PASSAGE"), enclosed(m.t, r.User, "ENTITIES"))
		}
	case llm.Situate:
		text, err = m.situate(r)
	}
	if err == nil && r.Check != nil {
		if reason := r.Check(text); reason != nil {
			err = fmt.Errorf("%w: %w", llm.ErrUnusable, reason)
		}
	}
	return llm.Answer{Text: text}, err
}

// enclosed is what a model that reads its instructions takes for the text of that
// name: what stands between the lines with the request's code, which is the one
// of its first line.
func enclosed(t testing.TB, user, name string) string {
	_, code, _ := strings.Cut(strings.SplitN(user, "\n", 2)[0], " ")
	_, rest, ok := strings.Cut("\n"+user, "\n"+name+" "+code+"\n")
	text, _, ended := strings.Cut(rest, "\nEND "+name+" "+code+"\n")
	if !ok || !ended || code == "" {
		t.Errorf("no %s in\n%s", name, user)
	}
	return text
}

type namedEntity struct {
	Name  string `json:"name"`
	Type  string `json:"type"`
	Quote string `json:"quote"`
}

func entitiesAnswer(entities ...namedEntity) string {
	text, _ := json.Marshal(map[string]any{"entities": append([]namedEntity{}, entities...), "other": []any{}})
	return string(text)
}

var properName = regexp.MustCompile(`[A-Z][a-z]+ [A-Z][a-z]+`)

// namesOf is a plain model: names of two words are persons.
func namesOf(passage string) (string, error) {
	var found []namedEntity
	for _, name := range properName.FindAllString(passage, -1) {
		found = append(found, namedEntity{name, "Person", name})
	}
	return entitiesAnswer(found...), nil
}

// firstMetSecond relates the first two entities by the passage's first sentence.
func firstMetSecond(passage, entities string) (string, error) {
	sentence, _, _ := strings.Cut(passage, ".")
	relations := []any{}
	if strings.Count(entities, "\n") > 0 {
		relations = append(relations, map[string]any{"source": 1, "type": "KNOWS", "target": 2, "quote": sentence})
	}
	text, err := json.Marshal(map[string]any{"corrections": []any{}, "relations": relations, "other": []any{}})
	return string(text), err
}

// askingStrategies are those of a plan with the extractor llm.
type askingStrategies struct{ chat llm.Chat }

func (s askingStrategies) Chunker(a planner.Assignment) (chunkers.Chunker, error) {
	return chunkers.New(a.Chunker, a.Params)
}

func (s askingStrategies) Resolver(a planner.Assignment) (resolvers.Resolver, error) {
	return resolvers.New(a.Resolver)
}

func (s askingStrategies) Extractor(planner.Assignment) (extractors.Extractor, error) {
	return extractors.Combine([]extractors.Extractor{extractors.NewLLM(s.chat)}, extractors.CombineOptions{})
}

func (s askingStrategies) ModelFingerprint(planner.Assignment) (string, error) {
	return s.chat.Fingerprint(), nil
}

func (s askingStrategies) SettingsFingerprint(planner.Assignment) string { return "" }

// newAsking is a bench whose files are read by a model, a chunk a sentence.
func newAsking(t *testing.T, m *model, chunker string) *bench {
	t.Helper()
	m.t = t
	if m.entities == nil {
		m.entities = namesOf
	}
	b := newBench(t, 0)
	var all []catalogue.Strategy
	all = append(append(append(all, chunkers.Catalogue()...), extractors.Catalogue()...), resolvers.Catalogue()...)
	plans, err := planner.New(
		[]planner.Rule{{Match: "**", Chunker: chunker, Extractors: []string{"llm"}, Parameters: map[string]int{"chunk_tokens": 24}}},
		planner.Limits{Chunkers: []string{chunker}, Extractors: []string{"llm"}}, all)
	if err != nil {
		t.Fatal(err)
	}
	b.options.Planner, b.options.Strategies = plans, askingStrategies{m}
	b.options.Ontology = &graph.Ontology{
		Entities:  []graph.EntityType{{Label: "Person"}, {Label: "Organization"}},
		Relations: []graph.RelationType{{Label: "KNOWS"}, {Label: "FOUNDED", Patterns: []graph.Pattern{{"Person", "Organization"}}}},
	}
	return b
}

func (b *bench) digest(t *testing.T) string {
	t.Helper()
	digest, err := b.store.Digest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return digest
}

// threeSentences are three chunks.
func threeSentences(n int) string {
	return fmt.Sprintf("Ada Lovelace met Charles Babbage in town number %d, on a Monday. ", n) +
		"Mary Somerville met Michael Faraday there too, and they talked of magnets. " +
		"Grace Hopper met Alan Turing much later, and by then nobody was surprised."
}

// A model reads the files; the graph is the same for any number of workers.
func TestFilesAreReadByALanguageModel(t *testing.T) {
	digests := map[string]bool{}
	for _, workers := range []int{1, 4} {
		m := &model{relations: firstMetSecond}
		b := newAsking(t, m, "sentence")
		b.options.Workers = workers
		for i := range 6 {
			b.write(t, fmt.Sprintf("f%d.txt", i), threeSentences(i))
		}
		report, err := b.run(t, t.Context())
		if err != nil {
			t.Fatal(err)
		}
		d := status(t, report, "f3.txt")
		if d.Status != pipeline.Ingested || d.Chunks != 3 || d.Entities != 6 || d.Relations != 3 || !strings.Contains(d.Plan, "llm") {
			t.Errorf("f3.txt: %+v", d)
		}
		if m.calls() != 6*3*2 {
			t.Errorf("%d calls, want two for each of 18 chunks", m.calls())
		}
		if report, err = b.run(t, t.Context()); err != nil || report.Totals.Status[pipeline.Unchanged] != 6 || m.calls() != 36 {
			t.Errorf("the second run: %v, %v, %d calls", report.Totals.Status, err, m.calls())
		}
		digests[b.digest(t)] = true
	}
	if len(digests) != 1 {
		t.Error("the graph depends on the number of workers")
	}
}

// A chunk whose answer is never usable costs the document that chunk alone, is
// told, and is tried again; nothing that was extracted is asked for twice.
func TestAChunkThatFailedIsToldAndTriedAgain(t *testing.T) {
	broken := true
	m := &model{relations: firstMetSecond}
	m.entities = func(passage string) (string, error) {
		if broken && strings.Contains(passage, "magnets") {
			return "I would rather not.", nil
		}
		return namesOf(passage)
	}
	b := newAsking(t, m, "sentence")
	b.options.Extractions = pipeline.OpenExtractions(t.TempDir(), 1<<20)
	b.write(t, "a.txt", threeSentences(1))
	b.write(t, "b.txt", "Ada Lovelace met Charles Babbage.")
	for _, want := range []struct {
		status pipeline.Status
		why    string
	}{{pipeline.Ingested, "new"}, {pipeline.Reextracted, "incomplete"}} {
		before := m.calls()
		report, err := b.run(t, t.Context())
		if err != nil {
			t.Fatal(err)
		}
		d := status(t, report, "a.txt")
		if d.Status != want.status || d.FailedChunks != 1 || d.Chunks != 3 || d.Entities != 4 || d.Relations != 2 || report.IncompleteCount() != 1 {
			t.Errorf("a.txt: %+v", d)
		}
		if !strings.HasPrefix(d.Reason, want.why+"; 1 of 3 chunks failed (chunk 1: ") || !strings.Contains(d.Reason, "not the JSON") {
			t.Errorf("reason %q", d.Reason)
		}
		if want.why == "incomplete" && m.calls()-before != 1 {
			t.Errorf("%d calls, only one chunk was missing", m.calls()-before)
		}
		stored, err := b.store.Documents(t.Context())
		if err != nil || stored["a.txt"].FailedChunks != 1 || stored["b.txt"].FailedChunks != 0 {
			t.Errorf("stored: %+v, %v", stored, err)
		}
		planned, err := pipeline.Plan(t.Context(), b.options)
		if err != nil || planned.Totals.Why[planner.WhyIncomplete] != 1 || planned.Totals.Why[planner.WhyNone] != 1 {
			t.Errorf("planned: %+v, %v", planned, err)
		}
	}
	broken = false
	report, err := b.run(t, t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if d := status(t, report, "a.txt"); d.Status != pipeline.Reextracted || d.FailedChunks != 0 || d.Entities != 6 || d.Relations != 3 || d.Reason != "incomplete" {
		t.Errorf("a.txt, made good: %+v", d)
	}
	if report, err = b.run(t, t.Context()); err != nil || report.Totals.Status[pipeline.Unchanged] != 2 {
		t.Errorf("the last run: %v, %v", report.Totals.Status, err)
	}
	calm := newAsking(t, &model{relations: firstMetSecond}, "sentence")
	calm.write(t, "a.txt", threeSentences(1))
	calm.write(t, "b.txt", "Ada Lovelace met Charles Babbage.")
	if _, err := calm.run(t, t.Context()); err != nil {
		t.Fatal(err)
	}
	if calm.digest(t) != b.digest(t) {
		t.Error("it is not the graph of a run without failures")
	}
}

// Without a model a document fails whole; without money the run ends with whole
// documents. The next run goes on.
func TestNoModelAndNoMoney(t *testing.T) {
	for name, c := range map[string]struct {
		err    error
		kind   string
		runErr error
	}{
		"no model":                 {fmt.Errorf("ask: %w", llm.ErrUnavailable), "model_unavailable", nil},
		"no money":                 {&llm.BudgetError{Limit: "max_calls", Max: 1}, "", llm.ErrBudget},
		"no money for a file":      {&llm.BudgetError{Limit: "max_calls", Max: 1, File: "b.txt"}, "budget", nil},
		"an error of another kind": {errors.New("who knows"), "error", nil},
	} {
		t.Run(name, func(t *testing.T) {
			broken := true
			m := &model{relations: firstMetSecond}
			m.entities = func(passage string) (string, error) {
				if broken && strings.Contains(passage, "magnets") {
					return "", c.err
				}
				return namesOf(passage)
			}
			b := newAsking(t, m, "sentence")
			b.options.Workers = 1
			b.write(t, "a.txt", "Ada Lovelace met Charles Babbage.")
			b.write(t, "b.txt", threeSentences(1))
			report, err := b.run(t, t.Context())
			if !errors.Is(err, c.runErr) || err != nil && c.runErr == nil {
				t.Fatalf("%v, want %v", err, c.runErr)
			}
			if report.Totals.Status[pipeline.Ingested] != 1 {
				t.Errorf("%v: the document without faults is not there", report.Totals.Status)
			}
			if c.runErr == nil {
				if d := status(t, report, "b.txt"); d.Status != pipeline.Failed || d.Kind != c.kind {
					t.Errorf("b.txt: %+v", d)
				}
			}
			broken = false
			if report, err = b.run(t, t.Context()); err != nil || report.Totals.Status[pipeline.Ingested] != 1 || report.Totals.Status[pipeline.Unchanged] != 1 {
				t.Errorf("the next run: %v, %v", report.Totals.Status, err)
			}
		})
	}
}

// situated are strategies whose chunker asks a model for a line about each chunk.
type situated struct {
	askingStrategies
	t testing.TB
}

func (s situated) Chunker(a planner.Assignment) (chunkers.Chunker, error) {
	return chunkers.NewContextual(a.Params, s.chat)
}

// What a model says of a chunk's place in its document is embedded and extracted
// with it, and never cited.
func TestContextIsReadAndNotCited(t *testing.T) {
	const line = "Zebulon Pike is the one who is meant."
	fail := ""
	m := &model{relations: firstMetSecond}
	m.situate = func(r llm.Request) (string, error) {
		if fail != "" && strings.Contains(enclosed(t, r.User, "PASSAGE"), fail) {
			return "", fmt.Errorf("%w: no", llm.ErrUnusable)
		}
		return line, nil
	}
	m.entities = func(passage string) (string, error) {
		// It names what stands in the context alone as well.
		text, err := namesOf(passage + " Zebulon Pike")
		return text, err
	}
	b := newAsking(t, m, "contextual")
	b.options.Strategies = situated{askingStrategies{m}, t}
	b.write(t, "a.txt", threeSentences(1))
	fail = "magnets"
	report, err := b.run(t, t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if d := status(t, report, "a.txt"); d.FailedChunks != 1 || d.Chunks != 3 || d.Entities != 6 {
		t.Errorf("with a line that failed: %+v", d)
	}
	fail = ""
	if report, err = b.run(t, t.Context()); err != nil {
		t.Fatal(err)
	}
	if d := status(t, report, "a.txt"); d.FailedChunks != 0 || d.Entities != 6 || report.Pruned.UnquotedMentions != 3 {
		t.Errorf("made good: %+v, %+v", d, report.Pruned)
	}
	for _, r := range m.asked {
		if r.Purpose == llm.Extract && fail == "" && strings.Contains(r.User, "Zebulon") && enclosed(t, r.User, "CONTEXT") != line {
			t.Errorf("the context is not in its place:\n%s", r.User)
		}
	}
	pending, err := b.store.PendingVectors(t.Context(), "chunk", 10)
	if err != nil || len(pending) != 3 {
		t.Fatal(pending, err)
	}
	for _, p := range pending {
		if p.Title != line || strings.Contains(p.Text, "Zebulon") || pipeline.EmbeddingTexts(p)[0] != line+"\n"+p.Text {
			t.Errorf("to be embedded: %+v", p)
		}
	}
}
