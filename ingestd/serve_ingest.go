package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"

	"graphmill/configs"
	"graphmill/ingestd/tools"
	"graphmill/pipeline"
	"graphmill/pipeline/corpus"
	"graphmill/pipeline/falkor/store"
	"graphmill/pipeline/graph"
	"graphmill/pipeline/llm"
	"graphmill/toolserver"
)

// ingestion is one call of ingest on its way.
type ingestion struct {
	*writer
	wired   *wired
	files   pipeline.Files
	options ingestOptions
	show    *told
	check   func(ctx context.Context, s *session) error
	outcome *tools.Outcome
}

// Ingest implements tools.Backend. What is new is added while others may add, too;
// what stands in the graph and changes is done alone.
func (b *writer) Ingest(ctx context.Context, work tools.Work) (*tools.Outcome, error) {
	ctx, end := b.begin(ctx)
	defer end()
	in, err := b.newIngestion(ctx, work)
	if err != nil {
		return nil, b.explain(err)
	}
	in.options.additive = true
	err = in.run(ctx, b.together)
	if err == nil && len(in.outcome.Deferred) > 0 {
		in.options.additive = false
		in.only(in.outcome.Deferred)
		err = in.run(ctx, b.alone)
	}
	if err != nil && !in.outcome.Wrote() && !errors.Is(err, pipeline.ErrInterrupted) && !errors.Is(err, toolserver.ErrStopping) {
		return nil, b.explain(err)
	}
	if in.outcome.Stopped = b.explain(err); err == nil && b.Config.MCP.FinalizePolicy == configs.FinalizeOnWrite {
		in.finalize(ctx)
	}
	in.outcome.Sort()
	in.outcome.Cost = bill(b.Config, in.options.meter)
	return in.outcome, nil
}

// together does something while others may add to the graph.
func (b *writer) together(ctx context.Context, do func(ctx context.Context, s *session) error) error {
	return b.holding(ctx, (*store.Store).AcquireShared, do)
}

func (b *writer) newIngestion(ctx context.Context, work tools.Work) (*ingestion, error) {
	in := &ingestion{writer: b, check: func(context.Context, *session) error { return nil }}
	in.outcome = &tools.Outcome{Report: pipeline.NewReport(b.Graph())}
	in.options = ingestOptions{verb: "ingest", force: work.Reextract, noFinalize: true, contentOnly: true, meter: newMeter(b.Config)}
	var err error
	if in.wired, err = b.strategies(); err != nil {
		return nil, err
	}
	if work.Rules != nil {
		if in.options.planner, err = newPlannerOf(b.Config, work.Rules); err != nil {
			return nil, asked(err)
		}
	}
	count := 1
	if work.Text != nil {
		in.files, in.options.texts = corpus.Texts{work.DocumentID: *work.Text}, true
		in.check = func(ctx context.Context, s *session) error { return b.checkTextID(ctx, s, work.DocumentID) }
	} else if count, err = in.pick(ctx, work.Files); err != nil {
		return nil, err
	}
	in.show = b.newTold(ctx, count, in.options.meter)
	return in, nil
}

// pick finds the files that a call names. When none of its arguments names one,
// that is wrong usage; when some do, the others are reported as failed.
func (in *ingestion) pick(ctx context.Context, patterns []string) (int, error) {
	root, err := in.writer.files()
	if err != nil {
		return 0, err
	}
	files, unmatched, err := root.Match(ctx, patterns)
	switch {
	case err != nil:
		return 0, err
	case len(files) == 0:
		return 0, &toolserver.Error{
			Kind: toolserver.Usage, Message: fmt.Sprintf("%.200q names no file under the files root: %v", unmatched[0].Pattern, unmatched[0].Err),
			Hint: "preview_files lists the files; paths are relative to the files root",
		}
	case len(files) > tools.MaxFiles:
		return 0, &toolserver.Error{
			Kind: toolserver.Usage, Message: fmt.Sprintf("`files` names %d files, and one call takes %d", len(files), tools.MaxFiles),
			Hint: fmt.Sprintf("Make several calls, with narrower globs or paths; the first %d end with %s", tools.MaxFiles, files[tools.MaxFiles-1].Path),
		}
	}
	for _, u := range unmatched {
		in.outcome.Add(pipeline.DocumentReport{Path: u.Pattern, Status: pipeline.Failed, Kind: "unmatched", Reason: u.Err.Error()})
	}
	in.files = picked{root, files}
	in.only(nil)
	return len(files), nil
}

