package store

import (
	"context"
	"fmt"
	"slices"

	"graphmill/pipeline/falkor/cypher"
)

// mend is what puts a finding right: what is to be deleted and set, by the
// engine's internal ids, and which documents the next run must do again. The ids
// hold as long as nothing else is deleted: each round of repairs begins with a
// new check.
type mend struct {
	nodes    []int64   // to be deleted, with their edges
	edges    []edgeRef // to be deleted
	sets     []setting
	marks    []int64  // documents to be done again
	chunks   []string // whose documents are to be done again
	twins    []int64  // entities or chunks whose documents are to be done again
	unsaid   []int64  // entities of whose relations the documents are
	unvector []int64  // nodes whose vector is of no use
	unfacts  []int64  // nodes with relations whose vectors are of no use
	labelled int64    // whose labels become __Entity__ and label
	label    string
	unlabel  []string
}

// edgeRef finds an edge without a walk over all of them.
type edgeRef struct{ from, edge int64 }

// target is a node, or an edge and the node that it starts from.
type target struct {
	node, edge int64
	isEdge     bool
}

type setting struct {
	at  target
	row cypher.Record
}

// done says what a repair of each kind does.
var done = map[FindingKind]string{
	WrongType: "taken away, or the thing with them, its documents marked", MissingIndex: "made", DuplicateID: "all but the oldest deleted, its documents marked", StrayNode: "deleted", SharedChunk: "deleted, its documents marked",
	OrphanChunk: "deleted", OrphanSection: "deleted, its documents marked", DanglingMention: "deleted", DoubledMention: "all but one deleted, its document marked",
	DoubledRelation: "all but one deleted, its documents marked", UnmentionedThing: "deleted, the documents it came from marked",
	SourcelessFact: "deleted, its documents marked", DanglingFact: "the evidence that is gone taken out", EntityLabels: "set", WrongNameKey: "set",
	StaleEntity: "computed anew", StaleFact: "computed anew, its documents marked", VectorLength: "dropped, to be made by the next finalize",
	MissingVector: "to be made by the next finalize", PendingVector: "to be made by the next finalize", WrongCounts: "counted anew",
	TwoVersions: marked, ChunkOrder: marked, ChunkText: marked, MentionSpan: marked, FactSpan: marked, SectionCover: marked, DocumentCounts: marked,
	MissingOntology: "stored anew",
}

const marked = "document marked, to be done again by the next run"

// marks reports whether all that can be done about a finding is to have its
// document done again.
func (k FindingKind) marks() bool { return done[k] == marked }

// Repaired is what a repair did about findings of one kind.
type Repaired struct {
	Kind  FindingKind `json:"kind"`
	Count int         `json:"count"`
	Did   string      `json:"did"`
}

// repairRounds bounds a repair: mending one thing may bring another to light, and
// each kind is met once.
const repairRounds = 64

// repairEach is how many findings of a kind one statement mends.
const repairEach = 500

// Repair mends what a check finds, kind by kind, what others depend on first, and
// returns the check after it, with what it did. What cannot be computed from the
// graph is taken from the documents again: they are marked, readers see them as
// they are, and the next run does them again. saveOntology is asked for an
// ontology when there is none.
//
// Dies anywhere: each statement mends its findings or does not; the next repair
// finds what is left.
func (s *Store) Repair(ctx context.Context, o CheckOptions, saveOntology func(context.Context) error) (*CheckResult, error) {
	o.Most = repairEach
	repaired := []Repaired{}
	for round := 1; ; round++ {
		result, err := s.Check(ctx, o)
		if err != nil {
			return nil, err
		}
		if result.Repaired = repaired; result.Clean || round > repairRounds {
			return result, nil
		}
		kind := result.Findings[0].Kind // they are in the order of mending
		var findings []Finding
		for _, f := range result.Findings {
			if f.Kind == kind {
				findings = append(findings, f)
			}
		}
		if err := s.mend(ctx, kind, findings, saveOntology); err != nil {
			return result, fmt.Errorf("repair %s: %w", kind, err)
		}
		if n := len(repaired); n > 0 && repaired[n-1].Kind == kind {
			repaired[n-1].Count += len(findings)
		} else {
			repaired = append(repaired, Repaired{Kind: kind, Count: len(findings), Did: done[kind]})
		}
	}
}

