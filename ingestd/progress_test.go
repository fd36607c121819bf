package main

import (
	"encoding/json"
	"strings"
	"testing"

	"graphmill/commandline"
	"graphmill/pipeline"
	"graphmill/pipeline/engine/enginetest"
)

func TestJSONProgressIsOneObjectALine(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.fill(9, 1)
	w.write("bad.txt", "\x00\x00binary\x00")
	e := w.run("run", "--root", w.corpus, "--progress", "json", "--output", "json")
	if e.code != commandline.ExitSomeFailed {
		t.Fatal(e)
	}
	counts := map[string]int{}
	for line := range strings.Lines(e.stderr) {
		var event struct {
			Event    string                   `json:"event"`
			Document *pipeline.DocumentReport `json:"document"`
			Step     string                   `json:"step"`
			Done     int                      `json:"done"`
			Total    int                      `json:"total"`
		}
		decoder := json.NewDecoder(strings.NewReader(line))
		if err := decoder.Decode(&event); err != nil || event.Event == "" {
			t.Fatalf("%q is no event: %v", line, err)
		}
		counts[event.Event]++
		switch event.Event {
		case "document":
			if event.Document == nil || event.Document.Path == "" || event.Document.Status == "" {
				t.Errorf("%q tells of no document", line)
			}
		case "finalize":
			if event.Step == "" || event.Done > event.Total {
				t.Errorf("%q makes no sense", line)
			}
		}
	}
	if counts["listed"] != 10 || counts["document"] != 10 || counts["listed_all"] != 1 || counts["committed"] == 0 || counts["finalize"] == 0 {
		t.Errorf("events: %v", counts)
	}
	report := new(pipeline.Report)
	if err := json.Unmarshal([]byte(e.stdout), report); err != nil || len(report.Documents) != 10 {
		t.Errorf("standard output is not the report alone: %v", err)
	}
}

func TestPlainProgressAndQuiet(t *testing.T) {
	inFull(t)
	w := worldIn(t, enginetest.Start(t).DataDir)
	w.fill(5, 1)
	w.write("bad.txt", "\x00\x00binary\x00")
	e := w.run("run", "--root", w.corpus)
	contains(t, e.stderr, "failed: bad.txt: ", " of ", "files/s", "embed chunks")
	if strings.ContainsAny(e.stderr, "\r\x1b") {
		t.Errorf("a bar off a terminal: %q", e.stderr)
	}
	contains(t, e.stdout, "STATUS", "failed", "bad.txt", "5 ingested, 1 failed")
	for _, args := range [][]string{{"--quiet"}, {"--quiet", "--progress", "none"}} {
		e = w.run(append([]string{"run", "--root", w.corpus}, args...)...)
		if e.stderr != "" || strings.Contains(e.stdout, "STATUS") || !strings.Contains(e.stdout, "5 unchanged, 1 failed") || !strings.Contains(e.stdout, "failed:  bad.txt: ") || e.code != commandline.ExitSomeFailed {
			t.Errorf("%v: %v", args, e)
		}
	}
	e = w.run("run", "--root", w.corpus, "--progress", "none")
	if e.stderr != "" || !strings.Contains(e.stdout, "STATUS") {
		t.Errorf("without progress: %v", e)
	}
	e = w.run("run", "--root", w.corpus, "--progress", "bar")
	if e.code != commandline.ExitSomeFailed {
		t.Errorf("a bar where there is no terminal: %v", e)
	}
}

// The keys are a contract: docs/json.md lists them.
func TestReportHasItsKeys(t *testing.T) {
	inFull(t)
	w := worldIn(t, enginetest.Start(t).DataDir)
	w.write("a.txt", "Ada Lovelace met Charles Babbage.")
	w.write("p.png", "x")
	for range 2 {
		var report struct {
			Graph     *string
			Documents []map[string]any
			Totals    map[string]any
		}
		if err := json.Unmarshal([]byte(w.must("run", "--root", w.corpus, "--output", "json")), &report); err != nil {
			t.Fatal(err)
		}
		if report.Graph == nil || len(report.Documents) != 2 {
			t.Fatalf("got %+v", report)
		}
		for _, d := range report.Documents {
			for _, key := range []string{"path", "status", "plan", "chunks", "entities", "relations", "seconds", "reason"} {
				if _, there := d[key]; !there {
					t.Errorf("%v has no %q", d, key)
				}
			}
		}
		for _, key := range []string{"documents", "status", "chunks", "entities", "relations", "seconds"} {
			if _, there := report.Totals[key]; !there {
				t.Errorf("totals have no %q: %v", key, report.Totals)
			}
		}
	}
}

// Names of files may hold what moves a terminal's cursor.
func TestNamesAreShownHarmless(t *testing.T) {
	inFull(t)
	w := worldIn(t, enginetest.Start(t).DataDir)
	evil := "a\x1b[2Jb\nc‮d.txt"
	w.write(evil, "Ada Lovelace met Charles Babbage.")
	e := w.run("run", "--root", w.corpus)
	if e.code != 0 || strings.ContainsAny(e.stdout+e.stderr, "\x1b‮") {
		t.Errorf("got %q", e)
	}
	if row(t, w.ingest(0), evil).Status != pipeline.Unchanged {
		t.Error("the name did not come back from the graph as it is")
	}
	contains(t, w.must("plan", "--root", w.corpus), `\u{1B}`)
	contains(t, w.must("status"), `\u{1B}`)
	w.must("forget", evil)
}