// only leaves some of the picked files to the next run; nil takes all.
func (in *ingestion) only(names []string) {
	in.options.files = map[string]bool{}
	for _, name := range names {
		in.options.files[name] = true
	}
	if p, ok := in.files.(picked); ok && names == nil {
		for _, file := range p.chosen {
			in.options.files[file.Path] = true
		}
	}
}

// picked is a root of which only some files are listed.
type picked struct {
	corpus.Tree
	chosen []corpus.File
}

// List lists the chosen files.
func (p picked) List(ctx context.Context) iter.Seq2[corpus.Entry, error] {
	return func(yield func(corpus.Entry, error) bool) {
		for _, file := range p.chosen {
			if !yield(corpus.Entry{File: file}, ctx.Err()) {
				return
			}
		}
	}
}

// run ingests what is selected, holding the graph as hold does, and adds to the
// outcome. It ends early at a document boundary.
func (in *ingestion) run(ctx context.Context, hold func(context.Context, func(context.Context, *session) error) error) error {
	return hold(ctx, func(ctx context.Context, s *session) error {
		if err := in.check(ctx, s); err != nil {
			return err
		}
		report, err := s.ingestWith(ctx, in.wired, in.files, in.options, in.show)
		if report == nil {
			return err
		}
		in.add(report)
		if stored, err := s.store.LoadOntology(context.WithoutCancel(ctx)); err == nil {
			in.outcome.Ontology = &stored
		}
		return err
	})
}

// add joins another run's report to the outcome.
func (in *ingestion) add(report *pipeline.Report) {
	out := in.outcome
	for _, d := range report.Documents {
		out.Add(d)
	}
	out.Pruned.Add(report.Pruned)
	out.Warnings = append(out.Warnings, report.Warnings...)
	out.Interrupted, out.Deferred = report.Interrupted, report.Deferred
}

// finalize is what policy on_write adds to a call: it also does what an earlier one
// failed to do. Its failure does not undo the documents.
func (in *ingestion) finalize(ctx context.Context) {
	var err error
	in.outcome.Finalize, err = in.writer.finalize(llm.WithMeter(ctx, in.options.meter), in.outcome.Wrote(), in.show)
	if err == nil {
		return
	}
	in.outcome.FinalizeFailed = errors.New("it failed for a reason of its own; the server's log says more")
	var told *toolserver.Error
	if errors.As(in.explain(err), &told) {
		in.outcome.FinalizeFailed = told
	}
	in.Log.Error("finalize after an ingest failed", "error", err)
}

// checkTextID refuses a text under the id of a document that was read from a file.
func (b *writer) checkTextID(ctx context.Context, s *session, id string) error {
	fromFile, err := s.store.ReadFromFile(ctx, graph.DocumentID(id))
	if err != nil {
		return err
	}
	if b.Config.Root != "" && !fromFile {
		root, err := b.files()
		if err != nil {
			return err
		}
		_, err = root.Resolve(id)
		fromFile = err == nil || root.Exists(id)
	}
	if !fromFile {
		return nil
	}
	return &toolserver.Error{
		Kind: toolserver.Usage, Message: fmt.Sprintf("The id %.150q is that of a document that is read from a file, which a text may not take the place of", id),
		Hint: "Choose another document_id; the file is ingested with ingest(files=[…], reextract=true)",
	}
}

// told tells a client how far a call is.
type told struct {
	ctx   context.Context
	cost  func() string // so far
	total float64

	mu   sync.Mutex
	done float64
}

func (b *writer) newTold(ctx context.Context, documents int, meter *llm.Meter) *told {
	return &told{ctx: ctx, total: float64(documents), cost: func() string {
		cost := bill(b.Config, meter)
		if cost == nil {
			return ""
		}
		return fmt.Sprintf("; %d calls of models, %.4f %s so far", cost.Calls, cost.Money, cost.Currency)
	}}
}

// Observe implements pipeline.Observer.
func (t *told) Observe(e pipeline.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch e.Kind {
	case pipeline.DocumentDone:
		t.done++
		t.tell(fmt.Sprintf("%g of %g documents: %s %s", t.done, t.total, e.Document.Path, e.Document.Status))
	case pipeline.FinalizeStep:
		text := "finalize: " + e.Step
		if e.Total > 0 {
			text += fmt.Sprintf(", %d of %d", e.Done, e.Total)
		}
		t.tell(text)
	}
}

func (t *told) tell(text string) {
	toolserver.Progress(t.ctx, t.done, max(t.total, t.done), text+t.cost())
}
