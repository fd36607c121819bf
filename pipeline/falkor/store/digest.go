package store

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"graphmill/pipeline/falkor/cypher"
)

// digestPage is how many of the engine's internal ids one statement covers.
const digestPage = 2000

// digestSection is one kind of content: a statement over nodes whose internal id
// lies in [$lo, $hi), whose columns are the content.
type digestSection struct {
	name string
	last cypher.Statement
	rare bool // not part of the digest where there is none
	page func(p cypher.Params) cypher.Statement
}

var (
	lastDocument    = cypher.New(`MATCH (n:Document) RETURN max(ID(n)) AS last`, nil)
	lastChunk       = cypher.New(`MATCH (n:Chunk) RETURN max(ID(n)) AS last`, nil)
	lastSection     = cypher.New(`MATCH (n:__Section__) RETURN max(ID(n)) AS last`, nil)
	lastMerge       = cypher.New(`MATCH (n:__Merge__) RETURN max(ID(n)) AS last`, nil)
	lastDescription = cypher.New(`MATCH (n:__Description__) RETURN max(ID(n)) AS last`, nil)
	lastEntity      = cypher.New(`MATCH (n:__Entity__) RETURN max(ID(n)) AS last`, nil)
)

var digestSections = []digestSection{
	{name: "documents", last: lastDocument, page: func(p cypher.Params) cypher.Statement {
		return cypher.New(`MATCH (n:Document) WHERE ID(n) >= $lo AND ID(n) < $hi
RETURN n.id, n.path, n.folder, n.title, n.date, n.format, n.size_bytes, n.pages, n.metadata, n.plan, n.resolver, n.chunk_count, n.entity_count,
       n.relation_count, n.content_hash, n.plan_hash, n.ontology_hash, n.model_hash, n.format_hash`, p)
	}},
	{name: "chunks", last: lastChunk, page: func(p cypher.Params) cypher.Statement {
		return cypher.New(`MATCH (n:Chunk) WHERE ID(n) >= $lo AND ID(n) < $hi OPTIONAL MATCH (d:Document)-[o:PART_OF]->(n)
RETURN n.id, d.id, o.index, n.index, n.text, n.token_count, n.start_char, n.end_char, n.first_page, n.last_page, n.first_line, n.last_line,
       n.context_header, n.content_key, n.search_text, n.embedding IS NOT NULL, n.embedding_pending`, p)
	}},
	{name: "order", last: lastChunk, page: func(p cypher.Params) cypher.Statement {
		return cypher.New(`MATCH (n:Chunk) WHERE ID(n) >= $lo AND ID(n) < $hi MATCH (n)-[:NEXT_CHUNK]->(o:Chunk) RETURN n.id, o.id`, p)
	}},
	{name: "sections", last: lastSection, page: func(p cypher.Params) cypher.Statement {
		return cypher.New(`MATCH (n:__Section__) WHERE ID(n) >= $lo AND ID(n) < $hi
OPTIONAL MATCH (d:Document)-[:HAS_SECTION]->(n) OPTIONAL MATCH (n)-[:PARENT]->(o:__Section__)
RETURN n.id, d.id, o.id, n.title, n.depth, n.order, n.start_char, n.end_char`, p)
	}},
	{name: "covers", last: lastSection, page: func(p cypher.Params) cypher.Statement {
		return cypher.New(`MATCH (n:__Section__) WHERE ID(n) >= $lo AND ID(n) < $hi MATCH (n)-[:COVERS]->(o:Chunk) RETURN n.id, o.id`, p)
	}},
	{name: "entities", last: lastEntity, page: func(p cypher.Params) cypher.Statement {
		return cypher.New(`MATCH (n:__Entity__) WHERE ID(n) >= $lo AND ID(n) < $hi
RETURN n.id, labels(n) AS labels, n.type, n.name, n.name_key, n.aliases, n.description, n.telling, n.mention_count, n.score,
       n.source_chunk_ids, n.search_text, n.alias_keys, n.embedding IS NOT NULL, n.embedding_pending`, p)
	}},
	{name: "mentions", last: lastEntity, page: func(p cypher.Params) cypher.Statement {
		return cypher.New(`MATCH (n:__Entity__) WHERE ID(n) >= $lo AND ID(n) < $hi MATCH (n)-[m:MENTIONED_IN]->(o:Chunk)
RETURN n.id, o.id, m.spans, m.names, m.count, m.score, m.method, m.description, m.telling,
       m.origin, m.origin_type`, p)
	}},
	{name: "relations", last: lastEntity, page: func(p cypher.Params) cypher.Statement {
		return cypher.New(`MATCH (n:__Entity__) WHERE ID(n) >= $lo AND ID(n) < $hi MATCH (n)-[r:RELATES]->(o:__Entity__)
RETURN n.id, o.id, r.rel_type, r.fact, r.description, r.src_name, r.tgt_name, r.score, r.source_chunk_ids, r.spans, r.evidence,
       r.evidence_scores, r.evidence_methods, r.evidence_src_names, r.evidence_tgt_names, r.evidence_src_ids, r.evidence_tgt_ids,
       r.embedding IS NOT NULL, r.embedding_pending`, p)
	}},
	{name: "within", rare: true, last: lastEntity, page: func(p cypher.Params) cypher.Statement {
		return cypher.New(`MATCH (n:__Entity__) WHERE ID(n) >= $lo AND ID(n) < $hi MATCH (n)-[r:__WITHIN__]->(n)
RETURN n.id, r.rel_type, r.fact, r.description, r.src_name, r.tgt_name, r.score, r.source_chunk_ids, r.spans, r.evidence,
       r.evidence_scores, r.evidence_methods, r.evidence_src_names, r.evidence_tgt_names, r.evidence_src_ids, r.evidence_tgt_ids`, p)
	}},
	{name: "merges", rare: true, last: lastMerge, page: func(p cypher.Params) cypher.Statement {
		return cypher.New(`MATCH (n:__Merge__) WHERE ID(n) >= $lo AND ID(n) < $hi
RETURN n.id, n.state, n.kept, n.merged, n.kept_name, n.merged_name, n.kept_type, n.merged_type, n.rule, n.score, n.evidence, n.explanation, n.applied`, p)
	}},
	{name: "descriptions", rare: true, last: lastDescription, page: func(p cypher.Params) cypher.Statement {
		return cypher.New(`MATCH (n:__Description__) WHERE ID(n) >= $lo AND ID(n) < $hi RETURN n.id, n.entity, n.text, n.refused`, p)
	}},
}

