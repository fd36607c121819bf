package main

import (
	"context"
	"fmt"
	"time"

	"graphmill/pipeline/falkor/conn"
	"graphmill/pipeline/falkor/cypher"
	"graphmill/pipeline/falkor/shape"
)

// bareBatch is how many rows a statement of the bare client holds.
const bareBatch = 500

// bare is a client that knows all rows beforehand: it has nothing to read, to
// merge or to check, and writes each row once, vector included.
type bare struct {
	*world
	graph string
	err   error
}

func (b *bare) send(ctx context.Context, statement cypher.Statement) {
	if b.err != nil {
		return
	}
	text, err := statement.Append(nil)
	if err == nil {
		err = b.client.Redis().Do(ctx, "GRAPH.QUERY", b.graph, text, "--compact").Err()
	}
	b.err = err
}

func (b *bare) rows(ctx context.Context, rows cypherRows, statement func(cypher.Params) cypher.Statement) {
	for i := 0; i < len(rows); i += bareBatch {
		b.send(ctx, statement(cypher.Params{"rows": rows[i:min(i+bareBatch, len(rows))]}))
	}
}

// without is rows with everything but their vectors.
func without(rows cypherRows) cypherRows {
	out := make(cypherRows, len(rows))
	for i, row := range rows {
		for _, field := range row {
			if field.Name != "v" {
				out[i] = append(out[i], field)
			}
		}
	}
	return out
}

// lookups makes the indexes that the rows after it are found by.
func (b *bare) lookups(ctx context.Context) {
	b.send(ctx, cypher.New(`CREATE INDEX FOR (n:Document) ON (n.id)`, nil))
	b.send(ctx, cypher.New(`CREATE INDEX FOR (n:Chunk) ON (n.id)`, nil))
	b.send(ctx, cypher.New(`CREATE INDEX FOR (n:__Section__) ON (n.id)`, nil))
	b.send(ctx, cypher.New(`CREATE INDEX FOR (n:__Entity__) ON (n.id)`, nil))
}

// write sends every row.
func (b *bare) write(ctx context.Context, s *snapshot, vectors bool) {
	chunks, relations := s.chunks, s.relations
	if !vectors {
		chunks, relations = without(chunks), without(relations)
	}
	b.lookups(ctx)
	b.rows(ctx, s.documents, func(p cypher.Params) cypher.Statement {
		return cypher.New(`UNWIND $rows AS row CREATE (n:Document) SET n = row.p`, p)
	})
	b.rows(ctx, chunks, func(p cypher.Params) cypher.Statement {
		return cypher.New(`UNWIND $rows AS row CREATE (n:Chunk) SET n = row.p, n.embedding = vecf32(row.v)`, p)
	})
	b.rows(ctx, s.sections, func(p cypher.Params) cypher.Statement {
		return cypher.New(`UNWIND $rows AS row CREATE (n:__Section__) SET n = row.p`, p)
	})
	for kind, entities := range s.entities {
		if !vectors {
			entities = without(entities)
		}
		b.rows(ctx, entities, func(p cypher.Params) cypher.Statement {
			return cypher.New(`UNWIND $rows AS row CREATE (n:__Entity__:«type») SET n = row.p, n.embedding = vecf32(row.v)`, p).WithLabel("type", kind)
		})
	}
	b.rows(ctx, s.placed, func(p cypher.Params) cypher.Statement {
		return cypher.New(`UNWIND $rows AS row MATCH (a:Document {id: row.a}) MATCH (b:Chunk {id: row.b}) CREATE (a)-[:PART_OF {index: row.i}]->(b)`, p)
	})
	b.rows(ctx, s.next, func(p cypher.Params) cypher.Statement {
		return cypher.New(`UNWIND $rows AS row MATCH (a:Chunk {id: row.a}) MATCH (b:Chunk {id: row.b}) CREATE (a)-[:NEXT_CHUNK]->(b)`, p)
	})
	b.rows(ctx, s.sectioned, func(p cypher.Params) cypher.Statement {
		return cypher.New(`UNWIND $rows AS row MATCH (a:Document {id: row.a}) MATCH (b:__Section__ {id: row.b}) CREATE (a)-[:HAS_SECTION]->(b)`, p)
	})
	b.rows(ctx, s.parents, func(p cypher.Params) cypher.Statement {
		return cypher.New(`UNWIND $rows AS row MATCH (a:__Section__ {id: row.a}) MATCH (b:__Section__ {id: row.b}) CREATE (a)-[:PARENT]->(b)`, p)
	})
	b.rows(ctx, s.covering, func(p cypher.Params) cypher.Statement {
		return cypher.New(`UNWIND $rows AS row MATCH (a:__Section__ {id: row.a}) MATCH (b:Chunk {id: row.b}) CREATE (a)-[:COVERS]->(b)`, p)
	})
	b.rows(ctx, s.mentions, func(p cypher.Params) cypher.Statement {
		return cypher.New(`UNWIND $rows AS row MATCH (a:__Entity__ {id: row.s}) MATCH (b:Chunk {id: row.t}) CREATE (a)-[r:MENTIONED_IN]->(b) SET r = row.p`, p)
	})
	b.rows(ctx, relations, func(p cypher.Params) cypher.Statement {
		return cypher.New(`UNWIND $rows AS row MATCH (a:__Entity__ {id: row.s}) MATCH (b:__Entity__ {id: row.t})
CREATE (a)-[r:RELATES]->(b) SET r = row.p, r.embedding = vecf32(row.v)`, p)
	})
}

