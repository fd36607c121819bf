package retrieve

import (
	"context"
	"fmt"

	"graphmill/pipeline/falkor/conn"
	"graphmill/pipeline/falkor/cypher"
	"graphmill/pipeline/falkor/fulltext"
)

// unknownSize is the number of passages or entities that is assumed of a graph
// that does not say how many it holds.
const unknownSize = 10_000

// byText looks whether the words of a label are indexed, and prepares to look the
// question's up. Every word is looked up by itself: of a query for any of several
// words the engine divides the score by how far apart they stand, so that what
// holds one of them came before what holds all.
func (s *search) byText(t *task, label, property string, count int) (params cypher.Params, err error) {
	if t.note, err = s.usable(label, property, "FULLTEXT"); err != nil {
		return nil, err
	}
	terms := fulltext.Terms(s.Question)
	if len(terms) == 0 {
		return nil, fmt.Errorf("the question holds no word to look up")
	}
	if count == 0 {
		count = unknownSize
	}
	return cypher.Params{"k": s.depth(), "terms": terms, "all": float64(count)}, nil
}

// weighed weighs each word by how rare it is, one that is found nowhere too: then
// half a thing holds it. A thing's share is the weight of the words that it holds.
const weighed = `
WITH term, collect(node) AS hits
WITH hits, log(1 + $all / size(hits)) AS weight
WITH collect({hits: hits, weight: weight}) AS found, sum(weight) AS known, count(weight) AS terms
WITH found, known + (size($terms) - terms) * log(1 + $all * 2) AS total UNWIND found AS word UNWIND word.hits AS node
WITH node, total, sum(word.weight) AS held WITH node, held / total AS share
`

func (s *search) passagesByText(ctx context.Context, t *task) error {
	params, err := s.byText(t, "Chunk", "text", s.meta.Counts.Chunks)
	if err != nil {
		return err
	}
	t.words = map[string]float64{}
	return s.query(ctx, cypher.New(`UNWIND $terms AS term CALL db.idx.fulltext.queryNodes('Chunk', term) YIELD node`+weighed+
		`RETURN node.id AS id, share ORDER BY share DESC, id LIMIT $k`, params), func(rows *conn.Rows, i int) {
		id := rows.String(i, "id")
		t.chunks = append(t.chunks, id)
		t.words[id] = rows.Float(i, "share")
	})
}

func (s *search) entitiesByText(ctx context.Context, t *task) error {
	params, err := s.byText(t, "__Entity__", "name", s.meta.Counts.Entities)
	if err != nil {
		return err
	}
	return s.query(ctx, cypher.New(`UNWIND $terms AS term CALL db.idx.fulltext.queryNodes('__Entity__', term) YIELD node`+weighed+
		`RETURN node.id AS id, node.name AS name, node.type AS type, node.description AS description, node.aliases AS aliases,
       coalesce(node.mention_count, size(node.source_chunk_ids)) AS mentions, share
ORDER BY share DESC, mentions DESC, id LIMIT $k`, params), func(rows *conn.Rows, i int) {
		t.entities = append(t.entities, readEntity(rows, i))
	})
}
