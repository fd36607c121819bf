package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"graphmill/commandline"
	"graphmill/commandline/serving"
	"graphmill/ingestd/tools"
	"graphmill/pipeline"
	"graphmill/pipeline/corpus"
	"graphmill/pipeline/engine"
	"graphmill/pipeline/falkor/conn"
	"graphmill/pipeline/falkor/store"
	"graphmill/pipeline/graph"
	"graphmill/pipeline/llm"
	"graphmill/toolserver"
)

// writer does the work of the tools that write. What is dear to open is opened once
// for all calls; each call has the graph's lock for itself, for as long as it takes.
type writer struct {
	*app
	ctx   context.Context // ends when calls shall
	stop  context.CancelFunc
	store serving.Lazy[*session] // without a lock
	calls sync.WaitGroup

	mu    sync.Mutex
	root  corpus.Tree
	wired *wired
}

func (a *app) newWriter(ctx context.Context) *writer {
	b := &writer{app: a}
	b.ctx, b.stop = context.WithCancel(ctx)
	b.store = serving.Lazy[*session]{
		Open: a.connect, Shut: (*session).close,
		Broken: func(s *session) bool { return s.lease != nil && s.lease.Check() != nil },
	}
	return b
}

// files is the files root, opened once: a folder that takes its place later is
// not read from.
func (b *writer) files() (corpus.Tree, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var err error
	if b.root == nil {
		b.root, err = b.openRoot(b.ctx)
	}
	return b.root, err
}

func (b *writer) strategies() (*wired, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var err error
	if b.wired == nil {
		if b.wired, err = newWired(b.Config); err == nil {
			b.wired.asking.log = b.Log
		}
	}
	return b.wired, err
}

// begin counts a call, whose context then also ends when the server's does.
func (b *writer) begin(ctx context.Context) (context.Context, func()) {
	b.calls.Add(1)
	ctx, cancel := context.WithCancelCause(ctx)
	unhook := context.AfterFunc(b.ctx, func() { cancel(context.Cause(b.ctx)) })
	return ctx, func() {
		unhook()
		cancel(nil)
		b.calls.Done()
	}
}

// session opens the graph for one call.
func (b *writer) session(ctx context.Context) (*session, error) {
	base, err := b.store.Get(ctx, b.ctx)
	if err != nil {
		return nil, err
	}
	s := &session{app: b.app, lease: base.lease, client: base.client, shared: true}
	s.store, err = store.Open(ctx, base.client, store.Options{Graph: b.Graph(), Version: commandline.Version()})
	return s, err
}

// alone does something while nobody else writes the graph.
func (b *writer) alone(ctx context.Context, do func(ctx context.Context, s *session) error) error {
	return b.holding(ctx, (*store.Store).Acquire, do)
}

type acquire func(s *store.Store, ctx context.Context, owner store.LockOwner, lease, wait time.Duration) (*store.Lock, error)

// holding does something with the graph's lock. It waits for those who hold it as
// long as mcp.lock_timeout says, and tells for whom.
func (b *writer) holding(ctx context.Context, acquire acquire, do func(ctx context.Context, s *session) error) error {
	s, err := b.session(ctx)
	if err != nil {
		return err
	}
	owner, err := store.LocalOwner("serve")
	if err != nil {
		return err
	}
	s.lock, err = acquire(s.store, ctx, owner, lockLease, 0)
	if held := (*store.HeldError)(nil); errors.As(err, &held) {
		toolserver.Progress(ctx, 0, 0, fmt.Sprintf("waiting up to %s for `ingestd %s` (pid %d on %s), which writes the graph",
			b.Config.MCP.LockTimeout, held.Owner.Verb, held.Owner.PID, held.Owner.Host))
		s.lock, err = acquire(s.store, ctx, owner, lockLease, b.Config.MCP.LockTimeout)
	}
	if err == nil {
		err = s.beginRun(owner.Verb)
	}
	if err != nil {
		return err
	}
	locked, cancel := s.untilLockLost(ctx)
	err = do(locked, s)
	err = s.explain(locked, err)
	cancel()
	return errors.Join(err, s.close())
}

