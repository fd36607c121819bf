// Package suggest proposes an ontology for a corpus from samples of its files:
// types with examples and counts, for a person to keep, rename or strike. It
// owns what speaks for a type, how a model is asked for it and how that is
// written; it opens no file and no store.
package suggest

import (
	"cmp"
	"slices"
	"strings"

	"graphmill/pipeline/graph"
	"graphmill/pipeline/ontology"
)

// Sample is a piece of a file.
type Sample struct {
	Path string
	Text string
}

// Suggestion is a proposed ontology with what speaks for each type, the most
// frequent types first.
type Suggestion struct {
	Samples   int        `json:"samples"`
	Entities  []Entity   `json:"entities"`
	Relations []Relation `json:"relations"`
}

// Entity is a proposed entity type.
type Entity struct {
	Type     graph.EntityType `json:"type"`
	Mentions int              `json:"mentions"`
	Names    int              `json:"names"` // different ones
	Files    int              `json:"files"`
	Examples []string         `json:"examples"`
	// Doubtful types were seen too rarely to be proposed.
	Doubtful bool `json:"doubtful,omitempty"`
}

// Relation is a proposed relation type.
type Relation struct {
	Type     graph.RelationType `json:"type"`
	Facts    int                `json:"facts"`
	Files    int                `json:"files"`
	Pairs    []Pair             `json:"pairs"` // those of Type.Patterns, the most frequent first
	Doubtful bool               `json:"doubtful,omitempty"`
}

// Pair is a pair of entity types that a relation joins.
type Pair struct {
	Source  string `json:"source"`
	Target  string `json:"target"`
	Facts   int    `json:"facts"`
	Example string `json:"example"` // "(Ada Lovelace, KNOWS, Charles Babbage): the sentence"
}

// Ontology is what is proposed without doubt. It is valid.
func (s *Suggestion) Ontology() *graph.Ontology {
	o := &graph.Ontology{}
	for _, e := range s.Entities {
		if !e.Doubtful {
			o.Entities = append(o.Entities, e.Type)
		}
	}
	for _, r := range s.Relations {
		if !r.Doubtful {
			o.Relations = append(o.Relations, r.Type)
		}
	}
	return o.Canonical()
}

// sort puts what is proposed before what is doubtful, and the frequent first.
func (s *Suggestion) sort() {
	doubt := func(d bool) int {
		if d {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(s.Entities, func(a, b Entity) int {
		return cmp.Or(doubt(a.Doubtful)-doubt(b.Doubtful), b.Mentions-a.Mentions, strings.Compare(a.Type.Label, b.Type.Label))
	})
	slices.SortStableFunc(s.Relations, func(a, b Relation) int {
		return cmp.Or(doubt(a.Doubtful)-doubt(b.Doubtful), b.Facts-a.Facts, strings.Compare(a.Type.Label, b.Type.Label))
	})
}

// checkEntities takes out what could not be declared, a label that is refused,
// and returns the labels of what is proposed.
func (s *Suggestion) checkEntities() map[string]bool {
	s.sort()
	declared := map[string]bool{}
	o := &graph.Ontology{}
	s.Entities = slices.DeleteFunc(s.Entities, func(e Entity) bool {
		with := &graph.Ontology{Entities: append(slices.Clone(o.Entities), e.Type)}
		switch {
		case ontology.Validate(with) != nil:
			return true
		case !e.Doubtful:
			o, declared[e.Type.Label] = with, true
		}
		return false
	})
	return declared
}

// checkRelations takes out relations that could not be declared beside what is
// proposed: without a pair of proposed types, spelled like one before, refused.
func (s *Suggestion) checkRelations() {
	s.sort()
	o := s.Ontology()
	o.Relations = nil
	s.Relations = slices.DeleteFunc(s.Relations, func(r Relation) bool {
		with := &graph.Ontology{Entities: o.Entities, Relations: append(slices.Clone(o.Relations), r.Type)}
		switch {
		case len(r.Pairs) == 0 || ontology.Validate(with) != nil:
			return true
		case !r.Doubtful:
			o = with
		}
		return false
	})
}
