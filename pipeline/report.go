package pipeline

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sort"
	"sync"
	"time"

	"graphmill/pipeline/graph"
	"graphmill/pipeline/ontology"
)

// Status is what a run did with a document.
type Status string

// The statuses. Their text is stable: reports, JSON and the graph carry it.
const (
	Ingested    Status = "ingested"    // new
	Updated     Status = "updated"     // its content changed; replaced in place
	Reextracted Status = "reextracted" // same content, extracted again
	Unchanged   Status = "unchanged"
	Empty       Status = "empty"   // recorded, holds no text
	Skipped     Status = "skipped" // a kind of file that is not ingested; no error
	Failed      Status = "failed"
	Moved       Status = "moved"     // its file has another path; nothing else changed
	Forgotten   Status = "forgotten" // removed from the graph on request, or because a mirrored file is gone
)

// Statuses lists all of them in the order reports show.
func Statuses() []Status {
	return []Status{Ingested, Updated, Reextracted, Moved, Unchanged, Empty, Skipped, Failed, Forgotten}
}

// DocumentReport is what happened to one file.
type DocumentReport struct {
	Path   string `json:"path"`
	Status Status `json:"status"`
	Plan   string `json:"plan"` // "structural 256 · gliner · exact"; "" if none was made
	// Rule says what chose the plan, and what the limits replaced.
	Rule      string `json:"rule,omitempty"`
	Chunks    int    `json:"chunks"`
	Reused    int    `json:"reused,omitempty"` // of Chunks: taken over, not extracted again
	Entities  int    `json:"entities"`
	Relations int    `json:"relations"`
	// Pruned is how many mentions and relations were dropped for what the ontology
	// does not declare.
	Pruned  int     `json:"pruned,omitempty"`
	Seconds float64 `json:"seconds"` // of work on this file, waiting excluded
	// FailedChunks of Chunks gave nothing, because a model's answer could not be
	// used. The document is in the graph without them, and tried again next time.
	FailedChunks int `json:"failed_chunks,omitempty"`
	// Reason says why the file was processed, skipped or refused, and what was
	// noted on the way.
	Reason string `json:"reason"`
	// Kind is a stable word for a failure: "encrypted", "too_large", "limit".
	Kind string `json:"kind,omitempty"`
	// Cost is what language models took for the file; absent when none was asked.
	Cost *Cost `json:"cost,omitempty"`
}

// Totals sums a report.
type Totals struct {
	Documents int            `json:"documents"`
	Status    map[Status]int `json:"status"`
	Chunks    int            `json:"chunks"`    // of the documents written in this run
	Reused    int            `json:"reused"`    // of Chunks: taken over from an earlier version, not extracted again
	Entities  int            `json:"entities"`  // per document, before merging across documents
	Relations int            `json:"relations"` // likewise
	Seconds   float64        `json:"seconds"`   // from start to searchable
}

// Report is what a run did. Documents are sorted by path.
type Report struct {
	Graph     string           `json:"graph"`
	Run       string           `json:"run,omitempty"` // its line in the ledger, if it changed something
	Documents []DocumentReport `json:"documents"`
	Totals    Totals           `json:"totals"`
	Pruned    graph.Pruned     `json:"pruned"`
	// Hint says what the ontology misses and how to have it; SetOntology is what to
	// add to it so that another extraction keeps what was dropped.
	Hint        string             `json:"hint,omitempty"`
	SetOntology *ontology.Addition `json:"set_ontology,omitempty"`
	// Deferred are the paths under the root that an additive run left alone.
	Deferred []string `json:"-"`
	// Missing are documents of this source in the graph whose file is no longer
	// under the root, sorted, at most 1,000; MissingCount counts them all. Only
	// a run over the whole root looks for them.
	Missing      []string        `json:"missing,omitempty"`
	MissingCount int             `json:"missing_count,omitempty"`
	Finalize     *FinalizeReport `json:"finalize,omitempty"`
	// Cost is what language models and remote embedders took, also for files that
	// failed; absent when none was asked.
	Cost *Bill `json:"cost,omitempty"`
	// Interrupted says why the run ended early: "interrupt", "run_time", "budget";
	// "" if it did not.
	Interrupted string   `json:"interrupted,omitempty"`
	Warnings    []string `json:"warnings,omitempty"`
	// Error is what ended the run, when something did.
	Error string `json:"error,omitempty"`
}

