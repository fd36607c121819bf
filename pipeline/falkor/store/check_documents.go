package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"graphmill/pipeline/falkor/conn"
	"graphmill/pipeline/falkor/cypher"
)

// How many of the engine's internal ids one statement of a check covers, and how
// many chunks the documents of one.
const (
	checkPage      = 1000
	checkPageRows  = 5000
	checkDocuments = 2000
)

// checkDocuments reads the documents, which the other parts refer to.
func (c *checker) checkDocuments(ctx context.Context) error {
	ids, paths := map[string]int64{}, map[string]int64{}
	return c.pages(ctx, lastDocument, checkDocuments, func(p cypher.Params) cypher.Statement {
		return cypher.New(`MATCH (n:Document) WHERE ID(n) >= $lo AND ID(n) < $hi
RETURN ID(n) AS node, n.id AS id, n.path AS path, n.content_hash AS content, n.chunk_count AS chunks, n.entity_count AS entities, n.relation_count AS relations`, p)
	}, func(rows *conn.Rows) error {
		for i := range rows.Len() {
			node := int64(rows.Int(i, "node"))
			d := &checkedDocument{
				id: rows.String(i, "id"), path: rows.String(i, "path"), waiting: rows.String(i, "content") == "",
				chunks: rows.Int(i, "chunks"), entities: rows.Int(i, "entities"), relations: rows.Int(i, "relations"),
			}
			c.documents[node] = d
			c.result.Checked.Documents++
			if d.id == "" {
				c.nameless("document", node, mend{})
				continue
			}
			first, twice := ids[d.id]
			if !twice {
				first, twice = paths[d.path]
			}
			if twice {
				c.find(node, Finding{Kind: DuplicateID, ID: d.id, Detail: "two documents have this id or path", mend: mend{nodes: []int64{node}, marks: []int64{first}}})
				continue
			}
			ids[d.id], paths[d.path] = node, node
		}
		return nil
	})
}

// placedChunk is a chunk in its document, as checkOrder reads it.
type placedChunk struct {
	document, node, next        int64
	place, index, start, covers int
	id                          string
}

// checkOrder looks at the chunks of each document: their places, the chain, the
// sections that they stand in.
func (c *checker) checkOrder(ctx context.Context) error {
	var nodes []int64
	for node := range c.documents {
		nodes = append(nodes, node)
	}
	slices.Sort(nodes)
	for len(nodes) > 0 {
		n, chunks := 0, 0
		for n < len(nodes) && (n == 0 || chunks+c.documents[nodes[n]].chunks <= checkPageRows) && n < checkPage {
			chunks += c.documents[nodes[n]].chunks
			n++
		}
		if err := c.checkOrderOf(ctx, nodes[:n]); err != nil {
			return err
		}
		nodes = nodes[n:]
	}
	return nil
}

func (c *checker) checkOrderOf(ctx context.Context, nodes []int64) error {
	rows, err := c.read(ctx, cypher.New(`UNWIND $ids AS id MATCH (d:Document) WHERE ID(d) = id MATCH (d)-[p:PART_OF]->(c:Chunk)
OPTIONAL MATCH (c)-[:NEXT_CHUNK]->(o)
RETURN id AS document, p.index AS place, c.index AS i, c.start_char AS start, ID(c) AS node, c.id AS chunk, ID(o) AS next, indegree(c, 'COVERS') AS covers`,
		cypher.Params{"ids": nodes}))
	if err != nil {
		return err
	}
	chunks := map[int64][]placedChunk{}
	for i := range rows.Len() {
		p := placedChunk{
			document: int64(rows.Int(i, "document")), node: int64(rows.Int(i, "node")), next: nowhere, id: rows.String(i, "chunk"),
			place: rows.Int(i, "place"), index: rows.Int(i, "i"), start: rows.Int(i, "start"), covers: rows.Int(i, "covers"),
		}
		if rows.Value(i, "next") != nil {
			p.next = int64(rows.Int(i, "next"))
		}
		chunks[p.document] = append(chunks[p.document], p)
	}
	if err := rows.Err(); err != nil {
		return c.client.Wrap("check graph "+c.options.Graph, err)
	}
	spans, err := c.sectionSpans(ctx, nodes)
	if err != nil {
		return err
	}
	for _, node := range nodes {
		c.checkPlaces(node, chunks[node])
		c.checkCovered(node, chunks[node], spans[node])
	}
	return nil
}

// checkPlaces wants a document's chunks in the places 0, 1, 2, … and one chain
// through them.
func (c *checker) checkPlaces(document int64, chunks []placedChunk) {
	slices.SortFunc(chunks, func(a, b placedChunk) int { return cmp.Or(a.place-b.place, cmp.Compare(a.node, b.node)) })
	distinct := map[int64]bool{}
	for _, p := range chunks {
		distinct[p.node] = true
	}
	d := c.documents[document]
	again := mend{marks: []int64{document}}
	if len(distinct) != d.chunks {
		c.find(document, Finding{Kind: DocumentCounts, ID: d.id, Detail: countsDiffer("chunk_count", d.chunks, len(distinct)), mend: again})
	}
	for i, p := range chunks {
		if i > 0 && p.place == chunks[i-1].place && p.node != chunks[i-1].node {
			c.find(document, Finding{Kind: TwoVersions, ID: p.id, Detail: fmt.Sprintf("two chunks of the document have the place %d", p.place), mend: again})
			return
		}
	}
	for i, p := range chunks {
		switch {
		case p.place != i || p.index != i:
			c.find(document, Finding{Kind: ChunkOrder, ID: p.id, Detail: fmt.Sprintf("the chunk in place %d has the index %d and its edge %d", i, p.index, p.place), mend: again})
			return
		case i+1 < len(chunks) && p.next != chunks[i+1].node, i+1 == len(chunks) && p.next != nowhere:
			c.find(document, Finding{Kind: ChunkOrder, ID: p.id, Detail: fmt.Sprintf("NEXT_CHUNK of chunk %d does not lead to the next one", i), mend: again})
			return
		}
	}
}

