package store

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"graphmill/pipeline/falkor/conn"
	"graphmill/pipeline/falkor/cypher"
	"graphmill/pipeline/falkor/shape"
	"graphmill/pipeline/graph"
)

// checkEntities holds each entity to what its mentions say.
func (c *checker) checkEntities(ctx context.Context) error {
	seen := newSeen(c.meta.Counts.Entities)
	var err error
	if c.described, err = c.Descriptions(ctx); err != nil {
		return err
	}
	return c.pages(ctx, lastEntity, checkPage, func(p cypher.Params) cypher.Statement {
		return cypher.New(`MATCH (n:__Entity__) WHERE ID(n) >= $lo AND ID(n) < $hi
OPTIONAL MATCH (n)-[m:MENTIONED_IN]->(c) OPTIONAL MATCH (d:Document)-[:PART_OF]->(c)
WITH n, collect(CASE WHEN m IS NULL THEN NULL ELSE [ID(m), c.id, 'Chunk' IN labels(c), ID(d), m.names, m.description, m.telling, m.score, m.count, m.origin] END) AS mentions
RETURN ID(n) AS node, n.id AS id, labels(n) AS labels, n.type AS type, n.name_key AS key, n.name AS name, n.aliases AS aliases,
       coalesce(n.sentence, n.description) AS about, CASE WHEN n.sentence IS NULL THEN NULL ELSE n.description END AS common, n.telling AS telling, n.mention_count AS mentions, n.score AS score, n.source_chunk_ids AS chunks, n.alias_keys AS keys,
       n.search_text AS search, n.embedding IS NULL AS bare, n.embedding_pending AS pending, mentions AS edges`, p)
	}, func(rows *conn.Rows) error {
		for i := range rows.Len() {
			seen.note(rows.String(i, "id"))
			c.result.Checked.Entities++
			c.types.EntityTypes[rows.String(i, "type")]++
			c.checkEntity(rows, i)
		}
		return c.confirmTwice(ctx, seen, "__Entity__")
	})
}

func (c *checker) checkEntity(rows *conn.Rows, i int) {
	node, id := int64(rows.Int(i, "node")), rows.String(i, "id")
	edges, _ := rows.Value(i, "edges").([]any)
	is, chunks := c.mentioned(node, id, edges)
	if id == "" {
		c.nameless("entity", node, mend{twins: []int64{node}})
		return
	}
	if len(chunks) == 0 {
		c.find(nowhere, Finding{Kind: UnmentionedThing, ID: id, Detail: "nothing mentions the entity",
			mend: mend{nodes: []int64{node}, chunks: rows.Strings(i, "chunks"), unsaid: []int64{node}}})
		return
	}
	c.checkLabels(rows, i, node, id)
	says := decodeShare(rows, i)
	is.kind, is.key = says.kind, says.key
	// Before finalize, an entity may not yet say what is recorded for it.
	if says.common != "" || !c.meta.FinalizePending {
		is.common = c.commonOf(id, edges)
	}
	if key := nameKey(id, says, keysOf(is)); key != says.key {
		c.find(nowhere, Finding{Kind: WrongNameKey, ID: id, Detail: fmt.Sprintf("its name_key is %q, that of its name is %q", says.key, key),
			mend: mend{sets: []setting{{target{node: node}, cypher.Record{{Name: "name_key", Value: key}}}}}})
	}
	c.checkShare(rows, i, target{node: node}, says, is, chunks)
	c.vector(nowhere, rows.Bool(i, "bare"), rows.Int(i, "pending"),
		Pending{Kind: EntityVector, ID: id, Title: says.name, Text: says.described(), Type: says.kind}, target{node: node})
}

// documentName is an entity as a document names it: itself, or one that was
// merged into it.
type documentName struct {
	document int64
	origin   string
}

// mentioned merges what an entity's mentions say, and lists their chunks. It
// counts the entity for their documents.
func (c *checker) mentioned(node int64, id string, edges []any) (is share, chunks map[string]bool) {
	chunks, documents, known := map[string]bool{}, map[documentName]bool{}, map[int64]bool{}
	for _, item := range edges {
		fields, _ := item.([]any)
		if len(fields) != 10 {
			continue
		}
		edge, _ := fields[0].(int64)
		chunk, _ := fields[1].(string)
		if isChunk, _ := fields[2].(bool); !isChunk {
			c.find(nowhere, Finding{Kind: DanglingMention, ID: id, Detail: "a mention of the entity leads to something that is no chunk", mend: mend{edges: []edgeRef{{node, edge}}}})
			continue
		}
		origin, _ := fields[9].(string)
		if document, ok := fields[3].(int64); ok && !documents[documentName{document, origin}] {
			documents[documentName{document, origin}] = true
			if d := c.documents[document]; d != nil {
				d.hasEntities++
			}
		}
		if known[edge] {
			continue
		}
		known[edge], chunks[chunk] = true, true
		is = is.merge(checkedMention(chunk, fields).share())
	}
	return is, chunks
}

