package pipeline

import (
	"errors"
	"fmt"

	"graphmill/pipeline/falkor/store"
	"graphmill/pipeline/graph"
	"graphmill/pipeline/llm"
	"graphmill/planner"
)

// A model that answers, and never usably, costs a chunk and not its document:
// what the other chunks gave is committed, the report says how many are missing,
// and because the store knows it too, the next run tries the document again. What
// was extracted is kept, so that only the missing chunks are asked about.

// failures are the chunks of a document that gave nothing.
type failures struct {
	chunks int
	last   int // the chunk that was counted last
	first  string
}

// add counts a chunk once, whatever failed in it; "" is no failure. Chunks come in
// order.
func (f *failures) add(chunk int, reason string) {
	if reason == "" || f.chunks > 0 && f.last == chunk {
		return
	}
	if f.chunks == 0 {
		f.first = fmt.Sprintf("chunk %d: %s", chunk, reason)
	}
	f.chunks, f.last = f.chunks+1, chunk
}

// of says it in a report: "2 of 9 chunks failed (chunk 3: …)".
func (f *failures) of(chunks int) string {
	return fmt.Sprintf("%s (%s); the next run tries them again", FailedOf(f.chunks, chunks), f.first)
}

// FailedOf is "2 of 9 chunks failed".
func FailedOf(failed, chunks int) string {
	return fmt.Sprintf("%d of %d chunks failed", failed, chunks)
}

// whyOf says why a file is processed, given what the graph has of it.
func whyOf(stored store.StoredDocument, current graph.Fingerprints) planner.Why {
	why := planner.Compare(stored.Fingerprints, current)
	if why == planner.WhyNone && stored.FailedChunks > 0 {
		return planner.WhyIncomplete
	}
	return why
}

// spent reports a budget of the run that is used up, which ends the run at a
// document boundary. A file's own budget is that file's failure.
func spent(err error) bool {
	var budget *llm.BudgetError
	return errors.Is(err, llm.ErrBudget) && !(errors.As(err, &budget) && budget.File != "")
}
