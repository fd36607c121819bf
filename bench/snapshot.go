package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"graphmill/pipeline"
	"graphmill/pipeline/falkor/conn"
	"graphmill/pipeline/falkor/cypher"
	"graphmill/pipeline/falkor/store"
	"graphmill/pipeline/models"
)

// snapshot is everything a finished graph holds, as rows that a client which
// knows all of it beforehand would send.
type snapshot struct {
	documents, chunks, sections                cypherRows // {p}, a chunk's with its vector v
	placed, next, sectioned, parents, covering cypherRows // {a, b}, placed with index i
	entities                                   map[string]cypherRows
	mentions, relations                        cypherRows // {s, t, p}, a relation with its vector v
	changes                                    []store.Change
}

type (
	cypherRow  = cypher.Record
	cypherRows = []cypherRow
)

func isProperties(f cypher.Field) bool { return f.Name == "p" }

func (s *snapshot) entityCount() int {
	n := 0
	for _, rows := range s.entities {
		n += len(rows)
	}
	return n
}

// rows is the number of chunks, entities, mentions and relations.
func (s *snapshot) rows() int {
	return len(s.chunks) + s.entityCount() + len(s.mentions) + len(s.relations)
}

// The columns of the statements below are the properties as they are stored, see
// package shape; those that begin with _ are not properties.
var (
	everyDocument = cypher.New(`MATCH (n:Document) RETURN n.id AS id, n.path AS path, n.folder AS folder, n.title AS title, n.date AS date,
n.format AS format, n.size_bytes AS size_bytes, n.pages AS pages, n.metadata AS metadata, n.status AS status, n.plan AS plan,
n.chunk_count AS chunk_count, n.entity_count AS entity_count, n.relation_count AS relation_count, n.content_hash AS content_hash,
n.plan_hash AS plan_hash, n.ontology_hash AS ontology_hash, n.model_hash AS model_hash, n.format_hash AS format_hash ORDER BY n.path`, nil)
	everyChunk = cypher.New(`MATCH (d:Document)-[:PART_OF]->(n:Chunk) RETURN d.id AS _d, n.id AS id, n.text AS text, n.index AS index,
n.token_count AS token_count, n.start_char AS start_char, n.end_char AS end_char, n.first_page AS first_page, n.last_page AS last_page,
n.first_line AS first_line, n.last_line AS last_line, n.context_header AS context_header, n.content_key AS content_key,
n.search_text AS search_text ORDER BY n.index`, nil)
	everySection = cypher.New(`MATCH (d:Document)-[:HAS_SECTION]->(n:__Section__) OPTIONAL MATCH (n)-[:PARENT]->(o)
RETURN d.id AS _d, o.id AS _o, n.id AS id, n.title AS title, n.depth AS depth, n.order AS order, n.start_char AS start_char, n.end_char AS end_char`, nil)
	everyCover  = cypher.New(`MATCH (n:__Section__)-[:COVERS]->(o:Chunk) RETURN n.id AS a, o.id AS b`, nil)
	everyNext   = cypher.New(`MATCH (n:Chunk)-[:NEXT_CHUNK]->(o:Chunk) RETURN n.id AS a, o.id AS b`, nil)
	everyEntity = cypher.New(`MATCH (n:__Entity__) RETURN n.id AS id, n.type AS type, n.name AS name, n.name_key AS name_key, n.aliases AS aliases,
n.description AS description, n.telling AS telling, n.mention_count AS mention_count, n.score AS score, n.source_chunk_ids AS source_chunk_ids,
n.search_text AS search_text`, nil)
	everyMention = cypher.New(`MATCH (n:__Entity__)-[m:MENTIONED_IN]->(o:Chunk) RETURN n.id AS _s, o.id AS _t, m.spans AS spans, m.names AS names,
m.count AS count, m.score AS score, m.method AS method, m.description AS description, m.telling AS telling`, nil)
	everyRelation = cypher.New(`MATCH (n:__Entity__)-[r:RELATES]->(o:__Entity__) RETURN n.id AS _s, o.id AS _t, r.rel_type AS rel_type, r.fact AS fact,
r.description AS description, r.src_name AS src_name, r.tgt_name AS tgt_name, r.score AS score, r.source_chunk_ids AS source_chunk_ids, r.spans AS spans,
r.evidence AS evidence, r.evidence_scores AS evidence_scores, r.evidence_methods AS evidence_methods, r.evidence_src_names AS evidence_src_names,
r.evidence_tgt_names AS evidence_tgt_names`, nil)
)

// takeSnapshot reads a finished graph. Vectors are made anew with the embedder:
// reading them back is slow and loses digits.
func (w *world) takeSnapshot(ctx context.Context, graphName string, embedder models.Embedder) (*snapshot, error) {
	r := &snapshotReader{world: w, graph: graphName, embedder: embedder, out: &snapshot{entities: map[string]cypherRows{}}}
	for _, read := range []func(context.Context) error{r.readDocuments, r.readChunks, r.readSections, r.readLinks, r.readEntities, r.readMentions, r.readRelations} {
		if err := read(ctx); err != nil {
			return nil, fmt.Errorf("read graph %s: %w", graphName, err)
		}
	}
	r.out.changes = r.changes()
	return r.out, nil
}

