package main

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"graphmill/pipeline"
	"graphmill/pipeline/llm/llmtest"
)

// surnames is a folder in which two people have two names each.
func surnames(t *testing.T) (*world, *llmtest.Server) {
	w, server := paid(t, judgingConfig)
	server.Script(judgeNames(t))
	w.write("a.txt", "Charles Babbage built engines. Ada Lovelace wrote.")
	w.write("b.txt", "Babbage met Lovelace.")
	return w, server
}

const babbageTold = "Babbage met Lovelace. Charles Babbage built engines."

// TestWhatAModelJoinsItDescribesOnce goes from files to what a reader is told: one
// call for both, in the bill, never again for the same sentences, and gone with
// the merge.
func TestWhatAModelJoinsItDescribesOnce(t *testing.T) {
	t.Parallel()
	w, server := surnames(t)
	plan := w.planned()
	report := w.ingest(0)
	if d := report.Finalize.Described; d == nil || *d != (pipeline.Described{Entities: 2}) {
		t.Fatalf("%+v", report.Finalize)
	}
	counts := server.Counts()
	if c := report.Cost; c == nil || c.Calls != counts.Calls || c.ByPurpose["describe"] == nil || c.ByPurpose["describe"].Calls != 1 {
		t.Errorf("the report has %+v, the server %+v", report.Cost, counts)
	}
	if counts.Calls > plan.Totals.AtMostCalls {
		t.Errorf("%d calls, at most %d were planned", counts.Calls, plan.Totals.AtMostCalls)
	}
	contains(t, w.must("check"), "no broken invariant")
	digest := w.digest()
	saved := filepath.Join(t.TempDir(), "saved")
	w.must("snapshot", "create", saved)
	w.report(0, "reextract", "--root", w.corpus, "--output", "json")
	if server.Counts().Calls != counts.Calls || w.digest() != digest {
		t.Errorf("%d more calls for what is described", server.Counts().Calls-counts.Calls)
	}

	var merges struct {
		Merges []struct {
			ID     string `json:"id"`
			Merged string `json:"merged"`
		} `json:"merges"`
	}
	if err := json.Unmarshal([]byte(w.must("merges", "list", "--output", "json")), &merges); err != nil {
		t.Fatal(err)
	}
	for _, m := range merges.Merges {
		if m.Merged == "Babbage" {
			w.must("merges", "undo", m.ID)
		}
	}
	told := w.entities()
	if told["Babbage"] != "Babbage met Lovelace." || told["Charles Babbage"] != "Charles Babbage built engines." || told["Ada Lovelace"] != "Ada Lovelace wrote. Babbage met Lovelace." {
		t.Errorf("after the undo: %q", told)
	}
	w.must("snapshot", "restore", saved, "--replace")
	if told := w.entities(); told["Charles Babbage"] != babbageTold || w.digest() != digest {
		t.Errorf("restored: %q", told)
	}
	// What a document said is forgotten with it, in the description too.
	w.must("forget", "b.txt")
	contains(t, w.must("check"), "no broken invariant")
	if told := w.entities(); told["Charles Babbage"] != "Charles Babbage built engines." {
		t.Errorf("forgotten: %q", told)
	}
}

// entities are what an export says of each.
func (w *world) entities() map[string]string {
	w.t.Helper()
	file := filepath.Join(w.t.TempDir(), "graph.jsonl")
	w.must("export", "--format", "jsonl", file)
	out := map[string]string{}
	for _, line := range strings.Split(string(readFile(w.t, file)), "\n") {
		var row struct {
			Properties struct {
				Name        string `json:"name"`
				Description string `json:"description"`
			} `json:"properties"`
		}
		if json.Unmarshal([]byte(line), &row) == nil && row.Properties.Name != "" {
			out[row.Properties.Name] = row.Properties.Description
		}
	}
	return out
}

// TestDescribingStopsAtTheBudget has enough for the pairs alone.
func TestDescribingStopsAtTheBudget(t *testing.T) {
	t.Parallel()
	w, server := surnames(t)
	report := w.ingest(4, "--max-calls", "1")
	if server.Counts().Calls != 1 || report.Finalize == nil || !report.Finalize.Done || report.Finalize.Merged != 2 || report.Interrupted != "budget" {
		t.Errorf("%d calls, %+v", server.Counts().Calls, report.Finalize)
	}
	if report = w.ingest(0); report.Finalize == nil || report.Finalize.Described == nil || report.Finalize.Described.Entities != 2 || server.Counts().Calls != 2 {
		t.Errorf("the next run: %+v, %d calls", report.Finalize, server.Counts().Calls)
	}
}

// TestQuerydShowsTheCommonDescription asks the reader.
func TestQuerydShowsTheCommonDescription(t *testing.T) {
	inFull(t)
	queryd := filepath.Join(t.TempDir(), "queryd")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", queryd, "graphmill/queryd").CombinedOutput(); err != nil {
		t.Fatalf("build queryd: %v: %s", err, out)
	}
	w, _ := surnames(t)
	w.ingest(0)
	command := exec.Command(queryd, "call", "retrieve", `{"question": "Who is Charles Babbage?"}`, "--config", w.config, "--data-dir", w.data)
	command.Env = w.command().Env
	out, err := command.CombinedOutput()
	if err != nil || !strings.Contains(string(out), babbageTold) {
		t.Fatalf("%v: %s", err, out)
	}
}
