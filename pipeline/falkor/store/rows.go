package store

import (
	"encoding/json"
	"slices"

	"graphmill/pipeline/falkor/cypher"
	"graphmill/pipeline/falkor/fulltext"
	"graphmill/pipeline/graph"
)

// transaction collects the statements of a commit, which become one.
type transaction struct {
	statements []cypher.Statement
	changes    alterations // for the record of the run
	counts     kept        // that it leaves, where it changes them
}

// add appends a statement over rows; none when there are no rows.
func (t *transaction) add(rows int, statement cypher.Statement) {
	if rows > 0 {
		t.statements = append(t.statements, statement)
	}
}

// begin writes that rows change: whoever comes after sees the graph as not
// finalized, and who reads in several statements that they are not of one state.
func (t *transaction) begin() {
	t.add(1, cypher.New(`MATCH (m:__Meta__ {id: 'default'}) SET m.finalize = 'pending', m.commits = coalesce(m.commits, 0) + 1`, nil))
}

func over[T any](name string, rows []T) cypher.Params { return cypher.Params{name: rows} }

// documents writes the documents' own nodes.
func (t *transaction) documents(changes []Change) {
	rows := make([]cypher.Record, len(changes))
	for i, c := range changes {
		rows[i] = cypher.Record{{Name: "id", Value: c.Graph.Document.ID}, {Name: "p", Value: documentRow(c)}}
	}
	t.add(len(rows), cypher.New(`UNWIND $rows AS row MERGE (d:Document {id: row.id}) SET d += row.p`, over("rows", rows)))
}

// strip takes away what the documents' old version says: its place among the
// chunks, its sections, and what its chunks mention. The chunks stay, so that
// vectors can be taken over.
func (t *transaction) strip(documents, chunks []string) {
	t.add(len(documents), cypher.New(`UNWIND $ids AS id MATCH (d:Document {id: id})-[r:PART_OF]->(:Chunk) DELETE r`, over("ids", documents)))
	t.add(len(documents), cypher.New(`UNWIND $ids AS id MATCH (d:Document {id: id})-[:HAS_SECTION]->(s:__Section__) DETACH DELETE s`, over("ids", documents)))
	t.add(len(chunks), cypher.New(`UNWIND $ids AS id MATCH (c:Chunk {id: id})<-[r:MENTIONED_IN]-(:__Entity__) DELETE r`, over("ids", chunks)))
	t.add(len(chunks), cypher.New(`UNWIND $ids AS id MATCH (c:Chunk {id: id})-[r:NEXT_CHUNK]->(:Chunk) DELETE r`, over("ids", chunks)))
}

// chunks writes the documents' chunks in their places. A chunk that was there
// keeps its node and its vector; one that only moved within its document takes
// the vector of the chunk it was.
func (t *transaction) chunks(changes []Change, st *standing) {
	var rows, moved, next []cypher.Record
	for _, c := range changes {
		document := string(c.Graph.Document.ID)
		for i, chunk := range c.Graph.Chunks {
			id := string(chunk.ID)
			old, stood := st.chunks[id]
			twin := st.stale[document][chunk.ContentKey]
			if twin == "" {
				twin = st.stale[string(c.Moved)][chunk.ContentKey]
			}
			row := chunkRow(chunk)
			switch {
			case stood && old.key == chunk.ContentKey:
			case twin != "" && !st.chunks[twin].pending:
				moved = append(moved, cypher.Record{{Name: "from", Value: twin}, {Name: "to", Value: id}})
				row = append(row, cypher.Field{Name: "embedding_pending", Value: nil})
			default:
				row = append(row, cypher.Field{Name: "embedding_pending", Value: 1})
			}
			rows = append(rows, cypher.Record{{Name: "d", Value: document}, {Name: "id", Value: id}, {Name: "i", Value: chunk.Index}, {Name: "p", Value: row}})
			if i > 0 {
				next = append(next, cypher.Record{{Name: "a", Value: c.Graph.Chunks[i-1].ID}, {Name: "b", Value: id}})
			}
		}
	}
	t.add(len(rows), cypher.New(`UNWIND $rows AS row MATCH (d:Document {id: row.d})
MERGE (c:Chunk {id: row.id}) SET c += row.p CREATE (d)-[:PART_OF {index: row.i}]->(c)`, over("rows", rows)))
	t.add(len(moved), cypher.New(`UNWIND $rows AS row MATCH (o:Chunk {id: row.from}) MATCH (c:Chunk {id: row.to})
SET c.embedding = o.embedding`, over("rows", moved)))
	t.add(len(next), cypher.New(`UNWIND $rows AS row MATCH (a:Chunk {id: row.a}) MATCH (b:Chunk {id: row.b})
CREATE (a)-[:NEXT_CHUNK]->(b)`, over("rows", next)))
}

