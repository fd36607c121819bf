package store

import (
	"context"
	"fmt"
	"time"

	"graphmill/pipeline/falkor/cypher"
	"graphmill/pipeline/falkor/shape"
)

// indexPoll is how often an index that is being built is looked at.
const indexPoll = 100 * time.Millisecond

// EnsureIndexes makes the vector and full-text indexes that are missing and waits
// until they are complete. Those of one label are made one right after the other:
// each has the engine read all rows of the label again, and the first is then
// hardly begun. They are called for after the rows of a bulk build; rows that
// come later are indexed as they come.
//
// Dies anywhere: the engine goes on building what was made; the rest is made by
// the next call.
func (s *Store) EnsureIndexes(ctx context.Context, o IndexOptions) error {
	if err := s.PrepareVectors(ctx, o); err != nil {
		return err
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	have, err := shape.ReadIndexes(ctx, s.query, s.options.Graph)
	if err != nil {
		return err
	}
	var statements []cypher.Statement
	for _, label := range []string{"Chunk", "__Entity__", "RELATES"} {
		index := labelIndex(have, label)
		if label != "RELATES" {
			statements = append(statements, fulltextIndex(label, index)...)
		}
		switch {
		case !index.Has("embedding", "VECTOR"):
			statements = append(statements, vectorIndex(label, o.Dimension))
		case index.Dimension != o.Dimension:
			return fmt.Errorf("index graph %s: the vector index of %s is for %d dimensions, the embedder gives %d; make all vectors again with --reembed",
				s.options.Graph, label, index.Dimension, o.Dimension)
		}
	}
	for _, statement := range statements {
		if err := s.alter(ctx, "make index", statement); err != nil {
			return err
		}
	}
	return s.awaitIndexes(ctx, o.Progress)
}

func labelIndex(have []shape.Index, label string) shape.Index {
	for _, index := range have {
		if index.Label == label {
			return index
		}
	}
	return shape.Index{}
}

// fulltextIndex makes the index over what is missing of a label's texts. No stop
// words are left out of it: "The Who" and "IT" are names.
func fulltextIndex(label string, have shape.Index) []cypher.Statement {
	properties := map[string][]string{
		"Chunk":      {"text", "search_text"},
		"__Entity__": {"name", "description", "search_text"},
	}[label]
	var missing []string
	for _, property := range properties {
		if !have.Has(property, "FULLTEXT") {
			missing = append(missing, property)
		}
	}
	if len(missing) == len(properties) && label == "Chunk" {
		return []cypher.Statement{cypher.New(`CALL db.idx.fulltext.createNodeIndex({label: 'Chunk', stopwords: []}, 'text', 'search_text')`, nil)}
	}
	if len(missing) == len(properties) {
		return []cypher.Statement{cypher.New(`CALL db.idx.fulltext.createNodeIndex({label: '__Entity__', stopwords: []}, 'name', 'description', 'search_text')`, nil)}
	}
	var statements []cypher.Statement
	for _, property := range missing {
		statements = append(statements, cypher.New(`CALL db.idx.fulltext.createNodeIndex($label, $property)`,
			cypher.Params{"label": label, "property": property}))
	}
	return statements
}

func vectorIndex(label string, dimension int) cypher.Statement {
	params := cypher.Params{"dimension": dimension}
	if label == "RELATES" {
		return cypher.New(`CREATE VECTOR INDEX FOR ()-[n:RELATES]->() ON (n.embedding) OPTIONS {dimension: $dimension, similarityFunction: 'cosine'}`, params)
	}
	return cypher.New(`CREATE VECTOR INDEX FOR (n:«label») ON (n.embedding) OPTIONS {dimension: $dimension, similarityFunction: 'cosine'}`, params).WithLabel("label", label)
}

// dropVectorIndexes drops the vector indexes for other dimensions than the given.
func (s *Store) dropVectorIndexes(ctx context.Context, dimension int) error {
	have, err := shape.ReadIndexes(ctx, s.query, s.options.Graph)
	if err != nil {
		return err
	}
	for _, index := range have {
		if !index.Has("embedding", "VECTOR") || index.Dimension == dimension {
			continue
		}
		statement := cypher.New(`DROP VECTOR INDEX FOR (n:«label») ON (n.embedding)`, nil)
		if index.Edge {
			statement = cypher.New(`DROP VECTOR INDEX FOR ()-[n:«label»]->() ON (n.embedding)`, nil)
		}
		if err := s.alter(ctx, "drop index", statement.WithLabel("label", index.Label)); err != nil {
			return err
		}
	}
	return nil
}

// awaitIndexes waits until every index of the graph is complete.
func (s *Store) awaitIndexes(ctx context.Context, progress func(IndexProgress)) error {
	for wait := time.Millisecond; ; wait = min(2*wait, indexPoll) {
		have, err := shape.ReadIndexes(ctx, s.query, s.options.Graph)
		if err != nil {
			return err
		}
		building := false
		for _, index := range have {
			if index.Operational {
				continue
			}
			building = true
			if progress != nil {
				progress(IndexProgress{Label: index.Label, Done: index.Done, Total: index.Total})
			}
		}
		if !building {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait):
		}
	}
}
