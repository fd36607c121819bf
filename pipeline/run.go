package pipeline

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sort"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"graphmill/pipeline/corpus"
	"graphmill/pipeline/falkor/store"
	"graphmill/pipeline/graph"
	"graphmill/pipeline/llm"
	"graphmill/planner"
)

// ErrInterrupted is returned, wrapped and beside a complete report, when a run
// was told to stop and did so at a document boundary.
var ErrInterrupted = errors.New("interrupted at a document boundary; run again to go on")

// ErrRunTime is the cause to cancel a run's context with when its time is over.
var ErrRunTime = errors.New("limits.run_time is over")

// Options say what to run. Everything without a stated default is required.
type Options struct {
	Root       Files
	Loader     *corpus.Loader
	Store      Store
	Planner    *planner.Planner
	Strategies Strategies
	Ontology   *graph.Ontology
	// OntologyDigest is the fingerprint of what extraction reads of Ontology.
	OntologyDigest string
	Graph          string // for the report
	Source         string // name of the files root; "" for a graph's first
	// Texts says that Root holds texts: their names are their ids and their paths.
	Texts bool
	// Additive leaves documents that stand in the graph and would change to a run
	// that has the graph for itself: Report.Deferred lists them.
	Additive bool
	// ContentOnly leaves documents whose content is the same as they are, whatever
	// else would make them different now; the report says what that is.
	ContentOnly bool
	// Claim writes what must stand in the graph before the first document, once it
	// is certain that the run is not refused. nil writes nothing.
	Claim func(ctx context.Context) error
	// Select picks files by path; nil takes all.
	Select func(path string) bool
	// Planned are the fingerprints that files must have, by path as the graph knows
	// it; a file with others, or without, fails. nil asks nothing.
	Planned map[string]graph.Fingerprints
	// Force processes selected files even when nothing changed.
	Force bool
	// LastPlans gives files that stand in the graph the plan of their last
	// extraction instead of the Planner's.
	LastPlans bool
	// Mirror removes and moves documents whose files are gone; nil reports them
	// as missing. It has no effect with Select and Texts.
	Mirror *Mirror
	// Meter counts what the strategies ask language models, and holds the budgets;
	// nil when none asks.
	Meter *llm.Meter
	// Forecaster counts for Plan what language models will be asked; nil leaves
	// that to the planner's estimates.
	Forecaster Forecaster
	// Extractions keeps what is extracted for later versions; nil keeps nothing.
	Extractions *Extractions
	// Remote extracts the documents in place of this process; nil extracts here.
	Remote Remote
	// Workers is how many documents are loaded and extracted at once; 0 means 1.
	Workers int
	// MaxRows and MaxDocuments bound one transaction. 0 means [ServedRows] and
	// [ServedDocuments], or [FirstRows] and [FirstDocuments] while the graph is
	// first built and nobody can search it yet.
	MaxRows, MaxDocuments int
	FileTimeout           time.Duration // to load one file; 0 means none
	Observer              Observer      // nil means Silent
}

// A transaction's bounds where none are given. Readers wait for one of 500 rows
// for 20 to 60 ms. The engine writes large ones at no higher a rate per row, but
// each has four questions before it: with 5,000 rows they no longer count.
const (
	ServedRows, ServedDocuments = 500, 32
	FirstRows, FirstDocuments   = 5000, 320
)

func (o Options) withDefaults() Options {
	if o.Workers <= 0 {
		o.Workers = 1
	}
	if o.Observer == nil {
		o.Observer = Silent{}
	}
	return o
}

// run is the state of one Run.
type run struct {
	Options
	*recorder
	stored  map[string]store.StoredDocument
	beside  []graph.Fingerprints          // of documents that stand in the graph and are not this run's kind
	sources map[string]string             // the graph's files roots by name
	seen    map[string]bool               // paths listed; only the listing stage writes it
	written map[string]graph.Fingerprints // by path; only the writer touches it
	// Of a mirroring run: what is to go, by new path what is to move, and what of
	// it is done.
	removing           []string
	moves              map[string]store.StoredDocument
	removed, movedAway map[string]bool

	extraction *Extraction
	flushAfter time.Duration
	over       exhausted // the run's budget
}

