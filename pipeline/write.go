package pipeline

import (
	"context"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"graphmill/pipeline/falkor/store"
	"graphmill/planner"
)

// flushAfter is how long a complete document waits for others to share its
// transaction with; firstFlushAfter while a graph is first built, where fewer
// transactions are worth more than an early one.
const (
	flushAfter      = 500 * time.Millisecond
	firstFlushAfter = 2 * time.Second
)

// write is the last stage and the only writer. It gathers complete documents
// into transactions, the next while one is committed, and reports each document
// once it is on disk. When the store fails, the error ends the run; documents
// that were not committed are not reported as done, and the next run finds them
// as they were.
func (r *run) write(ctx context.Context, done <-chan *work) error {
	batches := make(chan []*work)
	committing, failing := errgroup.WithContext(ctx)
	committing.Go(func() error {
		for batch := range batches {
			if err := r.commit(ctx, batch); err != nil {
				return err
			}
		}
		return nil
	})
	r.gather(failing, done, batches)
	close(batches)
	err := committing.Wait()
	if err != nil {
		// The stages before the writer must end, so that the error can end the run.
		go func() {
			for range done {
			}
		}()
	}
	return err
}

// gather hands on transactions until there are no more documents, or until
// failing says that the one before was not committed.
func (r *run) gather(failing context.Context, done <-chan *work, batches chan<- []*work) {
	var batch []*work
	rows := 0
	flush := func() {
		if len(batch) == 0 {
			return
		}
		select {
		case batches <- batch:
		case <-failing.Done():
		}
		batch, rows = nil, 0
	}
	timer := time.NewTicker(r.flushAfter)
	defer timer.Stop()
	for {
		select {
		case <-failing.Done():
			return
		case w, ok := <-done:
			if !ok {
				flush()
				return
			}
			size := w.change().Rows()
			if len(batch) > 0 && (rows+size > r.MaxRows || len(batch) >= r.MaxDocuments) {
				flush()
			}
			if len(batch) == 0 {
				timer.Reset(r.flushAfter)
			}
			batch, rows = append(batch, w), rows+size
		case <-timer.C:
			flush()
		}
	}
}

func (w *work) change() store.Change {
	change := store.Change{Graph: w.rows, Plan: w.assignment.String(), Choices: w.assignment.Choices(), Resolver: w.resolver(), MaxPairs: w.maxPairs(), Replace: w.stored}
	if w.from != nil {
		change.Moved = w.from.ID
	}
	return change
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
		r.written[w.path] = w.current
		if w.from != nil {
			r.movedAway[w.from.Path] = true
		}
	}
	r.observer.Observe(Event{Kind: Committed, Done: len(batch)})
	return nil
}

// report is a committed document's line.
func (w *work) report() DocumentReport {
	return DocumentReport{
		Path: w.path, Status: w.status(), Plan: w.assignment.String(), Rule: w.assignment.Reason, Seconds: w.seconds,
		Chunks: len(w.rows.Chunks), Reused: w.reused, Entities: len(w.rows.Entities), Relations: len(w.rows.Relations),
		FailedChunks: w.failed.Chunks,
		Reason:       w.reason(), Cost: w.cost,
	}
}

// reason says why the file was processed and what was noted on the way.
func (w *work) reason() string {
	parts := []string{string(w.why)}
	switch {
	case w.from != nil:
		parts[0] = "moved from " + w.from.Path
	case w.why == planner.WhyNone:
		parts[0] = "asked for"
	}
	if len(w.rows.Chunks) == 0 {
		parts = append(parts, "it holds no text")
	}
	if w.failed.Chunks > 0 {
		parts = append(parts, w.failed.of(len(w.rows.Chunks)))
	}
	return strings.Join(append(parts, w.notes...), "; ")
}
