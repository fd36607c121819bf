package pipeline

import (
	"context"
	"slices"

	"graphmill/pipeline/falkor/store"
	"graphmill/pipeline/graph"
	"graphmill/resolvers"
)

// merging resolvers look across documents; exact leaves nothing to look for.
var merging = []string{"similar", "llm_verified"}

// resolver is recorded with documents whose names finalize looks at.
func (w *work) resolver() string {
	if slices.Contains(merging, w.assignment.Resolver) {
		return w.assignment.Resolver
	}
	return ""
}

// Merger is the part of the store that merges entities.
type Merger interface {
	// NamedBy reads the entities that documents with one of the resolvers name,
	// whatever they are merged into, sorted by id.
	NamedBy(ctx context.Context, resolvers []string) ([]store.NamedEntity, error)
	// PlacesOf reads where documents name entities, sorted by path.
	PlacesOf(ctx context.Context, ids []graph.EntityID) (map[graph.EntityID][]store.NamedPlace, error)
	Merges(ctx context.Context) ([]store.Merge, error)
	// SetMerges makes want the merges of the graph. It may be interrupted anywhere
	// and called again.
	SetMerges(ctx context.Context, want []store.Merge, settings string) (store.Remerged, error)
}

// MergeSettings names what of the configuration says which entities are merged,
// as the graph's meta node keeps it.
func MergeSettings(mustNotMerge [][2]string) string {
	if len(mustNotMerge) == 0 {
		return ""
	}
	parts := make([]string, len(mustNotMerge))
	for i, pair := range mustNotMerge {
		key := newKeyPair(graph.NameKey(pair[0]), graph.NameKey(pair[1]))
		parts[i] = graph.Hash(key[:]...)
	}
	slices.Sort(parts)
	return graph.Hash(parts...)
}

// mergeEntities merges what documents name differently. What is merged is decided
// anew each time, from the names of all documents whose resolver looks for it and
// from the decisions that are recorded. So the graph depends on neither the order
// in which documents came nor on what was merged before.
func mergeEntities(ctx context.Context, o FinalizeOptions, report *FinalizeReport) error {
	records, err := o.Store.Merges(ctx)
	if err != nil {
		return err
	}
	named, err := o.Store.NamedBy(ctx, merging)
	if err != nil || len(named) == 0 && len(records) == 0 {
		return err
	}
	o.Observer.Observe(Event{Kind: FinalizeStep, Step: "merge", Total: len(named)})
	entities := make([]resolvers.Named, len(named))
	for i, e := range named {
		entities[i] = resolvers.Named{ID: e.ID, Type: e.Type, Names: e.Names}
	}
	proposals, skipped := resolvers.Propose(entities)
	report.MergeGroupsSkipped = skipped
	texts, err := placesOf(ctx, o.Store, entities, proposals)
	if err != nil {
		return err
	}
	apart := keptApart(entities, records, o.MustNotMerge)
	proposals = resolvers.Settle(resolvers.Separate(proposals, apart), texts.hold)
	confirmed, why := confirmedPairs(entities, records)
	if proposals = resolvers.Confirm(proposals, confirmed); len(confirmed) > 0 {
		if texts, err = placesOf(ctx, o.Store, entities, proposals); err != nil {
			return err
		}
	}
	var want []store.Merge
	for _, j := range resolvers.Cluster(entities, proposals, apart) {
		record := texts.record(j)
		record.Explanation = why[idPair(record.Kept, record.Merged)]
		want = append(want, record)
	}
	done, err := o.Store.SetMerges(ctx, want, MergeSettings(o.MustNotMerge))
	report.Merged += done.Merged
	report.Unmerged += done.Undone
	return err
}

// confirmedPairs are those that a language model said are one, with its reasons.
func confirmedPairs(entities []resolvers.Named, records []store.Merge) (pairs [][2]int, why map[[2]graph.EntityID]string) {
	why = map[[2]graph.EntityID]string{}
	var index map[graph.EntityID]int
	for _, m := range records {
		if m.State != store.MergeConfirmed {
			continue
		}
		if index == nil {
			index = make(map[graph.EntityID]int, len(entities))
			for i, e := range entities {
				index[e.ID] = i
			}
		}
		a, knownA := index[m.Kept]
		b, knownB := index[m.Merged]
		if knownA && knownB {
			pairs = append(pairs, [2]int{a, b})
			why[idPair(m.Kept, m.Merged)] = m.Explanation
		}
	}
	return pairs, why
}

// keyPair is two normalised names, the smaller first.
type keyPair [2]string

func newKeyPair(a, b string) keyPair { return keyPair{min(a, b), max(a, b)} }