// Run ingests the files of the root. It returns the report also when it ends
// early; the error is then ErrInterrupted or that of the store or the listing.
// When ctx is cancelled, files under way are given up, documents whose rows are
// complete are committed, and nothing is left half done.
func Run(ctx context.Context, o Options) (*Report, error) {
	o = o.withDefaults()
	r := &run{
		Options: o, recorder: newRecorder(o.Graph, o.Observer),
		seen: map[string]bool{}, written: map[string]graph.Fingerprints{},
		removed: map[string]bool{}, movedAway: map[string]bool{},
		extraction: &Extraction{Strategies: o.Strategies, Planner: o.Planner, Ontology: o.Ontology, pool: semaphore.NewWeighted(int64(o.Workers))},
	}
	var err error
	mirror := o.Mirror != nil && o.Select == nil && !o.Texts
	if err = r.ask(ctx); err == nil && mirror {
		err = r.survey(ctx)
	}
	if err == nil && r.Claim != nil {
		err = r.Claim(ctx)
	}
	if err == nil {
		if err = r.stages(ctx); err == nil {
			err = r.over.why()
		}
	}
	if err == nil && mirror {
		err = r.removeGone(ctx)
	}
	if err == nil && o.Select == nil && !o.Texts {
		r.findMissing()
	}
	if err == nil {
		r.pruneExtractions()
	}
	report := r.finish()
	return report, report.Interrupt(ctx, err)
}

// ask puts the questions that the store is asked before work.
func (r *run) ask(ctx context.Context) (err error) {
	if r.stored, err = r.Store.Documents(ctx); err != nil {
		return err
	}
	for path, d := range r.stored {
		if d.ID != r.documentID(path) && (d.Fingerprints.Plan == "" || r.Texts) {
			delete(r.stored, path) // another program's, or a file: ours stands beside it
			r.beside = append(r.beside, d.Fingerprints)
		}
	}
	meta, err := r.Store.Meta(ctx)
	if r.sources = maps.Clone(meta.Sources); r.sources == nil {
		r.sources = map[string]string{}
	}
	if !r.Texts {
		r.sources[r.Source] = r.Root.Dir() // as it will be claimed
	}
	r.bound(meta.EmbeddingModel == "")
	return err
}

// bound chooses how much a transaction holds. A graph is first built until its
// first vectors are made.
func (r *run) bound(first bool) {
	rows, documents := ServedRows, ServedDocuments
	r.flushAfter = flushAfter
	if first {
		rows, documents, r.flushAfter = FirstRows, FirstDocuments, firstFlushAfter
	}
	if r.MaxRows <= 0 {
		r.MaxRows = rows
	}
	if r.MaxDocuments <= 0 {
		r.MaxDocuments = documents
	}
}

// stages joins the stages: list → load → extract → commit, each with a bounded
// channel in front. The writer's context outlives ctx so that a cancelled run
// still commits what is complete.
func (r *run) stages(ctx context.Context) error {
	group, stage := errgroup.WithContext(ctx)
	files := make(chan corpus.File, 4*r.Workers)
	loaded := make(chan *work, r.Workers)
	done := make(chan *work, 2*r.Workers)

	group.Go(func() error { defer close(files); return r.list(stage, files) })
	group.Go(func() error {
		defer close(loaded)
		return pooled(r.Workers, func() error { return r.loadAll(stage, files, loaded) })
	})
	group.Go(func() error {
		defer close(done)
		return pooled(r.extracting(), func() error { return r.extractAll(stage, loaded, done) })
	})
	group.Go(func() error { return r.write(context.WithoutCancel(ctx), done) })
	return group.Wait()
}

