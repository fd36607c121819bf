package ontology

import (
	"math/rand/v2"
	"strings"
	"testing"

	"graphmill/pipeline/graph"
)

func TestKeepNamesWhatIsMissingAndNothingElse(t *testing.T) {
	o := parse(t, `
entities: [{label: Person}, {label: City}, {label: A -B}]
relations:
  - {label: LIVES_IN, patterns: [[Person, City]]}
  - {label: R -S, patterns: [[A -B, City]]}
  - {label: NEAR}`)
	pruned := graph.Pruned{
		EntityTypes:   map[string]int{"Drug": 3, "Chunk": 9, "a|b": 1, "person": 4, "City": 2},
		RelationTypes: map[string]int{"TREATS": 2, "lives in": 1, "x:y": 1},
		Patterns: map[string]int{
			"City -LIVES_IN-> City": 5, "Ticket -LIVES_IN-> City": 1, "Drug -LIVES_IN-> City": 1,
			"City -R -S-> A -B": 2, "Ticket -NEAR-> Person": 1, "Unknown -LIVES_IN-> City": 7, "nonsense": 1,
		},
		UnknownEndpoints: map[string]int{"LIVES_IN": 4},
		UnknownEntities:  6,
	}
	got := Keep(o, pruned, 0).String()
	want := `{"entities":[{"label":"Drug"},{"label":"Ticket","prompt":"-"}],"relations":[` +
		`{"label":"LIVES_IN","patterns":[["City","City"],["Drug","City"],["Ticket","City"]]},` +
		`{"label":"R -S","patterns":[["City","A -B"]]},{"label":"TREATS"}]}`
	if got != want {
		t.Errorf("%s\nnot %s", got, want)
	}
	extra, err := ParseAddition("the call", []byte(got))
	if err != nil {
		t.Fatal(err)
	}
	merged, _, err := Merge(o, extra)
	if err != nil {
		t.Fatal(err)
	}
	if !merged.Allows("City", "LIVES_IN", "City") || !merged.Allows("Ticket", "NEAR", "Person") || !merged.Allows("City", "R -S", "A -B") {
		t.Error("what was dropped would be dropped again")
	}
	if again := Keep(merged, graph.Pruned{Patterns: pruned.Patterns, EntityTypes: map[string]int{"Drug": 1}}, 0); len(again.Entities) > 0 {
		t.Errorf("declared types are added again: %s", again)
	}
	if first := Keep(o, pruned, 1); !strings.Contains(first.String(), `"Drug"`) || !strings.Contains(first.String(), `[["City","City"]]`) || strings.Contains(first.String(), "Ticket") {
		t.Errorf("the most frequent one: %s", first)
	}
}

func TestHintCountsEverythingApart(t *testing.T) {
	if hint := Hint(graph.Pruned{BelowThreshold: 3}, "x"); hint != "" {
		t.Errorf("nothing is missing: %q", hint)
	}
	hint := Hint(graph.Pruned{
		EntityTypes: map[string]int{"A": 2}, RelationTypes: map[string]int{"R": 3}, Patterns: map[string]int{"p": 4, "q": 1},
		UnknownEndpoints: map[string]int{"R": 6}, UnknownEntities: 7,
	}, "set_ontology {}")
	for _, part := range []string{
		"2 mentions were dropped", "3 relations were dropped because their type", "5 relations were dropped only because", "(2 pairs;",
		"6 relations were dropped because one end is of type Unknown", "7 mentions are stored as Unknown", "set_ontology {}", "declare a better relation type",
	} {
		if !strings.Contains(hint, part) {
			t.Errorf("%q is not in %q", part, hint)
		}
	}
	if strings.Contains(Hint(graph.Pruned{UnknownEntities: 1}, ""), "To keep them") {
		t.Error("a call that is none")
	}
}

// TestKeepIsNeverRefused: whatever a model calls its types, the printed call works.
func TestKeepIsNeverRefused(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	pieces := []string{"Person", "person", "PERSON", "-", "_", " ", "A", "->", "|", "Chunk", "__", "日本", "é", "e\u0301", "'", `"`, "`", "\n", "9", " -R-> "}
	word := func() string {
		var text strings.Builder
		for range 1 + random.IntN(4) {
			text.WriteString(pieces[random.IntN(len(pieces))])
		}
		return text.String()
	}
	base := parse(t, `{entities: [{label: Person}, {label: A}], relations: [{label: R, patterns: [[A, Person]]}, {label: OPEN}]}`)
	for range 3000 {
		pruned := graph.Pruned{EntityTypes: map[string]int{}, RelationTypes: map[string]int{}, Patterns: map[string]int{}}
		for range random.IntN(4) {
			pruned.EntityTypes[word()] = 1
			pruned.RelationTypes[word()] = 1
			pruned.Patterns[graph.PatternKey(word(), []string{"R", "OPEN", word()}[random.IntN(3)], word())] = 1
		}
		call := Keep(base, pruned, 0).String()
		extra, err := ParseAddition("the call", []byte(call))
		if err == nil {
			_, _, err = Merge(base, extra)
		}
		if err != nil || strings.Contains(call, "'") {
			t.Fatalf("%v: %s from %v", err, call, pruned)
		}
	}
}
