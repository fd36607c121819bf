package main

import (
	"encoding/json"
	"strings"
	"testing"

	"graphmill/pipeline/llm/llmtest"
)

// A chunk that no answer could be used for is told by the exit code, the report
// and status, and asked about again by the next run, alone.
func TestAChunkWithoutAUsableAnswerIsToldAndAskedAboutAgain(t *testing.T) {
	t.Parallel()
	w, server := paid(t, paidConfig)
	w.write("a.txt", story(1))
	w.write("b.txt", story(12))
	odd := func(call llmtest.Call) bool {
		return strings.Contains(call.Turns[0], "Dnna Baker") && strings.Contains(call.Turns[0], "1901")
	}
	server.Script(func(call llmtest.Call) llmtest.Reply {
		if odd(call) {
			return llmtest.Reply{Text: "I am afraid that I cannot help with that."}
		}
		return namesInPassages(call)
	})
	first := w.ingest(3)
	for _, d := range first.Documents {
		want := map[string]int{"a.txt": 1, "b.txt": 0}[d.Path]
		if d.FailedChunks != want || d.Status != "ingested" || d.Entities == 0 {
			t.Errorf("%+v", d)
		}
		if want > 0 && (!strings.Contains(d.Reason, "1 of ") || !strings.Contains(d.Reason, "chunks failed")) {
			t.Errorf("reason %q", d.Reason)
		}
	}
	var status struct {
		Documents []struct {
			Path         string
			FailedChunks int `json:"failed_chunks"`
			Reason       string
		}
	}
	if err := json.Unmarshal([]byte(w.must("status", "--output", "json")), &status); err != nil {
		t.Fatal(err)
	}
	for _, d := range status.Documents {
		if want := d.Path == "a.txt"; (d.FailedChunks == 1) != want || strings.Contains(d.Reason, "chunks failed") != want {
			t.Errorf("status: %+v", d)
		}
	}
	contains(t, w.must("plan", "--root", w.corpus), "incomplete")

	before := len(server.Calls())
	server.Script(namesInPassages)
	second := w.ingest(0)
	for _, d := range second.Documents {
		if want := map[string]string{"a.txt": "reextracted", "b.txt": "unchanged"}[d.Path]; string(d.Status) != want || d.FailedChunks != 0 {
			t.Errorf("the second run: %+v", d)
		}
	}
	for _, call := range server.Calls()[before:] {
		if !odd(call) {
			t.Errorf("asked again:\n%s", call.User())
		}
	}
	digest := w.must("digest")
	w.ingest(0, "--graph", "calm")
	if calm := w.must("digest", "--graph", "calm"); calm != digest {
		t.Errorf("the graph is %s, without the failure %s", digest, calm)
	}
}

// The strategies that ask a model, by their names in the configuration: one call
// a chunk for a line of context, one that verifies what others found.
func TestContextAndVerifyingByConfiguration(t *testing.T) {
	t.Parallel()
	w, server := paid(t, strings.Replace(paidConfig, "extractor: llm, chunk_tokens: 64", "chunker: contextual, extractor: [pattern, verify], chunk_tokens: 64", 1)+
		"extractors: {pattern: {builtin: [], rules: [{name: names, pattern: '[A-Z][a-z]+ (Baker|Miller)', type: Person}]}}\n")
	w.write("a.txt", story(1))
	const line = "It is about the committee of Corvane."
	server.Script(func(call llmtest.Call) llmtest.Reply {
		switch {
		case call.SchemaName == "":
			if !strings.Contains(call.User(), strings.TrimSpace(story(1))) {
				t.Errorf("the question for context lacks the document:\n%s", call.User())
			}
			return llmtest.Reply{Text: line}
		case call.SchemaName == "relations" && strings.Contains(call.User(), line) && strings.Contains(call.User(), `1 Person "`):
			return llmtest.Reply{Text: `{"corrections": [], "relations": [{"source": 1, "type": "FAMILY_OF", "target": 2, "quote": "and both of them wrote down at length"}], "other": []}`}
		}
		t.Errorf("asked for %q:\n%s", call.SchemaName, call.User())
		return llmtest.Reply{Text: "?"}
	})
	report := w.ingest(0)
	d := report.Documents[0]
	if d.Relations == 0 || d.Entities == 0 || d.FailedChunks != 0 || server.Counts().Calls != 2*d.Chunks || !strings.HasPrefix(d.Plan, "contextual 64") {
		t.Errorf("%+v after %d calls", d, server.Counts().Calls)
	}
	planned := w.must("plan", "--root", w.corpus)
	contains(t, planned, "none")
	if w.ingest(0); server.Counts().Calls != 2*d.Chunks {
		t.Error("an unchanged file was asked about")
	}
}