// explain turns an error into what the caller is told. Settings and files are
// named; what an error of another kind says stays in the log.
func (b *writer) explain(err error) error {
	var told *toolserver.Error
	if err == nil || errors.As(err, &told) {
		return err
	}
	var exit *commandline.ExitError
	var held *store.HeldError
	var trouble *engine.Error
	var cause *conn.Error
	var file *corpus.FileError
	switch {
	case errors.As(err, &held):
		return &toolserver.Error{
			Kind: toolserver.Held, Message: fmt.Sprintf("The graph is written by `ingestd %s` (pid %d on %s) since %s, and was not free within %s",
				held.Owner.Verb, held.Owner.PID, held.Owner.Host, held.Owner.Since.Format(time.RFC3339), b.Config.MCP.LockTimeout),
			Hint: "Make the same call again when that has ended; mcp.lock_timeout says how long a call waits", RetryAfter: time.Minute, Err: err,
		}
	case errors.Is(err, store.ErrLockLost):
		return &toolserver.Error{Kind: toolserver.Held, Message: "Another process took the graph over while this call wrote; what it had not written yet is not in the graph", Hint: "Make the same call again", Err: err}
	case errors.As(err, &exit) && exit.Code == commandline.ExitUsage:
		return &toolserver.Error{Kind: toolserver.Config, Message: capital(exit.Error()), Hint: "Whoever runs the server can put that right", Err: err}
	case errors.As(err, &trouble):
		return &toolserver.Error{Kind: toolserver.Unreachable, Message: "Could not reach the graph store: " + trouble.Reason, Hint: trouble.Hint, Err: err}
	case errors.As(err, &cause):
		return explainStore(cause, err)
	case errors.Is(err, corpus.ErrTooManyEntries):
		return &toolserver.Error{
			Kind: toolserver.Config, Message: fmt.Sprintf("The files root holds more than %d files and folders, where listing stops", b.Config.Corpus.MaxEntries),
			Hint: "Name files by their paths, which needs no listing; or have the server started with the folder that holds the documents as its files root, or a larger corpus.max_entries", Err: err,
		}
	case errors.Is(err, llm.ErrBudget):
		return &toolserver.Error{
			Kind: toolserver.Config, Message: "The budget of this call is spent: " + err.Error(),
			Hint: "Make the same call again to go on: what is done is kept, and each call has the whole budget (limits.max_cost, max_calls, max_tokens)", Err: err,
		}
	case errors.Is(err, llm.ErrUnavailable):
		return &toolserver.Error{Kind: toolserver.Model, Message: capital(err.Error()), Hint: "Make the same call again: what is done is kept; `ingestd doctor` checks the set-up", Err: err}
	case errors.As(err, &file):
		return &toolserver.Error{Kind: toolserver.Usage, Message: capital(file.Error()), Err: err}
	case pipeline.IsSetup(err):
		return &toolserver.Error{Kind: toolserver.Model, Message: capital(err.Error()), Hint: "Whoever runs the server can put that right; `ingestd doctor` checks the set-up", Err: err}
	}
	return err
}

func explainStore(cause *conn.Error, err error) error {
	e := &toolserver.Error{
		Kind: toolserver.Database, Message: "The graph store did not do what it was asked: " + cause.Error(),
		Hint: "The server's log says more; `ingestd doctor` checks the set-up", Err: err,
	}
	switch cause.Kind {
	case conn.Unreachable, conn.Auth, conn.Loading, conn.Busy:
		e.Kind, e.Message, e.Hint = toolserver.Unreachable, "Could not reach the graph store: "+cause.Error(), "`ingestd doctor` checks the connection"
	case conn.Timeout:
		e.Kind, e.Message = toolserver.Timeout, "The graph store took too long: "+cause.Error()
	}
	return e
}

