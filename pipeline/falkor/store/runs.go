package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"graphmill/pipeline/falkor/conn"
	"graphmill/pipeline/falkor/cypher"
)

// maxRuns bounds the ledger: the oldest runs fall off.
const maxRuns = 1000

// How a run ended. The graph and JSON carry the text.
const (
	RunRunning     = "running" // or died, if nobody holds the graph's lock
	RunDone        = "done"
	RunFailed      = "failed"
	RunInterrupted = "interrupted"
	RunDied        = "died" // it never said how it ended; the next one noticed
)

// Run is one line of the run ledger.
type Run struct {
	ID      string
	Verb    string
	Started time.Time
	Ended   time.Time // zero of one that did not say how it ended
	Status  string
	Totals  map[string]int // documents by status
	Message string
	Details RunDetails
}

// RunDetails are what a run says of itself beyond its line.
type RunDetails struct {
	Who     string `json:"who,omitempty"` // user@host
	Version string `json:"version,omitempty"`
	// Config is a hash of the effective configuration without secrets: two runs
	// with one hash were configured alike.
	Config string `json:"config,omitempty"`
	Root   string `json:"root,omitempty"`
	Source string `json:"source,omitempty"`
	Chunks int    `json:"chunks,omitempty"` // written
	Reused int    `json:"reused,omitempty"` // of them, not extracted again
	// Vectors were made in finalize.
	Vectors int `json:"vectors,omitempty"`
	// After is what the graph held then.
	After    *RunCounts   `json:"after,omitempty"`
	Cost     *RunCost     `json:"cost,omitempty"`
	Failed   int          `json:"failed,omitempty"`
	Failures []RunFailure `json:"failures,omitempty"` // the first few
}

// RunCounts are what the graph held after a run.
type RunCounts struct {
	Documents int `json:"documents"`
	Chunks    int `json:"chunks"`
	Entities  int `json:"entities"`
	Relations int `json:"relations"`
}

// RunCost is what language models and remote embedders took.
type RunCost struct {
	RunCalls
	Currency  string              `json:"currency"`
	Model     string              `json:"model,omitempty"` // that strategies asked
	ByPurpose map[string]RunCalls `json:"by_purpose,omitempty"`
}

// RunCalls are figures of calls.
type RunCalls struct {
	Calls        int     `json:"calls"`
	Cached       int     `json:"cached"` // answers that were kept from before, in no other figure
	InputTokens  int     `json:"input_tokens"`
	OutputTokens int     `json:"output_tokens"`
	Money        float64 `json:"money"`
}

// RunFailure is a file that failed.
type RunFailure struct {
	Path   string `json:"path"`
	Kind   string `json:"kind"`
	Reason string `json:"reason"`
}

func runRow(run Run) (cypher.Record, error) {
	totals, err := json.Marshal(run.Totals)
	if err != nil {
		return nil, err
	}
	details, err := json.Marshal(run.Details)
	if err != nil {
		return nil, err
	}
	ended := any(nil)
	if !run.Ended.IsZero() {
		ended = stamp(run.Ended)
	}
	return cypher.Record{
		{Name: "verb", Value: run.Verb}, {Name: "started", Value: stamp(run.Started)}, {Name: "ended", Value: ended},
		{Name: "status", Value: run.Status}, {Name: "totals", Value: string(totals)}, {Name: "message", Value: clean(run.Message)},
		{Name: "details", Value: clean(string(details))},
	}, nil
}

// SaveRun writes a run into the ledger, or overwrites it. The digest does not
// see the ledger.
//
// Dies anywhere: the ledger has the run as it was saved last.
func (s *Store) SaveRun(ctx context.Context, run Run) error {
	row, err := runRow(run)
	if err != nil {
		return err
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	if err := s.prepare(ctx); err != nil {
		return err
	}
	t := &transaction{}
	t.run(run.ID, row)
	t.add(1, cypher.New(`MATCH (r:__Run__ {id: $id}) SET r += $p`, cypher.Params{"id": run.ID, "p": row}))
	if lock := s.held(); lock != nil && !lock.shared {
		t.died(run.ID)
	}
	t.add(1, cypher.New(`MATCH (r:__Run__) WITH r ORDER BY `+newestRun+` SKIP $keep DELETE r`, cypher.Params{"keep": maxRuns}))
	if s.tracking != nil {
		old, err := s.oldRecords(ctx, s.tracking.limits.Runs)
		if err != nil {
			return err
		}
		t.add(len(old), cypher.New(`MATCH (x:__Change__) WHERE x.run IN $runs DELETE x`, cypher.Params{"runs": old}))
	}
	return s.exec(ctx, "save run", t.statements...)
}

// newestRun orders runs r, the latest first, by the number that each got when its
// line was written: clocks are coarse and are set back.
const newestRun = `coalesce(r.number, 0) DESC, r.started DESC, r.id DESC`

// run writes a run's line unless it stands already.
func (t *transaction) run(id string, row cypher.Record) {
	t.add(1, cypher.New(`OPTIONAL MATCH (x:__Run__) WITH coalesce(max(x.number), 0) + 1 AS number
MERGE (r:__Run__ {id: $id}) ON CREATE SET r.number = number, r += $p`, cypher.Params{"id": id, "p": row}))
}

// oldRecords are the runs whose records of changes are to go.
func (s *Store) oldRecords(ctx context.Context, keep int) ([]string, error) {
	rows, err := s.read(ctx, cypher.New(`MATCH (x:__Change__) WITH DISTINCT x.run AS run
OPTIONAL MATCH (r:__Run__ {id: run}) RETURN run ORDER BY `+newestRun+`, run DESC`, nil))
	if err != nil {
		return nil, err
	}
	var old []string
	for i := keep; i < rows.Len(); i++ {
		old = append(old, rows.String(i, "run"))
	}
	return old, rows.Err()
}

// Runs lists the latest runs, newest first.
func (s *Store) Runs(ctx context.Context, limit int) ([]Run, error) {
	rows, err := s.read(ctx, cypher.New(`MATCH (r:__Run__)
RETURN r.id AS id, r.verb AS verb, r.started AS started, r.ended AS ended, r.status AS status, r.totals AS totals, r.message AS message, r.details AS details
ORDER BY `+newestRun+` LIMIT $limit`, cypher.Params{"limit": limit}))
	if err != nil {
		return nil, err
	}
	runs := make([]Run, rows.Len())
	for i := range runs {
		if runs[i], err = decodeRun(rows, i); err != nil {
			return nil, fmt.Errorf("read run %s: %w", runs[i].ID, err)
		}
	}
	return runs, rows.Err()
}

func decodeRun(rows *conn.Rows, i int) (Run, error) {
	run := Run{ID: rows.String(i, "id"), Verb: rows.String(i, "verb"), Status: rows.String(i, "status"), Message: rows.String(i, "message")}
	for column, to := range map[string]*time.Time{"started": &run.Started, "ended": &run.Ended} {
		if text := rows.String(i, column); text != "" {
			var err error
			if *to, err = time.Parse(time.RFC3339, text); err != nil {
				return run, err
			}
		}
	}
	for column, to := range map[string]any{"totals": &run.Totals, "details": &run.Details} {
		if text := rows.String(i, column); text != "" {
			if err := json.Unmarshal([]byte(text), to); err != nil {
				return run, fmt.Errorf("%s: %w", column, err)
			}
		}
	}
	return run, nil
}
