package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"graphmill/pipeline"
	"graphmill/pipeline/llm/llmtest"
)

// planned runs `ingestd plan` and decodes what it printed.
func (w *world) planned(args ...string) *pipeline.PlanReport {
	w.t.Helper()
	plan := new(pipeline.PlanReport)
	if err := json.Unmarshal([]byte(w.must(append([]string{"plan", "--root", w.corpus, "--output", "json"}, args...)...)), plan); err != nil {
		w.t.Fatal(err)
	}
	return plan
}

// within wants got to be within a fifth of want.
func within(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 0.2*want {
		t.Errorf("%s: planned %g, spent %g (%+.0f %%)", what, got, want, 100*(got-want)/want)
	}
}

// The first part of a corpus shows how long the model's answers are; of the rest
// the plan knows within a fifth what the server will count.
func TestThePlanSaysWhatTheRunWillSpend(t *testing.T) {
	t.Parallel()
	w, server := paid(t, paidConfig)
	for i := range 4 {
		w.write(fmt.Sprintf("first/f%d.txt", i), story(i))
	}
	before := w.planned()
	if n := server.Counts().Calls; n != 0 {
		t.Fatalf("planning sent %d calls", n)
	}
	if len(before.Notes) == 0 || !strings.Contains(before.Notes[0], "may be off by more than a fifth") {
		t.Errorf("nothing is known of the model's answers, and the plan says %q", before.Notes)
	}
	w.ingest(0)
	within(t, "calls of the first part", float64(before.Totals.ModelCalls), float64(server.Counts().Calls))

	for i := range 6 {
		w.write(fmt.Sprintf("second/g%d.md", i), "# "+story(i + 10)[:40]+"\n\n"+strings.Repeat(story(i+10), 1+i%3))
	}
	counted := server.Counts()
	plan := w.planned()
	if len(plan.Notes) > 0 || plan.Model != "openai/tested" || plan.Price.Input != 2 || plan.Price.Date != "2026-11-01" {
		t.Errorf("%s at %v, notes %q", plan.Model, plan.Price, plan.Notes)
	}
	r := w.ingest(0)
	spent := server.Counts()
	within(t, "calls", float64(plan.Totals.ModelCalls), float64(spent.Calls-counted.Calls))
	within(t, "input tokens", float64(plan.Totals.InputTokens), float64(spent.InputTokens-counted.InputTokens))
	within(t, "output tokens", float64(plan.Totals.OutputTokens), float64(spent.OutputTokens-counted.OutputTokens))
	within(t, "money", plan.Totals.Money, r.Cost.Money)
	for _, d := range plan.Documents {
		if d.Why == "new" {
			within(t, d.Path, d.Money, row(t, r, d.Path).Cost.Money)
		} else if d.ModelCalls != 0 || d.Money != 0 {
			t.Errorf("%s is current and costs %d calls", d.Path, d.ModelCalls)
		}
	}
}

func TestThePlanKnowsWhichAnswersAreKept(t *testing.T) {
	t.Parallel()
	w, server := paid(t, paidConfig)
	for i := range 4 {
		w.write(fmt.Sprintf("f%d.txt", i), story(i))
	}
	all := w.planned().Totals.ModelCalls
	if e := w.run("run", "--root", w.corpus, "--max-calls", "5"); e.code != 4 {
		t.Fatal(e)
	}
	plan := w.planned()
	w.ingest(0)
	if spent := server.Counts().Calls - 5; plan.Totals.ModelCalls != spent || all != spent+5 {
		t.Errorf("planned %d calls at first and %d after 5 of them, spent %d", all, plan.Totals.ModelCalls, spent)
	}
}

