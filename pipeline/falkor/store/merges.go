package store

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	"graphmill/pipeline/falkor/cypher"
	"graphmill/pipeline/graph"
)

// MergeState is what became of two names that were taken for one thing's.
type MergeState string

// The states. Their text is stable: the graph and reports carry it.
const (
	MergeActive    MergeState = "active"    // what is said of the one stands with the other
	MergeUndone    MergeState = "undone"    // an operator took it back: never again
	MergeForbidden MergeState = "forbidden" // an operator forbade it
	MergeApart     MergeState = "apart"     // a language model was asked and did not say yes
	MergeConfirmed MergeState = "confirmed" // a language model said that they are one; what is merged for it has its own record
	MergeAllowed   MergeState = "allowed"   // what was decided is forgotten; no record has it
)

// Merge is the record of two entities, or of two names, that are one thing or
// are not.
type Merge struct {
	ID          string         `json:"id"`
	State       MergeState     `json:"state"`
	Kept        graph.EntityID `json:"kept_id,omitempty"` // "" of a forbidden pair of names
	Merged      graph.EntityID `json:"merged_id,omitempty"`
	KeptName    string         `json:"kept"`
	MergedName  string         `json:"merged"`
	KeptType    string         `json:"kept_type,omitempty"`
	MergedType  string         `json:"merged_type,omitempty"`
	Rule        string         `json:"rule,omitempty"`
	Score       float64        `json:"score,omitempty"`
	Evidence    []MergePlace   `json:"evidence,omitempty"` // where both names stand
	Explanation string         `json:"explanation,omitempty"`
	AskedFor    string         `json:"asked_for,omitempty"` // the document, and its version, for which a model was asked
	At          string         `json:"at,omitempty"`        // when it was first recorded

	applied bool // what is said of Merged stands with Kept
	keptKey string
}

// MergePlace is a place where a document names one of the two.
type MergePlace struct {
	Name  string `json:"name"`
	Path  string `json:"path"`
	Chunk string `json:"chunk"`
	Start int    `json:"start"` // code points of the document's text
	End   int    `json:"end"`
}

// MergeID is the id of the record about two entities, whichever is kept.
func MergeID(a, b graph.EntityID) string {
	return "m" + graph.Hash("merge", string(min(a, b)), string(max(a, b)))[:12]
}

// VerdictID is the id of the record of what a language model said about two
// entities.
func VerdictID(a, b graph.EntityID) string {
	return "v" + graph.Hash("verdict", string(min(a, b)), string(max(a, b)))[:12]
}

// ForbiddenID is the id of the record that forbids to merge two names.
func ForbiddenID(a, b string) string {
	a, b = graph.NameKey(a), graph.NameKey(b)
	return "f" + graph.Hash("forbidden", min(a, b), max(a, b))[:12]
}

// mergePage is how many records one statement reads.
const mergePage = 5000

// Merges reads all records, by the names kept and merged.
func (s *Store) Merges(ctx context.Context) ([]Merge, error) {
	var list []Merge
	for after := ""; ; {
		rows, err := s.read(ctx, cypher.New(`MATCH (m:__Merge__) WHERE m.id > $after WITH m ORDER BY m.id LIMIT $page
RETURN m.id AS id, m.state AS state, m.kept AS kept, m.merged AS merged, m.kept_name AS kept_name, m.merged_name AS merged_name,
       m.kept_type AS kept_type, m.merged_type AS merged_type, m.kept_key AS kept_key, m.rule AS rule, m.score AS score,
       m.evidence AS evidence, m.explanation AS explanation, m.asked_for AS asked_for, m.at AS at, m.applied AS applied ORDER BY id`, cypher.Params{"after": after, "page": mergePage}))
		if err != nil {
			return nil, err
		}
		for i := range rows.Len() {
			m := Merge{
				ID: rows.String(i, "id"), State: MergeState(rows.String(i, "state")),
				Kept: graph.EntityID(rows.String(i, "kept")), Merged: graph.EntityID(rows.String(i, "merged")),
				KeptName: rows.String(i, "kept_name"), MergedName: rows.String(i, "merged_name"),
				KeptType: rows.String(i, "kept_type"), MergedType: rows.String(i, "merged_type"), keptKey: rows.String(i, "kept_key"),
				Rule: rows.String(i, "rule"), Score: rows.Float(i, "score"), Explanation: rows.String(i, "explanation"), AskedFor: rows.String(i, "asked_for"), At: rows.String(i, "at"), applied: rows.Int(i, "applied") != 0,
			}
			if text := rows.String(i, "evidence"); text != "" {
				if err := json.Unmarshal([]byte(text), &m.Evidence); err != nil {
					return nil, s.client.Wrap("read merge "+m.ID+" of graph "+s.options.Graph, err)
				}
			}
			list = append(list, m)
			after = m.ID
		}
		if err := rows.Err(); err != nil {
			return nil, s.client.Wrap("read merges of graph "+s.options.Graph, err)
		}
		if rows.Len() == 0 {
			break
		}
	}
	slices.SortFunc(list, func(a, b Merge) int {
		return cmp.Or(cmp.Compare(a.KeptName, b.KeptName), cmp.Compare(a.MergedName, b.MergedName), cmp.Compare(a.ID, b.ID))
	})
	return list, nil
}

