package planner

import (
	"strings"
	"testing"

	"graphmill/pipeline/corpus"
	"graphmill/planner/catalogue"
)

func TestAgainGivesTheLastPlanWhateverTheRulesSayNow(t *testing.T) {
	strategies := []catalogue.Strategy{
		{Kind: catalogue.Chunker, Name: "sentence", Cheap: true, Parameters: []catalogue.Parameter{{Name: "chunk_tokens", Min: 10, Max: 900, Default: 256}}},
		{Kind: catalogue.Chunker, Name: "structural", Cheap: true, Parameters: []catalogue.Parameter{{Name: "chunk_tokens", Min: 10, Max: 900, Default: 256}}},
		{Kind: catalogue.Extractor, Name: "pattern", Cheap: true}, {Kind: catalogue.Extractor, Name: "gliner", Cheap: true},
		{Kind: catalogue.Resolver, Name: "exact", Cheap: true},
	}
	plan := func(limits Limits, rules ...Rule) *Planner {
		p, err := New(rules, limits, strategies)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	file := File{Path: "a.md", Format: corpus.Markdown, Size: 100}
	first := plan(Limits{}, Rule{Match: "*", Chunker: "sentence", Extractors: []string{"pattern"}, Parameters: map[string]int{"chunk_tokens": 100}}).Assign(file)
	now := plan(Limits{}, Rule{Match: "*", Chunker: "structural"})
	again := now.Again(file, first.Choices(), "")
	if again.String() != first.String() || again.Fingerprint != first.Fingerprint {
		t.Errorf("%s, not %s", again, first)
	}
	if again.Reason != "the plan of its last ingest" {
		t.Errorf("reason %q", again.Reason)
	}
	for _, kept := range []string{"", "{", "{}", "null"} {
		if got := now.Again(file, kept, ""); got.Fingerprint != now.Assign(file).Fingerprint || !strings.Contains(got.Reason, "no plan of an earlier ingest is known") {
			t.Errorf("%q: %s, %q", kept, got, got.Reason)
		}
	}
	usual := now.Assign(file)
	if got := plan(Limits{DefaultParameters: true}).Again(file, usual.Choices(), ""); got.Fingerprint != usual.Fingerprint || strings.Contains(got.Reason, "limits") {
		t.Errorf("usual numbers are no tuning: %s, %q", got, got.Reason)
	}
	limited := plan(Limits{Extractors: []string{"gliner"}, DefaultParameters: true}).Again(file, first.Choices(), "")
	if limited.String() != "sentence 256 · gliner · exact" || !strings.Contains(limited.Reason, "outside the plan limits") || !strings.Contains(limited.Reason, "do not allow setting parameters") {
		t.Errorf("the limits of today: %s, %q", limited, limited.Reason)
	}
	gone := now.Again(file, `{"chunker":"windows","params":{"width":3},"extractors":["oracle"],"resolver":"none"}`, "")
	if gone.String() != "structural 256 · pattern+gliner · exact" || !strings.Contains(gone.Reason, "no chunker windows any more") || !strings.Contains(gone.Reason, "no extractor oracle any more") {
		t.Errorf("strategies that are gone: %s, %q", gone, gone.Reason)
	}
}
