package ontology

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"graphmill/pipeline/graph"
)

func TestLabelsThatMayAndMayNotBeDeclared(t *testing.T) {
	long := strings.Repeat("x", MaxLabelBytes+1)
	cases := []struct {
		label string
		want  string // a piece of the error; "" for a valid label
	}{
		{"Person", ""}, {"Work of Art", ""}, {"WORKS_AT", ""}, {"e-mail", ""}, {"Section", ""},
		{"Größe", ""}, {"人物", ""}, {"व्यक्ति", ""}, {"Phase 3", ""}, {"_private", ""}, {"__x", ""},
		{"", "empty"}, {"   ", "begins or ends"}, {" Person", "begins or ends"},
		{"A|B", `holds '|'`}, {"A:B", `holds ':'`}, {"A`B", "holds '`'"}, {"A\nB", `holds '\n'`},
		{"A\tB", `holds '\t'`}, {"A\u00a0B", "holds"}, {"A\u200dB", "holds"}, {"A/B", "holds"},
		{"__Entity__", "__X__"}, {"____", "__X__"}, {"--", "no letter"},
		{"Chunk", "graph's own"}, {"Document", "graph's own"}, {"Unknown", "graph's own"}, {"unknown", "graph's own"},
		{long, "at most"}, {"a\xffb", "UTF-8"},
	}
	for _, c := range cases {
		err := ValidateLabel(c.label)
		if c.want == "" && err != nil {
			t.Errorf("%q refused: %v", c.label, err)
		}
		if c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%q: error %v, want one with %q", c.label, err, c.want)
		}
	}
}

func TestParseRefusesAndNames(t *testing.T) {
	cases := map[string]struct{ in, want string }{
		"an unknown key":            {"entities:\n  - label: Person\n    colour: red\n", `o.yaml: line 3: unknown key "colour" in "Person"; allowed are description, label, prompt, properties, threshold`},
		"an unknown key at the top": {"entity: []\n", `unknown key "entity" in the ontology; allowed are entities, relations`},
		"an unknown property key":   {"entities: [{label: P, properties: [{name: a, kind: b}]}]", `unknown key "kind"`},
		"a pattern of three":        {"entities: [{label: A}]\nrelations: [{label: R, patterns: [[A, A, A]]}]", "want 2"},
		"a pattern of one":          {"entities: [{label: A}]\nrelations: [{label: R, patterns: [[A]]}]", "want 2"},
		"a pattern without type":    {"entities: [{label: A}]\nrelations: [{label: R, patterns: [[A, B]]}]", `names "B", which is no declared entity type`},
		"a pattern's wrong case":    {"entities: [{label: Person}]\nrelations: [{label: R, patterns: [[person, Person]]}]", `("Person" is)`},
		"a pattern with Unknown":    {"entities: [{label: A}]\nrelations: [{label: R, patterns: [[A, Unknown]]}]", "declare the missing entity type"},
		"labels alike but for case": {"entities: [{label: Work Of Art}, {label: work_of art}]", "differ only by case or spacing"},
		"a label twice":             {"entities: [{label: A}, {label: A}]", "declared twice"},
		"a key twice":               {"entities: []\nentities: []\n", "already defined"},
		"two documents":             {"entities: []\n---\nentities: []\n", "more than one document"},
		"nothing":                   {"", "empty"},
		"a list":                    {"- a\n", `expected the keys "entities" and "relations"`},
		"a wrong type":              {"entities: [{label: A, threshold: high}]", "cannot unmarshal"},
		"a threshold out of range":  {"entities: [{label: A, threshold: 1.5}]", "between 0 and 1"},
		"a property's wrong type":   {"entities: [{label: A, properties: [{name: x, type: TEXT}]}]", "allowed are STRING"},
		"a cue in both voices":      {"entities: [{label: A}]\nrelations: [{label: R, cues: [x], passive_cues: [x]}]", "cues and in passive_cues"},
		"a cue without words":       {"relations: [{label: R, cues: ['--']}]", "holds no word"},
		"an alias to itself":        {"entities: &a [*a]", "alias *a"},
		"a broken file":             {"entities: [", "o.yaml"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := Parse("o.yaml", []byte(c.in))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("error %v, want one with %q", err, c.want)
			}
		})
	}
}

