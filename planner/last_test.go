package planner_test

import (
	"maps"
	"strings"
	"testing"

	"graphmill/pipeline/corpus"
	"graphmill/planner"
)

// What a document keeps of its plan is enough to make the same plan again.
func TestThePlanOfTheLastIngestIsReadBack(t *testing.T) {
	file := planner.File{Path: "a.md", Format: corpus.Markdown}
	for _, rule := range []planner.Rule{
		{Match: "*"},
		{Match: "*", Chunker: "fixed", Parameters: map[string]int{"chunk_tokens": 64, "overlap_tokens": 16}},
		{Match: "*", Chunker: "fixed", Parameters: map[string]int{"chunk_chars": 900, "overlap_chars": 100}},
		{Match: "*", Chunker: "fixed", Parameters: map[string]int{"chunk_tokens": 64, "chunk_chars": 900}},
		{Match: "*", Chunker: "sentence", Parameters: map[string]int{"chunk_tokens": 100, "overlap_sentences": 2}},
		{Match: "*", Chunker: "structural", Extractors: []string{"pattern"}},
	} {
		first := newPlanner(t, []planner.Rule{rule}, planner.Limits{}).Assign(file)
		again := newPlanner(t, nil, planner.Limits{}).Again(file, "", first.String())
		if again.Fingerprint != first.Fingerprint || !maps.Equal(again.Params, first.Params) || again.Reason != "the plan of its last ingest" {
			t.Errorf("%s is read back as %s (%v, %v): %s", first, again, first.Params, again.Params, again.Reason)
		}
	}
}

func TestAPlanThatCannotBeReadLeavesTheChoiceToTheRules(t *testing.T) {
	file := planner.File{Path: "a.md", Format: corpus.Markdown}
	rules := []planner.Rule{{Match: "*", Chunker: "fixed"}}
	for _, text := range []string{"", "magic 12 · pattern · exact", "fixed · pattern", "fixed x · pattern · exact", "fixed 12 · oracle · exact", "structural +3 · pattern · exact"} {
		got := newPlanner(t, rules, planner.Limits{}).Again(file, "", text)
		if got.Chunker != "fixed" || !strings.Contains(got.Reason, `rule 1 "*"; no plan of an earlier ingest is known`) {
			t.Errorf("%q: %s, %s", text, got, got.Reason)
		}
	}
	// Limits hold for what is remembered, too.
	got := newPlanner(t, nil, planner.Limits{Extractors: []string{"pattern"}}).Again(file, "", "structural 256 · pattern+gliner · exact")
	if got.String() != "structural 256 · pattern · exact" || !strings.Contains(got.Reason, "outside the plan limits") {
		t.Errorf("beyond the limits: %s, %s", got, got.Reason)
	}
}