func chunkRow(c graph.Chunk) cypher.Record {
	return cypher.Record{
		{Name: "text", Value: c.Text},
		{Name: "index", Value: c.Index},
		{Name: "token_count", Value: c.TokenCount},
		{Name: "start_char", Value: c.Span.Start},
		{Name: "end_char", Value: c.Span.End},
		{Name: "first_page", Value: c.FirstPage},
		{Name: "last_page", Value: c.LastPage},
		{Name: "first_line", Value: c.FirstLine},
		{Name: "last_line", Value: c.LastLine},
		{Name: "context_header", Value: c.Header},
		{Name: "context", Value: orNull(c.Context)},
		{Name: "content_key", Value: c.ContentKey},
		{Name: "search_text", Value: orNull(fulltext.Extra(c.Header + "\n" + c.Text))},
	}
}

// orNull leaves a property out where it would be empty.
func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// orNone leaves a number out where it would be 0.
func orNone(n int) any {
	if n == 0 {
		return nil
	}
	return n
}

func (t *transaction) deleteChunks(ids []string) {
	t.add(len(ids), cypher.New(`UNWIND $ids AS id MATCH (c:Chunk {id: id}) DETACH DELETE c`, over("ids", ids)))
}

func (t *transaction) sections(changes []Change) {
	var rows, parents, covers []cypher.Record
	for _, c := range changes {
		for _, s := range c.Graph.Sections {
			rows = append(rows, cypher.Record{{Name: "d", Value: c.Graph.Document.ID}, {Name: "p", Value: cypher.Record{
				{Name: "id", Value: s.ID}, {Name: "title", Value: s.Title}, {Name: "depth", Value: s.Depth}, {Name: "order", Value: s.Order},
				{Name: "start_char", Value: s.Span.Start}, {Name: "end_char", Value: s.Span.End},
			}}})
			if s.Parent != "" {
				parents = append(parents, cypher.Record{{Name: "a", Value: s.ID}, {Name: "b", Value: s.Parent}})
			}
			for _, chunk := range s.Chunks {
				covers = append(covers, cypher.Record{{Name: "a", Value: s.ID}, {Name: "b", Value: chunk}})
			}
		}
	}
	t.add(len(rows), cypher.New(`UNWIND $rows AS row MATCH (d:Document {id: row.d})
CREATE (d)-[:HAS_SECTION]->(s:__Section__) SET s = row.p`, over("rows", rows)))
	t.add(len(parents), cypher.New(`UNWIND $rows AS row MATCH (a:__Section__ {id: row.a}) MATCH (b:__Section__ {id: row.b})
CREATE (a)-[:PARENT]->(b)`, over("rows", parents)))
	t.add(len(covers), cypher.New(`UNWIND $rows AS row MATCH (a:__Section__ {id: row.a}) MATCH (b:Chunk {id: row.b})
CREATE (a)-[:COVERS]->(b)`, over("rows", covers)))
}