// Digest is a hash over the graph's content: documents, chunks, sections,
// entities, mentions, relations, merges, descriptions and the ontology, without
// internal ids and times; vectors count by the model and by whether they are
// there. The run ledger is no part of it, nor a document's status, nor for which
// document a model was asked: a run that finds nothing to do leaves the digest as
// it was, and so does the order in which documents came.
//
// Rows are hashed one by one and their hashes added up, which says the same as
// hashing the sorted list and needs no list: memory is one page of rows.
func (s *Store) Digest(ctx context.Context) (string, error) {
	whole := sha256.New()
	for _, section := range digestSections {
		sum, count, err := s.digestSection(ctx, section)
		if err != nil {
			return "", err
		}
		if count > 0 || !section.rare {
			fmt.Fprintf(whole, "%s %d %x\n", section.name, count, sum)
		}
	}
	ontology, err := s.LoadOntology(ctx)
	if err != nil {
		return "", err
	}
	meta, err := s.Meta(ctx)
	if err != nil {
		return "", err
	}
	text, err := json.Marshal([]any{ontology, meta.EmbeddingModel, meta.Dimension, meta.Schema, sortedKeys(meta.Sources)})
	if err != nil {
		return "", err
	}
	whole.Write(text)
	return hex.EncodeToString(whole.Sum(nil)), nil
}

func (s *Store) digestSection(ctx context.Context, section digestSection) (sum [32]byte, count int, err error) {
	rows, err := s.read(ctx, section.last)
	if err != nil || rows.Len() == 0 || rows.Value(0, "last") == nil {
		return sum, 0, err
	}
	last := rows.Int(0, "last")
	for lo := 0; lo <= last; lo += digestPage {
		rows, err := s.read(ctx, section.page(cypher.Params{"lo": lo, "hi": lo + digestPage}))
		if err != nil {
			return sum, count, err
		}
		labels := slices.Index(rows.Columns, "labels")
		for i := range rows.Len() {
			row := rows.Row(i)
			if labels >= 0 {
				sortStrings(row[labels])
			}
			add(&sum, sha256.Sum256(appendCanonical(nil, row)))
			count++
		}
	}
	return sum, count, nil
}

// add adds two 256-bit numbers, dropping the carry.
func add(sum *[32]byte, more [32]byte) {
	carry := 0
	for i := len(sum) - 1; i >= 0; i-- {
		carry += int(sum[i]) + int(more[i])
		sum[i] = byte(carry)
		carry >>= 8
	}
}

// sortStrings sorts a node's labels, which come in the order in which the graph
// first met them.
func sortStrings(value any) {
	if list, ok := value.([]any); ok {
		slices.SortFunc(list, func(a, b any) int {
			x, _ := a.(string)
			y, _ := b.(string)
			switch {
			case x < y:
				return -1
			case x > y:
				return 1
			}
			return 0
		})
	}
}

// appendCanonical renders a value so that different values differ.
func appendCanonical(b []byte, value any) []byte {
	switch v := value.(type) {
	case nil:
		return append(b, 'n')
	case string:
		b = binary.AppendUvarint(append(b, 's'), uint64(len(v)))
		return append(b, v...)
	case int64:
		return binary.AppendVarint(append(b, 'i'), v)
	case float64:
		return binary.BigEndian.AppendUint64(append(b, 'f'), math.Float64bits(v))
	case bool:
		if v {
			return append(b, 't')
		}
		return append(b, 'F')
	case []any:
		b = binary.AppendUvarint(append(b, 'l'), uint64(len(v)))
		for _, item := range v {
			b = appendCanonical(b, item)
		}
		return b
	}
	return append(b, fmt.Sprintf("?%v", value)...)
}
