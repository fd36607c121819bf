package retrieve

import (
	"context"
	"math"

	"graphmill/pipeline/falkor/conn"
	"graphmill/pipeline/falkor/cypher"
)

// Ranking is no path: it reports how the candidates of all of them were compared
// with the question.
const Ranking Path = "ranking"

// comparable reports whether the question can be compared with the vectors of a
// label.
func (s *search) comparable(label string) bool {
	vector, err := s.vector()
	if err != nil || vector == nil {
		return false
	}
	_, err = s.usable(label, "embedding", "VECTOR")
	return err == nil
}

// nearness compares the candidates that the first searches found with the
// question, whichever search found them: by cosine, with the stored vectors, in
// one statement. Vectors do not leave the engine. It is nil when there is nothing
// to compare.
func (s *search) nearness() *task {
	if !s.comparable("Chunk") || !s.comparable("__Entity__") {
		return nil
	}
	chunks, entities := []string{}, []string{}
	for _, t := range s.tasks {
		chunks = append(chunks, t.passages()...)
		for _, e := range t.entities {
			entities = append(entities, e.ID)
		}
	}
	if len(chunks)+len(entities) == 0 {
		return nil
	}
	return &task{path: Ranking, search: "nearness", run: func(ctx context.Context, t *task) error {
		return s.query(ctx, cypher.New(`MATCH (c:Chunk) WHERE c.id IN $chunks RETURN 'chunk' AS kind, c.id AS id, vec.cosineDistance(c.embedding, vecf32($vector)) AS distance
UNION ALL MATCH (e:__Entity__) WHERE e.id IN $entities RETURN 'entity' AS kind, e.id AS id, vec.cosineDistance(e.embedding, vecf32($vector)) AS distance`,
			cypher.Params{"chunks": chunks, "entities": entities, "vector": s.asked.vector}), func(rows *conn.Rows, i int) {
			t.measure(rows.String(i, "kind"), rows, i)
		})
	}}
}

// measure keeps the distance of a candidate; what has no vector has none.
func (t *task) measure(kind string, rows *conn.Rows, i int) {
	if rows.Value(i, "distance") == nil {
		return
	}
	if distance := rows.Float(i, "distance"); !math.IsNaN(distance) {
		t.keep(kind, rows.String(i, "id"), distance)
	}
}

func (t *task) keep(kind, id string, distance float64) {
	if t.near == nil {
		t.near = map[string]float64{}
	}
	t.near[kind+" "+id] = distance
}

// distance is how far a candidate is from the question, if that is known.
func (s *search) distance(kind, id string) (float64, bool) {
	for _, t := range s.tasks {
		if d, ok := t.near[kind+" "+id]; ok {
			return d, true
		}
	}
	return 0, false
}
