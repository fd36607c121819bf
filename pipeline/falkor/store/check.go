package store

import (
	"context"
	"slices"

	"golang.org/x/sync/errgroup"

	"graphmill/pipeline/falkor/conn"
	"graphmill/pipeline/falkor/cypher"
	"graphmill/pipeline/falkor/shape"
	"graphmill/pipeline/graph"
)

// FindingKind is a stable word for one kind of broken invariant.
type FindingKind string

// The kinds of findings, in the order in which they are mended: what others
// depend on first.
const (
	WrongType        FindingKind = "property_type"
	MissingIndex     FindingKind = "missing_index"
	DuplicateID      FindingKind = "duplicate_id"
	StrayNode        FindingKind = "stray_node"
	SharedChunk      FindingKind = "shared_chunk"
	OrphanChunk      FindingKind = "orphan_chunk"
	OrphanSection    FindingKind = "orphan_section"
	DanglingMention  FindingKind = "dangling_mention"
	DoubledMention   FindingKind = "duplicate_mention"
	DoubledRelation  FindingKind = "duplicate_relation"
	UnmentionedThing FindingKind = "entity_without_mention"
	SourcelessFact   FindingKind = "fact_without_source"
	DanglingFact     FindingKind = "dangling_fact"
	EntityLabels     FindingKind = "entity_label"
	WrongNameKey     FindingKind = "name_key"
	StaleEntity      FindingKind = "stale_entity"
	StaleFact        FindingKind = "stale_fact"
	TwoVersions      FindingKind = "two_versions"
	ChunkOrder       FindingKind = "chunk_order"
	ChunkText        FindingKind = "chunk_text"
	MentionSpan      FindingKind = "mention_span"
	FactSpan         FindingKind = "fact_span"
	SectionCover     FindingKind = "section_chunks"
	DocumentCounts   FindingKind = "document_counts"
	VectorLength     FindingKind = "vector_dimension"
	MissingVector    FindingKind = "missing_vector"
	PendingVector    FindingKind = "pending_vector"
	MissingOntology  FindingKind = "missing_ontology"
	WrongCounts      FindingKind = "counts"
)

// FindingKinds lists the kinds in the order in which they are mended.
func FindingKinds() []FindingKind {
	return []FindingKind{
		WrongType, MissingIndex, DuplicateID, StrayNode, SharedChunk, OrphanChunk, OrphanSection, DanglingMention, DoubledMention, DoubledRelation,
		UnmentionedThing, SourcelessFact, DanglingFact, EntityLabels, WrongNameKey, StaleEntity, StaleFact, TwoVersions, ChunkOrder,
		ChunkText, MentionSpan, FactSpan, SectionCover, DocumentCounts, VectorLength, MissingVector, PendingVector, MissingOntology, WrongCounts,
	}
}

// Finding is one broken invariant.
type Finding struct {
	Kind     FindingKind `json:"kind"`
	ID       string      `json:"id"`                 // of what is broken: a document, chunk, section, entity, relation, index
	Document string      `json:"document,omitempty"` // path of the document that it is about
	Detail   string      `json:"detail"`

	mend mend
}

// Checked says how much was looked at.
type Checked struct {
	Documents int `json:"documents"`
	Chunks    int `json:"chunks"`
	Sections  int `json:"sections"`
	Entities  int `json:"entities"`
	Mentions  int `json:"mentions"`
	Relations int `json:"relations"`
}

// CheckResult is what a check found.
type CheckResult struct {
	Graph    string              `json:"graph"`
	Clean    bool                `json:"clean"`
	Checked  Checked             `json:"checked"`
	Found    map[FindingKind]int `json:"found"` // all findings by kind
	Findings []Finding           `json:"findings"`
	// Waiting documents are marked to be done again by the next run; what is wrong
	// with them is no finding.
	Waiting int `json:"waiting"`
	// Changing says that the graph was written to while it was checked, each time
	// that it was tried: findings may be of the change.
	Changing bool `json:"changing,omitempty"`
	// Repaired says what was mended before this check.
	Repaired []Repaired `json:"repaired,omitempty"`
}

// CheckOptions tune a check.
type CheckOptions struct {
	// Embeddable reports whether there is anything to embed of a thing; what has
	// nothing has no vector by right. nil takes everything for embeddable.
	Embeddable func(Pending) bool
	// Most is how many findings of a kind are listed; all are counted. 0 means 100.
	Most int
}

// checkTries is how often a graph that changes meanwhile is checked.
const checkTries = 3

