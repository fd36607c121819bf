package pipeline_test

import (
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"graphmill/chunkers"
	"graphmill/extractors"
	"graphmill/pipeline"
	"graphmill/pipeline/falkor/store"
	"graphmill/pipeline/graph"
	"graphmill/pipeline/models"
	"graphmill/planner"
	"graphmill/planner/catalogue"
	"graphmill/resolvers"
)

// reusing is a bench whose runs keep extractions, with small chunks, so that a
// page of text is many, and a count of those that were extracted.
type reusing struct {
	*bench
	extracted atomic.Int32
}

func newReusing(t *testing.T, chunker string) *reusing {
	t.Helper()
	r := &reusing{bench: newBench(t, 0)}
	var all []catalogue.Strategy
	all = append(append(append(all, chunkers.Catalogue()...), extractors.Catalogue()...), resolvers.Catalogue()...)
	plans, err := planner.New([]planner.Rule{{Match: "**", Chunker: chunker, Parameters: map[string]int{"chunk_tokens": 48}, Extractors: []string{"pattern"}}}, planner.Limits{MaxChunks: 100_000}, all)
	if err != nil {
		t.Fatal(err)
	}
	r.options.Planner = plans
	r.options.Extractions = pipeline.OpenExtractions(t.TempDir(), 1<<30)
	r.strategies.extract = func(context.Context, string) error { r.extracted.Add(1); return nil }
	return r
}

// ingest runs and finalizes; it returns the report and how many chunks were
// extracted.
func (r *reusing) ingest(t *testing.T) (*pipeline.Report, int) {
	t.Helper()
	r.extracted.Store(0)
	report, err := r.run(t, t.Context())
	if err != nil || report.FailedCount() > 0 {
		t.Fatalf("%v %+v", err, report.Documents)
	}
	report.Finalize = finalize(t, r.store.Store)
	return report, int(r.extracted.Load())
}

