package retrieve

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"graphmill/pipeline/falkor/conn"
	"graphmill/pipeline/falkor/cypher"
	"graphmill/pipeline/falkor/fulltext"
)

// unknownSize is the number of passages or entities that is assumed of a graph
// that does not say how many it holds.
const unknownSize = 10_000

// maxWords is how many words of a question are looked up.
const maxWords = 16

// rare is how many things may hold a word that candidates are taken from; the
// second is tried when no word is as rare as the first. The engine takes about
// a microsecond for each hit of a word, and common words have many.
var rare = [...]int{500, 5000}

// ofCommon is how many times as many things as rare allows are taken to hold a
// more common word; they are not counted.
const ofCommon = 10

// lookup finds what holds the words of a question in the full-text index of one
// label. Every word is looked up by itself: of a query for any of several words
// the engine divides the score by how far apart they stand, so that what holds
// one of them comes before what holds all.
type lookup struct {
	label string
	find  func(cypher.Params) cypher.Statement
	size  int // things of the label in the graph
}

// word is what the index is asked for, and what it says of a thing that holds it.
type word struct {
	query  string
	weight float64
}

// byText looks whether the words of a label are indexed.
func (s *search) byText(t *task, label, property string) (terms []string, err error) {
	if t.note, err = s.usable(label, property, "FULLTEXT"); err != nil {
		return nil, err
	}
	if terms = fulltext.Terms(s.Question); len(terms) == 0 {
		return nil, fmt.Errorf("the question holds no word to look up")
	}
	return terms[:min(len(terms), maxWords)], nil
}

// run hands over what holds words, with the share of all words' weight. The first
// statement counts, the second finds.
func (l lookup) run(ctx context.Context, s *search, terms []string, take func(rows *conn.Rows, i int, share float64)) error {
	for _, most := range rare {
		counts, err := l.counts(ctx, s, terms, most)
		if err != nil {
			return err
		}
		words, total := weigh(terms, counts, most, l.size)
		if len(words) == 0 {
			if slices.Max(counts) == 0 {
				return nil
			}
			continue
		}
		records := make([]cypher.Record, 0, len(words))
		for _, w := range words {
			records = append(records, cypher.Record{{Name: "query", Value: w.query}, {Name: "weight", Value: w.weight}})
		}
		return s.query(ctx, l.find(cypher.Params{"words": records, "k": s.depth()}), func(rows *conn.Rows, i int) {
			take(rows, i, rows.Float(i, "held")/total)
		})
	}
	return nil
}

// counts says how many things hold each word, most at most.
func (l lookup) counts(ctx context.Context, s *search, terms []string, most int) ([]int, error) {
	params := cypher.Params{"label": l.label, "most": most}
	for i := range maxWords {
		term := "zzzzqqqqzzzz" // no word
		if i < len(terms) {
			term = terms[i]
		}
		params[fmt.Sprint("t", i)] = term
	}
	counts := make([]int, maxWords)
	err := s.query(ctx, cypher.New(countHolders, params), func(rows *conn.Rows, i int) {
		counts[rows.Int(i, "term")] = rows.Int(i, "n")
	})
	return counts[:len(terms)], err
}

// weigh weighs each word by how few things hold it; one that is found nowhere too,
// as if half a thing held it. Common words are looked for only where a rare one
// stands. No word is rare enough: nothing is looked for.
func weigh(terms []string, counts []int, most, size int) (words []word, total float64) {
	if size == 0 {
		size = unknownSize
	}
	idf := func(n float64) float64 { return math.Log(1 + float64(size)/n) }
	var few, common []string
	for i, term := range terms {
		switch n := counts[i]; {
		case n == 0:
			total += idf(0.5)
		case n < most:
			few = append(few, term)
			words = append(words, word{term, idf(float64(n))})
		default:
			common = append(common, term)
		}
	}
	if len(few) == 0 {
		return nil, 0
	}
	for _, term := range common {
		words = append(words, word{"(" + strings.Join(few, "|") + ") " + term, idf(float64(ofCommon * most))})
	}
	for _, w := range words {
		total += w.weight
	}
	return words, total
}

func (s *search) passagesByText(ctx context.Context, t *task) error {
	terms, err := s.byText(t, "Chunk", "text")
	if err != nil {
		return err
	}
	t.words = map[string]float64{}
	l := lookup{label: "Chunk", size: s.meta.Counts.Chunks,
		find: func(p cypher.Params) cypher.Statement {
			return cypher.New(`UNWIND $words AS word CALL db.idx.fulltext.queryNodes('Chunk', word.query) YIELD node`+mostHeld+`RETURN node.id AS id, held ORDER BY held DESC, id`, p)
		},
	}
	return l.run(ctx, s, terms, func(rows *conn.Rows, i int, share float64) {
		id := rows.String(i, "id")
		t.chunks = append(t.chunks, id)
		t.words[id] = share
	})
}

func (s *search) entitiesByText(ctx context.Context, t *task) error {
	terms, err := s.byText(t, "__Entity__", "name")
	if err != nil {
		return err
	}
	l := lookup{label: "__Entity__", size: s.meta.Counts.Entities,
		find: func(p cypher.Params) cypher.Statement {
			return cypher.New(`UNWIND $words AS word CALL db.idx.fulltext.queryNodes('__Entity__', word.query) YIELD node`+mostHeld+
				`RETURN node.id AS id, node.name AS name, node.type AS type, node.description AS description, node.aliases AS aliases,
       coalesce(node.mention_count, size(node.source_chunk_ids)) AS mentions, held
ORDER BY held DESC, mentions DESC, id`, p)
		},
	}
	return l.run(ctx, s, terms, func(rows *conn.Rows, i int, _ float64) {
		t.entities = append(t.entities, readEntity(rows, i))
	})
}

const mostHeld = `
WITH node, sum(word.weight) AS held ORDER BY held DESC, node.id LIMIT $k
`

// One branch for each word. LIMIT inside of CALL {} would be shorter, but cut
// short, the procedure goes on with the last word's hits for the next one.
const (
	countOf      = `CALL db.idx.fulltext.queryNodes($label, $t`
	upTo         = `) YIELD node WITH node LIMIT $most RETURN `
	asTerm       = ` AS term, count(node) AS n`
	orElse       = ` UNION ALL `
	countHolders = countOf + `0` + upTo + `0` + asTerm + orElse +
		countOf + `1` + upTo + `1` + asTerm + orElse +
		countOf + `2` + upTo + `2` + asTerm + orElse +
		countOf + `3` + upTo + `3` + asTerm + orElse +
		countOf + `4` + upTo + `4` + asTerm + orElse +
		countOf + `5` + upTo + `5` + asTerm + orElse +
		countOf + `6` + upTo + `6` + asTerm + orElse +
		countOf + `7` + upTo + `7` + asTerm + orElse +
		countOf + `8` + upTo + `8` + asTerm + orElse +
		countOf + `9` + upTo + `9` + asTerm + orElse +
		countOf + `10` + upTo + `10` + asTerm + orElse +
		countOf + `11` + upTo + `11` + asTerm + orElse +
		countOf + `12` + upTo + `12` + asTerm + orElse +
		countOf + `13` + upTo + `13` + asTerm + orElse +
		countOf + `14` + upTo + `14` + asTerm + orElse +
		countOf + `15` + upTo + `15` + asTerm
)
