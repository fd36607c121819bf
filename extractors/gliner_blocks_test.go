package extractors

import (
	"strings"
	"testing"

	"graphmill/chunkers"
	"graphmill/pipeline/graph"
	"graphmill/pipeline/ontology"
)

func TestANameIsFoundUnderAHeadingThatNamesIt(t *testing.T) {
	defaults, err := ontology.Default()
	if err != nil {
		t.Fatal(err)
	}
	gliner := loadGLiNER(t, defaultModel, GLiNEROptions{})
	extractor, err := Combine([]Extractor{gliner}, CombineOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for text, c := range map[string]struct{ name, kind, fact string }{
		"Acme Corp\n\nAcme Corp was founded by John Smith.":                    {"Acme Corp", "Organization", "John Smith FOUNDED Acme Corp"},
		"# Acme Corp\n\nAcme Corp was founded by John Smith.":                  {"Acme Corp", "Organization", "John Smith FOUNDED Acme Corp"},
		"IBM\n\nIBM acquired Red Hat in 2019.":                                 {"IBM", "Organization", "IBM ACQUIRED Red Hat"},
		"Marie Curie\n\nMarie Curie was born in Warsaw.":                       {"Marie Curie", "Person", "Marie Curie BORN_IN Warsaw"},
		"Debian\n\nDebian was founded by Ian Murdock in 1993.":                 {"Debian", "Technology", ""},
		"Northwind\n\nNorthwind Pumps was founded by Anna Berg in 1987.":       {"Northwind Pumps", "Organization", "Anna Berg FOUNDED Northwind Pumps"},
		"John Smith\n\nJohn Smith founded Acme Corp in 1999.":                  {"John Smith", "Person", "John Smith FOUNDED Acme Corp"},
		"Mary Jones\n\nMary Jones leads Acme Corp.":                            {"Mary Jones", "Person", "Mary Jones LEADS Acme Corp"},
		"Company | Founder\nAcme Corp | John Smith\nIBM | Mary Jones":          {"IBM", "Organization", ""},
		"John Smith was born in Leeds\n\nMary Jones founded Acme Corp in Rome": {"Mary Jones", "Person", "John Smith BORN_IN Leeds"},
	} {
		out, err := extractor.Extract(t.Context(), []chunkers.Chunk{asChunk(text, 0)}, defaults)
		if err != nil {
			t.Fatal(err)
		}
		at := strings.LastIndex(text, c.name)
		if !hasAt(out[0], at, c.name, c.kind) {
			t.Errorf("%q: %s %s is not found at %d: %v", text, c.kind, c.name, at, out[0].Mentions)
		}
		var facts []string
		for _, r := range out[0].Relations {
			facts = append(facts, out[0].Mentions[r.Source].Text+" "+r.Type+" "+out[0].Mentions[r.Target].Text)
		}
		if all := strings.Join(facts, "; "); !strings.Contains(all, c.fact) {
			t.Errorf("%q: %s is not among %s", text, c.fact, all)
		}
	}
}

func hasAt(e graph.Extraction, at int, text, kind string) bool {
	for _, m := range e.Mentions {
		if m.Range.Start == at && m.Text == text && m.Type == kind {
			return true
		}
	}
	return false
}
