package store

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"graphmill/pipeline/falkor/conn"
	"graphmill/pipeline/falkor/cypher"
)

var lastNode = cypher.New(`MATCH (n) RETURN max(ID(n)) AS last`, nil)

// checkStrays looks for nodes that belong to nothing: an entity that lost its
// label, a nameless ghost. Labels like __Meta__ are the program's own.
func (c *checker) checkStrays(ctx context.Context) error {
	return c.pages(ctx, lastNode, 10*checkPage, func(p cypher.Params) cypher.Statement {
		return cypher.New(`MATCH (n) WHERE ID(n) >= $lo AND ID(n) < $hi AND NOT (n:Document OR n:Chunk OR n:__Entity__ OR n:__Section__)
RETURN ID(n) AS node, labels(n) AS labels, n.id AS id`, p)
	}, func(rows *conn.Rows) error {
		for i := range rows.Len() {
			labels := rows.Strings(i, "labels")
			if len(labels) > 0 && !slices.ContainsFunc(labels, func(label string) bool { return !reserved(label) }) {
				continue
			}
			id, _ := rows.Value(i, "id").(string)
			c.find(nowhere, Finding{Kind: StrayNode, ID: id, Detail: fmt.Sprintf("a node with the labels [%s] belongs to nothing", strings.Join(labels, ", ")),
				mend: mend{nodes: []int64{int64(rows.Int(i, "node"))}}})
		}
		return nil
	})
}

// checkDocumentCounts compares what documents say of themselves with what was
// met.
func (c *checker) checkDocumentCounts(context.Context) error {
	var nodes []int64
	for node := range c.documents {
		nodes = append(nodes, node)
	}
	slices.Sort(nodes)
	for _, node := range nodes {
		d := c.documents[node]
		again := mend{marks: []int64{node}}
		if d.entities != d.hasEntities {
			c.find(node, Finding{Kind: DocumentCounts, ID: d.id, Detail: countsDiffer("entity_count", d.entities, d.hasEntities), mend: again})
		}
		if d.relations != d.hasRelations {
			c.find(node, Finding{Kind: DocumentCounts, ID: d.id, Detail: countsDiffer("relation_count", d.relations, d.hasRelations), mend: again})
		}
	}
	return nil
}

// vectorPlaces are where vectors stand: over a range of nodes, a distance from a
// vector of the right length to each, which the engine refuses to take from one
// of another.
var vectorPlaces = []struct {
	kind  VectorKind
	last  cypher.Statement
	page  func(cypher.Params) cypher.Statement
	edges bool
}{
	{kind: ChunkVector, last: lastChunk, page: func(p cypher.Params) cypher.Statement {
		return cypher.New(`MATCH (n:Chunk) WHERE ID(n) >= $lo AND ID(n) < $hi AND n.embedding IS NOT NULL RETURN count(vec.euclideanDistance(n.embedding, vecf32($v))) AS n`, p)
	}},
	{kind: EntityVector, last: lastEntity, page: func(p cypher.Params) cypher.Statement {
		return cypher.New(`MATCH (n:__Entity__) WHERE ID(n) >= $lo AND ID(n) < $hi AND n.embedding IS NOT NULL RETURN count(vec.euclideanDistance(n.embedding, vecf32($v))) AS n`, p)
	}},
	{kind: RelationVector, edges: true, last: lastEntity, page: func(p cypher.Params) cypher.Statement {
		return cypher.New(`MATCH (n:__Entity__) WHERE ID(n) >= $lo AND ID(n) < $hi MATCH (n)-[r:RELATES]->() WHERE r.embedding IS NOT NULL
RETURN count(vec.euclideanDistance(r.embedding, vecf32($v))) AS n`, p)
	}},
}

// checkVectorLengths looks for vectors that no index takes.
func (c *checker) checkVectorLengths(ctx context.Context) error {
	if c.meta.Dimension <= 0 {
		return nil
	}
	like := make([]float32, c.meta.Dimension)
	for _, place := range vectorPlaces {
		rows, err := c.read(ctx, place.last)
		if err != nil {
			return err
		}
		if rows.Len() == 0 || rows.Value(0, "last") == nil {
			continue
		}
		for lo, last := 0, rows.Int(0, "last"); lo <= last; lo += 10 * checkPage {
			wrong, err := c.wrongLengths(ctx, place.page, like, lo, min(lo+10*checkPage, last+1))
			if err != nil {
				return err
			}
			for _, node := range wrong {
				fix := mend{unvector: []int64{node}}
				if place.edges {
					fix = mend{unfacts: []int64{node}}
				}
				c.find(nowhere, Finding{Kind: VectorLength, ID: fmt.Sprintf("%s, node %d", place.kind, node),
					Detail: fmt.Sprintf("its vector is not of %d dimensions, and no search finds it", c.meta.Dimension), mend: fix})
			}
		}
	}
	return nil
}

// wrongLengths halves a range until it has the nodes that the engine refuses.
func (c *checker) wrongLengths(ctx context.Context, page func(cypher.Params) cypher.Statement, like []float32, lo, hi int) ([]int64, error) {
	_, err := c.read(ctx, page(cypher.Params{"lo": lo, "hi": hi, "v": like}))
	switch {
	case err == nil:
		return nil, nil
	case !strings.Contains(err.Error(), "dimension mismatch"):
		return nil, err
	case hi-lo == 1:
		return []int64{int64(lo)}, nil
	}
	middle := lo + (hi-lo)/2
	first, err := c.wrongLengths(ctx, page, like, lo, middle)
	if err != nil {
		return nil, err
	}
	second, err := c.wrongLengths(ctx, page, like, middle, hi)
	return append(first, second...), err
}
