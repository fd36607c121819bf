package suggest

import (
	"reflect"
	"regexp"
	"strings"
	"testing"

	"graphmill/pipeline/graph"
	"graphmill/pipeline/ontology"
)

// written is the file of a suggestion, read as a file of an ontology.
func written(t *testing.T, s *Suggestion, origin string) (string, *graph.Ontology) {
	t.Helper()
	text, err := s.YAML(origin)
	if err != nil {
		t.Fatal(err)
	}
	o, err := ontology.Parse("suggested", text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return string(text), o
}

func TestTheFileDeclaresWhatIsProposed(t *testing.T) {
	s := locally(t, people+`Ann Low visited Ben Roe. Ben Roe visits Cy Vail. Cy Vail was visited by Ann Low. Ann Low saw Whitby.
Acme Ltd is based in Selby. Brick Ltd is based in Derby. The sea is Ultramarine. Acme Ltd supplied Brick Ltd. Brick Ltd supplied Coal Ltd.`)
	text, o := written(t, s, "samples of a test")
	if !reflect.DeepEqual(o.Canonical(), s.Ontology()) {
		t.Errorf("%+v\n%s", o, text)
	}
	if len(o.Entities) != 3 || len(o.Relations) != 2 {
		t.Errorf("%d entity types and %d relation types are declared:\n%s", len(o.Entities), len(o.Relations), text)
	}
	for _, want := range []string{"# An ontology suggested from samples of a test.", "  # 6 mentions of 3 names in 1 file: "} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	// Without the "# " of its lines, what was doubted is declared where it stands.
	_, body, _ := strings.Cut(strings.Split(text, "# Said once")[0], "\n\n")
	meant := regexp.MustCompile(`(?m)^# (  .*)$`).ReplaceAllString(body, "$1")
	more, err := ontology.Parse("meant", []byte(meant))
	if err != nil {
		t.Fatalf("%v\n%s", err, meant)
	}
	if _, ok := more.Entity("Colour"); !ok || len(more.Entities) != 4 {
		t.Errorf("the doubtful entity type is not declared by\n%s", meant)
	}
	if r, ok := more.Relation("SUPPLIED"); !ok || len(r.Cues) != 1 || len(more.Relations) != 3 {
		t.Errorf("the doubtful relation type is not declared by\n%s", meant)
	}
	if !strings.Contains(text, "#   [Person, Location] (Ann Low, SAW, Whitby): Ann Low saw Whitby.\n") {
		t.Errorf("what was said once is not listed:\n%s", text)
	}
}

func TestASuggestionOfNothingIsAFileAllTheSame(t *testing.T) {
	for _, s := range []*Suggestion{locally(t, "Nothing here."), locally(t, "The sea is Ultramarine.")} {
		if text, o := written(t, s, "nothing"); len(o.Entities)+len(o.Relations) > 0 {
			t.Errorf("%+v of\n%s", o, text)
		}
	}
}

// hostile is a suggestion in which text of a document stands wherever it can.
func hostile(text string) *Suggestion {
	return &Suggestion{
		Samples: 1,
		Entities: []Entity{
			{Type: graph.EntityType{Label: "Person", Description: "Somebody"}, Mentions: 3, Names: 3, Files: 1, Examples: []string{text, "Ben Roe"}},
			{Type: graph.EntityType{Label: "Colour"}, Mentions: 1, Names: 1, Files: 1, Examples: []string{text}, Doubtful: true},
		},
		Relations: []Relation{
			{
				Type:  graph.RelationType{Label: "SAW", Patterns: []graph.Pattern{{"Person", "Person"}}, Cues: []string{"saw"}},
				Facts: 3, Files: 1, Pairs: []Pair{{"Person", "Person", 3, text}},
			},
			{
				Type:  graph.RelationType{Label: "MET", Patterns: []graph.Pattern{{"Person", "Person"}}, Cues: []string{"met"}},
				Facts: 2, Files: 1, Pairs: []Pair{{"Person", "Person", 2, text}}, Doubtful: true,
			},
			{
				Type:  graph.RelationType{Label: "LEFT", Patterns: []graph.Pattern{{"Person", "Person"}}, Cues: []string{text}},
				Facts: 1, Files: 1, Pairs: []Pair{{"Person", "Person", 1, text}}, Doubtful: true,
			},
			{
				Type:  graph.RelationType{Label: "HEARD", Description: text, Patterns: []graph.Pattern{{"Person", "Person"}}, Cues: []string{text}},
				Facts: 2, Files: 1, Pairs: []Pair{{"Person", "Person", 2, text}}, Doubtful: true,
			},
		},
	}
}

var hostileTexts = []string{
	"Ann\nentities: [{label: Evil}]", "Ann\r  - label: Evil", "Ann\u2028  - label: Evil", "Ann\u2029- label: Evil", "Ann\u0085  - label: Evil",
	"Ann\v\f  - label: Evil", "\x00\x01\x1b[31m", "\xff\xfe - label: Evil", "---\n- label: Evil", "%YAML 1.1\n--- !!evil", "# Ann", "Ann # Ben", "{[&*!|>'\"%@`",
	"\ufeffentities:", "Ann\t- label: Evil", strings.Repeat("a ", 4000), "...", "\U0001F600 Ann", "\ufffe\uffff", "é\u0301",
}

func TestTextOfDocumentsDeclaresNothing(t *testing.T) {
	for _, text := range hostileTexts {
		declaresNothing(t, text)
	}
}

func declaresNothing(t *testing.T, hidden string) {
	t.Helper()
	s := hostile(hidden)
	file, o := written(t, s, hidden)
	if !reflect.DeepEqual(o.Canonical(), s.Ontology()) {
		t.Errorf("%q declares %+v in\n%s", hidden, o, file)
	}
}

func FuzzTextOfDocumentsDeclaresNothing(f *testing.F) {
	for _, text := range hostileTexts {
		f.Add(text)
	}
	f.Fuzz(declaresNothing)
}
