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

// Failures are the chunks of a document that gave nothing.
type Failures struct {
	Chunks int
	First  string // which came first, and why
	last   int    // the chunk that was counted last
}

// add counts a chunk once, whatever failed in it; "" is no failure. Chunks come in
// order.
func (f *Failures) add(chunk int, reason string) {
	if reason == "" || f.Chunks > 0 && f.last == chunk {
		return
	}
	if f.Chunks == 0 {
		f.First = fmt.Sprintf("chunk %d: %s", chunk, reason)
	}
	f.Chunks, f.last = f.Chunks+1, chunk
}

// of says it in a report: "2 of 9 chunks failed (chunk 3: …)".
func (f *Failures) of(chunks int) string {
	return fmt.Sprintf("%s (%s); the next run tries them again", FailedOf(f.Chunks, chunks), f.First)
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
