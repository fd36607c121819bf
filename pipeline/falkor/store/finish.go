package store

import (
	"context"
	"encoding/json"
	"time"

	"graphmill/pipeline/falkor/cypher"
)

// Finish counts the graph, stores the counts, writes the configuration node that
// graphrag-sdk looks for, and marks the graph as finalized.
//
// Dies anywhere: the graph is finalized with its counts, or pending still.
func (s *Store) Finish(ctx context.Context) (Counts, error) {
	s.writing.Lock()
	defer s.writing.Unlock()
	if err := s.prepare(ctx); err != nil {
		return Counts{}, err
	}
	counts, err := s.count(ctx)
	if err != nil {
		return Counts{}, err
	}
	text, err := json.Marshal(counts)
	if err != nil {
		return Counts{}, err
	}
	meta, err := s.Meta(ctx)
	if err != nil {
		return Counts{}, err
	}
	statements := []cypher.Statement{cypher.New(`MATCH (m:__Meta__ {id: 'default'}) SET m.counts = $counts, m.finalize = 'done'`, cypher.Params{"counts": string(text)})}
	if meta.EmbeddingModel != "" {
		statements = append(statements, cypher.New(`MERGE (g:__GraphRAGConfig__ {id: 'default'})
SET g.embedding_model = $model, g.embedding_dimension = $dimension, g.sdk_version = $version, g.updated_at = $now`, cypher.Params{
			"model": meta.EmbeddingModel, "dimension": meta.Dimension, "version": "graphmill " + s.options.Version, "now": stamp(time.Now()),
		}))
	}
	return counts, s.exec(ctx, "finalize", statements...)
}

// count counts labels, which the engine keeps, and walks entities and edges once
// for their types.
func (s *Store) count(ctx context.Context) (Counts, error) {
	counts := Counts{EntityTypes: map[string]int{}, RelationTypes: map[string]int{}}
	for _, one := range []struct {
		to        *int
		statement cypher.Statement
	}{
		{&counts.Documents, cypher.New(`MATCH (n:Document) RETURN count(n) AS n`, nil)},
		{&counts.Chunks, cypher.New(`MATCH (n:Chunk) RETURN count(n) AS n`, nil)},
		{&counts.Sections, cypher.New(`MATCH (n:__Section__) RETURN count(n) AS n`, nil)},
		{&counts.Entities, cypher.New(`MATCH (n:__Entity__) RETURN count(n) AS n`, nil)},
		{&counts.Mentions, cypher.New(`MATCH ()-[n:MENTIONED_IN]->() RETURN count(n) AS n`, nil)},
		{&counts.Relations, cypher.New(`MATCH ()-[n:RELATES]->() RETURN count(n) AS n`, nil)},
	} {
		rows, err := s.read(ctx, one.statement)
		if err != nil {
			return counts, err
		}
		if rows.Len() > 0 {
			*one.to = rows.Int(0, "n")
		}
	}
	for _, many := range []struct {
		to        map[string]int
		statement cypher.Statement
	}{
		{counts.EntityTypes, cypher.New(`MATCH (n:__Entity__) RETURN n.type AS type, count(n) AS n`, nil)},
		{counts.RelationTypes, cypher.New(`MATCH (:__Entity__)-[n:RELATES]->(:__Entity__) RETURN n.rel_type AS type, count(n) AS n`, nil)},
	} {
		rows, err := s.read(ctx, many.statement)
		if err != nil {
			return counts, err
		}
		for i := range rows.Len() {
			many.to[rows.String(i, "type")] += rows.Int(i, "n")
		}
		if err := rows.Err(); err != nil {
			return counts, s.client.Wrap("count graph "+s.options.Graph, err)
		}
	}
	return counts, nil
}
