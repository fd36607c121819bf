package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"graphmill/chunkers"
	"graphmill/pipeline/assemble"
	"graphmill/pipeline/corpus"
	"graphmill/pipeline/graph"
	"graphmill/pipeline/llm"
	"graphmill/planner"
)

// extractBatch is how many chunks one extraction task holds: small enough that
// the last document of a run still keeps every core busy, large enough that a
// batching model has something to batch.
const extractBatch = 8

// Task is one document to extract: all that decides its rows, but the strategies
// and the ontology, which whoever extracts has. It can be packed.
type Task struct {
	File       corpus.File
	Path       string // as the graph knows it
	ID         graph.DocumentID
	Assignment planner.Assignment
	// Fingerprints are what the document will be stored with.
	Fingerprints graph.Fingerprints
	// Kept are what Extracted.Kept was of versions of the document; Keep asks for it.
	Kept [][]byte
	Keep bool
}

// Extracted is what extraction made of a task. It can be packed.
type Extracted struct {
	Rows   graph.DocumentGraph // complete but for the document's status
	Pruned graph.Pruned
	Reused int // chunks whose extraction was taken over
	Failed Failures
	Notes  []string
	// Kept is what was extracted, for a later version; also beside an error when
	// extraction itself is done.
	Kept    []byte
	Seconds float64 // of work
}

// Extraction is the stage from a parsed document to its rows, in this process.
// It is safe for concurrent use.
type Extraction struct {
	Strategies Strategies
	Planner    *planner.Planner
	Ontology   *graph.Ontology
	pool       *semaphore.Weighted
}

// Extract makes a document's rows. Its batches run on the shared pool, so that one
// long document at the end of a run still uses every worker. The result is never
// nil.
func (e *Extraction) Extract(ctx context.Context, t Task, document *corpus.Document) (*Extracted, error) {
	started := time.Now()
	out := &Extracted{}
	_, err := safely(func() (struct{}, error) { return struct{}{}, e.extract(llm.WithFile(ctx, t.Path), t, document, out) })
	out.Seconds = time.Since(started).Seconds()
	return out, err
}

func (e *Extraction) extract(ctx context.Context, t Task, document *corpus.Document, out *Extracted) error {
	chunker, err := e.Strategies.Chunker(t.Assignment)
	if err != nil {
		return setup(err)
	}
	chunks, err := chunker.Chunk(document)
	if err != nil {
		return fmt.Errorf("chunk: %w", err)
	}
	if err := e.Planner.CheckChunks(t.Assignment, len(chunks)); err != nil {
		return err
	}
	unsituated, err := e.situate(ctx, document, chunker, chunks, out)
	if err != nil {
		return err
	}
	keys := chunkKeys(t.Fingerprints, chunks)
	kept, reused := recalled(t.Kept, keys, chunks)
	out.Reused = reused
	extractions, err := e.extractChunks(ctx, t.Assignment, chunks, kept)
	if err != nil {
		return err
	}
	if t.Keep && len(chunks) > 0 {
		if out.Kept, err = packExtractions(keys, chunks, extractions); err != nil {
			return err
		}
	}
	resolver, err := e.Strategies.Resolver(t.Assignment)
	if err != nil {
		return setup(err)
	}
	resolution, err := resolver.Resolve(ctx, assemble.Mentions(extractions))
	if err != nil {
		return fmt.Errorf("resolve: %w", err)
	}
	for i := range extractions {
		out.Pruned.Add(extractions[i].Pruned)
		out.Failed.add(i, cmp.Or(extractions[i].Failed, unsituated[i]))
	}
	out.Notes = append(out.Notes, document.Notes...)
	out.Rows, err = assemble.Document(assemble.Input{
		Document: document, ID: t.ID, Path: t.Path,
		Chunks: chunks, Extractions: extractions, Resolution: resolution,
		Fingerprints:   t.Fingerprints,
		ContentKeySeed: contentKeySeed(t.Fingerprints),
	})
	return err
}

// extractChunks extracts from the chunks that have nothing kept. What is found in
// a chunk does not depend on the others of its batch, see [extractors.Extractor].
func (e *Extraction) extractChunks(ctx context.Context, a planner.Assignment, chunks []chunkers.Chunk, kept []*graph.Extraction) ([]graph.Extraction, error) {
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
	extractor, err := e.Strategies.Extractor(a)
	if err != nil {
		return nil, setup(err)
	}
	var over exhausted // calls that are under way are paid for, so they are not given up
	group, batch := errgroup.WithContext(ctx)
	for start := 0; start < len(missing); start += extractBatch {
		end := min(start+extractBatch, len(missing))
		if err := e.pool.Acquire(batch, 1); err != nil {
			break // a batch failed, or ctx is done; both are returned below
		}
		group.Go(func() error {
			defer e.pool.Release(1)
			found, err := safely(func() ([]graph.Extraction, error) {
				return extractor.Extract(batch, missing[start:end], e.Ontology)
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
