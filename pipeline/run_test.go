package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"graphmill/chunkers"
	"graphmill/extractors"
	"graphmill/pipeline"
	"graphmill/pipeline/corpus"
	"graphmill/pipeline/corpus/plaintext"
	"graphmill/pipeline/engine/enginetest"
	"graphmill/pipeline/falkor/conn"
	"graphmill/pipeline/falkor/store"
	"graphmill/pipeline/graph"
	"graphmill/planner"
	"graphmill/planner/catalogue"
	"graphmill/resolvers"
)

// strategies are the real ones, with places where a test can put a fault.
type strategies struct {
	pattern *extractors.Pattern
	// extract, when set, is called before the pattern extractor.
	extract func(ctx context.Context, text string) error
	setup   error
}

func (s *strategies) Chunker(a planner.Assignment) (chunkers.Chunker, error) {
	return chunkers.New(a.Chunker, a.Params)
}

func (s *strategies) Resolver(a planner.Assignment) (resolvers.Resolver, error) {
	return resolvers.New(a.Resolver)
}

func (s *strategies) Extractor(planner.Assignment) (extractors.Extractor, error) {
	return s, s.setup
}

func (s *strategies) ModelFingerprint(planner.Assignment) (string, error) { return "", nil }

func (s *strategies) SettingsFingerprint(planner.Assignment) string { return "" }

func (s *strategies) Extract(ctx context.Context, chunks []chunkers.Chunk, o *graph.Ontology) ([]graph.Extraction, error) {
	if s.extract != nil {
		for _, c := range chunks {
			if err := s.extract(ctx, c.Text); err != nil {
				return nil, err
			}
		}
	}
	return s.pattern.Extract(ctx, chunks, o)
}

// faultyStore is the real store; before each commit it calls fail.
type faultyStore struct {
	*store.Store
	commits atomic.Int32
	fail    func(commit int32, changes []store.Change) error
}

func (f *faultyStore) Commit(ctx context.Context, changes []store.Change) error {
	n := f.commits.Add(1)
	if f.fail != nil {
		if err := f.fail(n, changes); err != nil {
			return err
		}
	}
	return f.Store.Commit(ctx, changes)
}

// observing collects events and lets a test act on them.
type observing struct {
	mu     sync.Mutex
	events []pipeline.Event
	act    func(pipeline.Event)
}

func (o *observing) Observe(e pipeline.Event) {
	o.mu.Lock()
	o.events = append(o.events, e)
	o.mu.Unlock()
	if o.act != nil {
		o.act(e)
	}
}

// bench is a folder, a graph and the options of a run over them.
type bench struct {
	dir        string
	client     *conn.Client
	store      *faultyStore
	strategies *strategies
	observer   *observing
	options    pipeline.Options
}

func newBench(t *testing.T, files int) *bench {
	t.Helper()
	f := enginetest.Start(t)
	client, err := conn.Open(conn.Options{Socket: f.Address, Username: f.Writer.User, Password: f.Writer.Secret})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	b := &bench{dir: t.TempDir(), client: client, observer: &observing{}}
	b.store = &faultyStore{Store: b.open(t, "g")}
	for i := range files {
		b.write(t, fmt.Sprintf("f%02d.txt", i), fmt.Sprintf("Person %c%c met Ada Lovelace in Place %d.", 'A'+i%26, 'a'+i%7, i%5))
	}
	b.prepare(t)
	return b
}

// open opens another graph on the same engine, for writing.
func (b *bench) open(t *testing.T, name string) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), b.client, store.Options{Graph: name, Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	owner, err := store.LocalOwner("run")
	if err != nil {
		t.Fatal(err)
	}
	lock, err := s.Acquire(t.Context(), owner, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { lock.Release(context.Background()) })
	return s
}