// pooled runs work in n goroutines and waits for all.
func pooled(n int, work func() error) error {
	var group errgroup.Group
	for range n {
		group.Go(work)
	}
	return group.Wait()
}

func (r *run) list(ctx context.Context, files chan<- corpus.File) error {
	for entry, err := range r.Root.List(ctx) {
		if err != nil {
			return err
		}
		if r.over.why() != nil {
			return nil
		}
		name := entry.File.Path
		if entry.Skipped != nil {
			name = entry.Skipped.Path
		}
		path := storedPath(r.Source, name)
		r.seen[path] = true
		if r.Select != nil && !r.Select(name) {
			continue
		}
		r.observer.Observe(Event{Kind: FileListed})
		if entry.Skipped != nil {
			r.document(skipReport(path, entry.Skipped), graph.Pruned{})
			continue
		}
		if d, stored := r.stored[path]; stored && d.ID != r.documentID(path) {
			r.document(DocumentReport{
				Path: path, Status: Failed, Kind: TextTaken,
				Reason: "a text stands under this id in the graph; `ingestd forget` it, or rename the file",
			}, graph.Pruned{})
			continue
		}
		if err := r.takenBy(path, r.sources); err != nil && !r.Texts {
			r.document(DocumentReport{Path: path, Status: Failed, Kind: "source_name", Reason: err.Error()}, graph.Pruned{})
			continue
		}
		select {
		case files <- entry.File:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	r.observer.Observe(Event{Kind: ListingDone})
	return nil
}

// takenBy refuses a path that a file of another root has or may get: a folder of
// the first root that is called as a later root's name.
func (o Options) takenBy(path string, sources map[string]string) error {
	name := SourceOf(path, sources)
	if name == o.Source {
		return nil
	}
	return fmt.Errorf("its path is that of source %q (%s) in the graph; rename the folder %s under %s, or ingest it into another --graph",
		name, sources[name], name, o.Root.Dir())
}

// storedPath is a file's path as the graph knows it.
func storedPath(source, path string) string {
	if source == "" {
		return path
	}
	return source + "/" + path
}

func (r *run) loadAll(ctx context.Context, files <-chan corpus.File, loaded chan<- *work) error {
	for file := range files {
		if r.over.why() != nil {
			continue
		}
		w := &work{file: file, path: storedPath(r.Source, file.Path)}
		_, w.stored = r.stored[w.path]
		if from, moved := r.moves[w.path]; moved {
			w.from = &from
		}
		err := r.load(ctx, w)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case isSetup(err):
			return err
		case err != nil:
			r.fail(w, err)
		case w.deferred:
			r.deferred(w.file.Path)
		case !w.wanted:
			plan := w.assignment.String()
			if r.ContentOnly {
				plan = r.stored[w.path].Plan // which may be another
			}
			r.document(DocumentReport{
				Path: w.path, Status: Unchanged, Plan: plan, Rule: w.assignment.Reason, Seconds: w.seconds,
				Chunks: r.stored[w.path].Chunks, Entities: r.stored[w.path].Entities, Relations: r.stored[w.path].Relations,
				Reason: strings.Join(w.notes, "; "),
			}, graph.Pruned{})
		default:
			select {
			case loaded <- w:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	return nil
}

// load reads a file and, unless the graph's document is current, parses it.
func (r *run) load(ctx context.Context, w *work) error {
	started := time.Now()
	defer w.spent(started)
	w.assignment = r.assign(w)
	var err error
	if w.current, err = fingerprints(r.Strategies, w.assignment, r.OntologyDigest); err != nil {
		return setup(err)
	}
	if r.FileTimeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, r.FileTimeout, &timeoutError{r.FileTimeout})
		defer cancel()
	}
	if err = r.readAndParse(ctx, w); err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

func (r *run) assign(w *work) planner.Assignment {
	file := planner.File{Path: w.file.Path, Format: w.file.Format, Size: w.file.Size}
	if stored, ok := r.stored[w.path]; ok && r.LastPlans {
		again := r.Planner.Again(file, stored.Choices, stored.Plan)
		w.notes = append(w.notes, again.Reason)
		return again
	}
	return r.Planner.Assign(file)
}

// readFile reads a file, and only hashes it where it is parsed elsewhere.
func (r *run) readFile(ctx context.Context, file corpus.File) (data []byte, sum string, err error) {
	if r.Remote != nil {
		sum, err = r.Root.Hash(ctx, file)
		return nil, sum, err
	}
	return r.Root.Read(ctx, file)
}

func (r *run) readAndParse(ctx context.Context, w *work) error {
	data, hash, err := r.readFile(ctx, w.file)
	if err != nil {
		return err
	}
	w.current.Content = hash
	if err := r.asPlanned(w.path, w.current); err != nil {
		return err
	}
	w.why = planner.WhyNew
	if w.stored {
		w.why = whyOf(r.stored[w.path], w.current)
	}
	if r.ContentOnly && r.stored[w.path].FailedChunks == 0 {
		w.onlyContent(r.Force)
	}
	if w.why == planner.WhyNone && !r.Force {
		return nil
	}
	if w.stored && r.Additive {
		w.deferred = true
		return nil
	}
	if w.wanted = true; r.Remote != nil {
		return nil // it is parsed where it is extracted
	}
	w.document, err = safely(func() (*corpus.Document, error) { return r.Loader.Parse(ctx, w.file, data) })
	return err
}

func (r *run) extractAll(ctx context.Context, loaded <-chan *work, done chan<- *work) error {
	for w := range loaded {
		if r.over.why() != nil {
			continue
		}
		_, err := safely(func() (struct{}, error) { return struct{}{}, r.extract(ctx, w) })
		w.cost = r.bill(w.path)
		switch {
		case err == nil:
			// The writer never gives up before this channel is closed, so a
			// document that is complete is committed even when ctx ends now.
			done <- w
		case ctx.Err() != nil:
			return ctx.Err()
		case isSetup(err), errors.Is(err, llm.ErrSettings):
			return err
		case spent(err):
			r.over.because(err)
		default:
			r.fail(w, err)
		}
	}
	return nil
}

func (r *run) fail(w *work, err error) {
	reason := strings.TrimPrefix(err.Error(), w.path+": ")
	if w.stored {
		reason += "; the graph keeps the version it has"
	}
	r.document(DocumentReport{
		Path: w.path, Status: Failed, Plan: w.assignment.String(), Rule: w.assignment.Reason, Seconds: w.seconds,
		Kind: kindOf(err), Reason: reason, Cost: w.cost,
	}, graph.Pruned{})
}

func skipReport(path string, skipped *corpus.Skipped) DocumentReport {
	if skipped.Err != nil {
		return DocumentReport{Path: path, Status: Failed, Reason: skipped.Reason, Kind: kindOf(skipped.Err)}
	}
	return DocumentReport{Path: path, Status: Skipped, Reason: skipped.Reason}
}

// findMissing lists documents of this source whose files are gone.
func (r *run) findMissing() {
	gone, _ := r.gone()
	for path := range gone {
		if !r.movedAway[path] {
			r.report.Missing = append(r.report.Missing, path)
		}
	}
	r.report.MissingCount = len(r.report.Missing)
	sort.Strings(r.report.Missing)
	r.report.Missing = r.report.Missing[:min(maxMissing, len(r.report.Missing))]
}

// SourceOf is the name of the files root that a stored path is under; "" for
// the graph's first.
func SourceOf(path string, sources map[string]string) string {
	if first, _, ok := strings.Cut(path, "/"); ok {
		if _, named := sources[first]; named {
			return first
		}
	}
	return ""
}
