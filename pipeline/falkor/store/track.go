package store

import (
	"bytes"
	"compress/flate"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"

	"graphmill/pipeline/falkor/cypher"
)

// DiffLimits bound the records of what runs changed.
type DiffLimits struct {
	Bytes int64 // of one run's; beyond it changes are counted and not listed
	Runs  int   // that have a record; 0 records nothing
}

// Unlisted has the run recorded without what it changes, and takes the lists out of
// the records of earlier runs with its first transaction: what is forgotten on
// request must not be read in the records of how it came. Counts stay.
func (s *Store) Unlisted() {
	s.writing.Lock()
	defer s.writing.Unlock()
	if s.tracking != nil {
		s.tracking.unlisted = true
	}
}

// Track begins a run: what is written from here on is recorded as its changes, in
// the statements that make them, and its line stands in the ledger with the first
// of them, so that also a run that dies leaves one.
func (s *Store) Track(run Run, limits DiffLimits) {
	s.writing.Lock()
	defer s.writing.Unlock()
	run.Status = RunRunning
	s.tracking = &tracking{run: run, limits: limits}
}

// tracking is what is known of the run that writes.
type tracking struct {
	run    Run
	limits DiffLimits
	began  bool // its line stands in the ledger
	seq    int  // transactions so far, with those that were refused
	bytes  int64

	unlisted bool
}

// altered is one thing that a transaction made, changed or took away, as it is
// stored: short names, because there may be many.
type altered struct {
	Kind   string               `json:"k"`           // "d" document, "e" entity, "r" relation, "m" merge
	ID     string               `json:"i"`           // of a relation "source␟TYPE␟target"
	Type   string               `json:"t,omitempty"` // of an entity or relation
	Name   string               `json:"n,omitempty"` // as shown; of a relation "source -TYPE-> target"
	Before bool                 `json:"b,omitempty"` // it stood before
	After  bool                 `json:"a,omitempty"` // it stands now
	Fields map[string][2]string `json:"f,omitempty"` // what is another now: what it was and is
}

// alterations collect what one transaction changes.
type alterations []altered

func (a *alterations) add(one altered) {
	for field, pair := range one.Fields {
		if pair[0] == pair[1] {
			delete(one.Fields, field)
		}
	}
	if one.Before && one.After && len(one.Fields) == 0 {
		return
	}
	*a = append(*a, one)
}

func (a *alterations) documents(changes []Change, moved []string, st *standing) {
	for _, c := range changes {
		d := c.Graph.Document
		one := altered{Kind: "d", ID: string(d.ID), Name: d.Path, Before: st.documents[string(d.ID)], After: true}
		if one.Before {
			one.Fields = map[string][2]string{"version": {"", d.Fingerprints.Content[:min(12, len(d.Fingerprints.Content))]}}
		}
		if from := string(c.Moved); !one.Before && slices.Contains(moved, from) {
			one.Fields = map[string][2]string{fieldPath: {strings.TrimPrefix(from, "file:"), d.Path}}
		}
		a.add(one)
	}
	a.documentsGone(moved)
}

func (a *alterations) documentsGone(ids []string) {
	for _, id := range ids {
		a.add(altered{Kind: "d", ID: id, Name: strings.TrimPrefix(id, "file:"), Before: true})
	}
}

func (a *alterations) entities(after map[string]share, lonely []string, st *standing) {
	for _, id := range sortedKeys(after) {
		now := after[id]
		was, stood := st.entities[id]
		a.add(altered{Kind: "e", ID: id, Type: now.kind, Name: now.name, Before: stood, After: true, Fields: entityFields(was, now)})
	}
	for _, id := range lonely {
		if was, stood := st.entities[id]; stood {
			a.add(altered{Kind: "e", ID: id, Type: was.kind, Name: was.name, Before: true, Fields: entityFields(was, share{})})
		}
	}
}

func entityFields(was, now share) map[string][2]string {
	return map[string][2]string{
		"name": {was.name, now.name}, "type": {was.kind, now.kind}, "description": {was.described(), now.described()},
		"aliases": {strings.Join(was.others, " · "), strings.Join(now.others, " · ")}, fieldSupport: {orEmpty(was.mentions), orEmpty(now.mentions)},
	}
}

// fieldPath says of a document that is new under its path where it came from.
const fieldPath = "path"

// fieldSupport is how often a thing is said: it changes often, and alone it is no
// change that a reviewer wants listed.
const fieldSupport = "support"