// keptApart returns what says of two entities that they must not be merged: an
// operator took it back or forbade it, by ids or by names, here or in the
// configuration.
func keptApart(entities []resolvers.Named, records []store.Merge, pairs [][2]string) func(a, b int) bool {
	ids, names := map[[2]graph.EntityID]bool{}, map[keyPair]bool{}
	forbid := func(a, b string) {
		names[newKeyPair(graph.NameKey(a), graph.NameKey(b))] = true
		if x, y := resolvers.Folded(a), resolvers.Folded(b); x != y {
			names[newKeyPair(x, y)] = true
		}
	}
	for _, pair := range pairs {
		forbid(pair[0], pair[1])
	}
	for _, m := range records {
		switch {
		case m.State == store.MergeActive, m.State == store.MergeConfirmed:
		case m.Kept != "" && m.Merged != "":
			ids[[2]graph.EntityID{min(m.Kept, m.Merged), max(m.Kept, m.Merged)}] = true
		default:
			forbid(m.KeptName, m.MergedName)
		}
	}
	if len(ids) == 0 && len(names) == 0 {
		return func(int, int) bool { return false }
	}
	keys, folds := make([]string, len(entities)), make([]string, len(entities))
	for i, e := range entities {
		keys[i], folds[i] = graph.NameKey(e.Names[0]), resolvers.Folded(resolvers.DisplayForm(e.Names))
	}
	return func(a, b int) bool {
		x, y := entities[a].ID, entities[b].ID
		return ids[[2]graph.EntityID{min(x, y), max(x, y)}] || names[newKeyPair(keys[a], keys[b])] ||
			folds[a] != folds[b] && names[newKeyPair(folds[a], folds[b])]
	}
}

// texts are where documents name the entities that could be one.
type texts struct {
	entities []resolvers.Named
	places   map[graph.EntityID][]store.NamedPlace
}

func placesOf(ctx context.Context, s Merger, entities []resolvers.Named, proposals []resolvers.Proposal) (texts, error) {
	asked := map[int]bool{}
	for _, p := range proposals {
		asked[p.A], asked[p.B] = true, true
	}
	var ids []graph.EntityID
	for i, e := range entities {
		if asked[i] {
			ids = append(ids, e.ID)
		}
	}
	places, err := s.PlacesOf(ctx, ids)
	return texts{entities, places}, err
}

// hold says what the texts hold of a proposal's names: one document of both, one
// name right beside the other, or neither.
func (t texts) hold(p resolvers.Proposal) resolvers.Need {
	_, _, need := t.together(t.entities[p.A].ID, t.entities[p.B].ID)
	return need
}

// record is the record of a merge, with the places where both names stand.
func (t texts) record(j resolvers.Joined) store.Merge {
	kept, merged := t.entities[j.Kept], t.entities[j.Merged]
	a, b, _ := t.together(kept.ID, merged.ID)
	m := store.Merge{
		ID: store.MergeID(kept.ID, merged.ID), State: store.MergeActive, Kept: kept.ID, Merged: merged.ID,
		KeptName: resolvers.DisplayForm(kept.Names), MergedName: resolvers.DisplayForm(merged.Names), KeptType: kept.Type, MergedType: merged.Type,
		Rule: string(j.Rule), Score: j.Score,
	}
	for _, p := range []store.NamedPlace{a, b} {
		if len(p.Spans) > 0 {
			m.Evidence = append(m.Evidence, store.MergePlace{Name: p.Name, Path: p.Path, Chunk: p.Chunk, Start: p.Spans[0].Start, End: p.Spans[0].End})
		}
	}
	return m
}

// besideGap is how many characters stand at most between two names of which one
// explains the other: " (", ", ", " – ".
const besideGap = 3

// together finds the places of two entities that say most: beside each other,
// else in the first document of both, else the first of each.
func (t texts) together(x, y graph.EntityID) (a, b store.NamedPlace, need resolvers.Need) {
	left, right := t.places[x], t.places[y]
	if len(left) == 0 || len(right) == 0 {
		return a, b, resolvers.NeedNothing
	}
	a, b = left[0], right[0]
	for i, k := 0, 0; i < len(left) && k < len(right); {
		switch path := left[i].Path; {
		case path < right[k].Path:
			i++
		case path > right[k].Path:
			k++
		default:
			from, until := i, k
			for i < len(left) && left[i].Path == path {
				i++
			}
			for k < len(right) && right[k].Path == path {
				k++
			}
			if p, q, ok := beside(left[from:i], right[until:k]); ok {
				return p, q, resolvers.NeedBeside
			}
			if need == resolvers.NeedNothing {
				a, b, need = left[from], right[until], resolvers.NeedDocument
			}
		}
	}
	return a, b, need
}

// beside finds two places of one document that stand beside each other.
func beside(left, right []store.NamedPlace) (a, b store.NamedPlace, ok bool) {
	type at struct {
		place store.NamedPlace
		span  graph.Span
	}
	starts, ends := map[int]at{}, map[int]at{}
	for _, p := range right {
		for _, span := range p.Spans {
			if _, have := starts[span.Start]; !have {
				starts[span.Start] = at{p, span}
			}
			if _, have := ends[span.End]; !have {
				ends[span.End] = at{p, span}
			}
		}
	}
	for _, p := range left {
		for _, span := range p.Spans {
			for gap := 1; gap <= besideGap; gap++ {
				other, ok := starts[span.End+gap]
				if !ok {
					other, ok = ends[span.Start-gap]
				}
				if ok {
					p.Spans, other.place.Spans = []graph.Span{span}, []graph.Span{other.span}
					return p, other.place, true
				}
			}
		}
	}
	return a, b, false
}
