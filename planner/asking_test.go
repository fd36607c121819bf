package planner_test

import (
	"slices"
	"testing"

	"graphmill/planner"
	"graphmill/planner/catalogue"
)

func TestStrategiesThatAskAModelAreNamedWithTheirRule(t *testing.T) {
	strategies := []catalogue.Strategy{
		{Kind: catalogue.Chunker, Name: "sentence", Cheap: true}, {Kind: catalogue.Chunker, Name: "structural", Cheap: true},
		{Kind: catalogue.Extractor, Name: "gliner", Cheap: true}, {Kind: catalogue.Extractor, Name: "pattern", Cheap: true},
		{Kind: catalogue.Extractor, Name: "llm", Cost: catalogue.Cost{ModelCallsPerChunk: 2}},
		{Kind: catalogue.Resolver, Name: "exact", Cheap: true},
	}
	rules := []planner.Rule{{Match: "*.md", Extractors: []string{"pattern", "llm"}}, {Match: "*.txt", Extractors: []string{"gliner"}}}
	for _, c := range []struct {
		name    string
		allowed []string
		want    []string
	}{
		{"allowed", []string{"gliner", "pattern", "llm"}, []string{`extractor llm of rule 1 "*.md"`}},
		{"replaced by the limits", nil, nil},
	} {
		p, err := planner.New(rules, planner.Limits{Extractors: c.allowed}, strategies)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Asking(); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q", c.name, got)
		}
	}
}
