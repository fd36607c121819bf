package pipeline_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"graphmill/pipeline"
	"graphmill/pipeline/falkor/store"
)

func (b *bench) move(t *testing.T, from, to string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(b.dir, filepath.Dir(to)), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(b.dir, from), filepath.Join(b.dir, to)); err != nil {
		t.Fatal(err)
	}
}

func (b *bench) delete(t *testing.T, name string) {
	t.Helper()
	if err := os.Remove(filepath.Join(b.dir, name)); err != nil {
		t.Fatal(err)
	}
}

func mirrored(most int, percent float64) *pipeline.Mirror {
	return &pipeline.Mirror{MaxDelete: most, MaxPercent: percent}
}

// ten files, ingested, of one chunk each.
func newMirrored(t *testing.T) *reusing {
	t.Helper()
	r := newReusing(t, "structural")
	for i := range 10 {
		r.write(t, fmt.Sprintf("f%d.txt", i), fmt.Sprintf("Person %c met Ada Lovelace, who wrote %d letters to Charles Babbage.", 'A'+i, i))
	}
	r.ingest(t)
	return r
}

func TestAMirroringRunMovesAndRemoves(t *testing.T) {
	r := newMirrored(t)
	r.move(t, "f1.txt", "sub/moved.txt")
	r.move(t, "f2.txt", "f1.txt") // where another one was; so f2.txt is gone
	r.delete(t, "f3.txt")
	r.write(t, "new.txt", "Grace Hopper met Alan Turing.")
	r.options.Mirror = mirrored(-1, 11)
	report, n := r.ingest(t)
	for path, want := range map[string]pipeline.Status{
		"sub/moved.txt": pipeline.Ingested, // its old path is another file's now
		"f1.txt":        pipeline.Updated, "f3.txt": pipeline.Forgotten, "new.txt": pipeline.Ingested, "f0.txt": pipeline.Unchanged,
	} {
		if got := status(t, report, path); got.Status != want {
			t.Errorf("%s: %+v, want %s", path, got, want)
		}
	}
	if n != 1 { // of new.txt
		t.Errorf("%d chunks were extracted", n)
	}
	if digestOf(t, r.store.Store) != r.anew(t, "fresh") {
		t.Error("the graph is not the folder's")
	}
	if report.MissingCount != 0 {
		t.Errorf("missing: %q", report.Missing)
	}
}

// A file under another path costs neither extraction nor vectors.
func TestAMovedFileCostsNothing(t *testing.T) {
	r := newMirrored(t)
	for i := range 10 { // all of them
		r.move(t, fmt.Sprintf("f%d.txt", i), fmt.Sprintf("year/%d/f.txt", i))
	}
	r.options.Mirror = mirrored(0, -1)
	report, n := r.ingest(t)
	if n != 0 || report.Totals.Status[pipeline.Moved] != 10 || report.Totals.Documents != 10 {
		t.Errorf("%d chunks extracted, %v", n, report.Totals.Status)
	}
	if made := report.Finalize.Embedded; made[store.ChunkVector]+made[store.EntityVector]+made[store.RelationVector] != 0 {
		t.Errorf("embedded %v", made)
	}
	if d := status(t, report, "year/3/f.txt"); d.Reason != "moved from f3.txt" || d.Reused != d.Chunks {
		t.Errorf("%+v", d)
	}
	if digestOf(t, r.store.Store) != r.anew(t, "fresh") {
		t.Error("the graph is not the folder's")
	}
}

// An emptied mount, or one that is not mounted, empties no graph: a run that
// would remove more than it may writes nothing at all.
func TestAMirroringRunRefusesToRemoveTooMuch(t *testing.T) {
	r := newMirrored(t)
	before := digestOf(t, r.store.Store)
	r.write(t, "new.txt", "Grace Hopper met Alan Turing.")
	for gone := range 10 {
		r.delete(t, fmt.Sprintf("f%d.txt", gone))
		for _, c := range []struct {
			mirror *pipeline.Mirror
			most   int
		}{
			{mirrored(-1, 10), 1}, {mirrored(-1, 11), 2}, {mirrored(-1, 99), 9}, {mirrored(0, -1), 0}, {mirrored(4, -1), 4}, {mirrored(-1, 0), 0},
		} {
			if gone+1 <= c.most {
				continue
			}
			r.options.Mirror = c.mirror
			report, err := r.run(t, t.Context())
			var refused *pipeline.MirrorError
			if !errors.As(err, &refused) || refused.Gone != gone+1 || refused.Of != 10 || refused.Most != c.most {
				t.Fatalf("%d gone, %+v: %v", gone+1, c.mirror, err)
			}
			if !strings.Contains(err.Error(), "f0.txt") || !strings.Contains(err.Error(), fmt.Sprintf("--max-delete %d", gone+1)) || report.MissingCount != gone+1 {
				t.Errorf("%v; missing %q", err, report.Missing)
			}
		}
	}
	if digestOf(t, r.store.Store) != before {
		t.Error("the graph was changed")
	}
	r.options.Mirror = mirrored(-1, 100)
	report, _ := r.ingest(t)
	if report.Totals.Status[pipeline.Forgotten] != 10 || report.Totals.Status[pipeline.Ingested] != 1 || digestOf(t, r.store.Store) != r.anew(t, "fresh") {
		t.Errorf("%v", report.Totals.Status)
	}
}

// What cannot be seen is not gone: a folder that cannot be read, a file that
// an ignore file leaves out.
func TestAMirroringRunLeavesWhatItCannotSee(t *testing.T) {
	r := newMirrored(t)
	r.write(t, ".graphmillignore", "f1.txt\n")
	r.options.Mirror = mirrored(-1, 100)
	report, _ := r.ingest(t)
	if report.Totals.Status[pipeline.Forgotten] != 0 || report.Totals.Documents != 9 {
		t.Errorf("%v", report.Totals.Status)
	}
}

// A run that selects files knows nothing of the others.
func TestSelectedFilesMirrorNothing(t *testing.T) {
	r := newMirrored(t)
	r.delete(t, "f3.txt")
	r.options.Mirror = mirrored(-1, 100)
	r.options.Select = func(path string) bool { return path == "f4.txt" }
	report, _ := r.ingest(t)
	if report.Totals.Status[pipeline.Forgotten] != 0 {
		t.Errorf("%v", report.Totals.Status)
	}
}
