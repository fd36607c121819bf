package main

import (
	"fmt"
	"testing"

	"graphmill/pipeline/engine/enginetest"
)

// The digest covers everything in the graph; these tests hold it to the corpus
// alone, whatever the way there.

func TestGraphDoesNotDependOnWorkersOrTransactions(t *testing.T) {
	t.Parallel()
	w := worldIn(t, enginetest.Start(t).DataDir)
	w.fill(40, 1)
	want := ""
	for i, how := range []struct {
		jobs    string
		rows, n int
	}{{"1", 500, 32}, {"2", 10, 1}, {"8", 100_000, 1000}, {"3", 137, 5}} {
		w.configure(fastConfig + fmt.Sprintf("commit: {max_rows: %d, max_documents: %d}\n", how.rows, how.n))
		graphName := fmt.Sprint("g", i)
		report := w.ingest(0, "--graph", graphName, "--jobs", how.jobs)
		if got := statuses(report); got != "40 ingested" {
			t.Errorf("%+v: %s", how, got)
		}
		digest := w.digest("--graph", graphName)
		if want == "" {
			want = digest
		}
		if digest != want {
			t.Errorf("%+v gives another graph", how)
		}
	}
}

func TestGraphDoesNotDependOnHowRunsAreCut(t *testing.T) {
	inFull(t)
	w := worldIn(t, enginetest.Start(t).DataDir)
	w.fill(24, 2)
	w.ingest(0, "--graph", "whole")
	report := w.ingest(0, "--graph", "parts", "--include", "notes/**")
	if got := statuses(report); got != "8 ingested" || report.MissingCount != 0 {
		t.Errorf("the first part: %s, %d missing", got, report.MissingCount)
	}
	report = w.ingest(0, "--graph", "parts", "--include", "d0*.txt", "--no-finalize")
	if report.Finalize != nil {
		t.Error("--no-finalize finalized")
	}
	if report.MissingCount != 0 {
		t.Errorf("files that globs leave out are said to be missing: %v", report.Missing)
	}
	report = w.ingest(0, "--graph", "parts")
	if got := statuses(report); got != "24 unchanged" || report.Finalize == nil {
		t.Errorf("the last run: %s, finalize %v", got, report.Finalize)
	}
	if w.digest("--graph", "parts") != w.digest("--graph", "whole") {
		t.Error("a graph in parts is another graph")
	}
}

func TestUpdatingGivesTheGraphOfBuildingAnew(t *testing.T) {
	inFull(t)
	w := worldIn(t, enginetest.Start(t).DataDir)
	w.fill(18, 3)
	w.ingest(0, "--graph", "updated")
	before := w.digest("--graph", "updated")
	w.fill(12, 4) // others in place of the first twelve
	w.write("d001.txt", "")
	w.write("new.txt", "Zada Zovelace met Aada Aovelace.")
	w.remove("d017.txt")
	report := w.ingest(0, "--graph", "updated")
	if got := statuses(report); got != "1 ingested, 11 updated, 5 unchanged, 1 empty" {
		t.Errorf("the second run: %s", got)
	}
	if report.MissingCount != 1 || len(report.Missing) != 1 || report.Missing[0] != "d017.txt" {
		t.Errorf("missing: %v", report.Missing)
	}
	w.report(0, "forget", "--graph", "updated", "d017.txt")
	w.ingest(0, "--graph", "fresh")
	after := w.digest("--graph", "updated")
	if after != w.digest("--graph", "fresh") {
		t.Error("an updated graph is not the one built anew")
	}
	if after == before {
		t.Error("the digest does not see an update")
	}
}

func TestForgettingAndIngestingGivesTheSameGraph(t *testing.T) {
	inFull(t)
	w := worldIn(t, enginetest.Start(t).DataDir)
	w.fill(12, 5)
	w.ingest(0)
	before := w.digest()
	report := w.report(0, "forget", "notes/**", "d001.txt", "file:d002.txt")
	if got := statuses(report); got != "6 forgotten" || report.Finalize == nil || report.Finalize.Counts.Documents != 6 {
		t.Errorf("forget: %s, %+v", got, report.Finalize)
	}
	if w.digest() == before {
		t.Error("forget left the graph as it was")
	}
	if got := statuses(w.ingest(0)); got != "6 ingested, 6 unchanged" {
		t.Errorf("the run after it: %s", got)
	}
	if w.digest() != before {
		t.Error("forgetting and ingesting again is another graph")
	}
	if got := statuses(w.report(0, "reextract", "--root", w.corpus)); got != "12 reextracted" {
		t.Errorf("reextract: %s", got)
	}
	if w.digest() != before {
		t.Error("extracting again is another graph")
	}
}

// What two documents say of one entity survives either of them.
func TestWhatAnotherDocumentSupportsSurvives(t *testing.T) {
	t.Parallel()
	w := worldIn(t, enginetest.Start(t).DataDir)
	w.write("a.txt", "Ada Lovelace met Charles Babbage.")
	w.write("b.txt", "Ada Lovelace met Charles Babbage. Ada Lovelace met Mary Somerville.")
	w.ingest(0)
	both := w.report(0, "finalize").Finalize.Counts
	if both.Entities != 3 || both.Documents != 2 {
		t.Fatalf("two documents: %+v", both)
	}
	left := w.report(0, "forget", "a.txt").Finalize.Counts
	if left.Entities != 3 || left.Relations != both.Relations || left.Documents != 1 {
		t.Errorf("without a.txt: %+v, before %+v", left, both)
	}
	w.ingest(0)
	left = w.report(0, "forget", "b.txt").Finalize.Counts
	if left.Entities != 2 || left.Relations >= both.Relations || left.Relations == 0 {
		t.Errorf("without b.txt: %+v, before %+v", left, both)
	}
	// An update that no longer says it takes its own support back, too.
	w.write("a.txt", "Nothing is said here.")
	counts := w.ingest(0, "--include", "a.txt").Finalize.Counts
	if counts.Entities != 0 || counts.Relations != 0 || counts.Documents != 1 {
		t.Errorf("with nothing said: %+v", counts)
	}
}