// index makes the indexes that a finished graph has, and waits for them.
func (b *bare) index(ctx context.Context, dimension int) {
	for _, s := range []cypher.Statement{
		cypher.New(`CREATE INDEX FOR (n:Chunk) ON (n.embedding_pending)`, nil),
		cypher.New(`CALL db.idx.fulltext.createNodeIndex({label: 'Chunk', stopwords: []}, 'text', 'search_text')`, nil),
		cypher.New(`CREATE VECTOR INDEX FOR (n:Chunk) ON (n.embedding) OPTIONS {dimension: $d, similarityFunction: 'cosine', M: 16, efConstruction: 100, efRuntime: 64}`, cypher.Params{"d": dimension}),
		cypher.New(`CREATE INDEX FOR (n:__Entity__) ON (n.name_key)`, nil),
		cypher.New(`CREATE INDEX FOR (n:__Entity__) ON (n.embedding_pending)`, nil),
		cypher.New(`CALL db.idx.fulltext.createNodeIndex({label: '__Entity__', stopwords: []}, 'name', 'description', 'search_text')`, nil),
		cypher.New(`CREATE VECTOR INDEX FOR (n:__Entity__) ON (n.embedding) OPTIONS {dimension: $d, similarityFunction: 'cosine', M: 16, efConstruction: 100, efRuntime: 64}`, cypher.Params{"d": dimension}),
		cypher.New(`CREATE INDEX FOR ()-[n:RELATES]-() ON (n.source_chunk_ids)`, nil),
		cypher.New(`CREATE INDEX FOR ()-[n:RELATES]-() ON (n.embedding_pending)`, nil),
		cypher.New(`CREATE VECTOR INDEX FOR ()-[n:RELATES]->() ON (n.embedding) OPTIONS {dimension: $d, similarityFunction: 'cosine', M: 16, efConstruction: 100, efRuntime: 64}`, cypher.Params{"d": dimension}),
	} {
		b.send(ctx, s)
	}
	for b.err == nil {
		indexes, err := shape.ReadIndexes(ctx, func(ctx context.Context, graph string, s cypher.Statement) (*conn.Rows, error) {
			return b.client.Read(ctx, graph, s, 0)
		}, b.graph)
		ready := err == nil
		for _, index := range indexes {
			ready = ready && index.Operational
		}
		if b.err = err; ready {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// bareClient writes a snapshot into a fresh graph as bare does, and says what the
// rows and what the indexes took.
func (w *world) bareClient(ctx context.Context, s *snapshot, dimension int) (rows, indexes cost, err error) {
	const name = "bare"
	w.drop(ctx, name)
	b := &bare{world: w, graph: name}
	if rows, err = w.measure(ctx, func() (cost, error) { b.write(ctx, s, dimension > 0); return cost{}, b.err }); err == nil && dimension > 0 {
		indexes, err = w.measure(ctx, func() (cost, error) { b.index(ctx, dimension); return cost{}, b.err })
	}
	if err != nil {
		err = fmt.Errorf("bare client: %w", err)
	}
	return rows, indexes, err
}
