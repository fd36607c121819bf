package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"graphmill/pipeline/falkor/cypher"
)

// What graph builders get wrong over many runs, beyond what the tests hold that
// are named here:
//
//	doubled documents           TestIngestingTwiceLeavesTheGraphAsItIs, TestFilesOfOneNameOrOneContentAreDocumentsOfTheirOwn
//	lost files                  TestAnExtractionThatFailedIsToldAndMadeGoodByTheNextRun, TestKilledRunsEndInTheUndisturbedGraph
//	silent success              TestBadFilesFailByThemselves, TestAnExtractionThatFailedIsToldAndMadeGoodByTheNextRun
//	left-over facts             TestAForgottenDocumentLeavesNothingOfWhatItSaid, TestWhatAnotherDocumentSupportsSurvives
//	ghosts                      TestMergedSpellingsKeepTheFactsOfAllOfThem, TestNothingIsNamelessOrRelatedToItselfOrTwice
//	stale vectors               TestRewordedFactsAndDescriptionsGetNewVectors
//	a file that became empty    TestAFileThatBecameEmptyLosesItsOldContent
//	counts that disagree        TestKilledVerbsKeepTheCounts, TestCommitsKeepTheCounts (store)

// kept are the files with extractions in the data directory.
func (w *faultsWorld) kept() (names []string) {
	w.t.Helper()
	err := filepath.WalkDir(filepath.Join(w.data, "cache", "extractions"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, path)
		}
		return err
	})
	if err != nil && !os.IsNotExist(err) {
		w.t.Fatal(err)
	}
	return names
}

func TestAForgottenDocumentIsNotKeptOnDiskEither(t *testing.T) {
	w := newFaultsWorld(t)
	w.write("kept.txt", "Ada Lovelace leads the Analytical Society.")
	w.write("secret.txt", "Grace Hopper founded the Naval Society.")
	w.ingest(0)
	if n := len(w.kept()); n != 2 {
		t.Fatalf("%d files are kept", n)
	}
	w.report(0, "forget", "secret.txt")
	if n := len(w.kept()); n != 1 {
		t.Errorf("%d files are kept", n)
	}
	if records := w.ask(cypher.New(`MATCH (x:__Change__) WHERE x.data IS NOT NULL RETURN x.run`, nil)); len(records) != 0 {
		t.Errorf("records of changes: %q", records)
	}
	// An older version goes with the run that replaces it.
	w.remove("secret.txt")
	w.write("kept.txt", "Ada Lovelace founded the Analytical Society.")
	w.ingest(0)
	if n := len(w.kept()); n != 1 {
		t.Errorf("%d files are kept", n)
	}
}

// What is kept may be damaged in any way: it costs time and nothing else.
func TestDamagedExtractionsAreMadeAgain(t *testing.T) {
	w := newFaultsWorld(t)
	text := strings.Repeat("Ada Lovelace leads the Analytical Society, as is well known to all of them. ", 20)
	for _, damage := range []func(name string) error{
		func(name string) error { return os.Truncate(name, 40) },
		func(name string) error { return os.WriteFile(name, nil, 0o600) },
		func(name string) error { return os.WriteFile(name, []byte(strings.Repeat("x", 500)), 0o600) },
		func(name string) error { return os.Remove(name) },
		func(name string) error {
			data, err := os.ReadFile(name)
			if err == nil {
				data[len(data)/2] ^= 1
				err = os.WriteFile(name, data, 0o600)
			}
			return err
		},
	} {
		w.write("a.txt", text)
		w.ingest(0)
		for _, name := range w.kept() {
			if err := damage(name); err != nil {
				t.Fatal(err)
			}
		}
		w.write("a.txt", text+"Grace Hopper founded the Naval Society.")
		if report := w.ingest(0); report.Totals.Reused != 0 || statuses(report) != "1 updated" {
			t.Errorf("%d chunks were reused, %s", report.Totals.Reused, statuses(report))
		}
	}
	w.ingest(0, "--graph", "fresh")
	if w.digest() != w.digest("--graph", "fresh") {
		t.Error("the graph is not the one of a first run")
	}
	// Whole again, it serves.
	w.write("a.txt", text+"Grace Hopper leads the Naval Society.")
	if report := w.ingest(0); report.Totals.Reused == 0 {
		t.Error("nothing was reused")
	}
}

func TestAMirroredFolderLeavesNothingOfWhatIsGone(t *testing.T) {
	w := newFaultsWorld(t)
	w.write("kept.txt", "Ada Lovelace leads the Analytical Society.")
	w.write("moved.txt", "Grace Hopper founded the Naval Society.")
	w.write("gone.txt", "Helen Sparta lived in Paris. Ada Lovelace founded the Analytical Society.")
	w.ingest(0)
	w.remove("gone.txt")
	w.remove("moved.txt")
	w.write("new/place.txt", "Grace Hopper founded the Naval Society.")
	report := w.ingest(0, "--mirror", "--max-delete", "1")
	if got := statuses(report); got != "1 moved, 1 unchanged, 1 forgotten" || report.Finalize.Embedded["chunk"] != 0 {
		t.Errorf("%s, embedded %v", got, report.Finalize.Embedded)
	}
	w.want("edges", w.relations(), "Ada Lovelace | LEADS | Analytical Society", "Grace Hopper | FOUNDED | Naval Society")
	w.ingest(0, "--graph", "fresh")
	if w.digest() != w.digest("--graph", "fresh") {
		t.Error("the graph is not the folder's")
	}
	if got := statuses(w.ingest(0, "--mirror")); got != "2 unchanged" {
		t.Errorf("the next run: %s", got)
	}
}

// A folder or file that is renamed often leaves a link under its old name.
func TestAMirroredFolderHasAFileOnceThoughALinkIsLeftBehind(t *testing.T) {
	w := newFaultsWorld(t)
	w.write("old/ada.txt", "Ada Lovelace leads the Analytical Society.")
	w.write("grace.txt", "Grace Hopper founded the Naval Society.")
	w.ingest(0)
	for _, move := range [][2]string{{"old", "new"}, {"grace.txt", "hopper.txt"}} {
		if err := errors.Join(os.Rename(filepath.Join(w.corpus, move[0]), filepath.Join(w.corpus, move[1])), os.Symlink(move[1], filepath.Join(w.corpus, move[0]))); err != nil {
			t.Fatal(err)
		}
	}
	if got := statuses(w.ingest(0, "--mirror")); got != "2 moved" {
		t.Error(got)
	}
	w.ingest(0, "--graph", "fresh")
	if w.digest() != w.digest("--graph", "fresh") {
		t.Error("the graph is not the folder's")
	}
}