// entities writes entities as they are after the commit: new ones whole, one
// statement a type, of others what changed.
func (t *transaction) entities(after map[string]share, st *standing) {
	created, retyped := map[string][]cypher.Record{}, map[[2]string][]string{}
	var changed []cypher.Record
	for _, id := range sortedKeys(after) {
		s := after[id]
		row := entityRow(s)
		old, stood := st.entities[id]
		if !stood {
			row = append(row, cypher.Field{Name: "id", Value: id}, cypher.Field{Name: "embedding_pending", Value: 1})
			created[s.kind] = append(created[s.kind], row)
			continue
		}
		row = differing(row, entityRow(old))
		if old.name != s.name || old.described() != s.described() || old.kind != s.kind {
			row = append(row, cypher.Field{Name: "embedding_pending", Value: 1})
		}
		if len(row) > 0 {
			changed = append(changed, cypher.Record{{Name: "id", Value: id}, {Name: "p", Value: row}})
		}
		if old.kind != s.kind && old.kind != "" {
			pair := [2]string{old.kind, s.kind}
			retyped[pair] = append(retyped[pair], id)
		}
	}
	for _, kind := range sortedKeys(created) {
		t.add(len(created[kind]), cypher.New(`UNWIND $rows AS row CREATE (e:__Entity__:«type») SET e = row`,
			over("rows", created[kind])).WithLabel("type", kind))
	}
	t.add(len(changed), cypher.New(`UNWIND $rows AS row MATCH (e:__Entity__ {id: row.id}) SET e += row.p`, over("rows", changed)))
	// Two spellings of a type that differ in case share their ids.
	for pair, ids := range retyped {
		t.add(len(ids), cypher.New(`UNWIND $ids AS id MATCH (e:__Entity__ {id: id}) SET e:«type» REMOVE e:«former»`,
			over("ids", ids)).WithLabel("former", pair[0]).WithLabel("type", pair[1]))
	}
}

func entityRow(s share) cypher.Record {
	return cypher.Record{
		{Name: "name", Value: s.name},
		{Name: "name_key", Value: s.key},
		{Name: "type", Value: s.kind},
		{Name: "aliases", Value: s.others},
		{Name: "description", Value: s.described()},
		{Name: "sentence", Value: sentenceOf(s)},
		{Name: "telling", Value: s.telling},
		{Name: "mention_count", Value: s.mentions},
		{Name: "score", Value: s.score},
		{Name: "source_chunk_ids", Value: s.chunks},
		{Name: "search_text", Value: orNull(searchNames(s))},
		{Name: "alias_keys", Value: otherKeys(s)},
	}
}

// otherKeys are the name keys by which an entity is found beside its own; nil,
// which leaves the property out, of one that nothing was merged into.
func otherKeys(s share) any {
	keys := slices.DeleteFunc(slices.Clone(s.keys), func(key string) bool { return key == s.key || key == "" })
	if len(keys) == 0 {
		return nil
	}
	return keys
}

// differing keeps the fields whose values differ from old's. The engine indexes
// a node again for whatever is set on it. Both records have the same fields.
func differing(row, old cypher.Record) cypher.Record {
	kept := row[:0]
	for i, field := range row {
		was, is := old[i].Value, field.Value
		list, isList := is.([]string)
		before, wasList := was.([]string)
		same := isList && wasList && slices.Equal(list, before) || !isList && !wasList && was == is
		if !same {
			kept = append(kept, field)
		}
	}
	return kept
}

// searchNames are an entity's words for the full-text index beyond its name and
// description: its aliases, and what the index would not find by itself.
func searchNames(s share) string {
	text := ""
	for _, alias := range s.others {
		text += alias + " "
	}
	return text + fulltext.Extra(s.name+"\n"+text+"\n"+s.described())
}

