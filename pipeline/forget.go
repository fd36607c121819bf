package pipeline

import (
	"context"

	"graphmill/pipeline/graph"
)

// forgetBatch is how many documents one transaction removes.
const forgetBatch = 32

// Forget removes documents, in transactions of a few: one that dies on the way
// leaves whole documents, removed or not, and may be repeated. It returns how
// many of ids, from the first on, are removed.
func Forget(ctx context.Context, s Store, ids []graph.DocumentID) (removed int, err error) {
	for removed < len(ids) {
		if err := ctx.Err(); err != nil {
			return removed, err
		}
		end := min(removed+forgetBatch, len(ids))
		if err := s.Remove(ctx, ids[removed:end]); err != nil {
			return removed, err
		}
		removed = end
	}
	return removed, nil
}
