package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"graphmill/pipeline/falkor/conn"
	"graphmill/pipeline/falkor/cypher"
	"graphmill/pipeline/graph"
)

// CommitRows is how many rows a commit should hold at most where a document lets
// one choose.
const CommitRows = 2000

// Rows is how many nodes and edges the change writes, about.
func (c Change) Rows() int {
	g := c.Graph
	return 1 + 3*len(g.Chunks) + 3*len(g.Sections) + len(g.Entities) + len(g.Mentions) + len(g.Relations)
}

// Commit makes documents stand in the graph as the changes say, all of them in
// one transaction: new ones are added, others replaced. Chunks that did not
// change keep their nodes and vectors; what only the old versions said is gone,
// what other documents support stays. Doing a commit twice is doing it once.
//
// Readers of this graph wait while the engine works it, about 100 ms for 2,000
// rows: a commit should not hold much more than [CommitRows].
//
// Dies anywhere: the graph is as before or as after, see [Store.exec]. Errors:
// what Change.Validate says, ErrNotLocked, ErrLockLost, and a *conn.Error; after
// every error but one of the connection nothing was written.
func (s *Store) Commit(ctx context.Context, changes []Change) error {
	if len(changes) == 0 {
		return nil
	}
	seen := map[string]bool{}
	for _, c := range changes {
		if err := c.Validate(); err != nil {
			return err
		}
		id := string(c.Graph.Document.ID)
		if seen[id] {
			return fmt.Errorf("commit %s: the document stands twice in one commit", c.Graph.Document.Path)
		}
		seen[id] = true
	}
	moved := map[string]bool{}
	for _, c := range changes {
		if id := string(c.Moved); id == "" {
			continue
		} else if seen[id] || moved[id] {
			return fmt.Errorf("commit %s: %s, which it was, is committed too", c.Graph.Document.Path, id)
		} else {
			moved[id] = true
		}
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	if err := s.prepare(ctx); err != nil {
		return err
	}
	return s.serially(ctx, func() error {
		transaction, err := s.plan(ctx, changes, sortedKeys(seen), sortedKeys(moved))
		if err != nil {
			return err
		}
		return s.execTracked(ctx, fmt.Sprintf("commit %s", titles(changes)), transaction, transaction.changes)
	})
}

func titles(changes []Change) string {
	if len(changes) == 1 {
		return changes[0].Graph.Document.Path
	}
	return fmt.Sprintf("%s and %d more", changes[0].Graph.Document.Path, len(changes)-1)
}

// plan reads what stands and says what is to be written. Of the documents that
// moved, the old ones go.
func (s *Store) plan(ctx context.Context, changes []Change, documents, moved []string) (*transaction, error) {
	merged, err := s.merged(ctx)
	if err != nil {
		return nil, err
	}
	added, evidence := map[string]share{}, map[edgeKey][]evidence{}
	touched, edges := map[string]bool{}, map[edgeKey]bool{}
	for _, c := range changes {
		for id, share := range c.shares(merged) {
			added[id] = added[id].merge(share)
			touched[id] = true
		}
		for key, more := range c.edges(merged) {
			evidence[key] = append(evidence[key], more...)
			edges[key] = true
		}
	}
	st, err := s.load(ctx, slices.Concat(documents, moved), touched, edges)
	if err != nil {
		return nil, err
	}
	counts, err := s.loadCounts(ctx)
	if err != nil {
		return nil, err
	}
	t := &transaction{}
	t.begin()
	t.documents(changes)
	t.strip(sortedKeys(st.documents), sortedKeys(st.chunks))
	t.chunks(changes, st)
	gone := leftOver(changes, st)
	t.deleteChunks(gone)
	counts.documents(changes, gone, st)
	moved = slices.DeleteFunc(moved, func(id string) bool { return !st.documents[id] })
	t.deleteDocuments(moved)
	counts.moved(moved)
	t.sections(changes)
	entities, lonely := st.entitiesAfter(added)
	t.entities(entities, st)
	t.mentions(changes, merged)
	counts.entities(entities, lonely, st)
	relations, unsupported := st.edgesAfter(evidence)
	t.relations(relations, st)
	t.deleteRelations(unsupported)
	t.deleteEntities(lonely)
	counts.relations(relations, unsupported, st)
	t.keep(counts)
	if s.tracking != nil {
		t.changes.documents(changes, moved, st)
		t.changes.entities(entities, lonely, st)
		t.changes.relations(relations, unsupported, st)
	}
	return t, nil
}

// leftOver lists the old chunks that are not among the new.
func leftOver(changes []Change, st *standing) []string {
	gone := st.gone()
	for _, c := range changes {
		for _, chunk := range c.Graph.Chunks {
			delete(gone, string(chunk.ID))
		}
	}
	return sortedKeys(gone)
}

// entitiesAfter says what the touched entities are after the commit and which of
// them nothing mentions any more.
func (st *standing) entitiesAfter(added map[string]share) (after map[string]share, lonely []string) {
	after = make(map[string]share, len(added))
	for id, share := range added {
		rest, losing := st.remaining[id]
		if !losing {
			rest = st.entities[id]
		}
		after[id] = rest.merge(share)
	}
	for id, rest := range st.remaining {
		if _, ok := added[id]; ok {
			continue
		}
		if rest.name == "" {
			lonely = append(lonely, id)
		} else {
			after[id] = rest
		}
	}
	return after, smallest(lonely, len(lonely))
}

// edgesAfter says what the touched edges are after the commit and which of them
// have no evidence any more.
func (st *standing) edgesAfter(added map[edgeKey][]evidence) (after []edge, unsupported []edgeKey) {
	gone := st.gone()
	all := map[edgeKey]bool{}
	for key := range added {
		all[key] = true
	}
	for key := range st.edges {
		all[key] = true
	}
	for _, key := range sortedEdgeKeys(all) {
		e := st.edges[key]
		e.source, e.target, e.kind = key.source, key.target, key.kind
		if e = e.with(added[key], gone); len(e.evidence) > 0 {
			after = append(after, e)
		} else {
			unsupported = append(unsupported, key)
		}
	}
	return after, unsupported
}

func compareEdgeKeys(a, b edgeKey) int {
	return cmp.Or(cmp.Compare(a.source, b.source), cmp.Compare(a.target, b.target), cmp.Compare(a.kind, b.kind))
}

// Remove takes documents out of the graph, in one transaction, with everything
// that only they support. Documents that are not there are no error.
//
// Dies anywhere: all of the documents are there or none is.
func (s *Store) Remove(ctx context.Context, ids []graph.DocumentID) error {
	documents := make([]string, len(ids))
	for i, id := range ids {
		documents[i] = string(id)
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	if err := s.prepare(ctx); err != nil {
		return err
	}
	st, err := s.load(ctx, documents, nil, nil)
	if err != nil || len(st.documents) == 0 {
		return err
	}
	counts, err := s.loadCounts(ctx)
	if err != nil {
		return err
	}
	present, gone := sortedKeys(st.documents), sortedKeys(st.chunks)
	t := &transaction{}
	t.begin()
	t.strip(present, nil)
	t.deleteChunks(gone)
	entities, lonely := st.entitiesAfter(nil)
	t.entities(entities, st)
	counts.entities(entities, lonely, st)
	relations, unsupported := st.edgesAfter(nil)
	t.relations(relations, st)
	t.deleteRelations(unsupported)
	t.deleteEntities(lonely)
	counts.relations(relations, unsupported, st)
	t.deleteDocuments(present)
	if counts.Counts != nil {
		counts.Documents -= len(present)
		counts.Chunks -= len(gone)
	}
	t.keep(counts)
	if s.tracking != nil {
		t.changes.documentsGone(present)
		t.changes.entities(entities, lonely, st)
		t.changes.relations(relations, unsupported, st)
	}
	return s.execTracked(ctx, fmt.Sprintf("remove %d documents", len(present)), t, t.changes)
}

// Documents reads what the graph has of every document, by path.
func (s *Store) Documents(ctx context.Context) (map[string]StoredDocument, error) {
	documents := map[string]StoredDocument{}
	after := ""
	for {
		rows, err := s.read(ctx, cypher.New(`MATCH (d:Document) WHERE d.id > $after
WITH d ORDER BY d.id LIMIT 5000
RETURN d.id AS id, d.path AS path, d.status AS status, d.plan AS plan, d.plan_choices AS choices, d.format AS kind, d.size_bytes AS size,
       d.content_hash AS content, d.plan_hash AS plan_hash, d.ontology_hash AS ontology, d.model_hash AS model, d.format_hash AS format,
       d.chunk_count AS chunks, d.entity_count AS entities, d.relation_count AS relations, d.failed_chunks AS failed
ORDER BY id`, cypher.Params{"after": after}))
		if err != nil {
			return nil, err
		}
		for i := range rows.Len() {
			d := decodeDocument(rows, i)
			if d.Path == "" {
				d.Path = string(d.ID) // another program's
			}
			documents[d.Path] = d
			after = string(d.ID)
		}
		if err := rows.Err(); err != nil {
			return nil, s.client.Wrap("read documents of graph "+s.options.Graph, err)
		}
		if rows.Len() == 0 {
			return documents, nil
		}
	}
}

func decodeDocument(rows *conn.Rows, i int) StoredDocument {
	d := StoredDocument{
		ID: graph.DocumentID(rows.String(i, "id")), Path: rows.String(i, "path"), Status: rows.String(i, "status"), Plan: rows.String(i, "plan"), Choices: rows.String(i, "choices"),
		Format: rows.String(i, "kind"), SizeBytes: int64(rows.Int(i, "size")), Chunks: rows.Int(i, "chunks"), Entities: rows.Int(i, "entities"), Relations: rows.Int(i, "relations"),
		FailedChunks: rows.Int(i, "failed"),
	}
	d.Fingerprints = graph.Fingerprints{
		Content: rows.String(i, "content"), Plan: rows.String(i, "plan_hash"), Ontology: rows.String(i, "ontology"),
		Model: rows.String(i, "model"), Format: rows.String(i, "format"),
	}
	return d
}