func (t *transaction) mentions(changes []Change, merged targets) {
	var rows []cypher.Record
	for _, c := range changes {
		kinds := map[graph.EntityID]string{}
		for _, e := range c.Graph.Entities {
			kinds[e.ID] = e.Type
		}
		for _, m := range c.Graph.Mentions {
			stored := storedMention(m)
			id, moved := merged.of(string(m.Entity))
			var origin, kind any
			if moved {
				origin, kind = m.Entity, kinds[m.Entity]
			}
			rows = append(rows, cypher.Record{{Name: "e", Value: id}, {Name: "c", Value: m.Chunk}, {Name: "p", Value: cypher.Record{
				{Name: "spans", Value: spansText(m.Spans)},
				{Name: "names", Value: stored.names},
				{Name: "count", Value: stored.count},
				{Name: "score", Value: stored.score},
				{Name: "method", Value: m.Method},
				{Name: "description", Value: stored.about},
				{Name: "telling", Value: stored.telling},
				{Name: "origin", Value: origin},
				{Name: "origin_type", Value: kind},
			}}})
		}
	}
	t.add(len(rows), cypher.New(`UNWIND $rows AS row MATCH (e:__Entity__ {id: row.e}) MATCH (c:Chunk {id: row.c})
CREATE (e)-[m:MENTIONED_IN]->(c) SET m = row.p`, over("rows", rows)))
}

// spansText is the JSON text [{start, end}, …].
func spansText(spans []graph.Span) string {
	if len(spans) == 0 {
		return "[]"
	}
	text, err := json.Marshal(spans)
	if err != nil {
		return "[]" // two integers always marshal
	}
	return string(text)
}

// relations writes edges as they are after the commit: new ones whole, of others
// what changed.
func (t *transaction) relations(after []edge, st *standing) {
	created, changed := map[string][]cypher.Record{}, map[string][]cypher.Record{}
	for _, e := range after {
		label := e.id().label()
		ends := cypher.Record{{Name: "s", Value: e.source}, {Name: "t", Value: e.target}}
		row := edgeRow(e)
		old, stood := st.edges[e.id()]
		if !stood {
			row = append(row, cypher.Field{Name: "rel_type", Value: e.kind})
			if !e.id().within() {
				row = append(row, cypher.Field{Name: "embedding_pending", Value: 1})
			}
			created[label] = append(created[label], append(ends, cypher.Field{Name: "p", Value: row}))
			continue
		}
		// An edge that another program wrote may say what its evidence does not.
		if !old.foreign && slices.Equal(old.evidence, e.evidence) {
			continue
		}
		if (old.foreign || old.statement().fact(e.kind) != e.statement().fact(e.kind)) && !e.id().within() {
			row = append(row, cypher.Field{Name: "embedding_pending", Value: 1})
		}
		changed[label] = append(changed[label], append(ends, cypher.Field{Name: "r", Value: e.kind}, cypher.Field{Name: "p", Value: row}))
	}
	for _, label := range edgeLabels {
		t.add(len(created[label]), cypher.New(`UNWIND $rows AS row MATCH (s:__Entity__ {id: row.s}) MATCH (t:__Entity__ {id: row.t})
CREATE (s)-[r:«label»]->(t) SET r = row.p`, over("rows", created[label])).WithLabel("label", label))
		// Without the WITH the planner would walk all edges of one end, and hubs have
		// many.
		t.add(len(changed[label]), cypher.New(`UNWIND $rows AS row MATCH (s:__Entity__ {id: row.s}) MATCH (t:__Entity__ {id: row.t})
WITH row, s, t MATCH (s)-[r:«label» {rel_type: row.r}]->(t) SET r += row.p`, over("rows", changed[label])).WithLabel("label", label))
	}
}

