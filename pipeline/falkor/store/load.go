package store

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"graphmill/pipeline/falkor/conn"
	"graphmill/pipeline/falkor/cypher"
	"graphmill/pipeline/graph"
)

// page is how many ids one reading statement looks up.
const page = 2000

// standing is what the graph has of the documents that a commit replaces or
// removes, and of the entities and edges that it touches.
type standing struct {
	documents map[string]bool              // that are there already
	chunks    map[string]oldChunk          // of those documents
	entities  map[string]share             // that are touched and there
	remaining map[string]share             // of entities that lose mentions: what the others say
	edges     map[edgeKey]edge             // that are touched and there
	stale     map[string]map[string]string // document → content key → chunk that has a vector or waits for one
}

type oldChunk struct {
	document, key string
	pending       bool // waits for its vector
}
type oldEntity struct {
	share share
}

// gone are the chunks whose mentions and evidence no longer count.
func (st *standing) gone() map[string]bool {
	gone := make(map[string]bool, len(st.chunks))
	for id := range st.chunks {
		gone[id] = true
	}
	return gone
}

// load reads what stands. entities and edges are what the new rows touch; what
// the old rows of the documents touched is added.
func (s *Store) load(ctx context.Context, documents []string, entities map[string]bool, edges map[edgeKey]bool) (*standing, error) {
	st := &standing{
		documents: map[string]bool{}, chunks: map[string]oldChunk{}, entities: map[string]share{},
		remaining: map[string]share{}, edges: map[edgeKey]edge{}, stale: map[string]map[string]string{},
	}
	if _, err := s.merged(ctx); err != nil {
		return nil, err
	}
	if err := s.loadChunks(ctx, st, documents); err != nil {
		return nil, err
	}
	wantEntities, wantEdges := cloneSet(entities), cloneSet(edges)
	losing, err := s.loadSupported(ctx, st, wantEntities, wantEdges)
	if err != nil {
		return nil, err
	}
	if err := s.loadEntities(ctx, st, sortedKeys(wantEntities)); err != nil {
		return nil, err
	}
	if err := s.loadRemaining(ctx, st, losing); err != nil {
		return nil, err
	}
	return st, s.loadEdges(ctx, st, wantEdges)
}

// eachPage reads one statement for all ids, page by page, and hands each result
// to do.
func eachPage[T any](ctx context.Context, s *Store, ids []T, statement func(ids []T) cypher.Statement, do func(rows *conn.Rows)) error {
	for part := range slices.Chunk(ids, page) {
		rows, err := s.read(ctx, statement(part))
		if err != nil {
			return err
		}
		do(rows)
		if err := rows.Err(); err != nil {
			return s.client.Wrap("read graph "+s.options.Graph, err)
		}
	}
	return nil
}

func (s *Store) loadChunks(ctx context.Context, st *standing, documents []string) error {
	err := eachPage(ctx, s, documents, whichDocuments, func(rows *conn.Rows) {
		for i := range rows.Len() {
			st.documents[rows.String(i, "id")] = true
		}
	})
	if err != nil || len(st.documents) == 0 {
		return err
	}
	if err := s.endBuilding(ctx); err != nil {
		return err
	}
	return eachPage(ctx, s, sortedKeys(st.documents), chunksOf, func(rows *conn.Rows) {
		for i := range rows.Len() {
			id, document, key := rows.String(i, "id"), rows.String(i, "document"), rows.String(i, "key")
			st.chunks[id] = oldChunk{document: document, key: key, pending: rows.Int(i, "pending") != 0}
			if st.stale[document] == nil {
				st.stale[document] = map[string]string{}
			}
			if have, ok := st.stale[document][key]; !ok || id < have {
				st.stale[document][key] = id
			}
		}
	})
}

// loadSupported finds the entities and edges that the old chunks support, adds
// them to what is wanted, and returns the entities.
func (s *Store) loadSupported(ctx context.Context, st *standing, entities map[string]bool, edges map[edgeKey]bool) ([]string, error) {
	losing := map[string]bool{}
	chunks := sortedKeys(st.chunks)
	err := eachPage(ctx, s, chunks, mentionedIn, func(rows *conn.Rows) {
		for i := range rows.Len() {
			losing[rows.String(i, "id")] = true
			entities[rows.String(i, "id")] = true
		}
	})
	if err != nil {
		return nil, err
	}
	for _, label := range s.edgeLabels() {
		err = errors.Join(err, eachPage(ctx, s, chunks, relatedIn(label), func(rows *conn.Rows) {
			for i := range rows.Len() {
				edges[edgeKey{rows.String(i, "source"), rows.String(i, "target"), rows.String(i, "type")}] = true
			}
		}))
	}
	return sortedKeys(losing), err
}

