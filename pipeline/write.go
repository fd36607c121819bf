package pipeline

import (
	"context"
	"strings"
	"time"

	"graphmill/pipeline/falkor/store"
	"graphmill/planner"
)

// flushAfter is how long a complete document waits for others to share its
// transaction with.
const flushAfter = 500 * time.Millisecond

// write is the last stage and the only writer. It gathers complete documents
// into transactions and reports each once it is on disk. When the store fails,
// the error ends the run; documents that were not committed are not reported as
// done, and the next run finds them as they were.
func (r *run) write(ctx context.Context, done <-chan *work) error {
	var batch []*work
	rows := 0
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		err := r.commit(ctx, batch)
		batch, rows = nil, 0
		return err
	}
	timer := time.NewTicker(flushAfter)
	defer timer.Stop()
	for {
		select {
		case w, ok := <-done:
			if !ok {
				return flush()
			}
			size := w.change().Rows()
			if len(batch) > 0 && (rows+size > r.MaxRows || len(batch) >= r.MaxDocuments) {
				if err := flush(); err != nil {
					return drain(done, err)
				}
			}
			batch, rows = append(batch, w), rows+size
		case <-timer.C:
			if err := flush(); err != nil {
				return drain(done, err)
			}
		}
	}
}

// drain lets the stages before the writer end, so that err can end the run.
func drain(done <-chan *work, err error) error {
	go func() {
		for range done {
		}
	}()
	return err
}

func (w *work) change() store.Change {
	return store.Change{Graph: w.rows, Plan: w.assignment.String(), Replace: w.stored}
}

func (r *run) commit(ctx context.Context, batch []*work) error {
	changes := make([]store.Change, len(batch))
	for i, w := range batch {
		changes[i] = w.change()
	}
	// Dies before: nothing of the batch is in the graph. Dies after: all of it
	// is, fingerprints included, and the next run says unchanged.
	if err := r.Store.Commit(ctx, changes); err != nil {
		return err
	}
	for _, w := range batch {
		r.document(w.report(), w.pruned)
	}
	r.observer.Observe(Event{Kind: Committed, Done: len(batch)})
	return nil
}

// report is a committed document's line.
func (w *work) report() DocumentReport {
	return DocumentReport{
		Path: w.path, Status: w.status(), Plan: w.assignment.String(), Seconds: w.seconds,
		Chunks: len(w.rows.Chunks), Entities: len(w.rows.Entities), Relations: len(w.rows.Relations),
		Reason: w.reason(),
	}
}

// reason says why the file was processed and what was noted on the way.
func (w *work) reason() string {
	parts := []string{string(w.why)}
	if w.why == planner.WhyNone {
		parts[0] = "asked for"
	}
	if len(w.rows.Chunks) == 0 {
		parts = append(parts, "it holds no text")
	}
	return strings.Join(append(parts, w.notes...), "; ")
}