func TestARunDoesWhatItsPlanSaysOrRefuses(t *testing.T) {
	t.Parallel()
	w, server := paid(t, paidConfig)
	for i := range 3 {
		w.write(fmt.Sprintf("f%d.txt", i), story(i))
	}
	file := filepath.Join(t.TempDir(), "plan.json")
	w.planned("--out", file)
	for _, c := range []struct {
		name, says string
		move, back func()
	}{
		{"a file is added", "corpus: added new.txt", func() { w.write("new.txt", story(9)) }, func() { w.remove("new.txt") }},
		{"a file is changed", "corpus: changed f1.txt", func() { w.write("f1.txt", story(8)) }, func() { w.write("f1.txt", story(1)) }},
		{"a file is gone", "corpus: gone, or not to be read, f2.txt", func() { w.remove("f2.txt") }, func() { w.write("f2.txt", story(2)) }},
		{"chunks are larger", "config: other strategies or numbers for f0.txt", func() { w.configure(strings.Replace(paidConfig, "chunk_tokens: 64", "chunk_tokens: 128", 1)) }, func() { w.configure(paidConfig) }},
		{"a setting", `config: corpus.max_pages was "20000" and is "7"`, func() { w.configure(paidConfig + "corpus: {max_pages: 7}\n") }, func() { w.configure(paidConfig) }},
		{"the price", "price: it was 2 and 8 USD", func() { w.configure(strings.Replace(paidConfig, "input: 2", "input: 3", 1)) }, func() { w.configure(paidConfig) }},
		{"the model", `model: it was "openai/tested" and is "openai/other"`, func() { w.env = append(w.env, "GRAPHMILL_LLM_MODEL=openai/other") }, func() { w.env = w.env[:len(w.env)-1] }},
		{"the ontology", "ontology: it was extended or replaced", func() {
			writeFile(t, filepath.Join(w.corpus, "..", "o.yaml"), "entities: [{label: Person}, {label: Ship}]\n")
			w.env = append(w.env, "GRAPHMILL_ONTOLOGY="+filepath.Join(w.corpus, "..", "o.yaml"))
		}, func() { w.env = w.env[:len(w.env)-1] }},
	} {
		c.move()
		e := w.run("run", "--root", w.corpus, "--plan", file)
		if e.code != 2 || !strings.Contains(e.stderr, c.says) {
			t.Errorf("%s: want %q, got %v", c.name, c.says, e)
		}
		c.back()
	}
	if n := server.Counts().Calls; n != 0 {
		t.Fatalf("refused runs sent %d calls", n)
	}
	// Stopped half-way, the plan still fits; done, it asks for nothing more.
	if e := w.run("run", "--root", w.corpus, "--plan", file, "--max-calls", "12"); e.code != 4 {
		t.Fatal(e)
	}
	if got := statuses(w.ingest(0, "--plan", file)); !strings.Contains(got, "ingested") {
		t.Error(got)
	}
	if got := statuses(w.ingest(0, "--plan", file)); got != "3 unchanged" {
		t.Error(got)
	}
	// A file that the plan leaves alone is left alone, and must stay in the graph.
	w.write("f9.txt", story(9))
	w.planned("--out", file)
	w.must("forget", "f0.txt")
	if e := w.run("run", "--root", w.corpus, "--plan", file); e.code != 2 || !strings.Contains(e.stderr, "graph: it lacks what it had of f0.txt") {
		t.Error(e)
	}
	if e := w.run("run", "--root", w.corpus, "--plan", filepath.Join(w.corpus, "f9.txt")); e.code != 2 || !strings.Contains(e.stderr, "it is no plan") {
		t.Error(e)
	}
	if e := w.run("plan", "--root", w.corpus, "--out", w.corpus); e.code != 2 || !strings.Contains(e.stderr, "it is no file") {
		t.Error(e)
	}
	link := file + ".link"
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	w.planned("--out", link)
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link was replaced: %v", err)
	}
	// One that was edited does not do half of what it names.
	w.planned("--out", file)
	var edited map[string]any
	if err := json.Unmarshal(readFile(t, file), &edited); err != nil {
		t.Fatal(err)
	}
	documents := edited["documents"].([]any)
	edited["documents"] = documents[1:]
	text, err := json.Marshal(edited)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, file+".edited", string(text))
	if e := w.run("run", "--root", w.corpus, "--plan", file+".edited"); e.code != 2 || !strings.Contains(e.stderr, "it was edited: f0.txt") {
		t.Error(e)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the plan names the corpus' files: %v %v", info.Mode(), err)
	}
}

func TestAPlanForVerifyingWhatPatternsFind(t *testing.T) {
	t.Parallel()
	w, server := paid(t, strings.Replace(paidConfig, "extractor: llm", "extractor: [pattern, verify]", 1)+
		"extractors: {pattern: {rules: [{name: names, pattern: '[A-Z][a-z]+ [A-Z][a-z]+', type: Person}]}}\n")
	w.write("a.txt", story(1)+story(2)+story(3)+strings.Repeat("nothing of note was said on that day, and all went home. ", 40))
	plan := w.planned()
	w.ingest(0)
	if n := server.Counts().Calls; n != plan.Totals.ModelCalls || n == 0 {
		t.Errorf("planned %d calls, spent %d", plan.Totals.ModelCalls, n)
	}
	within(t, "input tokens", float64(plan.Totals.InputTokens), float64(server.Counts().InputTokens))
}

func TestAPlanForLinesOfContext(t *testing.T) {
	t.Parallel()
	w, server := paid(t, strings.Replace(paidConfig, "extractor: llm", "chunker: contextual, extractor: [pattern, llm]", 1))
	w.write("a.txt", story(1)+story(2)+story(3))
	w.write("b.md", "# Minutes\n\n"+story(4)+"\n\n## More\n\n"+story(5))
	plan := w.planned()
	w.ingest(0)
	counts := server.Counts()
	if counts.Calls != plan.Totals.ModelCalls || counts.Calls == 0 {
		t.Errorf("planned %d calls, spent %d", plan.Totals.ModelCalls, counts.Calls)
	}
	within(t, "input tokens", float64(plan.Totals.InputTokens), float64(counts.InputTokens))
}

func TestAPlanSaysWhatPairsOfNamesMayTake(t *testing.T) {
	t.Parallel()
	w, server := paid(t, strings.Replace(paidConfig, "extractor: llm", "extractor: pattern, resolver: llm_verified", 1)+
		"extractors: {pattern: {rules: [{name: names, pattern: '[A-Z][a-z]+ [A-Z][a-z]+', type: Person}]}}\n")
	for i := range 3 {
		w.write(fmt.Sprintf("f%d.txt", i), story(i))
	}
	plan := w.planned()
	if plan.Totals.ModelCalls != 0 || plan.Totals.AtMostCalls == 0 || plan.Totals.AtMostMoney == 0 || !strings.Contains(strings.Join(plan.Notes, " "), "come on top") {
		t.Errorf("%+v, notes %q", plan.Totals, plan.Notes)
	}
	server.Script(func(llmtest.Call) llmtest.Reply { return llmtest.Reply{Text: `{"pairs": []}`} })
	w.ingest(0)
	if n := server.Counts().Calls; n > plan.Totals.AtMostCalls {
		t.Errorf("%d calls, at most %d were planned", n, plan.Totals.AtMostCalls)
	}
}
