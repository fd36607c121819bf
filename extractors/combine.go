package extractors

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"graphmill/chunkers"
	"graphmill/pipeline/graph"
)

// CombineOptions tune [Combined].
type CombineOptions struct {
	// Nested keeps a mention that lies wholly inside another.
	Nested bool
	// NoCues leaves out the relations that the ontology's cue phrases state.
	NoCues bool
	// Sentences splits text for the cues; nil takes chunkers.Sentences.
	Sentences func(text string) []graph.Range
}

// Combined joins what several extractors find in a chunk and reads the
// relations between all of it by the ontology's cues.
//
// Of mentions that overlap the more certain stays; of equally certain ones the
// longer, then the earlier, then that of the extractor named first. A relation
// whose mention gave way to another over the same range goes over to that one;
// otherwise it goes with it.
//
// A [Refiner] among them reads the relations instead of the cues, and has the
// last word on what the others found. A chunk that failed for one extractor has
// failed: half of what its plan says is not what its plan says.
type Combined struct {
	methods []Extractor
	options CombineOptions
	cues    *Cues
	refiner Refiner
}

// Combine joins one or more extractors, in order of preference.
func Combine(methods []Extractor, options CombineOptions) (*Combined, error) {
	if len(methods) == 0 {
		return nil, errors.New("combine extractors: none is given")
	}
	c := &Combined{methods: methods, options: options}
	for _, method := range methods {
		refiner, ok := method.(Refiner)
		if !ok {
			continue
		}
		if c.refiner != nil {
			return nil, errors.New("combine extractors: llm verifies what it finds; name either llm or verify")
		}
		c.refiner = refiner
	}
	if x, ok := c.refiner.(*LLM); ok && x.verify && len(methods) == 1 {
		return nil, errors.New("combine extractors: verify finds nothing by itself; name an extractor before it, such as [pattern, gliner, verify]")
	}
	if !options.NoCues && c.refiner == nil {
		c.cues = NewCues(options.Sentences)
	}
	return c, nil
}

// Extract implements [Extractor]. The ontology is read in canonical order, so
// that the order in which it was written does not matter.
func (c *Combined) Extract(ctx context.Context, chunks []chunkers.Chunk, ontology *graph.Ontology) ([]graph.Extraction, error) {
	canonical := ontology.Canonical()
	found := make([][]graph.Extraction, len(chunks))
	for _, method := range c.methods {
		extractions, err := method.Extract(ctx, chunks, canonical)
		if err != nil {
			return nil, err
		}
		if len(extractions) != len(chunks) {
			return nil, fmt.Errorf("combine extractors: %T gave %d results for %d chunks", method, len(extractions), len(chunks))
		}
		for i, extraction := range extractions {
			found[i] = append(found[i], extraction)
		}
	}
	var compiled *cueSet
	if c.cues != nil {
		compiled = c.cues.compiled(canonical)
	}
	out := make([]graph.Extraction, len(chunks))
	for i := range chunks {
		if out[i].Failed = failure(found[i]); out[i].Failed != "" {
			continue
		}
		out[i] = union(found[i], c.options.Nested)
		if !c.options.Nested {
			agree(chunks[i], canonical, &out[i])
		}
		if compiled != nil {
			c.cues.relate(compiled, chunks[i], &out[i])
		}
		sortMentions(&out[i])
	}
	if c.refiner == nil {
		return out, nil
	}
	return c.refiner.Refine(ctx, chunks, out, canonical)
}

// failure is why a chunk failed for one of its extractors, or "".
func failure(parts []graph.Extraction) string {
	for _, part := range parts {
		if part.Failed != "" {
			return part.Failed
		}
	}
	return ""
}