func (b *bench) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(b.dir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (b *bench) prepare(t *testing.T) {
	t.Helper()
	root, err := corpus.Open(b.dir, corpus.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	pattern, err := extractors.NewPattern(extractors.PatternConfig{Rules: []extractors.PatternRule{
		{Name: "names", Pattern: `[A-Z][a-z]+ [A-Z][a-z]+`, Type: "Thing", Neighbours: "CO_OCCURS"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	var all []catalogue.Strategy
	all = append(append(append(all, chunkers.Catalogue()...), extractors.Catalogue()...), resolvers.Catalogue()...)
	plans, err := planner.New([]planner.Rule{{Match: "**", Extractors: []string{"pattern"}}}, planner.Limits{}, all)
	if err != nil {
		t.Fatal(err)
	}
	b.strategies = &strategies{pattern: pattern}
	ontology := pattern.Extend(&graph.Ontology{})
	b.options = pipeline.Options{
		Root: root, Loader: corpus.NewLoader(root, map[corpus.Format]corpus.Parser{corpus.Text: plaintext.Parser{}}, corpus.Limits{}),
		Store: b.store, Planner: plans, Strategies: b.strategies, Ontology: ontology, OntologyDigest: "o", Graph: "g",
		Workers: 3, MaxDocuments: 2, Observer: b.observer,
	}
}

// run holds each run to what must be so however it ends: no goroutine is left,
// and what is reported as written stands in the graph and nothing else does.
func (b *bench) run(t *testing.T, ctx context.Context) (*pipeline.Report, error) {
	t.Helper()
	before, err := b.store.Documents(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	goroutines := runtime.NumGoroutine()
	report, runErr := pipeline.Run(ctx, b.options)
	for deadline := time.Now().Add(20 * time.Second); runtime.NumGoroutine() > goroutines; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			stacks := make([]byte, 1<<16)
			t.Fatalf("%d goroutines before, %d after:\n%s", goroutines, runtime.NumGoroutine(), stacks[:runtime.Stack(stacks, true)])
		}
	}
	after, err := b.store.Documents(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	written := 0
	for _, d := range report.Documents {
		switch d.Status {
		case pipeline.Ingested, pipeline.Updated, pipeline.Reextracted, pipeline.Empty:
			written++
			if _, there := after[d.Path]; !there {
				t.Errorf("%s is reported as %s and is not in the graph", d.Path, d.Status)
			}
			if d.Status == pipeline.Ingested {
				if _, there := before[d.Path]; there {
					t.Errorf("%s is reported as new and was there", d.Path)
				}
			}
		}
	}
	if grown := len(after) - len(before); grown > written {
		t.Errorf("the graph has %d more documents, %d were reported", grown, written)
	}
	if !slices.IsSortedFunc(report.Documents, func(a, b pipeline.DocumentReport) int { return strings.Compare(a.Path, b.Path) }) {
		t.Error("the report is not sorted")
	}
	return report, runErr
}

func status(t *testing.T, r *pipeline.Report, path string) pipeline.DocumentReport {
	t.Helper()
	for _, d := range r.Documents {
		if d.Path == path {
			return d
		}
	}
	t.Fatalf("%s has no row in %+v", path, r.Documents)
	return pipeline.DocumentReport{}
}

func TestStoreErrorEndsTheRunWithoutLosingReports(t *testing.T) {
	b := newBench(t, 40)
	broken := errors.New("the disk is full")
	b.store.fail = func(commit int32, _ []store.Change) error {
		if commit > 3 {
			return broken
		}
		return nil
	}
	report, err := b.run(t, t.Context())
	if !errors.Is(err, broken) || report.Interrupted != "" {
		t.Errorf("got %v, interrupted %q", err, report.Interrupted)
	}
	if n := report.Totals.Status[pipeline.Ingested]; n != 6 {
		t.Errorf("%d documents were committed", n)
	}
	b.store.fail = nil
	report, err = b.run(t, t.Context())
	if err != nil || report.Totals.Status[pipeline.Unchanged] != 6 || report.Totals.Status[pipeline.Ingested] != 34 {
		t.Errorf("the next run: %v, %v", err, report.Totals.Status)
	}
}

func TestCancelledRunCommitsWhatIsComplete(t *testing.T) {
	for _, workers := range []int{1, 4} {
		b := newBench(t, 40)
		b.options.Workers = workers
		ctx, cancel := context.WithCancel(t.Context())
		b.observer.act = func(e pipeline.Event) {
			if e.Kind == pipeline.Committed {
				cancel()
			}
		}
		report, err := b.run(t, ctx)
		if !errors.Is(err, pipeline.ErrInterrupted) || report.Interrupted != "interrupt" {
			t.Errorf("got %v, %q", err, report.Interrupted)
		}
		if n := report.Totals.Status[pipeline.Ingested]; n == 0 || n == 40 {
			t.Errorf("%d documents were committed", n)
		}
		if report.Totals.Status[pipeline.Failed] != 0 {
			t.Errorf("an interruption is no failure: %+v", report.Totals.Status)
		}
		b.observer.act = nil
		if report, err = b.run(t, t.Context()); err != nil || report.Totals.Documents != 40 {
			t.Errorf("the next run: %v, %v", err, report.Totals)
		}
	}
}

func TestReasonsForEndingAreTold(t *testing.T) {
	lost := errors.New("the lock is lost")
	for _, c := range []struct {
		cause error
		want  error
		told  string
	}{
		{pipeline.ErrRunTime, pipeline.ErrRunTime, "run_time"},
		{context.Canceled, pipeline.ErrInterrupted, "interrupt"},
		{lost, lost, ""},
	} {
		b := newBench(t, 20)
		ctx, cancel := context.WithCancelCause(t.Context())
		b.strategies.extract = func(context.Context, string) error { cancel(c.cause); return nil }
		report, err := b.run(t, ctx)
		if !errors.Is(err, c.want) || report.Interrupted != c.told {
			t.Errorf("%v: got %v, %q", c.cause, err, report.Interrupted)
		}
	}
}

func TestCancelledBeforeItBegins(t *testing.T) {
	b := newBench(t, 3)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	report, err := b.run(t, ctx)
	if !errors.Is(err, pipeline.ErrInterrupted) || len(report.Documents) != 0 {
		t.Errorf("got %v, %+v", err, report.Documents)
	}
}

func TestFilesThatVanishOrChangeFailByThemselves(t *testing.T) {
	b := newBench(t, 12)
	if _, err := b.run(t, t.Context()); err != nil {
		t.Fatal(err)
	}
	b.options.Force = true
	var once sync.Once
	b.observer.act = func(e pipeline.Event) {
		if e.Kind == pipeline.FileListed {
			once.Do(func() {
				os.Remove(filepath.Join(b.dir, "f00.txt"))
				os.WriteFile(filepath.Join(b.dir, "f01.txt"), []byte("It grew while it was listed, and then some."), 0o644)
				os.Remove(filepath.Join(b.dir, "f02.txt"))
				os.Symlink("/etc/hostname", filepath.Join(b.dir, "f02.txt"))
			})
		}
	}
	report, err := b.run(t, t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for path, kind := range map[string]string{"f00.txt": "vanished", "f01.txt": "changed", "f02.txt": "not_regular"} {
		d := status(t, report, path)
		if d.Status != pipeline.Failed || d.Kind != kind || !strings.Contains(d.Reason, "the graph keeps the version it has") {
			t.Errorf("%s: %+v", path, d)
		}
	}
	if n := report.Totals.Status[pipeline.Reextracted]; n != 9 {
		t.Errorf("%d of 9 others went through: %v", n, report.Totals.Status)
	}
}

func TestStrategyThatFailsOrPanicsFailsItsFile(t *testing.T) {
	b := newBench(t, 12)
	b.write(t, "bad.txt", "This text makes the extractor fail.")
	b.write(t, "worse.txt", "This text makes the extractor panic.")
	b.strategies.extract = func(_ context.Context, text string) error {
		if strings.Contains(text, "panic") {
			panic("index out of range")
		}
		if strings.Contains(text, "fail") {
			return errors.New("the model did not answer")
		}
		return nil
	}
	report, err := b.run(t, t.Context())
	if err != nil || report.Totals.Status[pipeline.Ingested] != 12 || report.Totals.Status[pipeline.Failed] != 2 {
		t.Fatalf("%v, %v", err, report.Totals.Status)
	}
	for path, reason := range map[string]string{"bad.txt": "the model did not answer", "worse.txt": "index out of range"} {
		if d := status(t, report, path); !strings.Contains(d.Reason, reason) || d.Plan == "" {
			t.Errorf("%s: %+v", path, d)
		}
	}
}

func TestStrategyThatCannotBeMadeEndsTheRun(t *testing.T) {
	b := newBench(t, 30)
	b.strategies.setup = errors.New("the model is not there")
	report, err := b.run(t, t.Context())
	if err == nil || !strings.Contains(err.Error(), "the model is not there") {
		t.Errorf("got %v", err)
	}
	if n := report.Totals.Status[pipeline.Failed]; n != 0 {
		t.Errorf("%d files failed for what is no fault of theirs", n)
	}
}

// What the store would refuse of a document must not end the run.
func TestDocumentThatCannotBeStoredFailsByItself(t *testing.T) {
	b := newBench(t, 6)
	b.options.Ontology = &graph.Ontology{}
	pattern, err := extractors.NewPattern(extractors.PatternConfig{Rules: []extractors.PatternRule{
		{Name: "names", Pattern: `[A-Z][a-z]+ [A-Z][a-z]+`, Type: "Thing"},
		{Name: "odd", Pattern: `odd`, Type: "Chunk"},
	}})
	if err != nil {
		t.Skipf("the extractor refuses such a type itself: %v", err)
	}
	b.strategies.pattern, b.options.Ontology = pattern, pattern.Extend(&graph.Ontology{})
	b.write(t, "odd.txt", "Something odd stands here.")
	report, err := b.run(t, t.Context())
	if err != nil || status(t, report, "odd.txt").Status != pipeline.Failed || report.Totals.Status[pipeline.Ingested] != 6 {
		t.Errorf("%v, %+v", err, report.Totals.Status)
	}
}

func TestEveryFileHasOneRowAndTheEventsAgree(t *testing.T) {
	b := newBench(t, 25)
	b.write(t, "empty.txt", "")
	b.write(t, "picture.png", "x")
	report, err := b.run(t, t.Context())
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]int{}
	for _, d := range report.Documents {
		rows[d.Path]++
	}
	if len(rows) != 27 || len(report.Documents) != 27 || report.Totals.Documents != 27 {
		t.Errorf("%d rows for %d files", len(report.Documents), len(rows))
	}
	listed, done, committed := 0, 0, 0
	for _, e := range b.observer.events {
		switch e.Kind {
		case pipeline.FileListed:
			listed++
		case pipeline.DocumentDone:
			done++
		case pipeline.Committed:
			committed += e.Done
		}
	}
	if listed != 27 || done != 27 || committed != 26 {
		t.Errorf("%d listed, %d done, %d committed", listed, done, committed)
	}
}

func TestSelectionLeavesTheOthersAlone(t *testing.T) {
	b := newBench(t, 8)
	b.options.Select = func(path string) bool { return path < "f03" }
	report, err := b.run(t, t.Context())
	if err != nil || len(report.Documents) != 3 || report.MissingCount != 0 {
		t.Errorf("%v, %+v", err, report)
	}
}
