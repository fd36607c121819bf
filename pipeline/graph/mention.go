package graph

import "slices"

// Mention is one place where a document names an entity.
type Mention struct {
	Range  Range   // bytes of the document's text; text[Range] is Text
	Text   string  // as it stands there
	Type   string  // a declared label, or UnknownType
	Score  float64 // 0 to 1; 1 for a pattern
	Method string  // the extractor that found it: "gliner", "pattern"
}

// RelationMention is one place where a document states a relation between two
// mentions of the same extraction.
type RelationMention struct {
	Source, Target int // indices into the extraction's mentions
	Type           string
	Evidence       Range   // the sentence that states it, bytes of the document's text
	Score          float64 // 0 to 1
	Method         string  // "cues", "neighbours"
}

// Extraction is what an extractor found in one chunk.
type Extraction struct {
	Mentions  []Mention
	Relations []RelationMention
	Pruned    Pruned
	// Failed says why nothing could be read from the chunk: a model answered, and
	// never usably. The rest is then empty. "" for a chunk that was read.
	Failed string
}

// Moved is e with every place in it by so many bytes further on, in slices of its
// own: what a chunk's text says is the same wherever the text stands.
func (e Extraction) Moved(by int) Extraction {
	e.Mentions, e.Relations = slices.Clone(e.Mentions), slices.Clone(e.Relations)
	for i := range e.Mentions {
		e.Mentions[i].Range = e.Mentions[i].Range.Moved(by)
	}
	for i := range e.Relations {
		e.Relations[i].Evidence = e.Relations[i].Evidence.Moved(by)
	}
	return e
}

// Pruned counts what extraction found and the ontology does not declare, so
// that an operator sees what it misses.
type Pruned struct {
	EntityTypes      map[string]int    `json:"entity_types,omitempty"`      // type → mentions dropped
	RelationTypes    map[string]int    `json:"relation_types,omitempty"`    // type → relations dropped
	Patterns         map[string]int    `json:"patterns,omitempty"`          // "Person -WORKS_AT-> City" → relations dropped
	PatternExamples  map[string]string `json:"pattern_examples,omitempty"`  // the same key → one dropped fact
	UnknownEndpoints map[string]int    `json:"unknown_endpoints,omitempty"` // relation type → relations dropped because an end is Unknown
	UnknownEntities  int               `json:"unknown_entities,omitempty"`  // mentions kept as Unknown
	BelowThreshold   int               `json:"below_threshold,omitempty"`   // mentions dropped for their score
	Capped           int               `json:"capped,omitempty"`            // mentions dropped by a cap on a chunk
	// What a language model answered and the passage does not hold.
	UnquotedMentions  int `json:"unquoted_mentions,omitempty"`  // names without their quote
	UnquotedRelations int `json:"unquoted_relations,omitempty"` // facts without theirs
	Rejected          int `json:"rejected,omitempty"`           // mentions that its check took for no name of any type
}

// Add adds other's counts to p. Of two examples of one pattern the
// lexicographically smaller stays, so that order does not matter.
func (p *Pruned) Add(other Pruned) {
	addCounts(&p.EntityTypes, other.EntityTypes)
	addCounts(&p.RelationTypes, other.RelationTypes)
	addCounts(&p.Patterns, other.Patterns)
	addCounts(&p.UnknownEndpoints, other.UnknownEndpoints)
	for key, example := range other.PatternExamples {
		if p.PatternExamples == nil {
			p.PatternExamples = map[string]string{}
		}
		if have, ok := p.PatternExamples[key]; !ok || example < have {
			p.PatternExamples[key] = example
		}
	}
	p.UnknownEntities += other.UnknownEntities
	p.BelowThreshold += other.BelowThreshold
	p.Capped += other.Capped
	p.UnquotedMentions += other.UnquotedMentions
	p.UnquotedRelations += other.UnquotedRelations
	p.Rejected += other.Rejected
}

// Undeclared is how many mentions and relations were dropped for what the
// ontology does not declare.
func (p Pruned) Undeclared() (n int) {
	for _, counts := range []map[string]int{p.EntityTypes, p.RelationTypes, p.Patterns, p.UnknownEndpoints} {
		for _, count := range counts {
			n += count
		}
	}
	return n
}

func addCounts(to *map[string]int, from map[string]int) {
	for key, n := range from {
		if *to == nil {
			*to = map[string]int{}
		}
		(*to)[key] += n
	}
}
