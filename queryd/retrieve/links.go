package retrieve

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"graphmill/pipeline/falkor/conn"
	"graphmill/pipeline/falkor/cypher"
)

const (
	// maxFrontier bounds from how many entities one hop starts; what a hop keeps has
	// at most twice its share of ends.
	maxFrontier = 20
	// edgesLooked bounds how many edges of one entity are compared with the
	// question: a hub has more, and comparing 50,000 takes the engine a quarter of a
	// second.
	edgesLooked = 10_000
)

// maxRelations is 4 for each item asked for, 40 at most.
func (r Request) maxRelations() int { return min(4*r.TopK, 40) }

// hops is how far links walks.
func (r Request) hops() int { return max(1, min(r.Hops, MaxHops)) }

// shares divides what links may return among the hops, so that a busy first one
// cannot crowd out the deeper ones. What does not divide goes to the first.
func shares(most, hops int) []int {
	list := make([]int, hops)
	for i := range list {
		list[i] = most / hops
		if i < most%hops {
			list[i]++
		}
	}
	return list
}

// links walks from the best entities. Every hop gets its share; what one leaves
// goes to the next, and in the end to what the others had to leave out.
func (s *search) links(ctx context.Context, t *task) error {
	var frontier []string
	for _, e := range s.entities[:min(len(s.entities), startEntities)] {
		frontier = append(frontier, e.ID)
	}
	w := walk{known: s.amongFacts(), visited: map[string]bool{}, taken: map[string]bool{}}
	unused := 0
	for hop, share := range shares(s.maxRelations(), s.hops()) {
		around, err := s.around(ctx, t, frontier)
		if err != nil {
			if hop == 0 {
				return err
			}
			t.note = fmt.Sprintf("hop %d: %v", hop+1, err)
			break
		}
		room := share + unused
		unused = room - w.hop(hop+1, frontier, around, room)
		if frontier = w.ends(frontier); len(frontier) == 0 {
			break
		}
	}
	w.fill(s.maxRelations())
	t.relations = w.kept
	return nil
}

// amongFacts are the relations that are returned as facts anyhow: they are walked
// over and take no room.
func (s *search) amongFacts() map[string]bool {
	known := map[string]bool{}
	for _, f := range s.fuseRelations(Facts, s.TopK, nil) {
		known[f.key()] = true
	}
	return known
}

// around reads the relations of entities, of each those first that are nearest to
// the question, or when that cannot be told those that most sentences state.
func (s *search) around(ctx context.Context, t *task, ids []string) (map[string][]Relation, error) {
	around := map[string][]Relation{}
	params := cypher.Params{"ids": ids, "each": s.maxRelations(), "most": edgesLooked}
	statement := cypher.New(edgesOf+`0 AS distance`+bestEdges, params)
	if s.comparable("RELATES") {
		params["vector"] = s.asked.vector
		statement = cypher.New(edgesOf+`vec.cosineDistance(r.embedding, vecf32($vector)) AS distance`+bestEdges, params)
	}
	err := s.query(ctx, statement, func(rows *conn.Rows, i int) {
		start := rows.String(i, "start")
		around[start] = append(around[start], readRelation(rows, i))
		if degree := rows.Int(i, "degree"); degree > edgesLooked {
			t.note = fmt.Sprintf("of %d relations of an entity %d were looked at", degree, edgesLooked)
		}
	})
	return around, err
}

// IN, not UNWIND: where there is no index, it takes one scan for all ids.
const (
	edgesOf = `MATCH (e:__Entity__) WHERE e.id IN $ids
CALL { WITH e MATCH (e)-[r:RELATES]-(:__Entity__) WITH r LIMIT $most WITH r, `
	bestEdges = `
       WITH r, distance, startNode(r) AS s, endNode(r) AS t
       ORDER BY distance, size(r.source_chunk_ids) DESC, r.score DESC, s.id, r.rel_type, t.id LIMIT $each RETURN r, s, t, distance }
RETURN e.id AS start, indegree(e, 'RELATES') + outdegree(e, 'RELATES') AS degree,
       s.id AS source_id, s.name AS source, s.type AS source_type, t.id AS target_id, t.name AS target, t.type AS target_type,
       r.rel_type AS rel_type, r.description AS statement, r.fact AS fact, r.source_chunk_ids AS chunks, r.evidence AS quotes,
       r.evidence_scores AS scores, r.spans AS spans, distance
ORDER BY start, distance, size(chunks) DESC, r.score DESC, source_id, rel_type, target_id`
)

// walk is the state of links between two hops.
type walk struct {
	known   map[string]bool // relations that need no room
	visited map[string]bool // entities that a hop started from
	taken   map[string]bool // relations seen, kept or not
	passed  []Relation      // the last hop's: what the next one starts from
	kept    []Relation
	room    int        // that kept takes
	left    []Relation // what found no room
}

// hop takes at most room of the relations around the frontier and returns how
// many it took.
func (w *walk) hop(number int, frontier []string, around map[string][]Relation, room int) int {
	for _, id := range frontier {
		w.visited[id] = true
	}
	w.passed = nil
	took := 0
	for _, r := range inTurn(frontier, around) {
		if w.taken[r.key()] {
			continue
		}
		w.taken[r.key()] = true
		r.Hop = number
		switch {
		case w.known[r.key()]:
			w.passed, w.kept = append(w.passed, r), append(w.kept, r)
		case took < room:
			w.passed, w.kept = append(w.passed, r), append(w.kept, r)
			took++
		default:
			w.left = append(w.left, r)
		}
	}
	w.room += took
	return took
}

// ends lists where the last hop led: the entities that no hop has started from.
func (w *walk) ends(from []string) []string {
	var ends []string
	for _, r := range w.passed {
		for _, id := range []string{r.SourceID, r.TargetID} {
			if !w.visited[id] && !slices.Contains(ends, id) && len(ends) < maxFrontier {
				ends = append(ends, id)
			}
		}
	}
	return ends
}

// fill gives the room that is left to what found none, and puts all in the order
// of the hops.
func (w *walk) fill(most int) {
	free := most - w.room
	w.kept = append(w.kept, w.left[:min(free, len(w.left))]...)
	slices.SortStableFunc(w.kept, func(a, b Relation) int { return cmp.Compare(a.Hop, b.Hop) })
}

// inTurn orders relations: between two of the entities first, then one of each
// entity after the other, so that a hub does not crowd the others out.
func inTurn(ids []string, around map[string][]Relation) []Relation {
	var between, rest []Relation
	seen := map[string]bool{}
	for rank := 0; ; rank++ {
		left := false
		for _, id := range ids {
			if rank >= len(around[id]) {
				continue
			}
			left = true
			r := around[id][rank]
			if seen[r.key()] {
				continue
			}
			seen[r.key()] = true
			if slices.Contains(ids, r.SourceID) && slices.Contains(ids, r.TargetID) {
				between = append(between, r)
			} else {
				rest = append(rest, r)
			}
		}
		if !left {
			return append(between, rest...)
		}
	}
}
