package store

import (
	"context"
	"fmt"
	"slices"

	"graphmill/pipeline/falkor/conn"
	"graphmill/pipeline/falkor/cypher"
	"graphmill/pipeline/graph"
)

// remergeEntities is about how many entities one statement merges or takes
// apart. Readers of the graph wait for it.
const remergeEntities = 60

// Remerged says what SetMerges changed.
type Remerged struct {
	Merged int // entities that became part of another
	Undone int // entities that became one of their own again
}

// SetMerges makes want the active merges of the graph: what is said of an entity
// moves to the one that it is merged into, or back. Every mention and every piece
// of evidence keeps the id of the entity that its document names, so that nothing
// is lost by a merge and an entity is a function of what stands with it.
//
// Dies anywhere: some groups of entities are as want says and recorded so, the
// others as they were; the next call does the rest. settings names by what they
// were found; it is recorded when all is done.
func (s *Store) SetMerges(ctx context.Context, want []Merge, settings string) (Remerged, error) {
	s.writing.Lock()
	defer s.writing.Unlock()
	var done Remerged
	if err := s.prepare(ctx); err != nil {
		return done, err
	}
	if err := s.endBuilding(ctx); err != nil {
		return done, err
	}
	records, err := s.Merges(ctx)
	if err != nil {
		return done, err
	}
	have, wanted := map[string]Merge{}, map[string]Merge{}
	for _, m := range records {
		if m.applied {
			have[string(m.Merged)] = m
		}
	}
	for _, m := range want {
		m.State = MergeActive
		wanted[string(m.Merged)] = m
	}
	s.active = nil
	for _, batch := range batches(have, wanted) {
		if err := s.remerge(ctx, batch, have, wanted); err != nil {
			return done, err
		}
		for _, id := range batch {
			if _, ok := wanted[id]; ok && have[id].Merged == "" {
				done.Merged++
			} else if !ok {
				done.Undone++
			}
			if m, ok := wanted[id]; ok {
				have[id] = m
			} else {
				delete(have, id)
			}
		}
	}
	return done, s.exec(ctx, "merge entities", cypher.New(`MATCH (m:__Meta__ {id: 'default'}) SET m.merging = $settings`,
		cypher.Params{"settings": orNull(settings)}))
}

// batches lists the merged entities whose records differ, those that meet in one
// entity together.
func batches(have, wanted map[string]Merge) [][]string {
	leader := map[string]string{}
	var find func(id string) string
	find = func(id string) string {
		if up, ok := leader[id]; ok && up != id {
			leader[id] = find(up)
			return leader[id]
		}
		leader[id] = id
		return id
	}
	join := func(a, b string) {
		a, b = find(a), find(b)
		leader[max(a, b)] = min(a, b)
	}
	differing := map[string]bool{}
	for id, m := range have {
		if w, ok := wanted[id]; !ok || !sameRecord(m, w) {
			differing[id] = true
			join(id, string(m.Kept))
		}
	}
	for id, w := range wanted {
		if m, ok := have[id]; !ok || !sameRecord(m, w) {
			differing[id] = true
			join(id, string(w.Kept))
		}
	}
	groups := map[string][]string{}
	for _, id := range sortedKeys(differing) {
		groups[find(id)] = append(groups[find(id)], id)
	}
	var out [][]string
	for _, id := range sortedKeys(groups) {
		if n := len(out); n > 0 && len(out[n-1])+len(groups[id]) <= remergeEntities {
			out[n-1] = append(out[n-1], groups[id]...)
			continue
		}
		out = append(out, groups[id])
	}
	return out
}

// destination is where what is said of each entity stands once the batch is done.
type destination struct {
	have, wanted map[string]Merge
	batch        map[string]bool
	kept         map[graph.EntityID]Merge // one record of each that is kept
}

func (d destination) of(id string) string {
	from := d.have
	if d.batch[id] {
		from = d.wanted
	}
	if m, ok := from[id]; ok {
		return string(m.Kept)
	}
	return id
}

// remerge does one batch in one statement.
func (s *Store) remerge(ctx context.Context, batch []string, have, wanted map[string]Merge) error {
	to := destination{have: have, wanted: wanted, batch: map[string]bool{}, kept: map[graph.EntityID]Merge{}}
	touched := map[string]bool{}
	for _, id := range batch {
		to.batch[id], touched[id] = true, true
		for _, m := range []Merge{have[id], wanted[id]} {
			if m.Kept != "" {
				touched[string(m.Kept)], to.kept[m.Kept] = true, m
			}
		}
	}
	st := &standing{entities: map[string]share{}, edges: map[edgeKey]edge{}}
	ids := sortedKeys(touched)
	if err := s.loadEntities(ctx, st, ids); err != nil {
		return err
	}
	after, moves, err := s.moved(ctx, st, ids, to)
	if err != nil {
		return err
	}
	if err := s.loadAround(ctx, st, ids); err != nil {
		return err
	}
	counts, err := s.loadCounts(ctx)
	if err != nil {
		return err
	}
	relations, unsupported := st.redirected(to)
	var lonely []string
	for id := range st.entities {
		if _, stays := after[id]; !stays {
			lonely = append(lonely, id)
		}
	}
	slices.Sort(lonely)
	t := &transaction{}
	t.begin()
	t.entities(after, st)
	t.move(moves)
	t.relations(relations, st)
	t.deleteRelations(unsupported)
	t.deleteEntities(lonely)
	t.recordBatch(batch, have, wanted)
	counts.entities(after, lonely, st)
	counts.relations(relations, unsupported, st)
	t.keep(counts)
	if s.tracking != nil {
		t.changes.entities(after, lonely, st)
		t.changes.relations(relations, unsupported, st)
		t.changes.merges(batch, have, wanted)
	}
	return s.execTracked(ctx, fmt.Sprintf("merge %d entities", len(batch)), t, t.changes)
}

