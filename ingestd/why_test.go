package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"graphmill/commandline"
	"graphmill/pipeline"
	"graphmill/pipeline/engine/enginetest"
	"graphmill/planner"
)

// plan returns what `ingestd plan` says of the corpus.
func (w *world) plan(args ...string) *pipeline.PlanReport {
	w.t.Helper()
	report := new(pipeline.PlanReport)
	text := w.must(append([]string{"plan", "--root", w.corpus, "--output", "json"}, args...)...)
	if err := json.Unmarshal([]byte(text), report); err != nil {
		w.t.Fatalf("%v in %s", err, text)
	}
	return report
}

// why wants plan to give one reason for every file, and run to do what the
// reason calls for; then nothing is left to do.
func (w *world) why(want planner.Why, did string, args ...string) {
	w.t.Helper()
	plan := w.plan(args...)
	for _, d := range plan.Documents {
		if d.Why != want {
			w.t.Errorf("plan says %q of %s, want %q", d.Why, d.Path, want)
		}
		if d.Rule == "" || d.Plan == "" || d.Chunks == 0 || d.Tokens == 0 {
			w.t.Errorf("plan leaves something out: %+v", d)
		}
	}
	if plan.Totals.Files != len(plan.Documents) || plan.Totals.Why[want] != len(plan.Documents) {
		w.t.Errorf("the totals are %+v", plan.Totals)
	}
	report := w.ingest(0, args...)
	if got := statuses(report); got != did {
		w.t.Errorf("run: %s, want %s", got, did)
	}
	for _, d := range report.Documents {
		if d.Status != pipeline.Unchanged && !strings.HasPrefix(d.Reason, string(want)) {
			w.t.Errorf("run gives %q as the reason for %s, want %q", d.Reason, d.Path, want)
		}
	}
	if n := w.plan(args...).Totals.Why[planner.WhyNone]; n != len(plan.Documents) {
		w.t.Errorf("after the run %d of %d files are current", n, len(plan.Documents))
	}
}

func TestPlanSaysWhyAndRunDoesIt(t *testing.T) {
	inFull(t)
	w := worldIn(t, enginetest.Start(t).DataDir)
	w.fill(4, 1)
	w.why(planner.WhyNew, "4 ingested")
	w.why(planner.WhyNone, "4 unchanged")

	w.configure(strings.Replace(fastConfig, "chunk_tokens: 64", "chunk_tokens: 80", 1))
	w.why(planner.WhyPlan, "4 reextracted")

	// What a pattern rule looks for is part of the plan, too.
	w.configure(strings.Replace(fastConfig, "max_distinct: 10", "max_distinct: 9", 1))
	w.why(planner.WhyPlan, "4 reextracted")

	w.fill(4, 2)
	w.why(planner.WhyContent, "4 updated")

	file := filepath.Join(filepath.Dir(w.config), "ontology.yaml")
	writeFile(t, file, "entities:\n  - label: Person\nrelations:\n  - label: MET\n    patterns: [[Person, Person]]\n    cues: [met]\n")
	w.why(planner.WhyOntology, "4 reextracted", "--ontology", file)
	w.why(planner.WhyNone, "4 unchanged") // the graph keeps it
	writeFile(t, file, "entities:\n  - label: Ship\n")
	w.why(planner.WhyOntology, "4 reextracted", "--ontology", file)
	contains(t, w.must("ontology", "show"), "graph ontology", "Person", "MET", "Ship")
}

func TestChangedModelIsAReason(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("loads a model")
	}
	w := worldIn(t, enginetest.Start(t).DataDir)
	w.write("a.txt", "Ada Lovelace met Charles Babbage in London.")
	w.configure("embedder: {kind: hash, dimension: 32}\n")
	tiny, err := filepath.Abs("../testdata/models/gliner-tiny")
	if err != nil {
		t.Fatal(err)
	}
	// The same weights at another place are the same model.
	other := filepath.Join(t.TempDir(), "gliner-tiny")
	if err := os.CopyFS(other, os.DirFS(tiny)); err != nil {
		t.Fatal(err)
	}
	w.why(planner.WhyNew, "1 ingested", "--model-dir", tiny)
	w.why(planner.WhyNone, "1 unchanged", "--model-dir", other)
	config, err := os.ReadFile(filepath.Join(other, "gliner_config.json"))
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(other, "gliner_config.json"), string(config)+"\n")
	w.why(planner.WhyModel, "1 reextracted", "--model-dir", other)
}