func finalize(t *testing.T, s *store.Store) *pipeline.FinalizeReport {
	t.Helper()
	embedder, err := models.NewHashEmbedder(16)
	if err != nil {
		t.Fatal(err)
	}
	report, err := pipeline.Finalize(t.Context(), pipeline.FinalizeOptions{Store: s, Embedder: embedder, Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// anew is the digest of a graph that is built of the same files from nothing,
// and forgotten again.
func (r *reusing) anew(t *testing.T, name string) string {
	t.Helper()
	s := r.open(t, name)
	options := r.options
	options.Store, options.Graph, options.Extractions = s, name, nil
	if report, err := pipeline.Run(t.Context(), options); err != nil || report.FailedCount() > 0 {
		t.Fatal(err, report.Documents)
	}
	finalize(t, s)
	return digestOf(t, s)
}

func digestOf(t *testing.T, s *store.Store) string {
	t.Helper()
	digest, err := s.Digest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return digest
}

// prosePage is a paragraph that names people and places, some of them often.
func prosePage(random *rand.Rand) string {
	first := []string{"Ada", "Charles", "Grace", "Alan", "Mary", "Emmy", "Sofia", "Kurt"}
	last := []string{"Lovelace", "Babbage", "Hopper", "Turing", "Shelley", "Noether", "Germain"}
	name := func() string { return first[random.IntN(len(first))] + " " + last[random.IntN(len(last))] }
	var b strings.Builder
	for range 2 + random.IntN(4) {
		rest := strings.Repeat(" and read", random.IntN(9))
		fmt.Fprintf(&b, "%s wrote %d letters to %s and %d others, who kept%s most of them. ", name(), random.IntN(1000), name(), random.IntN(9), rest)
	}
	return strings.TrimSpace(b.String())
}

// The long document of an edit: an edit of one paragraph costs a handful of
// chunks, whatever the chunker.
func TestAnEditOfOneParagraphCostsAHandfulOfChunks(t *testing.T) {
	for _, chunker := range []string{"structural", "sentence", "fixed"} {
		t.Run(chunker, func(t *testing.T) {
			r := newReusing(t, chunker)
			random := rand.New(rand.NewPCG(1, 2))
			pages := make([]string, 400)
			for i := range pages {
				pages[i] = prosePage(random)
			}
			r.write(t, "long.txt", strings.Join(pages, "\n\n"))
			first, n := r.ingest(t)
			if n != first.Totals.Chunks || first.Totals.Reused != 0 {
				t.Fatalf("%d of %d chunks extracted, %d reused", n, first.Totals.Chunks, first.Totals.Reused)
			}
			pages[200] += " Then Hypatia Alexandria came and wrote one more, which was long."
			r.write(t, "long.txt", strings.Join(pages, "\n\n"))
			report, n := r.ingest(t)
			embedded := report.Finalize.Embedded[store.ChunkVector]
			t.Logf("%s: of %d chunks %d extracted, %d embedded", chunker, report.Totals.Chunks, n, embedded)
			if most := 30; n == 0 || n > most || embedded > most {
				t.Errorf("of %d chunks %d were extracted and %d embedded; at most %d should be", report.Totals.Chunks, n, embedded, most)
			}
			if report.Totals.Reused != report.Totals.Chunks-n {
				t.Errorf("%d chunks are said to be reused, %d of %d were extracted", report.Totals.Reused, n, report.Totals.Chunks)
			}
			if digestOf(t, r.store.Store) != r.anew(t, "fresh") {
				t.Error("the graph is not the one of a first run")
			}
		})
	}
}

// Whatever is edited, moved, copied, swapped or taken away, the graph is the one
// that is built of the files as they are.
func TestWhatIsReusedIsWhatWouldBeExtracted(t *testing.T) {
	r := newReusing(t, "structural")
	random := rand.New(rand.NewPCG(7, 11))
	files := map[string][]string{}
	for i := range 4 {
		for range 12 {
			files[fmt.Sprintf("f%d.txt", i)] = append(files[fmt.Sprintf("f%d.txt", i)], prosePage(random))
		}
	}
	reused := 0
	for step := range 24 {
		if step > 0 {
			editSome(random, files, step)
		}
		r.show(t, files)
		if r.options.Mirror = nil; step%2 == 1 {
			r.options.Mirror = mirrored(-1, 100)
		}
		report, n := r.ingest(t)
		reused += report.Totals.Reused
		if got := report.Totals.Chunks - report.Totals.Reused; got != n {
			t.Errorf("step %d: %d chunks were extracted, the report says %d", step, n, got)
		}
		r.forget(t, report.Missing)
		finalize(t, r.store.Store)
		if digestOf(t, r.store.Store) != r.anew(t, fmt.Sprintf("fresh%d", step)) {
			t.Fatalf("step %d: the graph is not the one of a first run", step)
		}
	}
	if reused < 500 {
		t.Errorf("only %d chunks were reused: the test tests little", reused)
	}
}

// editSome changes one to three files.
func editSome(random *rand.Rand, files map[string][]string, step int) {
	for range 1 + random.IntN(3) {
		names := make([]string, 0, len(files))
		for name := range files {
			names = append(names, name)
		}
		slices.Sort(names)
		name, other := names[random.IntN(len(names))], names[random.IntN(len(names))]
		text := files[name]
		at := random.IntN(len(text))
		switch random.IntN(8) {
		case 0, 1: // a paragraph is put in
			files[name] = slices.Insert(slices.Clone(text), at, prosePage(random))
		case 2: // one is reworded
			files[name] = slices.Clone(text)
			files[name][at] = strings.Replace(text[at], "wrote", "sent", 1)
		case 3: // one goes
			if len(text) > 2 {
				files[name] = slices.Delete(slices.Clone(text), at, at+1)
			}
		case 4: // a heading comes, and with it another trail
			files[name] = slices.Insert(slices.Clone(text), at, fmt.Sprintf("Part %d\n======", step))
		case 5: // two change places
			files[name], files[other] = files[other], files[name]
		case 6: // one gets another name
			delete(files, name)
			files[fmt.Sprintf("moved/m%d.txt", step)] = text
		case 7: // one is copied
			files[fmt.Sprintf("copy%d.txt", step)] = text
		}
	}
}

// show makes the folder hold these files.
func (r *reusing) show(t *testing.T, files map[string][]string) {
	t.Helper()
	err := fs.WalkDir(os.DirFS(r.dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && files[path] == nil {
			return os.Remove(filepath.Join(r.dir, path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.MkdirAll(filepath.Join(r.dir, filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		r.write(t, name, strings.Join(text, "\n\n"))
	}
}

func (r *reusing) forget(t *testing.T, paths []string) {
	t.Helper()
	stored, err := r.store.Documents(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		if err := r.store.Remove(t.Context(), []graph.DocumentID{stored[path].ID}); err != nil {
			t.Fatal(err)
		}
	}
}
