package extractors

import (
	"testing"

	"graphmill/pipeline/graph"
)

// Whatever a model answers, what is made of it is of the passage: mentions are its
// text, relations join mentions of declared types by declared patterns, evidence
// lies inside.
func FuzzAnswersGiveOnlyWhatThePassageHolds(f *testing.F) {
	f.Add("Ada Roe founded Acme.", `{"entities": [{"name": "Ada Roe", "type": "Person", "quote": "Ada Roe"}, {"name": "Acme", "type": "Organization", "quote": "founded acme"}], "other": [{"name": "", "type": "<b>"}]}`,
		`{"corrections": [{"entity": 2, "type": "none"}, {"entity": -1, "type": "Person"}], "relations": [{"source": 1, "type": "FOUNDED", "target": 2, "quote": "Ada Roe"}], "other": [{"source": 9, "type": "", "target": 0}]}`)
	f.Add("A\nb ", `{"entities": null}`, `{"relations": [null]}`)
	f.Add("東京大学 is old", `{"entities": [{"name": "東京大学", "type": "Organization", "quote": "東京大学"}]}`, `[]`)
	f.Fuzz(func(t *testing.T, text, entities, relations string) {
		ontology := peopleOntology()
		chunk := chunkOf(text)
		found := readEntities(entities, chunk, ontology, askedTypes(ontology))
		holds(t, text, found, ontology)
		if things := thingsOf(found.Mentions); len(things) > 0 {
			holds(t, text, readVerified(relations, chunk, found, things, ontology), ontology)
		}
	})
}

func holds(t *testing.T, text string, e graph.Extraction, ontology *graph.Ontology) {
	if e.Failed != "" && len(e.Mentions)+len(e.Relations) > 0 {
		t.Fatalf("failed with %d mentions", len(e.Mentions))
	}
	for _, m := range e.Mentions {
		start, end := m.Range.Start-7, m.Range.End-7
		if start < 0 || end > len(text) || start >= end || text[start:end] != m.Text {
			t.Fatalf("mention %q at %v is not of the text", m.Text, m.Range)
		}
		if _, ok := ontology.Entity(m.Type); !ok {
			t.Fatalf("mention %q has the type %q", m.Text, m.Type)
		}
	}
	for _, r := range e.Relations {
		if r.Source < 0 || r.Source >= len(e.Mentions) || r.Target < 0 || r.Target >= len(e.Mentions) || r.Source == r.Target {
			t.Fatalf("a relation of %d and %d", r.Source, r.Target)
		}
		if !ontology.Allows(e.Mentions[r.Source].Type, r.Type, e.Mentions[r.Target].Type) {
			t.Fatalf("%s is not allowed there", r.Type)
		}
		if r.Evidence.Start < 7 || r.Evidence.End > len(text)+7 || r.Evidence.Len() <= 0 {
			t.Fatalf("evidence at %v", r.Evidence)
		}
	}
}
