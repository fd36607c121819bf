package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"graphmill/ingestd/tools"
	"graphmill/pipeline/engine/enginetest"
	"graphmill/pipeline/llm/llmtest"
)

// A real model is asked for what a plan chooses: what that took stands in the
// progress and in the result. What so small a model says is mostly wrong, and what
// of it stands nowhere in the text is not stored.
func TestAPlanMayAskARealModelOverMCP(t *testing.T) {
	soakTime(t) // minutes on a busy machine
	w := worldIn(t, enginetest.Start(t).DataDir)
	w.configure(`embedder: {kind: hash, dimension: 32}
llm: {model: openai/` + llmtest.RealModel + `, max_output_tokens: 160, timeout: 10m, openai: {base_url: "` + llmtest.StartReal(t) + `"}}
plan: {limits: {extractors: [pattern, llm]}}
`)
	writeFile(t, filepath.Join(w.corpus, "a.md"), "Ada Lovelace worked with Charles Babbage.")
	s := w.serve()
	if err := s.call(t.Context(), "set_ontology", map[string]any{
		"entities":  []any{map[string]any{"label": "Person"}},
		"relations": []any{map[string]any{"label": "WORKED_WITH", "patterns": []any{[]string{"Person", "Person"}}}},
	}, nil); err != nil {
		t.Fatal(err)
	}
	got := &tools.Ingested{}
	if err := s.call(t.Context(), "ingest", map[string]any{
		"files": []string{"a.md"}, "plan": []any{map[string]any{"match": "*", "extractor": "llm"}},
	}, got); err != nil {
		t.Fatal(err)
	}
	if got.Cost == nil || got.Cost.Calls == 0 || got.Cost.InputTokens == 0 || len(got.Documents) != 1 || !strings.Contains(got.Documents[0].Plan, "llm") {
		t.Fatalf("got %+v, cost %+v", got.Documents, got.Cost)
	}
	t.Logf("%s (%s): %d entities; %d calls, %d tokens in, %d out", got.Documents[0].Status, got.Documents[0].Reason, got.Documents[0].Entities, got.Cost.Calls, got.Cost.InputTokens, got.Cost.OutputTokens)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.ContainsFunc(s.told, func(text string) bool { return strings.Contains(text, "calls of models") }) {
		t.Errorf("the progress tells of no cost: %q", s.told)
	}
}
