// Package shape knows how a graph is laid out: labels, relationship types,
// property names, and what the graph says of itself (its meta node, its indexes,
// its ontology). It reads through a function handed in and never writes; both
// stores stand on it.
//
// # The layout
//
//	(:Document {id, path, folder, title, date, format, size_bytes, pages, metadata (JSON object), status, plan, plan_choices (JSON), resolver, max_llm_pairs,
//	            chunk_count, entity_count, relation_count, failed_chunks, content_hash, plan_hash, ontology_hash, model_hash, format_hash})
//	  -[:PART_OF {index}]-> (:Chunk)      -[:HAS_SECTION]-> (:__Section__)
//	(:Chunk {id, text, index, token_count, start_char, end_char, first_page, last_page, first_line, last_line,
//	         context_header, context, content_key, search_text, embedding, embedding_pending})  -[:NEXT_CHUNK]-> (:Chunk)
//	(:__Section__ {id, title, depth, order, start_char, end_char})  -[:PARENT]-> (:__Section__)  -[:COVERS]-> (:Chunk)
//	(:__Entity__:<Type> {id, name, name_key, type, aliases, description, sentence, telling, mention_count, score,
//	                     source_chunk_ids, search_text, alias_keys, embedding, embedding_pending})
//	  -[:MENTIONED_IN {spans (JSON [{start, end}]), names, count, score, method, description, telling, origin, origin_type}]-> (:Chunk)
//	  -[:RELATES {rel_type, fact, description, src_name, tgt_name, score, source_chunk_ids, evidence, evidence_scores,
//	              evidence_methods, evidence_src_names, evidence_tgt_names, evidence_src_ids, evidence_tgt_ids, spans (JSON {chunk: [{start, end}]}),
//	              embedding, embedding_pending}]-> (:__Entity__)
//	(:__Meta__ {id: 'default', schema, fence, commits, sources, embedding_model, embedding_dimension, finalize, merging, counts (JSON)})
//	(:__Run__ {id, verb, started, ended, status, totals (JSON), message})
//	(:__Merge__ {id, state, kept, merged, kept_name, merged_name, kept_type, merged_type, kept_key, rule, score, evidence (JSON), explanation, asked_for, applied, at})
//	(:__Description__ {id, entity, text, refused, at})
//	(:__GraphRAGConfig__ {id: 'default', embedding_model, embedding_dimension, sdk_version, updated_at})
//
// Of a RELATES edge, entry i of evidence, evidence_scores and evidence_methods
// belongs to entry i of source_chunk_ids; a chunk stands there once for each
// sentence, and the nth span that spans has for a chunk belongs to its nth
// entry. The name lists are there only when documents name an end differently.
// An entity that was merged into another has no node: its mentions stand with the
// other and name it as their origin, and so does evidence in its lists of ids, ""
// where an edge's end is what the document names. A relation of two that became
// one is an edge __WITHIN__ of the entity to itself, like RELATES but for
// vectors. alias_keys are the name keys of what was merged into an entity.
// sentence is an entity's most telling sentence where its description is a common
// one of several names' sentences, as a __Description__ records it.
// All positions are code points of the document's decoded text. Properties
// without a value are left out. embedding_pending is 1 while a vector is missing
// or stale. search_text holds words for the full-text index that the text itself
// does not give it, see package fulltext.
package shape

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"graphmill/pipeline/falkor/conn"
	"graphmill/pipeline/falkor/cypher"
)

// Schema is the version of the layout that this program writes.
const Schema = 1

// MaxAliases bounds an entity's aliases: the smallest stay.
const MaxAliases = 64

// MaxSourceChunks bounds the list source_chunk_ids of an entity, which other
// readers of the graph want; its MENTIONED_IN edges are the full list.
const MaxSourceChunks = 256

// Query runs one reading statement on a graph.
type Query func(ctx context.Context, graph string, statement cypher.Statement) (*conn.Rows, error)

