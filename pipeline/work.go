package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"graphmill/chunkers"
	"graphmill/extractors"
	"graphmill/pipeline/assemble"
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

// extractBatch is how many chunks one extraction task holds: small enough that
// the last document of a run still keeps every core busy, large enough that a
// batching model has something to batch.
const extractBatch = 8

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
	current    graph.Fingerprints
	document   *corpus.Document
	rows       graph.DocumentGraph
	pruned     graph.Pruned
	merges     []resolvers.Merge
	seconds    float64
	cost       *Cost
	reused     int // chunks whose extraction was taken over
	failed     failures
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

// extract takes a loaded document to its rows. Its batches run on the shared
// pool, so that one long document at the end of a run still uses every worker.
func (r *run) extract(ctx context.Context, w *work) error {
	started := time.Now()
	defer w.spent(started)
	ctx = llm.WithFile(ctx, w.path)
	chunker, err := r.Strategies.Chunker(w.assignment)
	if err != nil {
		return setup(err)
	}
	chunks, err := chunker.Chunk(w.document)
	if err != nil {
		return fmt.Errorf("chunk: %w", err)
	}
	if err := r.Planner.CheckChunks(w.assignment, len(chunks)); err != nil {
		return err
	}
	unsituated, err := r.situate(ctx, w, chunker, chunks)
	if err != nil {
		return err
	}
	keys := chunkKeys(w.current, chunks)
	extractions, err := r.extractChunks(ctx, w, chunks, r.kept(w, keys, chunks))
	if err != nil {
		return err
	}
	r.keep(w, keys, chunks, extractions)
	resolver, err := r.Strategies.Resolver(w.assignment)
	if err != nil {
		return setup(err)
	}
	resolution, err := resolver.Resolve(ctx, assemble.Mentions(extractions))
	if err != nil {
		return fmt.Errorf("resolve: %w", err)
	}
	w.merges = resolution.Merges
	for i := range extractions {
		w.pruned.Add(extractions[i].Pruned)
		w.failed.add(i, cmp.Or(extractions[i].Failed, unsituated[i]))
	}
	w.rows, err = assemble.Document(assemble.Input{
		Document: w.document, ID: r.documentID(w.path), Path: w.path,
		Chunks: chunks, Extractions: extractions, Resolution: resolution,
		Fingerprints:   w.current,
		ContentKeySeed: contentKeySeed(w.current),
	})
	if err != nil {
		return err
	}
	w.rows.Document.Status, w.rows.Document.FailedChunks = string(w.status()), w.failed.chunks
	// What the store would refuse concerns this file and must not end the run.
	if err := w.change().Validate(); err != nil {
		return err
	}
	w.notes = append(w.notes, w.document.Notes...)
	w.document = nil // the rows hold all that is needed of it
	return nil
}

// extractChunks extracts from the chunks that have nothing kept. What is found in
// a chunk does not depend on the others of its batch, see [extractors.Extractor].
func (r *run) extractChunks(ctx context.Context, w *work, chunks []chunkers.Chunk, kept []*graph.Extraction) ([]graph.Extraction, error) {
	out := make([]graph.Extraction, len(chunks))
	var missing []chunkers.Chunk
	var places []int
	for i := range chunks {
		if kept[i] != nil {
			out[i] = *kept[i]
			continue
		}
		missing, places = append(missing, chunks[i]), append(places, i)
	}
	if len(missing) == 0 {
		return out, ctx.Err()
	}
	extractor, err := r.Strategies.Extractor(w.assignment)
	if err != nil {
		return nil, setup(err)
	}
	var over exhausted // calls that are under way are paid for, so they are not given up
	group, batch := errgroup.WithContext(ctx)
	for start := 0; start < len(missing); start += extractBatch {
		end := min(start+extractBatch, len(missing))
		if err := r.pool.Acquire(batch, 1); err != nil {
			break // a batch failed, or ctx is done; both are returned below
		}
		group.Go(func() error {
			defer r.pool.Release(1)
			found, err := safely(func() ([]graph.Extraction, error) {
				return extractor.Extract(batch, missing[start:end], r.Ontology)
			})
			if err == nil && len(found) != end-start {
				err = fmt.Errorf("%d results", len(found))
			}
			if err != nil {
				err = fmt.Errorf("extract chunks %d to %d: %w", places[start], places[end-1], err)
				return over.unless(err)
			}
			for i := range found {
				out[places[start+i]] = found[i]
			}
			return nil
		})
	}
	if err := errors.Join(group.Wait(), over.why()); err != nil {
		return nil, err
	}
	return out, ctx.Err()
}

// setupError is a strategy that cannot be made: a model that is missing, a
// setting out of range. It concerns every file alike, so it ends the run.
type setupError struct{ error }

func (e *setupError) Unwrap() error { return e.error }

func setup(err error) error { return &setupError{err} }

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
	switch {
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
