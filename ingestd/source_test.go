package main

import (
	"os"
	"path/filepath"
	"testing"

	"graphmill/commandline"
	"graphmill/pipeline"
	"graphmill/pipeline/engine/enginetest"
)

// other makes a second folder of documents beside the corpus.
func (w *world) other(name string) string {
	w.t.Helper()
	dir := filepath.Join(filepath.Dir(w.corpus), name)
	writeFile(w.t, filepath.Join(dir, "x.txt"), "Mary Somerville met Ada Lovelace.")
	return dir
}

func TestSecondRootNeedsAName(t *testing.T) {
	inFull(t)
	w := worldIn(t, enginetest.Start(t).DataDir)
	w.write("a.txt", "Ada Lovelace met Charles Babbage.")
	w.ingest(0)
	before, file := w.digest(), appended(t, w.data)
	dir := w.other("second")
	for _, verb := range []string{"run", "plan", "reextract"} {
		e := w.run(verb, "--root", dir)
		if e.code != commandline.ExitUsage {
			t.Errorf("%s: want exit %d, got %v", verb, commandline.ExitUsage, e)
		}
		contains(t, e.stderr, w.corpus, dir, "--source NAME", "--moved")
	}
	if w.digest() != before {
		t.Error("a refused root changed the graph")
	}
	if grown := len(appended(t, w.data)) - len(file); grown > 2000 {
		t.Errorf("refused roots wrote %d bytes", grown)
	}
	report := w.report(0, "run", "--root", dir, "--source", "second")
	if row(t, report, "second/x.txt").Status != pipeline.Ingested || report.MissingCount != 0 {
		t.Errorf("got %+v", report)
	}
	// Each root sees its own documents, and only them.
	if report := w.ingest(0); statuses(report) != "1 unchanged" || report.MissingCount != 0 {
		t.Errorf("the first root again: %+v", report)
	}
	if err := os.Remove(filepath.Join(dir, "x.txt")); err != nil {
		t.Fatal(err)
	}
	report = w.report(0, "run", "--root", dir, "--source", "second")
	if len(report.Missing) != 1 || report.Missing[0] != "second/x.txt" {
		t.Errorf("missing: %v", report.Missing)
	}
	e := w.run("run", "--root", w.other("third"), "--source", "second")
	if e.code != commandline.ExitUsage {
		t.Errorf("another folder under a name in use: %v", e)
	}
	contains(t, e.stderr, `"second"`, dir)
}

func TestMovedRootIsTheSameRoot(t *testing.T) {
	inFull(t)
	w := worldIn(t, enginetest.Start(t).DataDir)
	w.write("a.txt", "Ada Lovelace met Charles Babbage.")
	w.ingest(0)
	moved := w.corpus + "-moved"
	if err := os.Rename(w.corpus, moved); err != nil {
		t.Fatal(err)
	}
	w.corpus = moved
	w.ingest(commandline.ExitUsage)
	w.must("plan", "--root", w.corpus, "--moved")
	if got := statuses(w.ingest(0, "--moved")); got != "1 unchanged" {
		t.Errorf("the moved root: %s", got)
	}
	w.ingest(0)
}

func TestNamedFirstRootKeepsUnnamedOnesOut(t *testing.T) {
	inFull(t)
	w := worldIn(t, enginetest.Start(t).DataDir)
	w.write("a.txt", "Ada Lovelace met Charles Babbage.")
	w.ingest(0, "--source", "first")
	e := w.run("run", "--root", w.other("second"))
	if e.code != commandline.ExitUsage {
		t.Errorf("got %v", e)
	}
	contains(t, e.stderr, `"first"`, w.corpus, "--source NAME")
}

// A folder of the first root may not be called as another root: their documents
// would have one path.
func TestFolderCalledAsASourceIsRefused(t *testing.T) {
	inFull(t)
	w := worldIn(t, enginetest.Start(t).DataDir)
	w.write("a.txt", "Ada Lovelace met Charles Babbage.")
	w.write("second/x.txt", "Grace Hopper met nobody.")
	w.ingest(0)
	dir := w.other("elsewhere")
	e := w.run("run", "--root", dir, "--source", "second")
	if e.code != commandline.ExitUsage {
		t.Fatalf("a name that is a folder's: %v", e)
	}
	contains(t, e.stderr, "--source second", "the folder second of "+w.corpus, "another name")

	w.report(0, "run", "--root", dir, "--source", "third")
	before := w.digest()
	// The folder comes after the name was given: its files fail, the others go on.
	w.write("third/x.txt", "Grace Hopper met nobody.")
	w.write("third/z.md", "Grace Hopper met nobody.")
	w.write("b.txt", "Ada Lovelace met Charles Babbage.")
	report := w.ingest(commandline.ExitSomeFailed)
	if got := statuses(report); got != "1 ingested, 2 unchanged, 2 failed" {
		t.Errorf("got %s", got)
	}
	failed := row(t, report, "third/x.txt")
	contains(t, failed.Reason, `"third"`, dir, "rename")
	if failed.Kind != "source_name" {
		t.Errorf("kind %q", failed.Kind)
	}
	plan := w.run("plan", "--root", w.corpus, "--output", "json")
	if plan.code != commandline.ExitSomeFailed {
		t.Errorf("plan: %v", plan)
	}
	contains(t, plan.stdout, "rename")
	w.report(0, "forget", "b.txt")
	if w.digest() != before {
		t.Error("a document of the other root was touched")
	}
}