// Meta is what the graph says of itself.
type Meta struct {
	// Exists says that the graph was written by this program. Otherwise only
	// EmbeddingModel and Dimension are set, where the graph tells them.
	Exists  bool
	Schema  int
	Sources map[string]string // name of a files root ("" for the only one) → its absolute path
	// EmbeddingModel and Dimension are what the vectors were made with; "" and 0
	// before the first index.
	EmbeddingModel  string
	Dimension       int
	FinalizePending bool // rows changed since the last finalize
	// Merging names the settings by which entities were merged last.
	Merging string
	// Commits counts the commits so far. Statements between two equal counts saw
	// the same documents.
	Commits int
	Counts  Counts
}

// Counts are the graph's numbers: those of sections and mentions at the last
// finalize, the others as the last commit left them.
type Counts struct {
	Documents     int            `json:"documents"`
	Chunks        int            `json:"chunks"`
	Sections      int            `json:"sections"`
	Entities      int            `json:"entities"`
	Mentions      int            `json:"mentions"`
	Relations     int            `json:"relations"`
	EntityTypes   map[string]int `json:"entity_types"`   // label → entities
	RelationTypes map[string]int `json:"relation_types"` // type → edges
}

// Index is one label's or relationship type's indexes.
type Index struct {
	Label       string
	Edge        bool                // of a relationship type
	Types       map[string][]string // property → RANGE, FULLTEXT, VECTOR
	Dimension   int                 // of the vector index; 0 for none
	Operational bool
	Done, Total int // rows indexed, while not operational
}

// Has reports whether a property has an index of a type.
func (x Index) Has(property, kind string) bool { return slices.Contains(x.Types[property], kind) }

// metaColumns are what [decodeMeta] reads of a meta node m.
const metaColumns = `m.schema AS schema, m.sources AS sources, m.embedding_model AS model, m.embedding_dimension AS dimension,
       m.finalize AS finalize, m.merging AS merging, m.commits AS commits, m.counts AS counts`

// ReadMeta reads the meta node, or for want of one what graphrag-sdk says of its
// vectors.
func ReadMeta(ctx context.Context, query Query, graph string) (Meta, error) {
	rows, err := query(ctx, graph, cypher.New(`MATCH (m:__Meta__ {id: 'default'}) RETURN `+metaColumns, nil))
	if conn.KindOf(err) == conn.NoGraph {
		return Meta{}, nil
	}
	if err != nil {
		return Meta{}, err
	}
	if rows.Len() == 0 {
		return readConfig(ctx, query, graph)
	}
	return decodeMeta(rows, graph)
}

func decodeMeta(rows *conn.Rows, graph string) (Meta, error) {
	meta := Meta{
		Exists:          true,
		Schema:          rows.Int(0, "schema"),
		EmbeddingModel:  rows.String(0, "model"),
		Dimension:       rows.Int(0, "dimension"),
		FinalizePending: rows.String(0, "finalize") == "pending",
		Merging:         rows.String(0, "merging"),
		Commits:         rows.Int(0, "commits"),
		Sources:         map[string]string{},
	}
	for _, line := range rows.Strings(0, "sources") {
		var source [2]string
		if err := json.Unmarshal([]byte(line), &source); err != nil {
			return Meta{}, fmt.Errorf("read meta of graph %s: source %q: %w", graph, line, err)
		}
		meta.Sources[source[0]] = source[1]
	}
	if text := rows.String(0, "counts"); text != "" {
		if err := json.Unmarshal([]byte(text), &meta.Counts); err != nil {
			return Meta{}, fmt.Errorf("read meta of graph %s: counts: %w", graph, err)
		}
	}
	return meta, rows.Err()
}

