package store

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"graphmill/pipeline/falkor/conn"
	"graphmill/pipeline/falkor/cypher"
)

// checkRelations holds each relation to its evidence, and that to the chunks.
func (c *checker) checkRelations(ctx context.Context) error {
	return c.pages(ctx, lastEntity, checkPage, func(p cypher.Params) cypher.Statement {
		return cypher.New(`MATCH (s:__Entity__) WHERE ID(s) >= $lo AND ID(s) < $hi MATCH (s)-[r:RELATES|__WITHIN__]->(t)
RETURN ID(r) AS edge, ID(s) AS from, ID(t) AS to, s.id AS source, t.id AS target, r.rel_type AS type, r.source_chunk_ids AS chunks, r.spans AS spans,
       r.evidence AS quotes, r.evidence_scores AS scores, r.evidence_methods AS methods, r.evidence_src_names AS sources,
       r.evidence_tgt_names AS targets, r.evidence_src_ids AS source_ids, r.evidence_tgt_ids AS target_ids, r.src_name AS source_name, r.tgt_name AS target_name, r.fact AS fact, r.description AS about,
       r.score AS score, r.embedding IS NULL AS bare, r.embedding_pending AS pending`, p)
	}, func(rows *conn.Rows) error {
		passages, err := c.passages(ctx, rows)
		if err != nil {
			return err
		}
		known := map[relationPlace]bool{}
		for i := range rows.Len() {
			c.checkRelation(rows, i, passages, known)
		}
		return nil
	})
}

// relationPlace tells relations apart; all of one source come in one page.
type relationPlace struct {
	from, to int64
	kind     string
}

// passage is a chunk that relations name as their source.
type passage struct {
	text     string
	runes    []rune
	start    int
	document int64
}

// passages reads the chunks that a page of relations names.
func (c *checker) passages(ctx context.Context, rows *conn.Rows) (map[string]*passage, error) {
	wanted := map[string]bool{}
	for i := range rows.Len() {
		for _, chunk := range rows.Strings(i, "chunks") {
			wanted[chunk] = true
		}
	}
	found := make(map[string]*passage, len(wanted))
	err := eachPage(ctx, c.Store, sortedKeys(wanted), func(ids []string) cypher.Statement {
		return cypher.New(`UNWIND $ids AS id MATCH (c:Chunk {id: id}) OPTIONAL MATCH (d:Document)-[:PART_OF]->(c)
RETURN id, c.text AS text, c.start_char AS start, ID(d) AS document`, cypher.Params{"ids": ids})
	}, func(rows *conn.Rows) {
		for i := range rows.Len() {
			p := &passage{text: rows.String(i, "text"), start: rows.Int(i, "start"), document: nowhere}
			if rows.Value(i, "document") != nil {
				p.document = int64(rows.Int(i, "document"))
			}
			p.runes = runesOf(p.text)
			found[rows.String(i, "id")] = p
		}
	})
	return found, err
}

func (c *checker) checkRelation(rows *conn.Rows, i int, passages map[string]*passage, known map[relationPlace]bool) {
	e := decodeEdge(rows, i)
	if !e.id().within() {
		c.result.Checked.Relations++
		c.types.RelationTypes[e.kind]++
	}
	at := target{node: int64(rows.Int(i, "from")), edge: int64(rows.Int(i, "edge")), isEdge: true}
	id := e.source + " -" + e.kind + "-> " + e.target
	documents := c.statedIn(e, passages)
	drop := mend{edges: []edgeRef{{at.node, at.edge}}, marks: documents}
	place := relationPlace{at.node, int64(rows.Int(i, "to")), e.kind}
	switch {
	case known[place]:
		c.find(nowhere, Finding{Kind: DoubledRelation, ID: id, Detail: "two edges state the same relation", mend: drop})
		return
	case len(e.evidence) == 0 || e.target == "" || e.kind == "":
		known[place] = true
		c.find(nowhere, Finding{Kind: SourcelessFact, ID: id, Detail: "no chunk states the relation, its end is no entity, or it has no type", mend: drop})
		return
	case e.foreign || len(rows.Strings(i, "methods")) != len(e.evidence) || len(rows.Floats(i, "scores")) != len(e.evidence):
		known[place] = true
		c.find(nowhere, Finding{Kind: SourcelessFact, ID: id, Detail: "its lists of evidence are not of one length", mend: drop})
		return
	}
	known[place] = true
	gone := map[string]bool{}
	for _, ev := range e.evidence {
		if passages[ev.chunk] == nil {
			gone[ev.chunk] = true
		}
	}
	if len(gone) > 0 {
		c.findDangling(id, at, e, gone)
		return
	}
	c.checkQuotes(id, e, passages)
	c.checkStatement(rows, i, id, at, e, documents)
	if e.id().within() {
		return // nobody looks for it
	}
	c.vector(nowhere, rows.Bool(i, "bare"), rows.Int(i, "pending"), Pending{Kind: RelationVector, ID: id, Text: rows.String(i, "fact"), Type: e.kind}, at)
}