func TestJSONAndYAMLSayTheSame(t *testing.T) {
	fromYAML, err := Parse("o.yaml", []byte("entities:\n  - {label: Müller😀x}\n"))
	if err == nil {
		t.Fatal("an emoji is no letter; the label should be refused")
	}
	yaml := "\xef\xbb\xbfentities:\n  - label: Müller\n    threshold: 0.25\nrelations:\n  - label: KNOWS\n    patterns: [[Müller, Müller]]\n    cues: ['knows  well']\n    description: 𝕏\n"
	json := `{"entities": [{"label": "Mu\u0308ller", "threshold": 0.25}], "relations": [{"label": "KNOWS", "patterns": [["Müller", "Müller"]], "cues": ["knows well"], "description": "\ud835\udd4f"}]}`
	fromYAML, err = Parse("o.yaml", []byte(yaml))
	if err != nil {
		t.Fatal(err)
	}
	fromJSON, err := Parse("o.json", []byte(json))
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(fromYAML, fromJSON) {
		t.Errorf("YAML %+v\nJSON %+v", fromYAML, fromJSON)
	}
}

func TestWrittenOntologyReadsBackTheSame(t *testing.T) {
	o := mustDefault(t)
	for name, marshal := range map[string]func(*graph.Ontology) ([]byte, error){"o.yaml": MarshalYAML, "o.json": MarshalJSON} {
		first, err := marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		back, err := Parse(name, first)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(back, o.Canonical()) {
			t.Errorf("%s: reads back otherwise", name)
		}
		slices.Reverse(back.Entities)
		slices.Reverse(back.Relations)
		second, _ := marshal(back)
		if string(first) != string(second) {
			t.Errorf("%s: order of declaration shows in the file", name)
		}
	}
}

func TestDigestReadsWhatExtractionReads(t *testing.T) {
	o := mustDefault(t)
	want := Digest(o)
	shuffled := o.Canonical()
	slices.Reverse(shuffled.Entities)
	slices.Reverse(shuffled.Relations)
	for i := range shuffled.Relations {
		slices.Reverse(shuffled.Relations[i].Patterns)
		slices.Reverse(shuffled.Relations[i].Cues)
	}
	shuffled.Entities[0].Description = "another description"
	shuffled.Entities[0].Properties = []graph.Property{{Name: "age"}}
	if Digest(shuffled) != want {
		t.Error("order, description or properties change the digest")
	}
	changes := map[string]func(*graph.Ontology){
		"label":     func(o *graph.Ontology) { o.Entities[0].Label += "x" },
		"prompt":    func(o *graph.Ontology) { o.Entities[0].Prompt = "thing" },
		"threshold": func(o *graph.Ontology) { o.Entities[0].Threshold = 0.9 },
		"pattern":   func(o *graph.Ontology) { o.Relations[0].Patterns = nil },
		"cue":       func(o *graph.Ontology) { o.Relations[0].Cues = append(o.Relations[0].Cues, "zz") },
		"voice": func(o *graph.Ontology) {
			o.Relations[0].Cues, o.Relations[0].PassiveCues = o.Relations[0].PassiveCues, o.Relations[0].Cues
		},
	}
	for name, change := range changes {
		other := o.Canonical()
		change(other)
		if Digest(other) == want {
			t.Errorf("a changed %s does not change the digest", name)
		}
	}
}

