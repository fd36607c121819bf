package suggest

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"graphmill/extractors"
	"graphmill/pipeline/graph"
	"graphmill/pipeline/ontology"
)

// names finds people by two capitalised words, firms by what their names end in,
// towns by "-by" and the colour alone by its name.
func names(t testing.TB) extractors.Extractor {
	t.Helper()
	pattern, err := extractors.NewPattern(extractors.PatternConfig{Builtin: []string{}, Rules: []extractors.PatternRule{
		{Name: "firms", Pattern: `[A-Z][a-z]+ Ltd`, Type: "Organization"},
		{Name: "towns", Pattern: `[A-Z][a-z]+by\b`, Type: "Location"},
		{Name: "colours", Pattern: `Ultramarine`, Type: "Colour"},
		{Name: "people", Pattern: `[A-Z][a-z]+ (?:Low|Roe|Vail)`, Type: "Person"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	combined, err := extractors.Combine([]extractors.Extractor{pattern}, extractors.CombineOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return combined
}

// known is an ontology in which Acme Ltd may stand in a town and people may not.
func known() *graph.Ontology {
	return &graph.Ontology{
		Entities: []graph.EntityType{
			{Label: "Person", Description: "Somebody"}, {Label: "Organization"}, {Label: "Location"}, {Label: "Colour"}, {Label: "Ship"},
		},
		Relations: []graph.RelationType{
			{Label: "BASED_IN", Description: "A firm has its seat in a place", Patterns: []graph.Pattern{{"Organization", "Location"}}, Cues: []string{"is based in"}},
			{Label: "OWNS", Patterns: []graph.Pattern{{"Organization", "Organization"}}, Cues: []string{"owns"}, PassiveCues: []string{"is owned by"}},
			{Label: "LEADS", Patterns: []graph.Pattern{{"Person", "Organization"}}, Cues: []string{"_ heads|runs _"}},
		},
	}
}

func locally(t testing.TB, texts ...string) *Suggestion {
	t.Helper()
	var samples []Sample
	for i, text := range texts {
		samples = append(samples, Sample{Path: fmt.Sprintf("%c.txt", 'a'+i), Text: text})
	}
	s, err := Local(context.Background(), samples, known(), names(t), 2)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *Suggestion) relationNamed(label string) (Relation, bool) {
	for _, r := range s.Relations {
		if r.Type.Label == label {
			return r, true
		}
	}
	return Relation{}, false
}

func TestTypesAreCountedByMentionNameAndFile(t *testing.T) {
	s := locally(t,
		"Ann Low left. Ben Roe left. Ann Low stayed. The sea is Ultramarine.",
		"Cy Vail left with ANN LOW and Ann Low.")
	if s.Samples != 2 || len(s.Entities) != 2 {
		t.Fatalf("%+v", s)
	}
	person, colour := s.Entities[0], s.Entities[1]
	want := Entity{Type: graph.EntityType{Label: "Person", Description: "Somebody"}, Mentions: 5, Names: 3, Files: 2, Examples: []string{"Ann Low", "Ben Roe", "Cy Vail"}}
	if !reflect.DeepEqual(person, want) {
		t.Errorf("people: %+v", person)
	}
	if !colour.Doubtful || colour.Names != 1 || colour.Mentions != 1 {
		t.Errorf("a type with one name: %+v", colour)
	}
}

const people = "Ann Low, Ben Roe and Cy Vail left. Selby, Derby and Whitby are towns. Acme Ltd, Brick Ltd and Coal Ltd grew. "

func TestAPhraseBetweenThreePairsOfNamesIsARelation(t *testing.T) {
	s := locally(t,
		people+"Ann Low visited Ben Roe. Ann Low visited Ben Roe again.",
		"Ben Roe visits Cy Vail. Cy Vail was visited by Ann Low.")
	r, ok := s.relationNamed("VISITED")
	if !ok || r.Doubtful {
		t.Fatalf("%+v", s.Relations)
	}
	want := graph.RelationType{Label: "VISITED", Patterns: []graph.Pattern{{"Person", "Person"}}, Cues: []string{"visited", "visits"}, PassiveCues: []string{"was visited by"}}
	if !reflect.DeepEqual(r.Type, want) {
		t.Errorf("it is %+v", r.Type)
	}
	// The fact that is told twice is one.
	if r.Facts != 3 || r.Files != 2 || len(r.Pairs) != 1 || r.Pairs[0].Facts != 3 {
		t.Errorf("it is counted as %+v", r)
	}
	if r.Pairs[0].Example != "(Ben Roe, VISITED, Cy Vail): Ben Roe visits Cy Vail." {
		t.Errorf("its example is %q", r.Pairs[0].Example)
	}
	if twice, _ := locally(t, people+"Ann Low visited Ben Roe. Ben Roe visits Cy Vail.").relationNamed("VISITED"); !twice.Doubtful || twice.Facts != 2 {
		t.Errorf("of two pairs of names: %+v", twice)
	}
}

func TestAKnownRelationTakesThePairsThatAreSaidOften(t *testing.T) {
	s := locally(t, people+`Acme Ltd is based in Selby. Brick Ltd is based in Derby.
Ann Low is based in Selby. Ben Roe is based in Derby. Cy Vail is based in Whitby.`)
	r, _ := s.relationNamed("BASED_IN")
	want := []graph.Pattern{{"Person", "Location"}, {"Organization", "Location"}}
	if r.Facts != 5 || r.Doubtful || !reflect.DeepEqual(r.Type.Patterns, want) || r.Type.Description == "" {
		t.Errorf("%+v", r)
	}
	s = locally(t, people+"Acme Ltd is based in Selby. Brick Ltd is based in Derby. Ann Low is based in Selby. Ben Roe is based in Derby.")
	r, _ = s.relationNamed("BASED_IN")
	// What is left out is in no count either.
	if r.Facts != 2 || !reflect.DeepEqual(r.Type.Patterns, want[1:]) {
		t.Errorf("of a pair that is said twice: %+v", r)
	}
	for _, other := range s.Relations {
		if strings.Contains(other.Type.Label, "BASED") && other.Type.Label != "BASED_IN" {
			t.Errorf("a cue of BASED_IN is proposed as %+v", other)
		}
	}
}

func TestWhatTheOntologyReadsIsNotProposedAnew(t *testing.T) {
	s := locally(t, people+"Ann Low heads Acme Ltd. Ben Roe heads Brick Ltd. Cy Vail heads Coal Ltd.")
	if len(s.Relations) != 1 || s.Relations[0].Type.Label != "LEADS" || s.Relations[0].Facts != 3 {
		t.Errorf("%+v", s.Relations)
	}
}

func TestAPhraseThatMakesNoLabelIsLeftOut(t *testing.T) {
	s := locally(t, people+"Ann Low r.visited Ben Roe. Ben Roe r.visited Cy Vail. Cy Vail r.visited Ann Low.")
	if len(s.Relations) > 0 {
		t.Errorf("%+v", s.Relations)
	}
}

func TestThePassiveNamesTheTargetFirst(t *testing.T) {
	r, _ := locally(t, people+"Acme Ltd is owned by Ann Low. Brick Ltd is owned by Ben Roe. Coal Ltd is owned by Cy Vail.").relationNamed("OWNS")
	if !reflect.DeepEqual(r.Type.Patterns, []graph.Pattern{{"Person", "Organization"}}) {
		t.Errorf("%+v", r)
	}
}

func TestNoRelationJoinsTypesThatAreNotProposed(t *testing.T) {
	s := locally(t, "Ann Low, Ben Roe and Cy Vail left. Ann Low painted Ultramarine. Ben Roe painted Ultramarine. Cy Vail painted Ultramarine.")
	if len(s.Relations) > 0 {
		t.Errorf("%+v", s.Relations)
	}
}

func TestASuggestionDoesNotDependOnWorkers(t *testing.T) {
	var samples []Sample
	for i := range 20 {
		samples = append(samples, Sample{Path: fmt.Sprint(i), Text: people + "Ann Low visited Ben Roe. Ben Roe saw Cy Vail. Cy Vail met Ann Low."})
	}
	one, err := Local(context.Background(), samples, known(), names(t), 1)
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		many, err := Local(context.Background(), samples, known(), names(t), 8)
		if err != nil || !reflect.DeepEqual(one, many) {
			t.Fatalf("%v\n%+v\n%+v", err, one, many)
		}
	}
	if ontology.Validate(one.Ontology()) != nil || len(one.Relations) == 0 {
		t.Errorf("%+v", one)
	}
}