func orEmpty(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

func (a *alterations) relations(after []edge, unsupported []edgeKey, st *standing) {
	for _, now := range after {
		if now.id().within() {
			continue
		}
		was, stood := st.edges[now.id()]
		a.add(relationAltered(now.id(), was, now, stood, true))
	}
	for _, key := range unsupported {
		if was, stood := st.edges[key]; stood && !key.within() {
			a.add(relationAltered(key, was, edge{}, true, false))
		}
	}
}

func relationAltered(key edgeKey, was, now edge, before, after bool) altered {
	one := altered{Kind: "r", ID: key.source + "\u241f" + key.kind + "\u241f" + key.target, Type: key.kind, Before: before, After: after}
	said, says := was.statement(), now.statement()
	shown := says
	if !after {
		shown = said
	}
	one.Name = shown.sourceName + " -" + key.kind + "-> " + shown.targetName
	one.Fields = map[string][2]string{"description": {said.about, says.about}, fieldSupport: {orEmpty(len(was.evidence)), orEmpty(len(now.evidence))}}
	return one
}

// merges compares the records of a batch before and after.
func (a *alterations) merges(batch []string, have, wanted map[string]Merge) {
	for _, id := range batch {
		was, stood := have[id]
		now, stands := wanted[id]
		shown := now
		if !stands {
			shown = was
		}
		a.add(altered{
			Kind: "m", ID: shown.ID, Type: shown.MergedType, Name: shown.MergedName + " → " + shown.KeptName, Before: stood, After: stands,
			Fields: map[string][2]string{"kept": {was.KeptName, now.KeptName}, "rule": {was.Rule, now.Rule}},
		})
	}
}

// tally counts alterations by kind and by what became of the thing.
func (a alterations) tally() map[string]int {
	counts := map[string]int{}
	for _, one := range a {
		counts[one.Kind+one.sign()]++
	}
	return counts
}

func (one altered) sign() string {
	switch {
	case !one.Before:
		return "+"
	case !one.After:
		return "-"
	case len(one.Fields) == 1 && one.Fields[fieldSupport] != [2]string{}:
		return "="
	}
	return "~"
}

// execTracked is exec for what a run is to be known for.
func (s *Store) execTracked(ctx context.Context, verb string, t *transaction, changes alterations) error {
	if err := s.recorded(t, changes); err != nil {
		return err
	}
	err := s.exec(ctx, verb, t.statements...)
	if err == nil && s.tracking != nil {
		s.tracking.began = true
	}
	if err == nil {
		s.counted, s.countedOf = t.counts, s.held()
	}
	return err
}

// recorded adds the run's line, with the run's first transaction, and the record
// of what this one changes.
func (s *Store) recorded(t *transaction, changes alterations) error {
	k := s.tracking
	if k == nil {
		return nil
	}
	if k.seq++; !k.began {
		row, err := runRow(k.run)
		if err != nil {
			return err
		}
		t.run(k.run.ID, row)
		if lock := s.held(); lock != nil && !lock.shared {
			t.died(k.run.ID)
		}
	}
	if k.unlisted {
		t.add(1, cypher.New(`MATCH (x:__Change__) WHERE x.data IS NOT NULL SET x.data = NULL`, nil))
	}
	if k.limits.Runs == 0 || len(changes) == 0 {
		return nil
	}
	counts, err := json.Marshal(changes.tally())
	if err != nil {
		return err
	}
	data := any(nil)
	if k.bytes < k.limits.Bytes && !k.unlisted {
		text, err := packed(changes)
		if err != nil {
			return err
		}
		if k.bytes += int64(len(text)); k.bytes <= k.limits.Bytes {
			data = text
		}
	}
	t.add(1, cypher.New(`CREATE (x:__Change__ {run: $run, seq: $seq, counts: $counts, data: $data})`,
		cypher.Params{"run": k.run.ID, "seq": k.seq, "counts": string(counts), "data": data}))
	return nil
}

// died marks runs that say they run still: only one at a time can.
func (t *transaction) died(but string) {
	t.add(1, cypher.New(`MATCH (r:__Run__) WHERE r.status = $running AND r.id <> $id SET r.status = $died`,
		cypher.Params{"running": RunRunning, "died": RunDied, "id": but}))
}

// packed is alterations as text, compressed: the engine keeps it in memory.
func packed(changes alterations) (string, error) {
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, flate.BestSpeed)
	if err != nil {
		return "", err
	}
	if err := errors.Join(json.NewEncoder(w).Encode(changes), w.Close()); err != nil {
		return "", err
	}
	return base64.StdEncoding.EncodeToString(b.Bytes()), nil
}

func unpacked(text string) (alterations, error) {
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, err
	}
	var changes alterations
	return changes, json.NewDecoder(flate.NewReader(bytes.NewReader(data))).Decode(&changes)
}