// commonOf is the description that is recorded for what an entity's mentions say.
func (c *checker) commonOf(id string, edges []any) string {
	if len(c.described) == 0 {
		return ""
	}
	said, known := map[string]share{}, map[int64]bool{}
	for _, item := range edges {
		fields, _ := item.([]any)
		if len(fields) != 10 {
			continue
		}
		edge, _ := fields[0].(int64)
		if isChunk, _ := fields[2].(bool); !isChunk || known[edge] {
			continue
		}
		known[edge] = true
		chunk, _ := fields[1].(string)
		m := checkedMention(chunk, fields)
		origin := or(m.origin, id)
		said[origin] = said[origin].merge(m.share())
	}
	return c.described[descriptionID(id, sentencesOf(said))].Text
}

func checkedMention(chunk string, fields []any) mention {
	m := mention{chunk: chunk}
	names, _ := fields[4].([]any)
	for _, item := range names {
		name, _ := item.(string)
		m.names = append(m.names, name)
	}
	m.about, _ = fields[5].(string)
	m.telling, m.score = number(fields[6]), number(fields[7])
	m.count = int(number(fields[8]))
	m.origin, _ = fields[9].(string)
	return m
}

func number(value any) float64 {
	switch v := value.(type) {
	case int64:
		return float64(v)
	case float64:
		return v
	}
	return 0
}

// decodeShare reads what an entity says of itself.
func decodeShare(rows *conn.Rows, i int) share {
	return share{
		kind: rows.String(i, "type"), key: rows.String(i, "key"), name: rows.String(i, "name"), others: rows.Strings(i, "aliases"),
		about: rows.String(i, "about"), common: rows.String(i, "common"), telling: rows.Float(i, "telling"), mentions: rows.Int(i, "mentions"),
		score: rows.Float(i, "score"), chunks: rows.Strings(i, "chunks"), keys: rows.Strings(i, "keys"),
	}
}

// keysOf are the keys of a share's names, that of the one shown first.
func keysOf(s share) []string {
	keys := []string{graph.NameKey(s.name)}
	for _, name := range s.others {
		keys = append(keys, graph.NameKey(name))
	}
	return keys
}

// nameKey is the name key of an entity whose names have these keys. The id tells it,
// also when all that is left is what was merged into the entity, which stands so
// until finalize takes it apart; where the id is a hash of it, any of them may be.
func nameKey(id string, says share, keys []string) string {
	for _, key := range append([]string{says.key}, keys...) {
		if graph.NewEntityID(key, says.kind) == graph.EntityID(id) {
			return key
		}
	}
	if slices.Contains(keys, says.key) {
		return says.key
	}
	return keys[0]
}

func (c *checker) checkLabels(rows *conn.Rows, i int, node int64, id string) {
	kind, labels := rows.String(i, "type"), rows.Strings(i, "labels")
	var wrong []string
	has := false
	for _, label := range labels {
		switch label {
		case "__Entity__":
		case kind:
			has = true
		default:
			wrong = append(wrong, label)
		}
	}
	switch {
	case has && len(wrong) == 0:
		return
	case kind == "", strings.Contains(kind, "`"):
		c.find(nowhere, Finding{Kind: WrongType, ID: id, Detail: fmt.Sprintf("node %d, entity: its type %q can be no label", node, kind), mend: mend{nodes: []int64{node}, twins: []int64{node}}})
		return
	}
	c.find(nowhere, Finding{Kind: EntityLabels, ID: id, Detail: fmt.Sprintf("its type is %s, its labels are %s", kind, strings.Join(labels, ", ")),
		mend: mend{label: kind, unlabel: wrong, labelled: node}})
}

// checkShare compares what an entity says of itself with what its mentions say.
// What it says to be mentioned in, and is not, was lost: those documents are to
// be done again.
func (c *checker) checkShare(rows *conn.Rows, i int, at target, says, is share, chunks map[string]bool) {
	row := differing(entityRow(is), entityRow(says))
	if want := orNull(searchNames(is)); orNull(rows.String(i, "search")) != want && !hasField(row, "search_text") {
		row = append(row, cypher.Field{Name: "search_text", Value: want})
	}
	if len(row) == 0 {
		return
	}
	var fields, lost []string
	for _, field := range row {
		fields = append(fields, field.Name)
	}
	for _, chunk := range says.chunks {
		if !chunks[chunk] {
			lost = append(lost, chunk)
		}
	}
	fix := mend{sets: []setting{{at, row}}, chunks: lost}
	if says.mentions > is.mentions && len(lost) == 0 && len(says.chunks) >= shape.MaxSourceChunks {
		fix.twins = []int64{at.node} // which documents lost a mention cannot be told: all that have one
	}
	if hasField(row, "name") || hasField(row, "description") || hasField(row, "type") {
		fix.sets[0].row = append(fix.sets[0].row, cypher.Field{Name: "embedding_pending", Value: 1})
	}
	c.find(nowhere, Finding{Kind: StaleEntity, ID: rows.String(i, "id"), Detail: "its mentions say otherwise of: " + strings.Join(fields, ", "), mend: fix})
}

func hasField(row cypher.Record, name string) bool {
	return slices.ContainsFunc(row, func(f cypher.Field) bool { return f.Name == name })
}
