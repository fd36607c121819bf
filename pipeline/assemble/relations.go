package assemble

import (
	"cmp"
	"fmt"
	"slices"

	"graphmill/extractors"
	"graphmill/pipeline/graph"
)

// edge names a relation row.
type edge struct {
	source, target graph.EntityID
	kind           string
}

// statement is one piece of evidence, with its chunk's index to sort by.
type statement struct {
	chunk    int
	evidence graph.RelationEvidence
}

// relations builds the relation rows, by source, type and target. The same
// sentence seen in two overlapping chunks is evidence in both.
func (b *builder) relations(chunks []graph.Chunk, entities []graph.Entity) []graph.Relation {
	byID := make(map[graph.EntityID]*graph.Entity, len(entities))
	for i := range entities {
		byID[entities[i].ID] = &entities[i]
	}
	edges := map[edge][]statement{}
	first := 0
	for i, extraction := range b.in.Extractions {
		for _, r := range extraction.Relations {
			e := edge{b.in.Resolution.Entities[first+r.Source], b.in.Resolution.Entities[first+r.Target], r.Type}
			if e.source == e.target || byID[e.source] == nil || byID[e.target] == nil {
				continue
			}
			edges[e] = append(edges[e], statement{i, graph.RelationEvidence{
				Chunk: chunks[i].ID, Span: b.offsets.Span(r.Evidence), Quote: b.text[r.Evidence.Start:r.Evidence.End],
				Score: r.Score, Method: r.Method,
			}})
		}
		first += len(extraction.Mentions)
	}
	out := make([]graph.Relation, 0, len(edges))
	for e, statements := range edges {
		out = append(out, relation(e, statements, byID[e.source], byID[e.target]))
	}
	slices.SortFunc(out, func(a, b graph.Relation) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Type, b.Type), cmp.Compare(a.Target, b.Target))
	})
	return out
}

func relation(e edge, statements []statement, source, target *graph.Entity) graph.Relation {
	slices.SortFunc(statements, func(a, b statement) int {
		return cmp.Or(cmp.Compare(a.chunk, b.chunk), compareSpans(a.evidence.Span, b.evidence.Span),
			cmp.Compare(b.evidence.Score, a.evidence.Score), cmp.Compare(a.evidence.Method, b.evidence.Method))
	})
	r := graph.Relation{
		Source: e.source, Target: e.target, Type: e.kind,
		SourceName: source.Name, TargetName: target.Name, SourceType: source.Type, TargetType: target.Type,
	}
	last := -1
	for _, s := range statements {
		// Of one sentence stated twice the more certain reading, which sorts
		// first, stays.
		if n := len(r.Evidence); n > 0 && last == s.chunk && r.Evidence[n-1].Span == s.evidence.Span {
			continue
		}
		last = s.chunk
		r.Evidence = append(r.Evidence, s.evidence)
		text := extractors.Description(s.evidence.Quote)
		if better(text, s.evidence.Score, r.Description, r.Score) {
			r.Description, r.Score = text, s.evidence.Score
		}
	}
	r.Fact = Fact(r.SourceName, r.Type, r.TargetName, r.Description)
	return r
}

// Fact is a relation as a sentence to search and show, as graphrag-sdk writes
// it.
func Fact(source, relation, target, description string) string {
	return fmt.Sprintf("(%s, %s, %s): %s", source, relation, target, description)
}