type snapshotReader struct {
	*world
	graph    string
	embedder models.Embedder
	out      *snapshot
	found
}

func (r *snapshotReader) read(ctx context.Context, statement cypher.Statement) (*conn.Rows, error) {
	return r.client.Read(ctx, r.graph, statement, 0)
}

// properties is row i without its nulls and the columns that begin with _.
func properties(rows *conn.Rows, i int) cypher.Record {
	var p cypher.Record
	for j, value := range rows.Row(i) {
		if name := rows.Columns[j]; value != nil && !strings.HasPrefix(name, "_") {
			p = append(p, cypher.Field{Name: name, Value: value})
		}
	}
	return p
}

func record(fields ...any) cypher.Record {
	var r cypher.Record
	for i := 0; i < len(fields); i += 2 {
		r = append(r, cypher.Field{Name: fields[i].(string), Value: fields[i+1]})
	}
	return r
}

// vector embeds what the pipeline would embed.
func (r *snapshotReader) vector(ctx context.Context, p store.Pending) (any, error) {
	texts := pipeline.EmbeddingTexts(p)
	if len(texts) == 0 {
		return nil, nil
	}
	vectors, err := r.embedder.Embed(ctx, []string{strings.Join(texts, "\n")})
	if err != nil {
		return nil, err
	}
	return vectors[0], nil
}

func (r *snapshotReader) readDocuments(ctx context.Context) error {
	rows, err := r.read(ctx, everyDocument)
	if err != nil {
		return err
	}
	for i := range rows.Len() {
		r.out.documents = append(r.out.documents, record("p", properties(rows, i)))
		r.addDocument(rows, i)
	}
	return rows.Err()
}

func (r *snapshotReader) readChunks(ctx context.Context) error {
	rows, err := r.read(ctx, everyChunk)
	if err != nil {
		return err
	}
	for i := range rows.Len() {
		id := rows.String(i, "id")
		v, err := r.vector(ctx, store.Pending{Kind: store.ChunkVector, Title: rows.String(i, "context_header"), Text: rows.String(i, "text")})
		if err != nil {
			return err
		}
		r.out.chunks = append(r.out.chunks, record("p", properties(rows, i), "v", v))
		r.out.placed = append(r.out.placed, record("a", rows.String(i, "_d"), "b", id, "i", rows.Int(i, "index")))
		r.addChunk(rows, i)
	}
	return rows.Err()
}

func (r *snapshotReader) readSections(ctx context.Context) error {
	rows, err := r.read(ctx, everySection)
	if err != nil {
		return err
	}
	for i := range rows.Len() {
		id := rows.String(i, "id")
		r.out.sections = append(r.out.sections, record("p", properties(rows, i)))
		r.out.sectioned = append(r.out.sectioned, record("a", rows.String(i, "_d"), "b", id))
		if parent := rows.String(i, "_o"); parent != "" {
			r.out.parents = append(r.out.parents, record("a", id, "b", parent))
		}
		r.addSection(rows, i)
	}
	return rows.Err()
}

func (r *snapshotReader) readLinks(ctx context.Context) error {
	rows, err := r.read(ctx, everyCover)
	if err != nil {
		return err
	}
	for i := range rows.Len() {
		r.out.covering = append(r.out.covering, properties(rows, i))
		r.addCover(rows, i)
	}
	if rows, err = r.read(ctx, everyNext); err != nil {
		return err
	}
	for i := range rows.Len() {
		r.out.next = append(r.out.next, properties(rows, i))
	}
	return nil
}

func (r *snapshotReader) readEntities(ctx context.Context) error {
	rows, err := r.read(ctx, everyEntity)
	if err != nil {
		return err
	}
	for i := range rows.Len() {
		kind := rows.String(i, "type")
		v, err := r.vector(ctx, store.Pending{Kind: store.EntityVector, Title: rows.String(i, "name"), Text: rows.String(i, "description")})
		if err != nil {
			return err
		}
		r.out.entities[kind] = append(r.out.entities[kind], record("p", properties(rows, i), "v", v))
		r.addEntity(rows, i)
	}
	return rows.Err()
}

func (r *snapshotReader) readMentions(ctx context.Context) error {
	rows, err := r.read(ctx, everyMention)
	if err != nil {
		return err
	}
	for i := range rows.Len() {
		r.out.mentions = append(r.out.mentions, record("s", rows.String(i, "_s"), "t", rows.String(i, "_t"), "p", properties(rows, i)))
		if err := r.addMention(rows, i); err != nil {
			return err
		}
	}
	return rows.Err()
}

func (r *snapshotReader) readRelations(ctx context.Context) error {
	rows, err := r.read(ctx, everyRelation)
	if err != nil {
		return err
	}
	for i := range rows.Len() {
		v, err := r.vector(ctx, store.Pending{Kind: store.RelationVector, Text: rows.String(i, "fact")})
		if err != nil {
			return err
		}
		r.out.relations = append(r.out.relations, record("s", rows.String(i, "_s"), "t", rows.String(i, "_t"), "p", properties(rows, i), "v", v))
		if err := r.addRelation(rows, i); err != nil {
			return err
		}
	}
	return rows.Err()
}

func decode[T any](text string) (value T, err error) {
	err = json.Unmarshal([]byte(text), &value)
	return value, err
}
