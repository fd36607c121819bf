package suggest

import (
	"fmt"
	"reflect"
	"testing"

	"graphmill/pipeline/graph"
	"graphmill/pipeline/ontology"
)

// The prompt and its version belong together.
func TestThePromptIsThatOfItsVersion(t *testing.T) {
	o, err := ontology.Default()
	if err != nil {
		t.Fatal(err)
	}
	q := question(instructionsFor(o.Canonical()), Sample{Text: "Ada Roe founded Acme."})
	const want = "1:03305b1dfcf23de0"
	if got := fmt.Sprintf("%d:%s", promptVersion, graph.Hash(q.System, q.User, string(q.Schema.JSON))[:16]); got != want {
		t.Errorf("the prompt is %s, expected %s: raise promptVersion when the prompt, the schema or the built-in ontology's wording changes, and say so here", got, want)
	}
}

// Whatever a model answers about whatever text, the proposal is a file that
// declares it and nothing else.
func FuzzAnswersProposeAnOntology(f *testing.F) {
	f.Add("Ada Roe knows Ben Low.", `{"entities": [{"type": "Person", "names": ["Ada Roe", "Ben Low"]}], "relations": [{"quote": "Ada Roe knows Ben Low.", "source": "Ada Roe", "type": "KNOWS", "target": "Ben Low"}]}`)
	f.Add("é\u0301 \u2028 Å", `{"entities": [{"type": "A", "names": ["é", "Å"]}, {"type": "a", "names": ["Å"]}], "relations": [{"quote": "é", "source": "é", "type": "R", "target": "Å"}]}`)
	f.Fuzz(func(t *testing.T, text, said string) {
		parsed, err := parseAnswer(said)
		if err != nil {
			return
		}
		a := &asking{answers: []*answer{&parsed}}
		s := a.suggestion([]Sample{{Path: "a.txt", Text: text}}, known())
		// All of it, as if it had been seen often.
		for i := range s.Entities {
			s.Entities[i].Doubtful = false
		}
		for i := range s.Relations {
			s.Relations[i].Doubtful = false
		}
		if ontology.Validate(s.Ontology()) != nil {
			return // spelled like each other, which is seen when they are proposed
		}
		if file, o := written(t, s, text); !reflect.DeepEqual(o.Canonical(), s.Ontology()) {
			t.Errorf("%s", file)
		}
	})
}