func capital(text string) string {
	if text == "" {
		return text
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// Preview implements tools.Backend.
func (b *writer) Preview(ctx context.Context, globs []string, offset, chars int) (corpus.PreviewPage, error) {
	ctx, end := b.begin(ctx)
	defer end()
	var told *toolserver.Error
	root, err := b.files()
	if err != nil {
		return corpus.PreviewPage{}, b.explain(err)
	}
	w, err := b.strategies()
	if err != nil {
		return corpus.PreviewPage{}, b.explain(err)
	}
	page, err := samplePage(ctx, w.loader(root), root, globs, offset, chars)
	if err != nil && errors.As(asked(err), &told) {
		told.Message = strings.ReplaceAll(told.Message, root.Dir(), "the files root") // where that is concerns no client
		return page, told
	}
	return page, b.explain(err)
}

// asked marks wrong usage as the caller's and not the operator's.
func asked(err error) error {
	var exit *commandline.ExitError
	if errors.As(err, &exit) && exit.Code == commandline.ExitUsage {
		return &toolserver.Error{Kind: toolserver.Usage, Message: "The arguments are not right: " + exit.Error(), Err: err}
	}
	return err
}

// SetOntology implements tools.Backend.
func (b *writer) SetOntology(ctx context.Context, extra *graph.Ontology) (*tools.OntologySet, error) {
	ctx, end := b.begin(ctx)
	defer end()
	var result ontologyResult
	var told *toolserver.Error
	err := b.alone(ctx, func(ctx context.Context, s *session) (err error) {
		result, err = s.setOntology(ctx, extra, false)
		if err = asked(err); errors.As(err, &told) {
			text := told.Message
			if _, rest, found := strings.Cut(text, "merge ontology: "); found {
				text = rest
			}
			told.Message = "The ontology cannot be extended so: " + strings.ReplaceAll(text, "\n", "; ")
		}
		return err
	})
	if err != nil {
		return nil, b.explain(err)
	}
	out := &tools.OntologySet{Graph: b.Graph(), Changes: []string{}, EntityTypes: []string{}, RelationTypes: []string{}}
	out.Changes = append(out.Changes, result.Changes...)
	for _, t := range result.Ontology.Entities {
		out.EntityTypes = append(out.EntityTypes, t.Label)
	}
	for _, t := range result.Ontology.Relations {
		out.RelationTypes = append(out.RelationTypes, t.Label)
	}
	return out, nil
}

// Finalize implements tools.Backend.
func (b *writer) Finalize(ctx context.Context) (*pipeline.FinalizeReport, *pipeline.Bill, error) {
	ctx, end := b.begin(ctx)
	defer end()
	meter := newMeter(b.Config)
	report, err := b.finalize(llm.WithMeter(ctx, meter), true, b.newTold(ctx, 1, meter))
	if err == nil && report == nil {
		err = &toolserver.Error{Kind: toolserver.NoGraph, Message: fmt.Sprintf("Graph %q holds nothing yet", b.Graph()), Hint: "Call ingest first"}
	}
	return report, bill(b.Config, meter), b.explain(err)
}

// finalize makes the graph searchable, alone. Unless it must, it only looks whether
// something is pending. It returns nil when there was nothing to do.
func (b *writer) finalize(ctx context.Context, must bool, show pipeline.Observer) (*pipeline.FinalizeReport, error) {
	w, err := b.strategies()
	if err != nil {
		return nil, err
	}
	if _, err := w.embedderModel(); err != nil {
		return nil, &toolserver.Error{
			Kind: toolserver.Model, Message: "The embedding model cannot be used: " + err.Error(),
			Hint: "Whoever runs the server can put that right; `ingestd doctor` checks the set-up", Err: err,
		}
	}
	started := time.Now()
	report := pipeline.NewReport(b.Graph())
	err = b.alone(ctx, func(ctx context.Context, s *session) error {
		meta, err := s.store.Meta(ctx)
		if err == nil && meta.Exists {
			err = s.checkEmbedder(w, meta, false)
		}
		if err == nil {
			report.Finalize, err = s.finalize(ctx, w, must, false, show)
		}
		report.Totals.Seconds = time.Since(started).Seconds()
		return errors.Join(err, s.record("finalize", report, started, err))
	})
	return report.Finalize, err
}
