package pipeline_test

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"graphmill/pipeline"
	"graphmill/pipeline/falkor/store"
	"graphmill/pipeline/llm"
)

// deciding is a model that says yes to the pairs which hold all of some words.
type deciding struct {
	t     *testing.T
	mu    sync.Mutex
	yes   [][]string
	calls int
	most  int  // calls before the budget is spent; 0 for none
	junk  bool // answers without a verdict
	pairs []string
	items []string                 // what was to be described
	tell  func(item string) string // describes it; nil says its sentences
}

func (d *deciding) Fingerprint() string { return "deciding" }

var judgedPair = regexp.MustCompile(`(?s)PAIR (\d+) [0-9a-f]{12}\n(.*?)\nEND PAIR`)

func (d *deciding) Ask(_ context.Context, r llm.Request) (llm.Answer, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.calls++; d.most > 0 && d.calls > d.most {
		return llm.Answer{}, &llm.BudgetError{Limit: "max_calls", Max: float64(d.most)}
	}
	if r.Purpose == llm.Describe {
		return d.describe(r)
	}
	type verdict struct {
		Pair int    `json:"pair"`
		Same string `json:"same"`
		Why  string `json:"why"`
	}
	var answer struct {
		Pairs []verdict `json:"pairs"`
	}
	for _, m := range judgedPair.FindAllStringSubmatch(r.User, -1) {
		n, _ := strconv.Atoi(m[1])
		same := "no"
		for _, words := range d.yes {
			if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(m[2], w) }) {
				same = "yes"
			}
		}
		d.pairs = append(d.pairs, m[2])
		answer.Pairs = append(answer.Pairs, verdict{n, same, "both are the maker of Deep Blue"})
	}
	if d.junk {
		answer.Pairs = nil
	}
	text, err := json.Marshal(answer)
	if err != nil {
		d.t.Error(err)
	}
	if err := r.Check(string(text)); err != nil {
		return llm.Answer{}, llm.ErrUnusable
	}
	return llm.Answer{Text: string(text)}, nil
}

func (d *deciding) asked(o *pipeline.FinalizeOptions) {
	o.Chat = func() (llm.Chat, error) { return d, nil }
}

var judgedCorpus = map[string]string{
	"a.txt": "Firm 1 built Deep Blue. IBM Corp. met Ann Lee.",
	"b.txt": "IBM sold Deep Blue. Dr. Ann Lee left Acme.",
	"c.txt": "Acme Inc. and Acme GmbH met Firm 2. Blue won.",
}

func judgeBench(t *testing.T) *bench {
	b := mergeBench(t, judgedCorpus)
	b.plan(t, "llm_verified")
	return b
}

// TestModelDecidesOnWhatSimilarLeaves confirms one pair of two; what was asked is
// not asked again, also by a graph whose documents come in another order.
func TestModelDecidesOnWhatSimilarLeaves(t *testing.T) {
	b := judgeBench(t)
	b.ingest(t)
	model := &deciding{t: t, yes: [][]string{{"first: Blue (", "second: Deep Blue ("}}}
	report := b.finalize(t, model.asked)
	if report.Judged == nil || report.Judged.Confirmed != 1 || report.Judged.Pairs != len(model.pairs) || !report.Done {
		t.Fatalf("%+v, %q", report.Judged, model.pairs)
	}
	want := []string{"Deep Blue ← Blue (verified)", "Dr. Ann Lee ← Ann Lee (title)", "IBM Corp. ← IBM (legal form)"}
	if got := b.merged(t); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	digest, calls := b.content(t), model.calls
	b.options.Force = true
	b.ingest(t)
	if report := b.finalize(t, model.asked); report.Judged != nil || model.calls != calls || b.content(t) != digest {
		t.Errorf("asked again: %+v", report.Judged)
	}
	records, err := b.store.Merges(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(records, func(m store.Merge) bool { return m.State == store.MergeActive && m.Rule == "verified" })
	if records[i].Explanation != "both are the maker of Deep Blue" || len(records[i].Evidence) != 2 {
		t.Errorf("%+v", records[i])
	}
	records[i].State = store.MergeUndone
	if err := b.store.Decide(t.Context(), records[i:i+1]); err != nil {
		t.Fatal(err)
	}
	if report := b.finalize(t, model.asked); report.Unmerged != 1 || slices.Contains(b.merged(t), want[0]) {
		t.Errorf("%q after it was undone", b.merged(t))
	}
	b.in(t, "other")
	b.options.Force = false
	for _, path := range []string{"c.txt", "b.txt", "a.txt"} {
		b.options.Select = func(p string) bool { return p == path }
		b.ingest(t)
	}
	b.finalize(t, model.asked)
	if b.content(t) != digest {
		t.Errorf("another order gives another graph: %q", b.merged(t))
	}
}

func TestUnusableVerdictsMergeNothingAndAreReported(t *testing.T) {
	b := judgeBench(t)
	b.ingest(t)
	model := &deciding{t: t, junk: true}
	report := b.finalize(t, model.asked)
	if report.Judged.Unanswered == 0 || report.Judged.Pairs != 0 || !report.Done {
		t.Errorf("%+v", report.Judged)
	}
	model.junk, model.calls = false, 0
	if report := b.finalize(t, model.asked); model.calls == 0 || report.Judged.Unanswered != 0 {
		t.Error("pairs without an answer are not asked about again")
	}
}

func TestPairsOfADocumentAreBounded(t *testing.T) {
	b := judgeBench(t)
	b.planWith(t, "llm_verified", 1)
	b.ingest(t)
	model := &deciding{t: t}
	report := b.finalize(t, model.asked)
	if report.Judged.Pairs == 0 || report.Judged.Pairs > 3 || report.Judged.Left == 0 {
		t.Errorf("%+v", report.Judged)
	}
	before := model.calls
	b.finalize(t, model.asked)
	if model.calls != before {
		t.Error("a second finalize asks beyond the bound")
	}
}

func TestSpentBudgetLeavesASearchableGraphThatWaits(t *testing.T) {
	b := judgeBench(t)
	b.ingest(t)
	model := &deciding{t: t, most: 1}
	o := pipeline.FinalizeOptions{Store: b.store, Embedder: hashEmbedder(t)}
	model.asked(&o)
	report, err := pipeline.Finalize(t.Context(), o)
	meta, metaErr := b.store.Meta(t.Context())
	if !errors.Is(err, llm.ErrBudget) || !report.Done || metaErr != nil || !meta.FinalizePending {
		t.Errorf("%v, %v, %+v", err, metaErr, report)
	}
	model.most = 0
	b.finalize(t, model.asked)
	if meta, err = b.store.Meta(t.Context()); err != nil || meta.FinalizePending {
		t.Error("the graph waits still", err)
	}
}