type sectionSpan struct{ start, end, order int }

func (c *checker) sectionSpans(ctx context.Context, nodes []int64) (map[int64][]sectionSpan, error) {
	rows, err := c.read(ctx, cypher.New(`UNWIND $ids AS id MATCH (d:Document) WHERE ID(d) = id MATCH (d)-[:HAS_SECTION]->(s:__Section__)
RETURN id AS document, s.start_char AS start, s.end_char AS end, s.order AS place ORDER BY document, place`, cypher.Params{"ids": nodes}))
	if err != nil {
		return nil, err
	}
	spans := map[int64][]sectionSpan{}
	for i := range rows.Len() {
		node := int64(rows.Int(i, "document"))
		spans[node] = append(spans[node], sectionSpan{rows.Int(i, "start"), rows.Int(i, "end"), rows.Int(i, "place")})
	}
	return spans, c.client.Wrap("check graph "+c.options.Graph, rows.Err())
}

// checkCovered wants a document's sections in the places 0, 1, 2, …, and a chunk
// that starts in a section to stand in one, and only one.
func (c *checker) checkCovered(document int64, chunks []placedChunk, spans []sectionSpan) {
	for i, s := range spans {
		if s.order != i {
			c.find(document, Finding{Kind: SectionCover, ID: c.documents[document].id, mend: mend{marks: []int64{document}},
				Detail: fmt.Sprintf("its section in place %d has the number %d", i, s.order)})
			return
		}
	}
	for _, p := range chunks {
		inside := slices.ContainsFunc(spans, func(s sectionSpan) bool { return s.start <= p.start && p.start < s.end })
		if inside && p.covers != 1 || !inside && p.covers != 0 {
			c.find(document, Finding{Kind: SectionCover, ID: p.id, mend: mend{marks: []int64{document}},
				Detail: fmt.Sprintf("%d sections cover the chunk, which starts in a section of its document: %t", p.covers, inside)})
			return
		}
	}
}

// checkSections looks at where sections stand.
func (c *checker) checkSections(ctx context.Context) error {
	seen := newSeen(c.meta.Counts.Sections)
	return c.pages(ctx, lastSection, checkPageRows, func(p cypher.Params) cypher.Statement {
		return cypher.New(`MATCH (n:__Section__) WHERE ID(n) >= $lo AND ID(n) < $hi OPTIONAL MATCH (d:Document)-[:HAS_SECTION]->(n)
WITH n, collect(ID(d)) AS documents
OPTIONAL MATCH (n)-[:PARENT]->(o:__Section__)<-[:HAS_SECTION]-(e:Document)
WITH n, documents, collect(ID(e)) AS parents
OPTIONAL MATCH (n)-[:COVERS]->(c) OPTIONAL MATCH (f:Document)-[:PART_OF]->(c:Chunk)
RETURN ID(n) AS node, n.id AS id, documents, parents, outdegree(n, 'PARENT') AS up, collect(DISTINCT ID(f)) AS covered`, p)
	}, func(rows *conn.Rows) error {
		for i := range rows.Len() {
			c.result.Checked.Sections++
			id, node, documents := rows.String(i, "id"), int64(rows.Int(i, "node")), ints(rows.Value(i, "documents"))
			if id == "" {
				c.nameless("section", node, mend{marks: documents})
				continue
			}
			seen.note(id)
			parents, covered := ints(rows.Value(i, "parents")), ints(rows.Value(i, "covered"))
			if len(documents) == 0 {
				c.find(nowhere, Finding{Kind: OrphanSection, ID: id, Detail: "no document has the section", mend: mend{nodes: []int64{node}, marks: append(parents, covered...)}})
				continue
			}
			elsewhere := func(list []int64) bool {
				return slices.ContainsFunc(list, func(d int64) bool { return d != documents[0] })
			}
			if len(documents) > 1 || elsewhere(parents) || elsewhere(covered) || len(parents) != rows.Int(i, "up") || len(parents) > 1 {
				c.find(documents[0], Finding{Kind: SectionCover, ID: id, Detail: "the section, its parent and its chunks are not of one document", mend: mend{marks: documents}})
			}
		}
		return c.confirmTwice(ctx, seen, "__Section__")
	})
}

func countsDiffer(what string, stored, found int) string {
	return fmt.Sprintf("%s is %d, there are %d", what, stored, found)
}

// ints reads a list of integers of a reply.
func ints(value any) []int64 {
	list, _ := value.([]any)
	out := make([]int64, 0, len(list))
	for _, item := range list {
		if n, ok := item.(int64); ok {
			out = append(out, n)
		}
	}
	return out
}
