package retrieve

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"

	"graphmill/pipeline/falkor/conn"
	"graphmill/pipeline/falkor/cypher"
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

// fuse ranks things over several lists by reciprocal rank. The order depends on
// the lists alone.
func fuse[T any](tasks []*task, list func(*task) []T, key func(T) string) []fused[T] {
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
				f.score += 1 / float64(rankConstant+rank+1)
			}
			f.best = min(f.best, rank)
		}
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

func (s *search) fuseEntities() []Entity {
	ranked := fuse(s.tasks, func(t *task) []Entity { return t.entities }, func(e Entity) string { return e.ID })
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
	}, Relation.key)
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
	result := &Result{Entities: s.entities, Trace: s.reports(), Pending: s.meta.FinalizePending}
	result.Facts = s.fuseRelations(Facts, s.TopK, nil)
	among := map[string]bool{}
	for _, f := range result.Facts {
		among[f.key()] = true
	}
	result.Relations = s.fuseRelations(Links, s.maxRelations(), among)

	chunks := fuse(s.tasks, func(t *task) []string { return t.chunks }, func(id string) string { return id })
	chunks = chunks[:min(len(chunks), s.TopK)]
	err := s.read(ctx, result, chunks)
	if err != nil {
		return nil, err
	}
	if len(result.Passages) == 0 && len(result.Entities) == 0 && len(result.Facts) == 0 {
		result.Empty, err = s.empty(ctx)
	}
	return result, err
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
			wanted[q.chunk] = wanted[q.chunk]
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	found, err := s.readChunks(ctx, wanted)
	if err != nil {
		return err
	}
	result.Facts, result.Relations = stated(result.Facts, found), stated(result.Relations, found)
	for _, c := range chunks {
		if p, ok := found[c.key]; ok {
			p.Score, p.FoundBy = c.score, c.foundBy
			result.Passages = append(result.Passages, p)
		}
	}
	return nil
}

// stated puts the relations' evidence in its places.
func stated(relations []Relation, found map[string]Passage) []Relation {
	kept := relations[:0]
	for _, r := range relations {
		if r.Evidence = quotes(r.evidence, found); len(r.Evidence) > 0 {
			kept = append(kept, r)
		}
	}
	return kept
}

func (s *search) readChunks(ctx context.Context, wanted map[string]bool) (map[string]Passage, error) {
	var rows []cypher.Record
	for _, id := range slices.Sorted(maps.Keys(wanted)) {
		rows = append(rows, cypher.Record{{Name: "id", Value: id}, {Name: "text", Value: wanted[id]}})
	}
	found := make(map[string]Passage, len(wanted))
	// Without the WITH the planner would start from all documents.
	err := s.query(ctx, cypher.New(`UNWIND $rows AS row MATCH (c:Chunk {id: row.id}) WITH row, c MATCH (d:Document)-[:PART_OF]->(c)
WHERE d.status IS NULL OR d.status <> 'writing'
RETURN c.id AS id, CASE WHEN row.text THEN c.text ELSE '' END AS text, coalesce(d.path, d.id) AS path, d.title AS title,
       c.start_char AS start, c.end_char AS end, c.first_line AS first_line, c.last_line AS last_line,
       c.first_page AS first_page, c.last_page AS last_page, c.context_header AS headings`, cypher.Params{"rows": rows}),
		func(rows *conn.Rows, i int) {
			p := Passage{ID: rows.String(i, "id"), Text: rows.String(i, "text"), Place: Place{
				Document: rows.String(i, "path"), Title: rows.String(i, "title"),
				First: rows.Int(i, "first_line"), Last: rows.Int(i, "last_line"),
				FirstPage: rows.Int(i, "first_page"), LastPage: rows.Int(i, "last_page"), Headings: rows.String(i, "headings"),
			}}
			p.Span.Start, p.Span.End = rows.Int(i, "start"), rows.Int(i, "end")
			if other, ok := found[p.ID]; !ok || p.Document < other.Document {
				found[p.ID] = p
			}
		})
	return found, err
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
	rows, err := s.Store.Query(ctx, s.Graph, cypher.New(`MATCH (c:Chunk) RETURN c.id AS id LIMIT 1`, nil))
	if err != nil {
		return false, err
	}
	return rows.Len() == 0, nil
}