// readConfig reads the node in which graphrag-sdk keeps its embedder's name.
func readConfig(ctx context.Context, query Query, graph string) (Meta, error) {
	rows, err := query(ctx, graph, cypher.New(`MATCH (c:__GraphRAGConfig__ {id: 'default'})
RETURN c.embedding_model AS model, c.embedding_dimension AS dimension`, nil))
	if err != nil || rows.Len() == 0 {
		return Meta{}, err
	}
	return Meta{EmbeddingModel: rows.String(0, "model"), Dimension: rows.Int(0, "dimension")}, rows.Err()
}

// indexColumns are what db.indexes() yields of an index and [decodeIndex] reads.
const indexColumns = `label, types, options, status, entitytype`

// ReadState is [ReadMeta] and [ReadIndexes] in one statement. That there is no
// such graph is an error here.
func ReadState(ctx context.Context, query Query, graph string) (Meta, []Index, error) {
	rows, err := query(ctx, graph, cypher.New(`CALL db.indexes() YIELD `+indexColumns+`
WITH collect({label: label, types: types, options: options, status: status, entitytype: entitytype}) AS indexes
OPTIONAL MATCH (m:__Meta__ {id: 'default'}) OPTIONAL MATCH (c:__GraphRAGConfig__ {id: 'default'})
RETURN indexes, m.id AS meta, c.embedding_model AS foreign_model, c.embedding_dimension AS foreign_dimension, `+metaColumns, nil))
	if err != nil {
		return Meta{}, nil, err
	}
	if rows.Len() == 0 {
		return Meta{}, nil, fmt.Errorf("read state of graph %s: the engine gave no row", graph)
	}
	var indexes []Index
	list, _ := rows.Value(0, "indexes").([]any)
	for _, item := range list {
		if fields, ok := item.(map[string]any); ok {
			indexes = append(indexes, decodeIndex(fields))
		}
	}
	if rows.String(0, "meta") == "" {
		return Meta{EmbeddingModel: rows.String(0, "foreign_model"), Dimension: rows.Int(0, "foreign_dimension")}, indexes, rows.Err()
	}
	meta, err := decodeMeta(rows, graph)
	return meta, indexes, err
}

// ReadIndexes lists the graph's indexes; none for a graph that is not there.
func ReadIndexes(ctx context.Context, query Query, graph string) ([]Index, error) {
	rows, err := query(ctx, graph, cypher.New(`CALL db.indexes() YIELD `+indexColumns+` RETURN `+indexColumns, nil))
	if conn.KindOf(err) == conn.NoGraph {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	indexes := make([]Index, rows.Len())
	for i := range indexes {
		fields := map[string]any{}
		for j, column := range rows.Columns {
			fields[column] = rows.Row(i)[j]
		}
		indexes[i] = decodeIndex(fields)
	}
	return indexes, rows.Err()
}

func decodeIndex(fields map[string]any) Index {
	label, _ := fields["label"].(string)
	status, _ := fields["status"].(string)
	index := Index{Label: label, Edge: fields["entitytype"] == "RELATIONSHIP", Types: map[string][]string{}, Operational: status == "OPERATIONAL"}
	types, _ := fields["types"].(map[string]any)
	for property, kinds := range types {
		list, _ := kinds.([]any)
		for _, kind := range list {
			index.Types[property] = append(index.Types[property], fmt.Sprint(kind))
		}
	}
	options, _ := fields["options"].(map[string]any)
	for _, option := range options {
		if m, ok := option.(map[string]any); ok {
			if dimension, ok := m["dimension"].(int64); ok {
				index.Dimension = int(dimension)
			}
		}
	}
	index.Done, index.Total = parseProgress(status)
	return index
}

// parseProgress reads "[Indexing] 1194/10000: UNDER CONSTRUCTION".
func parseProgress(status string) (done, total int) {
	status, _, _ = strings.Cut(strings.TrimPrefix(status, "[Indexing] "), ":")
	first, second, ok := strings.Cut(status, "/")
	if !ok {
		return 0, 0
	}
	done, _ = strconv.Atoi(first)
	total, _ = strconv.Atoi(second)
	return done, total
}
