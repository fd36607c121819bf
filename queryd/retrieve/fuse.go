package retrieve

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"strings"

	"graphmill/pipeline/falkor/conn"
	"graphmill/pipeline/falkor/cypher"
	"graphmill/pipeline/falkor/shape"
	"graphmill/pipeline/graph"
)

// rankConstant is k in the sum of 1/(k + rank) over lists (Cormack, Clarke and
// Büttcher, 2009): with 60, being found by two lists outweighs a good rank in
// one.
const rankConstant = 60

// fused is one thing over all lists.
type fused[T any] struct {
	item    T
	score   float64
	best    int // the best rank in a list
	key     string
	foundBy []string
}

// fuse ranks things over several lists by reciprocal rank; their order by distance
// from the question, where that is known, counts as one list more. The order
// depends on the lists alone.
func fuse[T any](tasks []*task, list func(*task) []T, key func(T) string, distance func(key string) (float64, bool)) []fused[T] {
	byKey := map[string]*fused[T]{}
	for _, t := range tasks {
		for rank, item := range list(t) {
			k := key(item)
			f := byKey[k]
			if f == nil {
				f = &fused[T]{item: item, key: k, best: rank}
				byKey[k] = f
			}
			if !slices.Contains(f.foundBy, t.foundBy()) {
				f.foundBy = append(f.foundBy, t.foundBy())
				f.score += reciprocal(rank)
			}
			f.best = min(f.best, rank)
		}
	}
	for rank, k := range byDistance(slices.Sorted(maps.Keys(byKey)), distance) {
		byKey[k].score += reciprocal(rank)
	}
	out := make([]fused[T], 0, len(byKey))
	for _, f := range byKey {
		f.score = math.Round(f.score*1e6) / 1e6
		out = append(out, *f)
	}
	slices.SortFunc(out, func(a, b fused[T]) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.best, b.best), cmp.Compare(a.key, b.key))
	})
	return out
}

func reciprocal(rank int) float64 { return 1 / float64(rankConstant+rank+1) }

// byDistance lists the keys whose distance is known, the nearest first.
func byDistance(keys []string, distance func(key string) (float64, bool)) []string {
	near := map[string]float64{}
	for _, k := range keys {
		if d, ok := distance(k); ok {
			near[k] = d
		}
	}
	known := slices.Sorted(maps.Keys(near))
	slices.SortStableFunc(known, func(a, b string) int { return cmp.Compare(near[a], near[b]) })
	return known
}

func unknown(string) (float64, bool) { return 0, false }

func (s *search) fuseEntities() []Entity {
	ranked := fuse(s.tasks, func(t *task) []Entity { return t.entities }, func(e Entity) string { return e.ID },
		func(id string) (float64, bool) { return s.distance("entity", id) })
	entities := make([]Entity, 0, s.TopK)
	for _, f := range ranked[:min(len(ranked), s.TopK)] {
		e := f.item
		e.Score, e.FoundBy = f.score, f.foundBy
		entities = append(entities, e)
	}
	return entities
}

func (s *search) fuseRelations(path Path, most int, without map[string]bool) []Relation {
	ranked := fuse(s.tasks, func(t *task) []Relation {
		if t.path != path {
			return nil
		}
		return t.relations
	}, Relation.key, unknown)
	relations := make([]Relation, 0, most)
	for _, f := range ranked {
		if len(relations) == most || without[f.key] {
			continue
		}
		r := f.item
		r.Score, r.FoundBy = f.score, f.foundBy
		relations = append(relations, r)
	}
	return relations
}

// result fuses what was found and reads the passages.
func (s *search) result(ctx context.Context) (*Result, error) {
	result := &Result{Trace: s.reports(), Pending: s.meta.FinalizePending}
	if !s.linksAlone() {
		result.Entities = s.fuseEntities()
	}
	result.Facts = s.fuseRelations(Facts, s.TopK, nil)
	among := map[string]bool{}
	for _, f := range result.Facts {
		among[f.key()] = true
	}
	result.Relations = s.fuseRelations(Links, s.maxRelations(), among)

	chunks := s.fusePassages()
	err := s.read(ctx, result, chunks)
	if err != nil {
		return nil, err
	}
	if len(result.Passages) == 0 && len(result.Entities) == 0 && len(result.Facts) == 0 {
		if result.Empty, err = s.empty(ctx); err != nil {
			return nil, err
		}
	}
	if s.commits == unread {
		meta, err := shape.ReadMeta(ctx, s.send, s.Graph)
		if err != nil {
			return nil, err
		}
		s.commits = meta.Commits
	}
	result.Changing = s.commits != s.meta.Commits
	return result, nil
}

