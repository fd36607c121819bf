package store

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"unicode/utf8"

	"graphmill/pipeline/falkor/conn"
	"graphmill/pipeline/falkor/cypher"
	"graphmill/pipeline/graph"
)

// checkChunks looks at each chunk with its mentions.
func (c *checker) checkChunks(ctx context.Context) error {
	seen := newSeen(c.meta.Counts.Chunks)
	return c.pages(ctx, lastChunk, checkPage, func(p cypher.Params) cypher.Statement {
		return cypher.New(`MATCH (c:Chunk) WHERE ID(c) >= $lo AND ID(c) < $hi
OPTIONAL MATCH (d:Document)-[:PART_OF]->(c)
WITH c, collect(ID(d)) AS documents
OPTIONAL MATCH (e)-[m:MENTIONED_IN]->(c)
WITH c, documents, collect(CASE WHEN m IS NULL THEN NULL ELSE [ID(m), ID(e), m.spans, m.names, m.count, m.origin] END) AS mentions
RETURN ID(c) AS node, c.id AS id, c.text AS text, c.start_char AS start, c.end_char AS end, c.context_header AS title,
       documents, mentions, c.embedding IS NULL AS bare, c.embedding_pending AS pending`, p)
	}, func(rows *conn.Rows) error {
		for i := range rows.Len() {
			id := rows.String(i, "id")
			seen.note(id)
			c.result.Checked.Chunks++
			c.checkChunk(rows, i, id)
		}
		return c.confirmTwice(ctx, seen, "Chunk")
	})
}

func (c *checker) checkChunk(rows *conn.Rows, i int, id string) {
	node, documents := int64(rows.Int(i, "node")), ints(rows.Value(i, "documents"))
	mentions, _ := rows.Value(i, "mentions").([]any)
	c.result.Checked.Mentions += len(mentions)
	if id == "" {
		c.nameless("chunk", node, mend{marks: documents})
		return
	}
	if len(documents) == 0 {
		c.find(nowhere, Finding{Kind: OrphanChunk, ID: id, Detail: fmt.Sprintf("no document has the chunk; %d mentions lead to it", len(mentions)), mend: mend{nodes: []int64{node}}})
		return
	}
	document := slices.Min(documents)
	if len(documents) > 1 {
		c.find(document, Finding{Kind: SharedChunk, ID: id, Detail: fmt.Sprintf("%d edges PART_OF lead to the chunk", len(documents)), mend: mend{nodes: []int64{node}, marks: documents}})
		return
	}
	text, span := rows.String(i, "text"), graph.Span{Start: rows.Int(i, "start"), End: rows.Int(i, "end")}
	again := mend{marks: []int64{document}}
	if utf8.RuneCountInString(text) != span.End-span.Start {
		c.find(document, Finding{Kind: ChunkText, ID: id, Detail: "its text is not as long as its span", mend: again})
		return
	}
	if d := c.documents[document]; d != nil && string(graph.NewChunkID(graph.DocumentID(d.id), span, text)) != id {
		c.find(document, Finding{Kind: ChunkText, ID: id, Detail: "its id is not that of its document, span and text", mend: again})
		return
	}
	c.checkMentions(document, id, text, span.Start, mentions)
	c.vector(document, rows.Bool(i, "bare"), rows.Int(i, "pending"),
		Pending{Kind: ChunkVector, ID: id, Title: rows.String(i, "title"), Text: text}, target{node: node})
}

// mentionPlace tells the mentions of a chunk apart: by the entity, and by the one
// that the document names where that was merged into it.
type mentionPlace struct {
	entity int64
	origin string
}

// checkMentions wants one mention of an entity in a chunk, whose spans hold one
// of its names.
func (c *checker) checkMentions(document int64, chunk, text string, start int, mentions []any) {
	runes := runesOf(text)
	entities := make(map[mentionPlace]int64, len(mentions))
	for _, item := range mentions {
		fields, _ := item.([]any)
		if len(fields) != 6 {
			continue
		}
		edge, _ := fields[0].(int64)
		entity, _ := fields[1].(int64)
		origin, readable := fields[5].(string)
		if !readable && fields[5] != nil {
			c.find(document, Finding{Kind: MentionSpan, ID: chunk, Detail: fmt.Sprintf("how the document names %q cannot be read", firstName(fields[3])), mend: mend{marks: []int64{document}}})
			continue
		}
		if _, twice := entities[mentionPlace{entity, origin}]; twice {
			c.find(document, Finding{Kind: DoubledMention, ID: chunk, Detail: fmt.Sprintf("two mentions of one entity, %q, in the chunk", firstName(fields[3])),
				mend: mend{edges: []edgeRef{{entity, edge}}, marks: []int64{document}}})
			continue
		}
		entities[mentionPlace{entity, origin}] = edge
		if wrong := wrongSpans(text, runes, start, fields); wrong != "" {
			c.find(document, Finding{Kind: MentionSpan, ID: chunk, Detail: wrong, mend: mend{marks: []int64{document}}})
		}
	}
}

func firstName(value any) string {
	if list, _ := value.([]any); len(list) > 0 {
		name, _ := list[0].(string)
		return name
	}
	return ""
}

// wrongSpans says what is wrong with a mention's spans, "" for nothing.
func wrongSpans(text string, runes []rune, start int, fields []any) string {
	var spans []graph.Span
	list, _ := fields[2].(string)
	if json.Unmarshal([]byte(list), &spans) != nil {
		return fmt.Sprintf("the spans of %q cannot be read", firstName(fields[3]))
	}
	names, _ := fields[3].([]any)
	if count, _ := fields[4].(int64); int(count) != len(spans) || len(spans) == 0 || len(names) == 0 {
		return fmt.Sprintf("%q is counted %v times and has %d spans and %d names", firstName(fields[3]), fields[4], len(spans), len(names))
	}
	for _, span := range spans {
		part, inside := runeSlice(text, runes, start, span)
		if !inside {
			return fmt.Sprintf("the span %d–%d of %q is not within the chunk", span.Start, span.End, firstName(fields[3]))
		}
		if !named(part, names) {
			return fmt.Sprintf("at %d–%d stands %q and not %q", span.Start, span.End, part, firstName(fields[3]))
		}
	}
	return ""
}

// named reports whether a text is a spelling of one of the names.
func named(text string, names []any) bool {
	for _, item := range names {
		if name, _ := item.(string); name == text {
			return true
		}
	}
	key := graph.NameKey(text)
	for _, item := range names {
		if name, _ := item.(string); graph.NameKey(name) == key {
			return true
		}
	}
	return false
}
