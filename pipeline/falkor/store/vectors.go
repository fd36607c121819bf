package store

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"graphmill/pipeline/falkor/conn"
	"graphmill/pipeline/falkor/cypher"
	"graphmill/pipeline/falkor/shape"
	"graphmill/pipeline/graph"
)

// vectorState is what PrepareVectors agreed on.
type vectorState struct {
	model     string
	dimension int
	indexed   map[string]bool // labels with a vector index
}

// How many vectors one transaction stores. With a vector index the engine takes
// about 2,000 a second and answers nobody meanwhile; without one, 10,000.
const (
	indexedVectorBatch = 128
	vectorBatch        = 1024
)

// PrepareVectors agrees on the model whose vectors the graph holds, before any is
// stored. Another model, or another dimension, than the graph's is refused unless
// o.Reembed is set; then every vector is dropped and marked as pending.
//
// Dies anywhere: the graph has the old model and its vectors, or the new one and
// none. An index for the old dimension is dropped afterwards; if we die before
// that, the next call does it.
func (s *Store) PrepareVectors(ctx context.Context, o IndexOptions) error {
	if o.Model == "" || o.Dimension <= 0 {
		return fmt.Errorf("prepare vectors of graph %s: the embedder names no model or no dimension", s.options.Graph)
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	if err := s.prepare(ctx); err != nil {
		return err
	}
	meta, err := s.Meta(ctx)
	if err != nil {
		return err
	}
	same := meta.EmbeddingModel == o.Model && meta.Dimension == o.Dimension
	if meta.EmbeddingModel != "" && !same && !o.Reembed {
		return fmt.Errorf("prepare vectors of graph %s: they are of model %s (%d dimensions), the embedder is %s (%d); use that model, or make all vectors again with --reembed",
			s.options.Graph, meta.EmbeddingModel, meta.Dimension, o.Model, o.Dimension)
	}
	if same {
		err = s.dropVectorIndexes(ctx, o.Dimension)
	} else {
		err = s.adoptModel(ctx, meta, o)
	}
	if err != nil {
		return err
	}
	if err := s.endBuilding(ctx); err != nil {
		return err
	}
	have, err := shape.ReadIndexes(ctx, s.query, s.options.Graph)
	if err != nil {
		return err
	}
	s.vectors = vectorState{model: o.Model, dimension: o.Dimension, indexed: map[string]bool{}}
	for _, index := range have {
		s.vectors.indexed[index.Label] = index.Has("embedding", "VECTOR")
	}
	return nil
}

func (s *Store) adoptModel(ctx context.Context, meta Meta, o IndexOptions) error {
	var statements []cypher.Statement
	if meta.EmbeddingModel != "" {
		statements = append(statements,
			cypher.New(`MATCH (n:Chunk) SET n.embedding = NULL, n.embedding_pending = 1`, nil),
			cypher.New(`MATCH (n:__Entity__) SET n.embedding = NULL, n.embedding_pending = 1`, nil),
			cypher.New(`MATCH ()-[n:RELATES]->() SET n.embedding = NULL, n.embedding_pending = 1`, nil))
	}
	statements = append(statements, cypher.New(
		`MATCH (m:__Meta__ {id: 'default'}) SET m.embedding_model = $model, m.embedding_dimension = $dimension, m.finalize = 'pending'`,
		cypher.Params{"model": o.Model, "dimension": o.Dimension}))
	if err := s.exec(ctx, "change the embedding model", statements...); err != nil {
		return err
	}
	return s.dropVectorIndexes(ctx, o.Dimension)
}

var pendingCounts = map[VectorKind]cypher.Statement{
	ChunkVector:    cypher.New(`MATCH (n:Chunk {embedding_pending: 1}) RETURN count(n) AS n`, nil),
	EntityVector:   cypher.New(`MATCH (n:__Entity__ {embedding_pending: 1}) RETURN count(n) AS n`, nil),
	RelationVector: cypher.New(`MATCH ()-[n:RELATES {embedding_pending: 1}]->() RETURN count(n) AS n`, nil),
}

// PendingCount is how many things of a kind have no vector or a stale one.
func (s *Store) PendingCount(ctx context.Context, kind VectorKind) (int, error) {
	statement, ok := pendingCounts[kind]
	if !ok {
		return 0, fmt.Errorf("count pending vectors: there is no kind %q", kind)
	}
	rows, err := s.read(ctx, statement)
	if err != nil || rows.Len() == 0 {
		return 0, err
	}
	return rows.Int(0, "n"), rows.Err()
}

// PendingVectors returns up to limit things whose vector is missing or stale, in
// no order. Storing their vectors takes them off the list.
func (s *Store) PendingVectors(ctx context.Context, kind VectorKind, limit int) ([]Pending, error) {
	statement, ok := pendingStatement(kind, limit)
	if !ok {
		return nil, fmt.Errorf("read pending vectors: there is no kind %q", kind)
	}
	rows, err := s.read(ctx, statement)
	if err != nil {
		return nil, err
	}
	pending := make([]Pending, rows.Len())
	for i := range pending {
		pending[i] = decodePending(kind, rows, i)
	}
	return pending, s.client.Wrap("read pending vectors of graph "+s.options.Graph, rows.Err())
}

func pendingStatement(kind VectorKind, limit int) (cypher.Statement, bool) {
	params := cypher.Params{"limit": limit}
	switch kind {
	case ChunkVector:
		return cypher.New(`MATCH (n:Chunk {embedding_pending: 1})
RETURN n.id AS id, n.context_header AS title, n.context AS context, n.text AS text, '' AS type, n.content_key AS key LIMIT $limit`, params), true
	case EntityVector:
		return cypher.New(`MATCH (n:__Entity__ {embedding_pending: 1})
RETURN n.id AS id, n.name AS title, n.description AS text, n.type AS type, '' AS key LIMIT $limit`, params), true
	case RelationVector:
		return cypher.New(`MATCH (s)-[n:RELATES {embedding_pending: 1}]->(t)
RETURN s.id AS source, t.id AS target, '' AS title, n.fact AS text, n.rel_type AS type, '' AS key LIMIT $limit`, params), true
	}
	return cypher.Statement{}, false
}

func decodePending(kind VectorKind, rows *conn.Rows, i int) Pending {
	p := Pending{Kind: kind, Title: rows.String(i, "title"), Text: rows.String(i, "text"), Type: rows.String(i, "type"), Key: rows.String(i, "key")}
	if kind == ChunkVector && rows.String(i, "context") != "" {
		p.Title = strings.TrimPrefix(p.Title+"\n"+rows.String(i, "context"), "\n")
	}
	if kind == RelationVector {
		p.source, p.target = rows.String(i, "source"), rows.String(i, "target")
		p.ID = p.source + "␟" + p.Type + "␟" + p.target
	} else {
		p.ID = rows.String(i, "id")
	}
	if p.Key == "" {
		p.Key = graph.Hash(p.Type, p.Title, p.Text)
	}
	return p
}

// StoreVectors stores vectors that were made of what PendingVectors returned.
// One whose text has changed since stays pending. A vector of another dimension
// than agreed, of zeros or with NaN is an error: the engine would keep it and
// never find it.
//
// Dies anywhere: batches before are stored, those after are pending still.
func (s *Store) StoreVectors(ctx context.Context, kind VectorKind, vectors []Vector) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	if s.vectors.dimension == 0 {
		return fmt.Errorf("store vectors in graph %s: no model was agreed on; PrepareVectors comes first", s.options.Graph)
	}
	size := vectorBatch
	if s.vectors.indexed[labels[kind]] {
		size = indexedVectorBatch
	}
	for batch := range slices.Chunk(vectors, size) {
		rows := make([]cypher.Record, len(batch))
		for i, v := range batch {
			if err := s.checkVector(v); err != nil {
				return err
			}
			rows[i] = vectorRow(v)
		}
		statement, ok := vectorStatement(kind, rows)
		if !ok {
			return fmt.Errorf("store vectors: there is no kind %q", kind)
		}
		if err := s.exec(ctx, "store vectors", statement); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) checkVector(v Vector) error {
	if v.Values == nil {
		return nil
	}
	if len(v.Values) != s.vectors.dimension {
		return fmt.Errorf("store vector of %s %s: it has %d dimensions, the graph's have %d", v.Kind, v.ID, len(v.Values), s.vectors.dimension)
	}
	zero := true
	for _, f := range v.Values {
		if math.IsNaN(float64(f)) || math.IsInf(float64(f), 0) {
			return fmt.Errorf("store vector of %s %s: it holds %v", v.Kind, v.ID, f)
		}
		zero = zero && f == 0
	}
	if zero {
		return errors.New("store vector of " + string(v.Kind) + " " + v.ID + ": it is all zeros")
	}
	return nil
}

func vectorRow(v Vector) cypher.Record {
	row := cypher.Record{{Name: "id", Value: v.ID}, {Name: "key", Value: v.Key}, {Name: "title", Value: v.Title}, {Name: "text", Value: v.Text},
		{Name: "type", Value: v.Type}, {Name: "s", Value: v.source}, {Name: "t", Value: v.target}}
	if v.Kind == ChunkVector {
		row = row[:2]
	}
	if v.Values == nil {
		return append(row, cypher.Field{Name: "v", Value: nil})
	}
	return append(row, cypher.Field{Name: "v", Value: v.Values})
}

func vectorStatement(kind VectorKind, rows []cypher.Record) (cypher.Statement, bool) {
	params := over("rows", rows)
	switch kind {
	case ChunkVector:
		return cypher.New(`UNWIND $rows AS row MATCH (n:Chunk {id: row.id}) WHERE n.content_key = row.key
SET n.embedding = CASE WHEN row.v IS NULL THEN NULL ELSE vecf32(row.v) END, n.embedding_pending = NULL`, params), true
	case EntityVector:
		return cypher.New(`UNWIND $rows AS row MATCH (n:__Entity__ {id: row.id})
WHERE coalesce(n.name, '') = row.title AND coalesce(n.description, '') = row.text AND coalesce(n.type, '') = row.type
SET n.embedding = CASE WHEN row.v IS NULL THEN NULL ELSE vecf32(row.v) END, n.embedding_pending = NULL`, params), true
	case RelationVector:
		return cypher.New(`UNWIND $rows AS row MATCH (s:__Entity__ {id: row.s}) MATCH (t:__Entity__ {id: row.t})
WITH row, s, t MATCH (s)-[n:RELATES {rel_type: row.type}]->(t) WHERE coalesce(n.fact, '') = row.text
SET n.embedding = CASE WHEN row.v IS NULL THEN NULL ELSE vecf32(row.v) END, n.embedding_pending = NULL`, params), true
	}
	return cypher.Statement{}, false
}