// read fetches the passages' texts and where the relations' evidence stands, in
// one statement, so that all of it is of one state of the graph. A chunk that was
// deleted since it was found, or whose document is not whole, is left out, and so
// is a relation that nothing states any more.
func (s *search) read(ctx context.Context, result *Result, chunks []fused[string]) error {
	wanted := map[string]bool{} // → whether its text is wanted
	for _, c := range chunks {
		wanted[c.key] = true
	}
	for _, r := range slices.Concat(result.Facts, result.Relations) {
		for _, q := range r.evidence {
			wanted[q.chunk] = wanted[q.chunk] || s.quotesFromPassages()
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	found, err := s.readChunks(ctx, wanted)
	if err != nil {
		return err
	}
	result.Facts, result.Relations = s.stated(result.Facts, found), s.stated(result.Relations, found)
	for _, c := range chunks {
		if p, ok := found[c.key]; ok {
			p.Score, p.FoundBy = c.score, c.foundBy
			result.Passages = append(result.Passages, p)
		}
	}
	return nil
}

// quotesFromPassages tells a graph of graphrag-sdk, whose spans count from the
// passage's begin and whose edges keep no sentences.
func (s *search) quotesFromPassages() bool { return !s.meta.Exists }

// stated puts the relations' evidence in its places.
func (s *search) stated(relations []Relation, found map[string]Passage) []Relation {
	kept := relations[:0]
	for _, r := range relations {
		if s.quotesFromPassages() {
			r.cutQuotes(found)
		}
		if r.Evidence = quotes(r.evidence, found); len(r.Evidence) > 0 {
			kept = append(kept, r)
		}
	}
	return kept
}

func (s *search) readChunks(ctx context.Context, wanted map[string]bool) (map[string]Passage, error) {
	var texts []string
	for _, id := range slices.Sorted(maps.Keys(wanted)) {
		if wanted[id] {
			texts = append(texts, id)
		}
	}
	found := make(map[string]Passage, len(wanted))
	// Without the WITH the planner would start from all documents. IN, not UNWIND:
	// where there is no index, it takes one scan for all ids. graphrag-sdk writes a
	// document's new version beside the old one first, under an id of its own.
	err := s.query(ctx, cypher.New(`OPTIONAL MATCH (m:__Meta__ {id: 'default'}) WITH coalesce(m.commits, 0) AS commits
MATCH (c:Chunk) WHERE c.id IN $ids WITH c, commits MATCH (d:Document)-[:PART_OF]->(c)
WHERE (d.status IS NULL OR d.status <> 'writing') AND ($own OR NOT d.id CONTAINS '__pending__')
RETURN commits, c.id AS id, CASE WHEN c.id IN $texts THEN c.text ELSE '' END AS text, `+placeColumns, cypher.Params{"ids": slices.Sorted(maps.Keys(wanted)), "texts": texts, "own": s.meta.Exists}),
		func(rows *conn.Rows, i int) {
			s.commits = rows.Int(i, "commits")
			p := readPassage(rows, i)
			if other, ok := found[p.ID]; !ok || p.Document < other.Document {
				found[p.ID] = p
			}
		})
	return found, err
}

// cutQuotes takes the sentences out of the passages. A model gave their places,
// which may be anything: a piece that does not hold both names is not shown.
func (r *Relation) cutQuotes(found map[string]Passage) {
	for i := range r.evidence {
		q := &r.evidence[i]
		text := []rune(found[q.chunk].Text)
		if 0 <= q.span.Start && q.span.Start < q.span.End && q.span.End <= len(text) {
			piece := strings.TrimSpace(string(text[q.span.Start:q.span.End]))
			lower := strings.ToLower(piece)
			if strings.Contains(lower, strings.ToLower(r.Source)) && strings.Contains(lower, strings.ToLower(r.Target)) {
				q.text = piece
			}
		}
		q.span = graph.Span{}
	}
}

// quotes puts sentences in their places; one without words of its own still says
// where the relation is stated.
func quotes(evidence []quoteAt, found map[string]Passage) []Quote {
	var out []Quote
	for _, q := range evidence {
		p, ok := found[q.chunk]
		if !ok {
			continue
		}
		place := p.Place
		if q.span.End > q.span.Start {
			place.Span = q.span
		}
		out = append(out, Quote{Place: place, Text: q.text})
	}
	return out
}

// empty reports whether the graph holds no passages at all.
func (s *search) empty(ctx context.Context) (bool, error) {
	rows, err := s.send(ctx, s.Graph, cypher.New(`MATCH (c:Chunk) RETURN c.id AS id LIMIT 1`, nil))
	if err != nil {
		return false, err
	}
	return rows.Len() == 0, nil
}