// maxMissing bounds the list of missing documents in a report.
const maxMissing = 1000

// NewReport is an empty report about a graph.
func NewReport(graphName string) *Report {
	return &Report{Graph: graphName, Documents: []DocumentReport{}, Totals: Totals{Status: map[Status]int{}}}
}

// Add adds a document and counts it.
func (r *Report) Add(d DocumentReport) {
	r.Documents = append(r.Documents, d)
	r.Totals.Documents++
	r.Totals.Status[d.Status]++
	switch d.Status {
	case Ingested, Updated, Reextracted, Moved:
		r.Totals.Chunks += d.Chunks
		r.Totals.Reused += d.Reused
		r.Totals.Entities += d.Entities
		r.Totals.Relations += d.Relations
	}
}

// Sort puts the documents in the order of their paths.
func (r *Report) Sort() {
	sort.SliceStable(r.Documents, func(i, j int) bool { return r.Documents[i].Path < r.Documents[j].Path })
}

// Warn adds a sentence for the operator about something that is not as it
// should be and did not stop the run.
func (r *Report) Warn(text string) { r.Warnings = append(r.Warnings, text) }

// Interrupt says what err is once ctx has ended: an interruption, noted in the
// report, if ctx was cancelled or its time was over; the cause if ctx ended for
// another reason; err itself if it has nothing to do with ctx. A budget that is
// spent is an interruption too.
func (r *Report) Interrupt(ctx context.Context, err error) error {
	if spent(err) {
		r.Interrupted = "budget"
		return fmt.Errorf("%w: %w", err, ErrInterrupted)
	}
	if ctx.Err() == nil || err != nil && !EndedBy(ctx, err) {
		return err
	}
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, ErrRunTime):
		r.Interrupted = "run_time"
		return fmt.Errorf("%w: %w", ErrRunTime, ErrInterrupted)
	case errors.Is(cause, context.Canceled), errors.Is(cause, context.DeadlineExceeded):
		r.Interrupted = "interrupt"
	default:
		return cause
	}
	return ErrInterrupted
}

// EndedBy reports whether err says no more than that ctx has ended. A connection
// words a deadline that has passed as its own time-out, and may notice it a
// moment before ctx does.
func EndedBy(ctx context.Context, err error) bool {
	if errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded) {
		if deadline, ok := ctx.Deadline(); ok && !time.Now().Before(deadline) {
			<-ctx.Done()
		}
		return ctx.Err() != nil
	}
	return ctx.Err() != nil && errors.Is(err, context.Canceled)
}

// FailedCount is the number of files that failed.
func (r *Report) FailedCount() int { return r.Totals.Status[Failed] }

// IncompleteCount is the number of files that are in the graph without some of
// their chunks' facts.
func (r *Report) IncompleteCount() int {
	n := 0
	for _, d := range r.Documents {
		if d.FailedChunks > 0 {
			n++
		}
	}
	return n
}

// Wrote reports whether the graph's documents changed.
func (r *Report) Wrote() bool {
	s := r.Totals.Status
	return s[Ingested]+s[Updated]+s[Reextracted]+s[Moved]+s[Empty]+s[Forgotten] > 0
}

// recorder collects reports from every stage.
type recorder struct {
	mu       sync.Mutex
	report   *Report
	started  time.Time
	observer Observer
	warned   bool
}

func newRecorder(graphName string, observer Observer) *recorder {
	return &recorder{
		report:   NewReport(graphName),
		started:  time.Now(),
		observer: observer,
	}
}

func (r *recorder) document(d DocumentReport, pruned graph.Pruned) {
	d.Pruned = pruned.Undeclared()
	r.mu.Lock()
	r.report.Add(d)
	r.report.Pruned.Add(pruned)
	r.mu.Unlock()
	r.observer.Observe(Event{Kind: DocumentDone, Document: &d})
}

// warnOnce warns of what may happen to many documents alike.
func (r *recorder) warnOnce(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.warned {
		r.warned = true
		r.report.Warn(text)
	}
}

func (r *recorder) deferred(path string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.report.Deferred = append(r.report.Deferred, path)
}

func (r *recorder) finish() *Report {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.report.Sort()
	r.report.Totals.Seconds = time.Since(r.started).Seconds()
	return r.report
}
