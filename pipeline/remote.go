package pipeline

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/semaphore"

	"graphmill/pipeline/corpus"
	"graphmill/pipeline/graph"
	"graphmill/planner"
)

// Remote extracts documents in other processes. The run that has one lists, hashes
// and decides, and is the only writer still.
type Remote interface {
	// Extract returns when the document is extracted, or known not to be: an error
	// is that file's alone unless [IsSetup] says otherwise. It is called from
	// Parallel goroutines, and waits in as many of them as there is work for.
	Extract(ctx context.Context, task Task) (*Extracted, error)
	Parallel() int
}

// extracting is how many documents are extracted at once.
func (r *run) extracting() int {
	if r.Remote != nil {
		return max(1, r.Remote.Parallel())
	}
	return r.Workers
}

// answers says whether the rows are those of a file: what comes from elsewhere is
// believed no more than that.
func (e *Extracted) answers(w *work, id graph.DocumentID) error {
	if d := e.Rows.Document; d.ID != id || d.Path != w.path || d.Fingerprints != w.current {
		return fmt.Errorf("the rows of %s (%s) came back for it; next: run again, and see that all machines run the same version of ingestd", d.Path, d.ID)
	}
	return nil
}

// RemoteError is why a document could not be extracted elsewhere.
type RemoteError struct {
	Kind   string // the stable word for it, as in a report
	Reason string
}

func (e *RemoteError) Error() string { return e.Reason }

// AsRemote is an error of a file as it is told to the run that asked.
func AsRemote(err error) *RemoteError {
	return &RemoteError{Kind: kindOf(err), Reason: err.Error()}
}

// Unexplained reports an error that says nothing of the file: a panic, or what no
// stage has a word for. Another attempt may fare better.
func (e *RemoteError) Unexplained() bool { return e.Kind == "error" }

// Mismatch says that a worker would make other rows of a document than the run
// that sent it: it must not.
type Mismatch struct {
	What string // "plan", "ontology", "model", "format", "embedder", "program"
	Hint string // what to do
}

func (e *Mismatch) Error() string {
	return fmt.Sprintf("this worker's %s differs from the run's; next: %s", e.What, e.Hint)
}

// Worker extracts documents for a run in another process: it reads each from its
// own root, and makes sure that it makes what the run wants.
type Worker struct {
	Root        Files
	Loader      *corpus.Loader
	Planner     *planner.Planner
	Strategies  Strategies
	FileTimeout time.Duration
	pool        *semaphore.Weighted
}

// NewWorker prepares a worker that computes so many batches side by side.
func NewWorker(w Worker, parallel int) *Worker {
	w.pool = semaphore.NewWeighted(int64(max(1, parallel)))
	return &w
}

// Compute runs do when one of the batches that are computed side by side may be.
func (w *Worker) Compute(ctx context.Context, do func() error) error {
	if err := w.pool.Acquire(ctx, 1); err != nil {
		return err
	}
	defer w.pool.Release(1)
	return do()
}

// Extract does a task. An error is a *Mismatch, one of [IsSetup], or the file's.
// digest is the run's fingerprint of the ontology, as this program computes it.
func (w *Worker) Extract(ctx context.Context, t Task, ontology *graph.Ontology, digest string) (*Extracted, error) {
	if err := w.check(t, digest); err != nil {
		return nil, err
	}
	started := time.Now()
	document, err := w.load(ctx, t)
	loading := time.Since(started).Seconds()
	if err != nil {
		return &Extracted{Seconds: loading}, err
	}
	e := &Extraction{Strategies: w.Strategies, Planner: w.Planner, Ontology: ontology, pool: w.pool}
	out, err := e.Extract(ctx, t, document)
	out.Seconds += loading
	return out, err
}

// check compares what the document would be stored with here with what the run
// stores it with.
func (w *Worker) check(t Task, digest string) error {
	again := w.Planner.Again(planner.File{Path: t.File.Path, Format: t.File.Format, Size: t.File.Size}, t.Assignment.Choices(), "")
	current, err := fingerprints(w.Strategies, again, digest)
	if err != nil {
		return setup(err)
	}
	switch want := t.Fingerprints; {
	case current.Format != want.Format:
		return &Mismatch{"format", "run the same version of ingestd on all machines"}
	case current.Plan != want.Plan:
		return &Mismatch{"plan", "give it the run's configuration (plan.limits, extractors.gliner, extractors.pattern)"}
	case current.Ontology != want.Ontology:
		return &Mismatch{"ontology", "run the same version of ingestd on all machines"}
	case current.Model != want.Model:
		return &Mismatch{"model", "give it the run's model (extractors.gliner.model_dir)"}
	}
	return nil
}

func (w *Worker) load(ctx context.Context, t Task) (*corpus.Document, error) {
	if w.FileTimeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, w.FileTimeout, &timeoutError{w.FileTimeout})
		defer cancel()
	}
	document, err := safely(func() (*corpus.Document, error) { return w.read(ctx, t) })
	if err != nil && ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return document, err
}

func (w *Worker) read(ctx context.Context, t Task) (*corpus.Document, error) {
	file := t.File
	file.ModTime = time.Time{} // which may be another machine's; the sum says more
	data, sum, err := w.Root.Read(ctx, file)
	var missing *corpus.FileError
	switch {
	case errors.As(err, &missing) && missing.Kind == corpus.KindVanished:
		return nil, &corpus.FileError{
			Kind: corpus.KindVanished, Verb: "read", Path: t.Path, Reason: "the file is not under the worker's root, " + w.Root.Dir(),
			Hint: "give the worker the folder that the run has",
		}
	case err != nil:
		return nil, err
	case sum != t.Fingerprints.Content:
		return nil, &corpus.FileError{
			Kind: corpus.KindChanged, Verb: "read", Path: t.Path, Reason: "its content under the worker's root, " + w.Root.Dir() + ", is not what the run has read",
			Hint: "run again if it was edited meanwhile; else give the worker the folder that the run has",
		}
	}
	return w.Loader.Parse(ctx, file, data)
}