// Decide writes records other than active ones, and forgets those that are
// allowed: what an operator or a language
// model said of pairs. Nothing moves: what was merged of them is taken apart by
// the next finalize, which the graph waits for from here on.
//
// Dies anywhere: all of them are recorded or none is.
func (s *Store) Decide(ctx context.Context, records []Merge) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	if err := s.prepare(ctx); err != nil {
		return err
	}
	t := &transaction{}
	t.add(1, cypher.New(`MATCH (m:__Meta__ {id: 'default'}) SET m.finalize = 'pending'`, nil))
	var decided []Merge
	var forgotten []string
	for _, m := range records {
		if m.State == MergeAllowed {
			forgotten = append(forgotten, m.ID)
		} else {
			decided = append(decided, m)
		}
	}
	t.records(decided)
	t.add(len(forgotten), cypher.New(`UNWIND $ids AS id MATCH (m:__Merge__ {id: id}) WHERE m.applied = 1 SET m.state = 'active'`, over("ids", forgotten)))
	t.add(len(forgotten), cypher.New(`UNWIND $ids AS id MATCH (m:__Merge__ {id: id}) WHERE m.applied IS NULL DELETE m`, over("ids", forgotten)))
	return s.exec(ctx, "record decisions", t.statements...)
}

// records writes records; the time of one that was there stays.
func (t *transaction) records(list []Merge) {
	rows := make([]cypher.Record, len(list))
	for i, m := range list {
		rows[i] = cypher.Record{{Name: "id", Value: m.ID}, {Name: "at", Value: stamp(time.Now())}, {Name: "p", Value: mergeRow(m)}}
	}
	t.add(len(rows), cypher.New(`UNWIND $rows AS row MERGE (m:__Merge__ {id: row.id}) SET m += row.p, m.at = coalesce(m.at, row.at)`, over("rows", rows)))
}

func mergeRow(m Merge) cypher.Record {
	evidence := "[]"
	if text, err := json.Marshal(m.Evidence); err == nil && len(m.Evidence) > 0 {
		evidence = string(text)
	}
	return cypher.Record{
		{Name: "state", Value: string(m.State)},
		{Name: "kept", Value: orNull(clean(m.Kept))},
		{Name: "merged", Value: orNull(clean(m.Merged))},
		{Name: "kept_name", Value: clean(m.KeptName)},
		{Name: "merged_name", Value: clean(m.MergedName)},
		{Name: "kept_type", Value: orNull(clean(m.KeptType))},
		{Name: "merged_type", Value: orNull(clean(m.MergedType))},
		{Name: "kept_key", Value: orNull(clean(graph.NameKey(m.KeptName)))},
		{Name: "rule", Value: orNull(clean(m.Rule))},
		{Name: "score", Value: rounded(m.Score)},
		{Name: "evidence", Value: clean(evidence)},
		{Name: "explanation", Value: orNull(clean(m.Explanation))},
		{Name: "asked_for", Value: orNull(clean(m.AskedFor))},
	}
}

func (t *transaction) deleteRecords(ids []string) {
	t.add(len(ids), cypher.New(`UNWIND $ids AS id MATCH (m:__Merge__ {id: id}) DELETE m`, over("ids", ids)))
}

// sameRecord reports whether a record says what another does.
func sameRecord(a, b Merge) bool {
	evidence := slices.Equal(a.Evidence, b.Evidence)
	a.Evidence, b.Evidence = nil, nil
	a.Score, b.Score = rounded(a.Score), rounded(b.Score)
	return evidence && a.ID == b.ID && a.State == b.State && a.Kept == b.Kept && a.Merged == b.Merged && a.KeptName == b.KeptName &&
		a.MergedName == b.MergedName && a.KeptType == b.KeptType && a.MergedType == b.MergedType && a.Rule == b.Rule && a.Score == b.Score && a.Explanation == b.Explanation
}