// edgeRow lists an edge's properties. The names that documents use for its ends
// are kept only where they differ among the evidence.
func edgeRow(e edge) cypher.Record {
	n := len(e.evidence)
	said := e.statement()
	chunks, quotes, methods := make([]string, n), make([]string, n), make([]string, n)
	sources, targets, scores := make([]string, n), make([]string, n), make([]float64, n)
	sourceIDs, targetIDs := make([]string, n), make([]string, n)
	mixed, merged := false, false
	for i, ev := range e.evidence {
		chunks[i], quotes[i], methods[i] = ev.chunk, ev.quote, ev.method
		sources[i], targets[i], scores[i] = ev.sourceName, ev.targetName, ev.score
		sourceIDs[i], targetIDs[i] = ev.sourceID, ev.targetID
		merged = merged || ev.sourceID != "" || ev.targetID != ""
		mixed = mixed || ev.sourceName != said.sourceName || ev.targetName != said.targetName
	}
	row := cypher.Record{
		{Name: "fact", Value: said.fact(e.kind)},
		{Name: "description", Value: said.about},
		{Name: "src_name", Value: said.sourceName},
		{Name: "tgt_name", Value: said.targetName},
		{Name: "score", Value: said.score},
		{Name: "source_chunk_ids", Value: chunks},
		{Name: "spans", Value: e.spans()},
		{Name: "evidence", Value: quotes},
		{Name: "evidence_scores", Value: scores},
		{Name: "evidence_methods", Value: methods},
		{Name: "evidence_src_names", Value: nil},
		{Name: "evidence_tgt_names", Value: nil},
		{Name: "evidence_src_ids", Value: nil},
		{Name: "evidence_tgt_ids", Value: nil},
	}
	if merged {
		row[12].Value, row[13].Value = sourceIDs, targetIDs
	}
	if mixed {
		row[10].Value, row[11].Value = sources, targets
	}
	return row
}

func (t *transaction) deleteRelations(keys []edgeKey) {
	rows := map[string][]cypher.Record{}
	for _, key := range keys {
		rows[key.label()] = append(rows[key.label()], cypher.Record{{Name: "s", Value: key.source}, {Name: "t", Value: key.target}, {Name: "r", Value: key.kind}})
	}
	for _, label := range edgeLabels {
		t.add(len(rows[label]), cypher.New(`UNWIND $rows AS row MATCH (s:__Entity__ {id: row.s}) MATCH (t:__Entity__ {id: row.t})
WITH row, s, t MATCH (s)-[r:«label» {rel_type: row.r}]->(t) DELETE r`, over("rows", rows[label])).WithLabel("label", label))
	}
}

func (t *transaction) deleteEntities(ids []string) {
	t.add(len(ids), cypher.New(`UNWIND $ids AS id MATCH (e:__Entity__ {id: id}) DETACH DELETE e`, over("ids", ids)))
}

func (t *transaction) deleteDocuments(ids []string) {
	t.add(len(ids), cypher.New(`UNWIND $ids AS id MATCH (d:Document {id: id}) DETACH DELETE d`, over("ids", ids)))
}

func documentRow(c Change) cypher.Record {
	d := c.Graph.Document
	metadata := "{}"
	if text, err := json.Marshal(d.Metadata); err == nil && len(d.Metadata) > 0 {
		metadata = string(text)
	}
	return cypher.Record{
		{Name: "path", Value: d.Path},
		{Name: "folder", Value: d.Folder},
		{Name: "title", Value: d.Title},
		{Name: "date", Value: d.Date},
		{Name: "format", Value: d.Format},
		{Name: "size_bytes", Value: d.SizeBytes},
		{Name: "pages", Value: d.Pages},
		{Name: "metadata", Value: metadata},
		{Name: "status", Value: d.Status},
		{Name: "plan", Value: c.Plan},
		{Name: "plan_choices", Value: orNull(c.Choices)},
		{Name: "resolver", Value: orNull(c.Resolver)},
		{Name: "max_llm_pairs", Value: orNone(c.MaxPairs)},
		{Name: "chunk_count", Value: len(c.Graph.Chunks)},
		{Name: "entity_count", Value: len(c.Graph.Entities)},
		{Name: "relation_count", Value: len(c.Graph.Relations)},
		{Name: "failed_chunks", Value: orNone(d.FailedChunks)},
		{Name: "content_hash", Value: d.Fingerprints.Content},
		{Name: "plan_hash", Value: d.Fingerprints.Plan},
		{Name: "ontology_hash", Value: d.Fingerprints.Ontology},
		{Name: "model_hash", Value: d.Fingerprints.Model},
		{Name: "format_hash", Value: d.Fingerprints.Format},
	}
}

func sortedEdgeKeys[V any](m map[edgeKey]V) []edgeKey {
	keys := make([]edgeKey, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, compareEdgeKeys)
	return keys
}
