package pipeline

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"graphmill/chunkers"
	"graphmill/pipeline/corpus"
)

// situate writes the context lines of a document's chunks, for chunkers that have
// some, in batches on the pool that extraction uses as well. It returns by chunk
// why it has no line; such a chunk is extracted and embedded without one.
func (e *Extraction) situate(ctx context.Context, document *corpus.Document, chunker chunkers.Chunker, chunks []chunkers.Chunk, out *Extracted) ([]string, error) {
	failed := make([]string, len(chunks))
	situater, ok := chunker.(chunkers.Situater)
	if !ok || len(chunks) == 0 {
		return failed, nil
	}
	if situater.Windowed(document) {
		out.Notes = append(out.Notes, "context lines were written from parts of the document, which is longer than context_tokens")
	}
	var over exhausted // calls that are under way are paid for, so they are not given up
	group, batch := errgroup.WithContext(ctx)
	for start := 0; start < len(chunks); start += extractBatch {
		end := min(start+extractBatch, len(chunks))
		if err := e.pool.Acquire(batch, 1); err != nil {
			break // a batch failed, or ctx is done; both are returned below
		}
		group.Go(func() error {
			defer e.pool.Release(1)
			lines, err := safely(func() ([]chunkers.Context, error) {
				return situater.Situate(batch, document, chunks[start:end])
			})
			if err != nil {
				return over.unless(fmt.Errorf("context of chunks %d to %d: %w", start, end-1, err))
			}
			for i, line := range lines {
				chunks[start+i].Context, failed[start+i] = line.Line, line.Failed
			}
			return nil
		})
	}
	if err := errors.Join(group.Wait(), over.why()); err != nil {
		return nil, err
	}
	return failed, ctx.Err()
}