// move is the mentions of one origin that change their entity.
type move struct{ from, origin, to, kind string }

// moved reads the mentions of entities and says what the entities are when each
// stands where it shall, and which have to move for that.
func (s *Store) moved(ctx context.Context, st *standing, ids []string, to destination) (after map[string]share, moves []move, err error) {
	after, seen := map[string]share{}, map[move]bool{}
	kinds := map[string]string{}
	err = eachPage(ctx, s, ids, mentionsOf, func(rows *conn.Rows) {
		for i := range rows.Len() {
			m := decodeMention(rows, i)
			at := rows.String(i, "entity")
			origin, kind := m.origin, m.kind
			if origin == "" {
				origin, kind = at, st.entities[at].kind
			}
			kinds[origin] = smaller(kinds[origin], kind)
			dest := to.of(origin)
			if m.origin = ""; dest != origin {
				m.origin = origin
			}
			after[dest] = after[dest].merge(m.share())
			if way := (move{from: at, origin: origin, to: dest}); dest != at && !seen[way] {
				seen[way] = true
				way.kind = kind
				moves = append(moves, way)
			}
		}
	})
	for id, share := range after {
		standing, stood := st.entities[id]
		share.kind, share.key = kinds[id], standing.key
		switch {
		case !stood:
			share.key = to.keyOf(id, share)
		case share.kind == "":
			share.kind = standing.kind
		}
		if share.kind == "" {
			share.kind = to.kept[graph.EntityID(id)].KeptType
		}
		after[id] = share
	}
	return after, moves, err
}

// keyOf is the name key of an entity that gets a node of its own again.
func (to destination) keyOf(id string, share share) string {
	if m, ok := to.have[id]; ok {
		return graph.NameKey(m.MergedName)
	}
	if m, ok := to.kept[graph.EntityID(id)]; ok {
		return graph.NameKey(m.KeptName)
	}
	return graph.NameKey(share.name)
}

// redirected says what the edges are when each end stands where it shall.
func (st *standing) redirected(to destination) (after []edge, unsupported []edgeKey) {
	evidenceOf := map[edgeKey][]evidence{}
	for key, e := range st.edges {
		for _, ev := range e.evidence {
			source, target := or(ev.sourceID, key.source), or(ev.targetID, key.target)
			now := edgeKey{to.of(source), to.of(target), key.kind}
			ev.sourceID, ev.targetID = "", ""
			if now.source != source {
				ev.sourceID = source
			}
			if now.target != target {
				ev.targetID = target
			}
			evidenceOf[now] = append(evidenceOf[now], ev)
		}
	}
	for _, key := range sortedEdgeKeys(evidenceOf) {
		e := edge{source: key.source, target: key.target, kind: key.kind}
		after = append(after, e.with(evidenceOf[key], nil))
	}
	for _, key := range sortedEdgeKeys(st.edges) {
		if _, stays := evidenceOf[key]; !stays {
			unsupported = append(unsupported, key)
		}
	}
	return after, unsupported
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// move takes mentions to other entities. An edge has no other ends than those it
// was made with: each is made again.
func (t *transaction) move(moves []move) {
	rows := make([]cypher.Record, len(moves))
	for i, m := range moves {
		var origin, kind any
		if m.to != m.origin {
			origin, kind = m.origin, m.kind
		}
		rows[i] = cypher.Record{{Name: "f", Value: m.from}, {Name: "o", Value: m.origin}, {Name: "t", Value: m.to},
			{Name: "p", Value: cypher.Record{{Name: "origin", Value: origin}, {Name: "origin_type", Value: kind}}}}
	}
	t.add(len(rows), cypher.New(`UNWIND $rows AS row MATCH (f:__Entity__ {id: row.f})-[m:MENTIONED_IN]->(c:Chunk)
WHERE coalesce(m.origin, row.f) = row.o MATCH (t:__Entity__ {id: row.t})
CREATE (t)-[n:MENTIONED_IN]->(c) SET n = m SET n += row.p DELETE m`, over("rows", rows)))
}

// recordBatch writes the records of a batch. What was decided of a merge that is
// taken apart stays.
func (t *transaction) recordBatch(batch []string, have, wanted map[string]Merge) {
	var written []Merge
	var gone, decided []string
	for _, id := range batch {
		w, ok := wanted[id]
		if ok {
			written = append(written, w)
		}
		switch m := have[id]; {
		case m.ID == "" || m.ID == w.ID:
		case m.State == MergeActive:
			gone = append(gone, m.ID)
		default:
			decided = append(decided, m.ID)
		}
	}
	t.deleteRecords(gone)
	t.add(len(decided), cypher.New(`UNWIND $ids AS id MATCH (m:__Merge__ {id: id}) SET m.applied = NULL`, over("ids", decided)))
	t.records(written)
	ids := make([]string, len(written))
	for i, m := range written {
		ids[i] = m.ID
	}
	t.add(len(ids), cypher.New(`UNWIND $ids AS id MATCH (m:__Merge__ {id: id}) SET m.applied = 1`, over("ids", ids)))
}