func TestFirstOwnOntologyReplacesTheBuiltInOne(t *testing.T) {
	inFull(t)
	w := worldIn(t, enginetest.Start(t).DataDir)
	w.write("a.txt", "Ada Lovelace met Charles Babbage.")
	w.ingest(0)
	shown := w.must("ontology", "show")
	contains(t, shown, "built-in ontology", "Organization")
	file := filepath.Join(t.TempDir(), "own.yaml")
	writeFile(t, file, "entities:\n  - label: Ship\n    description: A vessel.\n    properties:\n      - {name: length, type: INTEGER}\n  - label: Port\nrelations:\n  - label: CALLS_AT\n    patterns: [[Ship, Port]]\n    cues: [calls at]\n")
	contains(t, w.must("ontology", "set", file, "--replace-builtin"), "Ship", "CALLS_AT")
	shown = w.must("ontology", "show")
	contains(t, shown, "graph ontology", "2 entity types", "Ship", "CALLS_AT")
	if strings.Contains(shown, "Organization") {
		t.Errorf("the built-in ontology is still there:\n%s", shown)
	}
	if got := statuses(w.ingest(0)); got != "1 reextracted" {
		t.Errorf("run: %s", got)
	}
	if got := statuses(w.ingest(0)); got != "1 unchanged" {
		t.Errorf("run: %s", got)
	}
	contains(t, w.must("ontology", "set", file), "nothing to add")
	// It only grows.
	writeFile(t, file, "entities:\n  - label: Whale\n")
	w.must("ontology", "set", file)
	contains(t, w.must("ontology", "show"), "3 entity types", "Ship", "Whale")
	writeFile(t, file, "entities:\n  - label: Chunk\n")
	if e := w.run("ontology", "set", file); e.code != commandline.ExitUsage || !strings.Contains(e.stderr, "Chunk") {
		t.Errorf("a reserved label: %v", e)
	}
}

// What export writes, set reads back into another graph as the same.
func TestOntologyRoundTrip(t *testing.T) {
	inFull(t)
	w := worldIn(t, enginetest.Start(t).DataDir)
	file := filepath.Join(t.TempDir(), "own.yaml")
	writeFile(t, file, `entities:
  - label: Ship
    description: "A vessel: \"large\" or not"
    threshold: 0.4
    properties:
      - {name: length, type: INTEGER, description: in metres, required: true}
  - label: Sea Port
relations:
  - label: CALLS_AT
    patterns: [[Ship, Sea Port]]
    cues: [calls at, "calls\tat"]
    passive_cues: [is called at by]
  - label: NEAR
`)
	w.must("ontology", "set", file)
	yaml, json := w.must("ontology", "export"), w.must("ontology", "export", "--output", "json")
	if yaml == json {
		t.Error("YAML and JSON are the same text")
	}
	for name, text := range map[string]string{"own.yaml": yaml, "own.json": json} {
		exported := filepath.Join(t.TempDir(), name)
		w.must("ontology", "export", exported)
		content, err := os.ReadFile(exported)
		if err != nil || string(content) != text {
			t.Errorf("%s holds\n%s\nstandard output was\n%s: %v", name, content, text, err)
		}
		w.must("ontology", "set", exported, "--graph", "other")
		if again := w.must("ontology", "export", "--graph", "other"); again != yaml {
			t.Errorf("by %s it comes back as\n%s\nand was\n%s", name, again, yaml)
		}
		contains(t, w.must("ontology", "set", exported, "--graph", "other"), "nothing to add")
	}
}

func TestPrunedIsShown(t *testing.T) {
	inFull(t)
	w := worldIn(t, enginetest.Start(t).DataDir)
	w.write("a.txt", "Acme Corp hired Ada Lovelace. Ada Lovelace works at Acme Corp.")
	w.configure(`embedder: {kind: hash, dimension: 32}
plan:
  rules: [{match: "**", extractor: pattern}]
extractors:
  pattern:
    rules:
      - {name: people, pattern: 'Ada Lovelace', type: Person}
      - {name: firms, pattern: 'Acme Corp', type: Ship}
`)
	report := w.ingest(0)
	text, err := json.Marshal(report.Pruned)
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Pruned.Patterns) == 0 {
		t.Fatalf("nothing was pruned: %s", text)
	}
	w.must("forget", "a.txt")
	contains(t, w.must("run", "--root", w.corpus, "--quiet"), "pruned:", "undeclared relation patterns", "Person")
}