// statedIn lists the documents that state a relation and counts it for them:
// once for each two entities that they name for its ends.
func (c *checker) statedIn(e edge, passages map[string]*passage) []int64 {
	type stated struct {
		document       int64
		source, target string
	}
	var documents []int64
	counted := map[stated]bool{}
	for _, ev := range e.evidence {
		p := passages[ev.chunk]
		if p == nil || p.document == nowhere {
			continue
		}
		if !slices.Contains(documents, p.document) {
			documents = append(documents, p.document)
		}
		is := stated{p.document, ev.sourceID, ev.targetID}
		if d := c.documents[p.document]; d != nil && !counted[is] {
			counted[is] = true
			d.hasRelations++
		}
	}
	return documents
}

// findDangling notes a relation that names chunks that are not there.
func (c *checker) findDangling(id string, at target, e edge, gone map[string]bool) {
	fix := mend{edges: []edgeRef{{at.node, at.edge}}}
	if rest := e.with(nil, gone); len(rest.evidence) > 0 {
		fix = mend{sets: []setting{{at, append(edgeRow(rest), cypher.Field{Name: "embedding_pending", Value: 1})}}}
	}
	c.find(nowhere, Finding{Kind: DanglingFact, ID: id, Detail: fmt.Sprintf("%d chunks that it names as its source are not there: %s", len(gone), sortedKeys(gone)[0]), mend: fix})
}

// checkQuotes wants each piece of evidence to stand where it says.
func (c *checker) checkQuotes(id string, e edge, passages map[string]*passage) {
	for _, ev := range e.evidence {
		p := passages[ev.chunk]
		part, inside := runeSlice(p.text, p.runes, p.start, ev.span)
		if inside && part == ev.quote {
			continue
		}
		detail := fmt.Sprintf("the span %d–%d of its evidence is not within chunk %s", ev.span.Start, ev.span.End, ev.chunk)
		if inside {
			detail = fmt.Sprintf("at %d–%d does not stand what it quotes", ev.span.Start, ev.span.End)
		}
		c.find(p.document, Finding{Kind: FactSpan, ID: id, Detail: detail, mend: mend{marks: []int64{p.document}}})
		return
	}
}

// checkStatement compares what a relation says on the whole with its evidence.
// The names of its ends are kept there alone where all documents agree on them,
// so that its documents are asked again.
func (c *checker) checkStatement(rows *conn.Rows, i int, id string, at target, e edge, documents []int64) {
	want := edgeRow(e.with(nil, nil))
	have := edgeRow(e)
	for k, field := range have {
		switch field.Name {
		case "fact":
			have[k].Value = rows.String(i, "fact")
		case "description":
			have[k].Value = rows.String(i, "about")
		case "src_name":
			have[k].Value = rows.String(i, "source_name")
		case "tgt_name":
			have[k].Value = rows.String(i, "target_name")
		case "score":
			have[k].Value = rows.Float(i, "score")
		case "spans":
			have[k].Value = rows.String(i, "spans")
		}
	}
	var wrong cypher.Record
	var names []string
	for k, field := range want {
		if !sameValue(have[k].Value, field.Value) {
			wrong, names = append(wrong, field), append(names, field.Name)
		}
	}
	if len(wrong) > 0 {
		c.find(nowhere, Finding{Kind: StaleFact, ID: id, Detail: "its evidence says otherwise of: " + strings.Join(names, ", "),
			mend: mend{marks: documents, sets: []setting{{at, append(wrong, cypher.Field{Name: "embedding_pending", Value: 1})}}}})
	}
}

func sameValue(a, b any) bool {
	switch x := a.(type) {
	case []string:
		y, ok := b.([]string)
		return ok && slices.Equal(x, y)
	case []float64:
		y, ok := b.([]float64)
		return ok && slices.Equal(x, y)
	}
	if _, isList := b.([]string); isList {
		return false
	}
	return a == b
}