// Check looks for what no sequence of commits can leave behind, with reading
// statements over pages of the graph. Memory is two pages of rows and a few
// numbers for each document. A graph that is written to meanwhile is checked again if
// anything was found.
func (s *Store) Check(ctx context.Context, o CheckOptions) (*CheckResult, error) {
	if o.Most <= 0 {
		o.Most = 100
	}
	for try := 1; ; try++ {
		before, err := s.Meta(ctx)
		if err != nil {
			return nil, err
		}
		c := s.newChecker(o, before)
		if err := c.all(ctx); err != nil {
			// What cannot be read is found by its type, and nothing else is until then.
			if c = s.newChecker(o, before); ctx.Err() != nil || c.checkTypes(ctx) != nil || len(c.result.Found) == 0 {
				return nil, err
			}
		}
		after, err := s.Meta(ctx)
		if err != nil {
			return nil, err
		}
		moved := after.Commits != before.Commits || after.FinalizePending != before.FinalizePending || after.EmbeddingModel != before.EmbeddingModel
		c.result.Clean = len(c.result.Found) == 0
		c.result.Changing = moved && !c.result.Clean
		if !c.result.Changing || try == checkTries {
			return c.result, nil
		}
	}
}

func (s *Store) newChecker(o CheckOptions, meta Meta) *checker {
	return &checker{
		Store: s, o: o, meta: meta, documents: map[int64]*checkedDocument{},
		types:  Counts{EntityTypes: map[string]int{}, RelationTypes: map[string]int{}},
		result: &CheckResult{Graph: s.options.Graph, Found: map[FindingKind]int{}, Findings: []Finding{}},
	}
}

// checkedDocument is what a check keeps of a document.
type checkedDocument struct {
	id, path                    string
	waiting                     bool // for the next run, which will do it again
	chunks, entities, relations int  // as it says itself
	hasEntities, hasRelations   int  // as they stand in the graph
}

type checker struct {
	*Store
	o         CheckOptions
	meta      Meta
	result    *CheckResult
	documents map[int64]*checkedDocument // by the engine's internal id
	types     Counts                     // entities and relations by type
	described map[string]Description     // what models made of entities' sentences, by id
	merged    bool                       // entities of one document may have become one
}

// all runs every part of a check.
func (c *checker) all(ctx context.Context) error {
	for _, part := range []func(context.Context) error{
		c.checkIndexes, c.checkDocuments, c.checkOrder, c.checkChunks, c.checkSections, c.checkEntities, c.checkRelations,
		c.checkStrays, c.checkDocumentCounts, c.checkVectorLengths, c.checkOntology, c.checkCounts,
	} {
		if err := part(ctx); err != nil {
			return err
		}
	}
	slices.SortStableFunc(c.result.Findings, func(a, b Finding) int {
		return slices.Index(FindingKinds(), a.Kind) - slices.Index(FindingKinds(), b.Kind)
	})
	for _, d := range c.documents {
		if d.waiting {
			c.result.Waiting++
		}
	}
	return nil
}

// find notes a finding about a document, unless that waits to be done again. A
// document of 0 is none.
func (c *checker) find(document int64, f Finding) {
	if d := c.documents[document]; d != nil && document >= 0 {
		if d.waiting && f.Kind.marks() {
			return
		}
		f.Document = d.path
	}
	if c.result.Found[f.Kind]++; c.result.Found[f.Kind] <= c.o.Most {
		c.result.Findings = append(c.result.Findings, f)
	}
}

// nowhere is the internal id of no document.
const nowhere = -1

// pages reads a statement over internal ids [$lo, $hi) until there are no more.
func (c *checker) pages(ctx context.Context, last cypher.Statement, size int, statement func(cypher.Params) cypher.Statement, do func(*conn.Rows) error) error {
	rows, err := c.read(ctx, last)
	if err != nil || rows.Len() == 0 || rows.Value(0, "last") == nil {
		return err
	}
	end := rows.Int(0, "last")
	// The engine works on the next page while this one is looked at.
	group, ahead := errgroup.WithContext(ctx)
	pages := make(chan *conn.Rows)
	group.Go(func() error {
		defer close(pages)
		for lo := 0; lo <= end; lo += size {
			rows, err := c.read(ahead, statement(cypher.Params{"lo": lo, "hi": lo + size}))
			if err != nil {
				return err
			}
			select {
			case pages <- rows:
			case <-ahead.Done():
				return context.Cause(ahead)
			}
		}
		return nil
	})
	group.Go(func() error {
		for rows := range pages {
			if err := do(rows); err != nil {
				return err
			}
			if err := rows.Err(); err != nil {
				return c.client.Wrap("check graph "+c.options.Graph, err)
			}
		}
		return nil
	})
	return group.Wait()
}