func (s *Store) mend(ctx context.Context, kind FindingKind, findings []Finding, saveOntology func(context.Context) error) error {
	switch kind {
	case MissingOntology:
		return saveOntology(ctx)
	case MissingIndex:
		return s.mendIndexes(ctx)
	case WrongCounts:
		return s.mendCounts(ctx)
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	if err := s.prepare(ctx); err != nil {
		return err
	}
	all := mend{}
	var labels []mend
	for _, f := range findings {
		all.nodes = append(all.nodes, f.mend.nodes...)
		all.edges = append(all.edges, f.mend.edges...)
		all.sets = append(all.sets, f.mend.sets...)
		all.marks = append(all.marks, f.mend.marks...)
		all.chunks = append(all.chunks, f.mend.chunks...)
		all.twins = append(all.twins, f.mend.twins...)
		all.unsaid = append(all.unsaid, f.mend.unsaid...)
		all.unvector = append(all.unvector, f.mend.unvector...)
		all.unfacts = append(all.unfacts, f.mend.unfacts...)
		if f.mend.label != "" {
			labels = append(labels, f.mend)
		}
	}
	t := &transaction{}
	t.begin()
	t.markAgain(all)
	t.mendRows(all)
	for _, m := range labels {
		t.relabel(m)
	}
	return s.exec(ctx, "repair", t.statements...)
}

// markAgain takes the fingerprint of content from documents, whose next run then
// finds them new. It comes first: what is deleted later leads to them.
func (t *transaction) markAgain(m mend) {
	t.add(len(m.marks), cypher.New(`UNWIND $ids AS id MATCH (d:Document) WHERE ID(d) = id SET d.content_hash = NULL`, over("ids", m.marks)))
	t.add(len(m.chunks), cypher.New(`UNWIND $ids AS id MATCH (c:Chunk {id: id})<-[:PART_OF]-(d:Document) SET d.content_hash = NULL`, over("ids", m.chunks)))
	t.add(len(m.twins), cypher.New(`UNWIND $ids AS id MATCH (n) WHERE ID(n) = id MATCH (n)-[:MENTIONED_IN]->(:Chunk)<-[:PART_OF]-(d:Document)
SET d.content_hash = NULL`, over("ids", m.twins)))
	t.add(len(m.twins), cypher.New(`UNWIND $ids AS id MATCH (n) WHERE ID(n) = id MATCH (n)<-[:PART_OF|HAS_SECTION]-(d:Document) SET d.content_hash = NULL`, over("ids", m.twins)))
	related := append(slices.Clone(m.unsaid), m.twins...)
	t.add(len(related), cypher.New(`UNWIND $ids AS id MATCH (n) WHERE ID(n) = id MATCH (n)-[r:RELATES]-() UNWIND r.source_chunk_ids AS chunk
MATCH (c:Chunk {id: chunk})<-[:PART_OF]-(d:Document) SET d.content_hash = NULL`, over("ids", related)))
}

func (t *transaction) mendRows(m mend) {
	edges := make([]cypher.Record, len(m.edges))
	for i, e := range m.edges {
		edges[i] = cypher.Record{{Name: "s", Value: e.from}, {Name: "e", Value: e.edge}}
	}
	t.add(len(edges), cypher.New(`UNWIND $rows AS row MATCH (s) WHERE ID(s) = row.s MATCH (s)-[r]->() WHERE ID(r) = row.e DELETE r`, over("rows", edges)))
	var nodeSets, edgeSets []cypher.Record
	for _, set := range m.sets {
		row := cypher.Record{{Name: "s", Value: set.at.node}, {Name: "e", Value: set.at.edge}, {Name: "p", Value: set.row}}
		if set.at.isEdge {
			edgeSets = append(edgeSets, row)
		} else {
			nodeSets = append(nodeSets, row)
		}
	}
	t.add(len(nodeSets), cypher.New(`UNWIND $rows AS row MATCH (n) WHERE ID(n) = row.s SET n += row.p`, over("rows", nodeSets)))
	t.add(len(edgeSets), cypher.New(`UNWIND $rows AS row MATCH (s) WHERE ID(s) = row.s MATCH (s)-[r]->() WHERE ID(r) = row.e SET r += row.p`, over("rows", edgeSets)))
	t.add(len(m.unfacts), cypher.New(`UNWIND $ids AS id MATCH (n) WHERE ID(n) = id MATCH (n)-[r:RELATES]->() SET r.embedding = NULL, r.embedding_pending = 1`, over("ids", m.unfacts)))
	t.add(len(m.unvector), cypher.New(`UNWIND $ids AS id MATCH (n) WHERE ID(n) = id SET n.embedding = NULL, n.embedding_pending = 1`, over("ids", m.unvector)))
	t.add(len(m.nodes), cypher.New(`UNWIND $ids AS id MATCH (n) WHERE ID(n) = id DETACH DELETE n`, over("ids", m.nodes)))
}

func (t *transaction) relabel(m mend) {
	params := cypher.Params{"id": m.labelled}
	for _, label := range m.unlabel {
		t.add(1, cypher.New(`MATCH (n:__Entity__) WHERE ID(n) = $id REMOVE n:«label»`, params).WithLabel("label", label))
	}
	t.add(1, cypher.New(`MATCH (n:__Entity__) WHERE ID(n) = $id SET n:«label»`, params).WithLabel("label", m.label))
}

// mendIndexes makes what is missing, as the next holder and finalize would.
func (s *Store) mendIndexes(ctx context.Context) error {
	meta, err := s.Meta(ctx)
	if err != nil {
		return err
	}
	s.writing.Lock()
	if lock := s.held(); lock != nil {
		lock.prepared = false // it looks again
	}
	if err = s.prepare(ctx); err == nil {
		err = s.endBuilding(ctx)
	}
	s.writing.Unlock()
	if err != nil || meta.EmbeddingModel == "" {
		return err
	}
	return s.EnsureIndexes(ctx, IndexOptions{Model: meta.EmbeddingModel, Dimension: meta.Dimension})
}

// mendCounts counts the graph.
func (s *Store) mendCounts(ctx context.Context) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	if err := s.prepare(ctx); err != nil {
		return err
	}
	counts, err := s.count(ctx)
	if err != nil {
		return err
	}
	t := &transaction{}
	t.keep(kept{&counts})
	return s.exec(ctx, "count", t.statements...)
}