// union joins extractions of one chunk; see [Combined] for who wins.
func union(parts []graph.Extraction, nested bool) graph.Extraction {
	var out graph.Extraction
	var all []graph.Mention
	offsets := make([]int, len(parts))
	for i, part := range parts {
		offsets[i] = len(all)
		all = append(all, part.Mentions...)
		out.Pruned.Add(part.Pruned)
	}
	place := settle(all, nested)
	for i, to := range place {
		if to == i {
			out.Mentions = append(out.Mentions, all[i])
		}
	}
	// A mention that gave way to a certain one is Unknown no more.
	out.Pruned.UnknownEntities = 0
	for _, m := range out.Mentions {
		if m.Type == graph.UnknownType {
			out.Pruned.UnknownEntities++
		}
	}
	numbers := renumber(place)
	for i, part := range parts {
		for _, r := range part.Relations {
			source, target := place[offsets[i]+r.Source], place[offsets[i]+r.Target]
			if source < 0 || target < 0 || source == target {
				continue
			}
			r.Source, r.Target = numbers[source], numbers[target]
			out.Relations = append(out.Relations, r)
		}
	}
	return out
}

// settle says for each mention which one stands for it: itself, one over the
// same range, or -1 for none.
func settle(all []graph.Mention, nested bool) []int {
	order := make([]int, len(all))
	place := make([]int, len(all))
	for i := range all {
		order[i], place[i] = i, -1
	}
	slices.SortStableFunc(order, func(i, j int) int {
		a, b := all[i], all[j]
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(b.Range.Len(), a.Range.Len()), cmp.Compare(a.Range.Start, b.Range.Start))
	})
	var kept []int // by start
	for _, i := range order {
		at, _ := slices.BinarySearchFunc(kept, all[i].Range.Start, func(k, start int) int { return cmp.Compare(all[k].Range.Start, start) })
		if rival := rivalOf(all, kept, at, i, nested); rival >= 0 {
			if all[rival].Range == all[i].Range {
				place[i] = rival
			}
			continue
		}
		place[i] = i
		kept = slices.Insert(kept, at, i)
	}
	return place
}

// rivalOf returns a kept mention that leaves no room for mention i, or -1.
func rivalOf(all []graph.Mention, kept []int, at, i int, nested bool) int {
	clashes := func(k int) bool {
		a, b := all[k].Range, all[i].Range
		if !a.Overlaps(b) {
			return false
		}
		return !nested || a == b || !a.Contains(b) && !b.Contains(a)
	}
	if nested {
		for _, k := range kept {
			if clashes(k) {
				return k
			}
		}
		return -1
	}
	// Kept mentions do not overlap: only the neighbours can.
	for _, n := range []int{at - 1, at} {
		if n >= 0 && n < len(kept) && clashes(kept[n]) {
			return kept[n]
		}
	}
	if at+1 < len(kept) && clashes(kept[at+1]) {
		return kept[at+1]
	}
	return -1
}

// renumber maps the place of a kept mention to its number among the kept.
func renumber(place []int) map[int]int {
	numbers := map[int]int{}
	for i, to := range place {
		if to == i {
			numbers[i] = len(numbers)
		}
	}
	return numbers
}

// sortMentions puts an extraction in the order that [Extractor] promises.
func sortMentions(e *graph.Extraction) {
	order := make([]int, len(e.Mentions))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		a, b := e.Mentions[i], e.Mentions[j]
		return cmp.Or(cmp.Compare(a.Range.Start, b.Range.Start), cmp.Compare(a.Range.End, b.Range.End), cmp.Compare(a.Type, b.Type))
	})
	sorted := make([]graph.Mention, len(order))
	to := make([]int, len(order))
	for n, i := range order {
		sorted[n], to[i] = e.Mentions[i], n
	}
	if len(sorted) > 0 {
		e.Mentions = sorted
	}
	for i := range e.Relations {
		r := &e.Relations[i]
		r.Source, r.Target = to[r.Source], to[r.Target]
	}
	slices.SortFunc(e.Relations, func(a, b graph.RelationMention) int {
		return cmp.Or(cmp.Compare(a.Evidence.Start, b.Evidence.Start), cmp.Compare(a.Evidence.End, b.Evidence.End),
			cmp.Compare(a.Source, b.Source), cmp.Compare(a.Target, b.Target), cmp.Compare(a.Type, b.Type))
	})
}

var _ Extractor = (*Combined)(nil)