// vector notes a thing whose vector is missing, or said to be on its way when
// nothing is.
func (c *checker) vector(document int64, bare bool, pending int, p Pending, at target) {
	id := p.ID
	switch {
	case pending != 0 && !c.meta.FinalizePending:
		c.find(document, Finding{Kind: PendingVector, ID: id, Detail: "its vector is marked as pending in a graph that is marked as finalized"})
	case pending == 0 && bare && (c.o.Embeddable == nil || c.o.Embeddable(p)):
		c.find(document, Finding{Kind: MissingVector, ID: id, Detail: "the " + string(p.Kind) + " has no vector and none is pending",
			mend: mend{sets: []setting{{at, cypher.Record{{Name: "embedding_pending", Value: 1}}}}}})
	}
}

// checkIndexes looks for the indexes that a graph of this state has.
func (c *checker) checkIndexes(ctx context.Context) error {
	have, err := shape.ReadIndexes(ctx, c.query, c.options.Graph)
	if err != nil {
		return err
	}
	rows, err := c.read(ctx, cypher.New(`MATCH (n:Document) RETURN n.id AS id LIMIT 1`, nil))
	if err != nil || rows.Len() == 0 {
		return err
	}
	missing := func(label, property, kind string) {
		c.find(nowhere, Finding{Kind: MissingIndex, ID: label + "." + property, Detail: "there is no " + kind + " index"})
	}
	for _, want := range rangeIndexes {
		// A first build that was interrupted has those for later not yet.
		if !hasIndex(have, want.label, want.property, "RANGE") && !(want.later && c.meta.EmbeddingModel == "") {
			missing(want.label, want.property, "RANGE")
		}
	}
	if c.meta.EmbeddingModel == "" || c.meta.FinalizePending {
		return nil // finalize makes the others
	}
	for _, label := range []string{"Chunk", "__Entity__", "RELATES"} {
		index := labelIndex(have, label)
		switch {
		case !index.Has("embedding", "VECTOR"):
			missing(label, "embedding", "VECTOR")
		case index.Dimension != c.meta.Dimension:
			missing(label, "embedding", "VECTOR")
		}
		for _, property := range fulltextProperties[label] {
			if !index.Has(property, "FULLTEXT") {
				missing(label, property, "FULLTEXT")
			}
		}
	}
	return nil
}

// checkOntology looks for the second graph.
func (c *checker) checkOntology(ctx context.Context) error {
	if len(c.documents) == 0 {
		return nil
	}
	ontology, err := c.LoadOntology(ctx)
	if err == nil && len(ontology.Entities) == 0 && len(ontology.Relations) == 0 {
		c.find(nowhere, Finding{Kind: MissingOntology, ID: shape.OntologyGraph(c.options.Graph), Detail: "the graph has documents and no ontology"})
	}
	return err
}

// checkCounts compares the stored counts with what was met.
func (c *checker) checkCounts(ctx context.Context) error {
	stored, err := c.readCounts(ctx)
	if err != nil || stored.Counts == nil || len(c.documents) == 0 {
		return err
	}
	is := c.result.Checked
	wrong := func(what string, stored, found int) {
		if stored != found {
			c.find(nowhere, Finding{Kind: WrongCounts, ID: what, Detail: countsDiffer("stored", stored, found)})
		}
	}
	wrong("documents", stored.Documents, is.Documents)
	wrong("chunks", stored.Chunks, is.Chunks)
	wrong("entities", stored.Entities, is.Entities)
	wrong("relations", stored.Relations, is.Relations)
	if !c.meta.FinalizePending { // only finalize counts these
		wrong("sections", stored.Sections, is.Sections)
		wrong("mentions", stored.Mentions, is.Mentions)
	}
	c.checkTypeCounts(wrong, "entity type ", stored.EntityTypes, c.types.EntityTypes)
	c.checkTypeCounts(wrong, "relation type ", stored.RelationTypes, c.types.RelationTypes)
	return nil
}

func (c *checker) checkTypeCounts(wrong func(string, int, int), what string, stored, found map[string]int) {
	all := map[string]bool{}
	for kind := range stored {
		all[kind] = true
	}
	for kind := range found {
		all[kind] = true
	}
	for _, kind := range sortedKeys(all) {
		wrong(what+kind, stored[kind], found[kind])
	}
}

// runeSlice is text[span] where text begins at code point from; false when the
// span is not within it. ASCII, which most texts are, needs no walk.
func runeSlice(text string, runes []rune, from int, span graph.Span) (string, bool) {
	a, b := span.Start-from, span.End-from
	if runes == nil {
		if a < 0 || b > len(text) || a >= b {
			return "", false
		}
		return text[a:b], true
	}
	if a < 0 || b > len(runes) || a >= b {
		return "", false
	}
	return string(runes[a:b]), true
}

// runesOf is nil for ASCII.
func runesOf(text string) []rune {
	for i := 0; i < len(text); i++ {
		if text[i] >= 0x80 {
			return []rune(text)
		}
	}
	return nil
}
