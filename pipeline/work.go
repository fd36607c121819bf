package pipeline

import (
	"context"
	"errors"
	"fmt"
	"time"

	"graphmill/chunkers"
	"graphmill/extractors"
	"graphmill/pipeline/corpus"
	"graphmill/pipeline/falkor/store"
	"graphmill/pipeline/graph"
	"graphmill/pipeline/llm"
	"graphmill/planner"
	"graphmill/resolvers"
)

// FormatVersion is part of every document's fingerprint. Raise it when a parser
// or the rows of a document change, so that stored documents are made again.
const FormatVersion = "1"

// Strategies gives the code behind a plan's names. Implementations are safe for
// concurrent use and give the same strategy for the same assignment.
type Strategies interface {
	Chunker(planner.Assignment) (chunkers.Chunker, error)
	Extractor(planner.Assignment) (extractors.Extractor, error)
	Resolver(planner.Assignment) (resolvers.Resolver, error)
	// ModelFingerprint names the weights that the assignment's extractors read;
	// "" when they read none.
	ModelFingerprint(planner.Assignment) (string, error)
	// SettingsFingerprint covers what the configuration says of the assignment's
	// extractors beyond their names: pattern rules, thresholds.
	SettingsFingerprint(planner.Assignment) string
}

// fingerprints are what a document would be stored with, all but the content's.
func fingerprints(s Strategies, a planner.Assignment, ontologyDigest string) (graph.Fingerprints, error) {
	model, err := s.ModelFingerprint(a)
	return graph.Fingerprints{
		Plan: graph.Hash(a.Fingerprint, s.SettingsFingerprint(a)), Ontology: ontologyDigest, Model: model, Format: FormatVersion,
	}, err
}

// work is one file on its way through the stages.
type work struct {
	file       corpus.File
	path       string // as shown and stored: with the source's name in front
	assignment planner.Assignment
	why        planner.Why
	stored     bool                  // the graph holds a document of this path
	from       *store.StoredDocument // under whose path the file was, if it moved
	deferred   bool                  // to a run that has the graph for itself
	wanted     bool                  // the graph does not have it as it is now
	current    graph.Fingerprints
	document   *corpus.Document
	rows       graph.DocumentGraph
	pruned     graph.Pruned
	seconds    float64
	cost       *Cost
	reused     int // chunks whose extraction was taken over
	failed     Failures
	notes      []string
}

func (w *work) spent(since time.Time) { w.seconds += time.Since(since).Seconds() }

// status is what the report will say once the document is committed.
func (w *work) status() Status {
	switch {
	case len(w.rows.Chunks) == 0:
		return Empty
	case w.from != nil:
		return Moved
	case !w.stored:
		return Ingested
	case w.why == planner.WhyContent:
		return Updated
	default:
		return Reextracted
	}
}

// task is what is to be done for a file that was loaded.
func (r *run) task(w *work) Task {
	return Task{
		File: w.file, Path: w.path, ID: r.documentID(w.path), Assignment: w.assignment, Fingerprints: w.current,
		Kept: r.recall(w), Keep: r.Extractions != nil,
	}
}

// extract takes a loaded document to its rows, here or elsewhere.
func (r *run) extract(ctx context.Context, w *work) error {
	var out *Extracted
	var err error
	if r.Remote != nil {
		out, err = r.Remote.Extract(ctx, r.task(w))
	} else {
		out, err = r.extraction.Extract(ctx, r.task(w), w.document)
	}
	if out == nil {
		return err
	}
	w.seconds += out.Seconds
	r.keep(w, out.Kept)
	if err == nil {
		err = out.answers(w, r.documentID(w.path))
	}
	if err != nil {
		return err
	}
	w.rows, w.pruned, w.failed, w.reused = out.Rows, out.Pruned, out.Failed, out.Reused
	w.rows.Document.Status, w.rows.Document.FailedChunks = string(w.status()), w.failed.Chunks
	w.notes = append(w.notes, out.Notes...)
	w.document = nil // the rows hold all that is needed of it
	// What the store would refuse concerns this file and must not end the run.
	return w.change().Validate()
}

// setupError is a strategy that cannot be made: a model that is missing, a
// setting out of range. It concerns every file alike, so it ends the run.
type setupError struct{ error }

func (e *setupError) Unwrap() error { return e.error }

func setup(err error) error { return &setupError{err} }

// Setup makes err one that concerns every file alike and ends the run.
func Setup(err error) error { return setup(err) }

// IsSetup reports whether an error that ended a run is of what every file needs: a
// model that is missing, say.
func IsSetup(err error) bool { return isSetup(err) }

func isSetup(err error) bool {
	var e *setupError
	return errors.As(err, &e)
}

// timeoutError is a file that took too long to load.
type timeoutError struct{ limit time.Duration }

func (e *timeoutError) Error() string {
	return fmt.Sprintf("loading took longer than %s; raise corpus.file_timeout", e.limit)
}

func (e *timeoutError) Is(target error) bool { return target == context.DeadlineExceeded }

// safely turns a panic of a strategy into that file's error: one bad file never
// stops a run.
func safely[T any](f func() (T, error)) (result T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("internal error: %v", p)
		}
	}()
	return f()
}

// kindOf is the stable word for why a file failed.
func kindOf(err error) string {
	var file *corpus.FileError
	var limit *planner.LimitError
	var remote *RemoteError
	switch {
	case errors.As(err, &remote):
		return remote.Kind
	case errors.As(err, &file):
		return string(file.Kind)
	case errors.As(err, &limit):
		return "limit"
	case errors.Is(err, llm.ErrBudget):
		return "budget"
	case errors.Is(err, llm.ErrUnavailable):
		return "model_unavailable"
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	default:
		return "error"
	}
}
