package store

import (
	"context"

	"graphmill/pipeline/falkor/conn"
	"graphmill/pipeline/falkor/cypher"
)

// Relations between two entities that were merged into one are kept on edges of
// an own type, where no reader looks, until the merge is undone.
const (
	relates = "RELATES"
	within  = "__WITHIN__"
)

var edgeLabels = []string{relates, within}

func (k edgeKey) within() bool { return k.source == k.target }

func (k edgeKey) label() string {
	if k.within() {
		return within
	}
	return relates
}

// mergedInto is the entity that another was merged into.
type mergedInto struct{ id, key, kind string }

// targets are the active merges: the id of the merged entity, whose node is
// gone, → what became of it.
type targets map[string]mergedInto

// of returns where what is said of an entity stands.
func (t targets) of(id string) (at string, moved bool) {
	if to, ok := t[id]; ok {
		return to.id, true
	}
	return id, false
}

// merged reads the active merges, once for each time that the lock is held: only
// its holder changes them.
func (s *Store) merged(ctx context.Context) (targets, error) {
	lock := s.held()
	if s.active != nil && s.activeOf == lock {
		return s.active, nil
	}
	records, err := s.Merges(ctx)
	if err != nil {
		return nil, err
	}
	active := targets{}
	for _, m := range records {
		if m.applied {
			active[string(m.Merged)] = mergedInto{id: string(m.Kept), key: m.keptKey, kind: m.KeptType}
		}
	}
	s.active, s.activeOf = active, lock
	return active, nil
}

// edgeLabels are the types of edges that hold relations. [Store.merged] was
// called before.
func (s *Store) edgeLabels() []string {
	if len(s.active) == 0 {
		return edgeLabels[:1]
	}
	return edgeLabels
}

func edgesFrom(label string) func(ids []string) cypher.Statement {
	return func(ids []string) cypher.Statement {
		return cypher.New(`UNWIND $ids AS id MATCH (s:__Entity__ {id: id})-[r:«label»]->(t:__Entity__)
RETURN `+edgeColumns, over("ids", ids)).WithLabel("label", label)
	}
}

func edgesTo(label string) func(ids []string) cypher.Statement {
	return func(ids []string) cypher.Statement {
		return cypher.New(`UNWIND $ids AS id MATCH (t:__Entity__ {id: id})<-[r:«label»]-(s:__Entity__)
RETURN `+edgeColumns, over("ids", ids)).WithLabel("label", label)
	}
}

// loadAround reads all edges that begin or end at entities.
func (s *Store) loadAround(ctx context.Context, st *standing, ids []string) error {
	for _, label := range edgeLabels {
		for _, statement := range []func(ids []string) cypher.Statement{edgesFrom(label), edgesTo(label)} {
			err := eachPage(ctx, s, ids, statement, func(rows *conn.Rows) {
				for i := range rows.Len() {
					e := decodeEdge(rows, i)
					st.edges[e.id()] = e
				}
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}