func TestMergeOnlyAdds(t *testing.T) {
	base := parse(t, `
entities: [{label: Person, description: old}, {label: City}]
relations: [{label: LIVES_IN, patterns: [[Person, City]], cues: [lives in]}]`)
	extra := parse(t, `
entities: [{label: Person, description: new, threshold: 0.4, properties: [{name: age, type: integer}]}, {label: Drug}]
relations:
  - {label: LIVES_IN, cues: [resides in, lives in]}
  - {label: TREATS, patterns: [[Drug, Person]]}`)
	before := base.Canonical()
	merged, changes, err := Merge(base, extra)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(base.Canonical(), before) {
		t.Error("Merge changed its argument")
	}
	want := []string{
		`entity type "Drug" added`,
		`entity type "Person": description replaced`,
		`entity type "Person": threshold 0.4 replaces 0`,
		`entity type "Person": property "age" added`,
		`relation type "LIVES_IN": cue "resides in" added`,
		`relation type "TREATS" added`,
	}
	if !slices.Equal(changes, want) {
		t.Errorf("changes:\n%s", strings.Join(changes, "\n"))
	}
	if !merged.Allows("Person", "LIVES_IN", "City") || !merged.Allows("Drug", "TREATS", "Person") {
		t.Error("a declared pattern is missing")
	}
	again, changes, err := Merge(merged, extra)
	if err != nil || len(changes) != 0 || Digest(again) != Digest(merged) {
		t.Errorf("a second merge changes %v (%v)", changes, err)
	}
}

func TestMergeRefusesContradictions(t *testing.T) {
	base := parse(t, `entities: [{label: Person, properties: [{name: age, type: INTEGER}]}, {label: Work of Art}]`)
	for want, in := range map[string]string{
		"cannot become STRING":         `entities: [{label: Person, properties: [{name: age, type: STRING}]}]`,
		`declared as "Person"`:         `entities: [{label: PERSON}]`,
		`declared as "Work of Art"`:    `entities: [{label: WorkOfArt}]`,
		`which is no declared entity `: `MISSING`,
	} {
		extra := &graph.Ontology{Relations: []graph.RelationType{{Label: "R", Patterns: []graph.Pattern{{"Person", "Nobody"}}}}}
		if in != "MISSING" {
			extra = parse(t, in)
		}
		if merged, _, err := Merge(base, extra); err == nil || merged != nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	fresh := &graph.Ontology{Relations: []graph.RelationType{{Label: "R", Patterns: []graph.Pattern{{"Person", "Person"}}}}}
	if _, _, err := Merge(base, fresh); err != nil {
		t.Errorf("a pattern over types that base declares is refused: %v", err)
	}
}

func TestLoadNamesTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mine.yaml")
	if _, err := Load(path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("missing file: %v", err)
	}
	if err := os.WriteFile(path, []byte("entities: [{label: A, x: 1}]"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(path); err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), `"x"`) {
		t.Errorf("unknown key: %v", err)
	}
	if err := os.WriteFile(path, DefaultYAML(), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(path); err != nil {
		t.Error(err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("entities: [{label: A}]\nrelations: [{label: R, patterns: [[A, A]], cues: [knows]}]"))
	f.Add([]byte(`{"entities": [{"label": "A"}], "relations": []}`))
	f.Add([]byte("entities: &a [*a]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		o, err := Parse("fuzz", data)
		if err != nil {
			return
		}
		out, err := MarshalJSON(o)
		if err != nil {
			t.Fatal(err)
		}
		back, err := Parse("fuzz.json", out)
		if err != nil {
			t.Fatalf("%v in %s", err, out)
		}
		if Digest(back) != Digest(o) {
			t.Errorf("%s reads back with another digest", out)
		}
	})
}

func parse(t *testing.T, text string) *graph.Ontology {
	t.Helper()
	o, err := Parse("test", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func mustDefault(t *testing.T) *graph.Ontology {
	t.Helper()
	o, err := Default()
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestTemplatesNeedNoWordAndMayStandInBothVoices(t *testing.T) {
	if _, err := Parse("x.yaml", []byte(`entities: [{label: A}, {label: B}]
relations: [{label: R, patterns: [[A, B]], cues: ["_ , _"], passive_cues: ["_ , _", "_ _"]}]`)); err != nil {
		t.Error(err)
	}
	if _, err := Parse("x.yaml", []byte(`relations: [{label: R, cues: ["_ ,"]}]`)); err == nil {
		t.Error("a template with one name is accepted")
	}
}