func (s *Store) loadEntities(ctx context.Context, st *standing, ids []string) error {
	return eachPage(ctx, s, ids, entitiesOf, func(rows *conn.Rows) {
		for i := range rows.Len() {
			st.entities[rows.String(i, "id")] = share{
				kind: rows.String(i, "type"), key: rows.String(i, "key"), name: rows.String(i, "name"), others: rows.Strings(i, "aliases"),
				about: rows.String(i, "about"), common: rows.String(i, "common"), telling: rows.Float(i, "telling"), mentions: rows.Int(i, "mentions"),
				score: rows.Float(i, "score"), chunks: rows.Strings(i, "chunks"), keys: rows.Strings(i, "keys"),
			}
		}
	})
}

// loadRemaining merges what chunks of other documents say of the entities that
// lose mentions.
func (s *Store) loadRemaining(ctx context.Context, st *standing, losing []string) error {
	return eachPage(ctx, s, losing, mentionsOf, func(rows *conn.Rows) {
		for i := range rows.Len() {
			id, chunk := rows.String(i, "entity"), rows.String(i, "chunk")
			rest := st.remaining[id]
			if _, old := st.chunks[chunk]; !old {
				rest = rest.merge(decodeMention(rows, i).share())
			}
			rest.kind, rest.key = st.entities[id].kind, st.entities[id].key
			st.remaining[id] = rest
		}
	})
}

func decodeMention(rows *conn.Rows, i int) mention {
	return mention{
		chunk: rows.String(i, "chunk"), origin: rows.String(i, "origin"), kind: rows.String(i, "origin_type"), names: rows.Strings(i, "names"),
		about: rows.String(i, "about"), telling: rows.Float(i, "telling"), score: rows.Float(i, "score"), count: rows.Int(i, "count"),
	}
}

// loadEdges reads the edges that are there; those with a new end cannot be.
func (s *Store) loadEdges(ctx context.Context, st *standing, wanted map[edgeKey]bool) error {
	keys := map[string][]cypher.Record{}
	for key := range wanted {
		_, source := st.entities[key.source]
		_, target := st.entities[key.target]
		if source && target {
			keys[key.label()] = append(keys[key.label()], cypher.Record{{Name: "s", Value: key.source}, {Name: "t", Value: key.target}, {Name: "r", Value: key.kind}})
		}
	}
	for _, label := range sortedKeys(keys) {
		err := eachPage(ctx, s, keys[label], edgesOf(label), func(rows *conn.Rows) {
			for i := range rows.Len() {
				e := decodeEdge(rows, i)
				st.edges[e.id()] = e
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// decodeEdge reads an edge's evidence. Another program's edge has less of it
// than its chunks; what is missing is empty.
func decodeEdge(rows *conn.Rows, i int) edge {
	e := edge{source: rows.String(i, "source"), target: rows.String(i, "target"), kind: rows.String(i, "type")}
	spans := map[string][]graph.Span{}
	if json.Unmarshal([]byte(rows.String(i, "spans")), &spans) != nil {
		spans = map[string][]graph.Span{}
	}
	quotes, methods, scores := rows.Strings(i, "quotes"), rows.Strings(i, "methods"), rows.Floats(i, "scores")
	sources, targets := rows.Strings(i, "sources"), rows.Strings(i, "targets")
	sourceIDs, targetIDs := rows.Strings(i, "source_ids"), rows.Strings(i, "target_ids")
	chunks := rows.Strings(i, "chunks")
	e.foreign = len(quotes) != len(chunks)
	for k, chunk := range chunks {
		ev := evidence{chunk: chunk, quote: at(quotes, k), method: at(methods, k), score: at(scores, k)}
		ev.sourceName, ev.targetName = at(sources, k), at(targets, k)
		ev.sourceID, ev.targetID = at(sourceIDs, k), at(targetIDs, k)
		if sources == nil {
			ev.sourceName, ev.targetName = rows.String(i, "source_name"), rows.String(i, "target_name")
		}
		if len(spans[chunk]) > 0 {
			ev.span, spans[chunk] = spans[chunk][0], spans[chunk][1:]
		}
		e.evidence = append(e.evidence, ev)
	}
	return e
}

func at[T any](list []T, i int) T {
	if i < len(list) {
		return list[i]
	}
	var zero T
	return zero
}

func cloneSet[K comparable](set map[K]bool) map[K]bool {
	out := make(map[K]bool, len(set))
	for key := range set {
		out[key] = true
	}
	return out
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
