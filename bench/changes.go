package main

import (
	"cmp"
	"slices"

	"graphmill/pipeline/falkor/conn"
	"graphmill/pipeline/falkor/store"
	"graphmill/pipeline/graph"
)

// found gathers a graph's rows by document again, so that the store can be given
// what the pipeline gave it.
type found struct {
	order    []graph.DocumentID
	document map[graph.DocumentID]*graph.DocumentGraph
	plan     map[graph.DocumentID]string
	of       map[graph.ChunkID]graph.DocumentID
	section  map[graph.SectionID]*graph.Section
	entity   map[graph.EntityID]graph.Entity
	has      map[graph.DocumentID]map[graph.EntityID]bool
}

func (f *found) addDocument(rows *conn.Rows, i int) {
	if f.document == nil {
		f.document, f.plan = map[graph.DocumentID]*graph.DocumentGraph{}, map[graph.DocumentID]string{}
		f.of, f.section = map[graph.ChunkID]graph.DocumentID{}, map[graph.SectionID]*graph.Section{}
		f.entity, f.has = map[graph.EntityID]graph.Entity{}, map[graph.DocumentID]map[graph.EntityID]bool{}
	}
	d := graph.Document{
		ID: graph.DocumentID(rows.String(i, "id")), Path: rows.String(i, "path"), Folder: rows.String(i, "folder"), Title: rows.String(i, "title"),
		Date: rows.String(i, "date"), Format: rows.String(i, "format"), SizeBytes: int64(rows.Int(i, "size_bytes")), Pages: rows.Int(i, "pages"),
		Status: rows.String(i, "status"),
	}
	d.Fingerprints = graph.Fingerprints{
		Content: rows.String(i, "content_hash"), Plan: rows.String(i, "plan_hash"), Ontology: rows.String(i, "ontology_hash"),
		Model: rows.String(i, "model_hash"), Format: rows.String(i, "format_hash"),
	}
	f.order = append(f.order, d.ID)
	f.document[d.ID] = &graph.DocumentGraph{Document: d}
	f.plan[d.ID] = rows.String(i, "plan")
	f.has[d.ID] = map[graph.EntityID]bool{}
}

func (f *found) addChunk(rows *conn.Rows, i int) {
	d := graph.DocumentID(rows.String(i, "_d"))
	id := graph.ChunkID(rows.String(i, "id"))
	f.of[id] = d
	f.document[d].Chunks = append(f.document[d].Chunks, graph.Chunk{
		ID: id, Index: rows.Int(i, "index"), Text: rows.String(i, "text"), TokenCount: rows.Int(i, "token_count"),
		Span:      graph.Span{Start: rows.Int(i, "start_char"), End: rows.Int(i, "end_char")},
		FirstPage: rows.Int(i, "first_page"), LastPage: rows.Int(i, "last_page"), FirstLine: rows.Int(i, "first_line"), LastLine: rows.Int(i, "last_line"),
		Header: rows.String(i, "context_header"), ContentKey: rows.String(i, "content_key"),
	})
}

func (f *found) addSection(rows *conn.Rows, i int) {
	d := f.document[graph.DocumentID(rows.String(i, "_d"))]
	d.Sections = append(d.Sections, graph.Section{
		ID: graph.SectionID(rows.String(i, "id")), Parent: graph.SectionID(rows.String(i, "_o")), Title: rows.String(i, "title"),
		Depth: rows.Int(i, "depth"), Order: rows.Int(i, "order"),
		Span: graph.Span{Start: rows.Int(i, "start_char"), End: rows.Int(i, "end_char")},
	})
}

func (f *found) addCover(rows *conn.Rows, i int) {
	if len(f.section) == 0 {
		for _, d := range f.document {
			for k := range d.Sections {
				f.section[d.Sections[k].ID] = &d.Sections[k]
			}
		}
	}
	s := f.section[graph.SectionID(rows.String(i, "a"))]
	s.Chunks = append(s.Chunks, graph.ChunkID(rows.String(i, "b")))
}

func (f *found) addEntity(rows *conn.Rows, i int) {
	id := graph.EntityID(rows.String(i, "id"))
	f.entity[id] = graph.Entity{ID: id, Type: rows.String(i, "type"), Name: rows.String(i, "name"), NameKey: rows.String(i, "name_key")}
}

// holds notes that a document has an entity.
func (f *found) holds(d graph.DocumentID, id graph.EntityID) {
	if !f.has[d][id] {
		f.has[d][id] = true
		f.document[d].Entities = append(f.document[d].Entities, f.entity[id])
	}
}

func (f *found) addMention(rows *conn.Rows, i int) error {
	spans, err := decode[[]graph.Span](rows.String(i, "spans"))
	chunk, entity := graph.ChunkID(rows.String(i, "_t")), graph.EntityID(rows.String(i, "_s"))
	d := f.of[chunk]
	f.holds(d, entity)
	f.document[d].Mentions = append(f.document[d].Mentions, graph.EntityMention{
		Entity: entity, Chunk: chunk, Spans: spans, Names: rows.Strings(i, "names"), Score: rows.Float(i, "score"),
		Method: rows.String(i, "method"), Description: rows.String(i, "description"), Telling: rows.Float(i, "telling"),
	})
	return err
}

// addRelation gives each document its own evidence of an edge.
func (f *found) addRelation(rows *conn.Rows, i int) error {
	spans, err := decode[map[graph.ChunkID][]graph.Span](rows.String(i, "spans"))
	chunks, quotes := rows.Strings(i, "source_chunk_ids"), rows.Strings(i, "evidence")
	scores, methods := rows.Floats(i, "evidence_scores"), rows.Strings(i, "evidence_methods")
	parts := map[graph.DocumentID]*graph.Relation{}
	for k, name := range chunks {
		chunk := graph.ChunkID(name)
		d := f.of[chunk]
		if parts[d] == nil {
			parts[d] = &graph.Relation{
				Source: graph.EntityID(rows.String(i, "_s")), Target: graph.EntityID(rows.String(i, "_t")), Type: rows.String(i, "rel_type"),
				SourceName: rows.String(i, "src_name"), TargetName: rows.String(i, "tgt_name"),
			}
		}
		e := graph.RelationEvidence{Chunk: chunk, Quote: quotes[k], Score: scores[k], Method: methods[k]}
		if left := spans[chunk]; len(left) > 0 {
			e.Span, spans[chunk] = left[0], left[1:]
		}
		parts[d].Evidence = append(parts[d].Evidence, e)
	}
	for d, relation := range parts {
		f.document[d].Relations = append(f.document[d].Relations, *relation)
	}
	return err
}

func (f *found) changes() []store.Change {
	var out []store.Change
	for _, id := range f.order {
		d := f.document[id]
		slices.SortFunc(d.Chunks, func(a, b graph.Chunk) int { return cmp.Compare(a.Index, b.Index) })
		out = append(out, store.Change{Graph: *d, Plan: f.plan[id]})
	}
	return out
}
