package pipeline

import (
	"context"

	"graphmill/pipeline/graph"
)

// forgetBatch is how many documents one transaction removes.
const forgetBatch = 32

// Forget removes documents, in transactions of a few: one that dies on the way
// leaves whole documents, removed or not, and may be repeated.
func Forget(ctx context.Context, s Store, ids []graph.DocumentID) error {
	for start := 0; start < len(ids); start += forgetBatch {
		if err := s.Remove(ctx, ids[start:min(start+forgetBatch, len(ids))]); err != nil {
			return err
		}
	}
	return nil
}
