package store

import (
	"context"
	"encoding/json"

	"graphmill/pipeline/falkor/cypher"
)

// kept are the graph's counts as a commit will leave them; nil when they are not
// known before the next finalize: another program's graph, or one that an older
// version began.
type kept struct{ *Counts }

// loadCounts are the counts as the last commit left them. Who holds the lock alone
// knows them from its own last one, and asks once.
func (s *Store) loadCounts(ctx context.Context) (kept, error) {
	if lock := s.held(); s.counted.Counts != nil && s.countedOf == lock && !lock.shared {
		counts := s.counted
		s.counted = kept{} // its maps are the caller's now
		return counts, nil
	}
	return s.readCounts(ctx)
}

func (s *Store) readCounts(ctx context.Context) (kept, error) {
	rows, err := s.read(ctx, cypher.New(`MATCH (m:__Meta__ {id: 'default'}) RETURN m.counts AS counts`, nil))
	if err != nil {
		return kept{}, err
	}
	counts := Counts{}
	switch {
	case rows.Len() > 0 && rows.String(0, "counts") != "":
		if err := json.Unmarshal([]byte(rows.String(0, "counts")), &counts); err != nil {
			return kept{}, nil // finalize counts again
		}
	default:
		documents, err := s.read(ctx, cypher.New(`MATCH (n:Document) RETURN n.id AS id LIMIT 1`, nil))
		if err != nil || documents.Len() > 0 {
			return kept{}, err
		}
	}
	if counts.EntityTypes == nil {
		counts.EntityTypes = map[string]int{}
	}
	if counts.RelationTypes == nil {
		counts.RelationTypes = map[string]int{}
	}
	return kept{&counts}, rows.Err()
}

func tally(types map[string]int, kind string, by int) {
	if types[kind] += by; types[kind] <= 0 {
		delete(types, kind)
	}
}

// entities counts those that come, go, or take another spelling of their type.
func (k kept) entities(after map[string]share, lonely []string, st *standing) {
	if k.Counts == nil {
		return
	}
	for id, now := range after {
		if old, stood := st.entities[id]; stood {
			tally(k.EntityTypes, old.kind, -1)
		} else {
			k.Entities++
		}
		tally(k.EntityTypes, now.kind, 1)
	}
	for _, id := range lonely {
		if old, stood := st.entities[id]; stood {
			k.Entities--
			tally(k.EntityTypes, old.kind, -1)
		}
	}
}

func (k kept) relations(after []edge, unsupported []edgeKey, st *standing) {
	if k.Counts == nil {
		return
	}
	for _, e := range after {
		if _, stood := st.edges[e.id()]; !stood && !e.id().within() {
			k.Relations++
			tally(k.RelationTypes, e.kind, 1)
		}
	}
	for _, key := range unsupported {
		if _, stood := st.edges[key]; stood && !key.within() {
			k.Relations--
			tally(k.RelationTypes, key.kind, -1)
		}
	}
}

// documents counts those of a commit; gone are the chunks that it deletes.
func (k kept) documents(changes []Change, gone []string, st *standing) {
	if k.Counts == nil {
		return
	}
	documents, chunks := map[string]bool{}, map[string]bool{}
	for _, c := range changes {
		if id := string(c.Graph.Document.ID); !st.documents[id] {
			documents[id] = true
		}
		for _, chunk := range c.Graph.Chunks {
			if _, stood := st.chunks[string(chunk.ID)]; !stood {
				chunks[string(chunk.ID)] = true
			}
		}
	}
	k.Documents += len(documents)
	k.Chunks += len(chunks) - len(gone)
}

// moved takes documents off that stand under another id now.
func (k kept) moved(ids []string) {
	if k.Counts != nil {
		k.Documents -= len(ids)
	}
}

// keep writes the counts with the rows that they count. Sections and mentions
// stay as the last finalize counted them: nobody asks for them in between.
func (t *transaction) keep(k kept) {
	if k.Counts == nil {
		return
	}
	text, err := json.Marshal(k.Counts)
	if err != nil {
		return // numbers and strings always marshal
	}
	t.counts = k
	t.add(1, cypher.New(`MATCH (m:__Meta__ {id: 'default'}) SET m.counts = $counts`, cypher.Params{"counts": string(text)}))
}
