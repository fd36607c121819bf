package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"graphmill/pipeline/falkor/cypher"
)

// maxRuns bounds the ledger: the oldest runs fall off.
const maxRuns = 1000

// SaveRun writes a run into the ledger, or overwrites it. The digest does not
// see the ledger.
//
// Dies anywhere: the ledger has the run as it was saved last.
func (s *Store) SaveRun(ctx context.Context, run Run) error {
	totals, err := json.Marshal(run.Totals)
	if err != nil {
		return err
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	if err := s.prepare(ctx); err != nil {
		return err
	}
	ended := any(nil)
	if !run.Ended.IsZero() {
		ended = stamp(run.Ended)
	}
	return s.exec(ctx, "save run",
		cypher.New(`MERGE (r:__Run__ {id: $id}) SET r += $p`, cypher.Params{"id": run.ID, "p": cypher.Record{
			{Name: "verb", Value: run.Verb}, {Name: "started", Value: stamp(run.Started)}, {Name: "ended", Value: ended},
			{Name: "status", Value: run.Status}, {Name: "totals", Value: string(totals)}, {Name: "message", Value: run.Message},
		}}),
		cypher.New(`MATCH (r:__Run__) WITH r ORDER BY r.started DESC, r.id SKIP $keep DELETE r`, cypher.Params{"keep": maxRuns}))
}

// Runs lists the latest runs, newest first.
func (s *Store) Runs(ctx context.Context, limit int) ([]Run, error) {
	rows, err := s.read(ctx, cypher.New(`MATCH (r:__Run__)
RETURN r.id AS id, r.verb AS verb, r.started AS started, r.ended AS ended, r.status AS status, r.totals AS totals, r.message AS message
ORDER BY started DESC, id LIMIT $limit`, cypher.Params{"limit": limit}))
	if err != nil {
		return nil, err
	}
	runs := make([]Run, rows.Len())
	for i := range runs {
		runs[i] = Run{ID: rows.String(i, "id"), Verb: rows.String(i, "verb"), Status: rows.String(i, "status"), Message: rows.String(i, "message")}
		for column, to := range map[string]*time.Time{"started": &runs[i].Started, "ended": &runs[i].Ended} {
			if text := rows.String(i, column); text != "" {
				if *to, err = time.Parse(time.RFC3339, text); err != nil {
					return nil, fmt.Errorf("read run %s: %w", runs[i].ID, err)
				}
			}
		}
		if text := rows.String(i, "totals"); text != "" {
			if err := json.Unmarshal([]byte(text), &runs[i].Totals); err != nil {
				return nil, fmt.Errorf("read run %s: totals: %w", runs[i].ID, err)
			}
		}
	}
	return runs, rows.Err()
}
