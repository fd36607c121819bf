package resolvers

import (
	"cmp"
	"slices"
	"unicode/utf8"

	"graphmill/pipeline/graph"
)

// Joined is an entity that is taken for another, and why.
type Joined struct {
	Kept, Merged int // indices of the entities
	Rule         Rule
	Score        float64
}

// Cluster groups entities by proposals that hold. Two groups become one only if
// each of the one is proposed with each of the other, so that a chain of likeness
// makes no giant, and if apart does not forbid it of any two. Surer proposals come
// first; the result does not depend on the order of entities or proposals.
//
// Of a group that entity is kept whose name is the longest, of equals the one
// with the smallest id.
func Cluster(entities []Named, proposals []Proposal, apart func(a, b int) bool) []Joined {
	proposed := make(map[[2]int]Proposal, len(proposals))
	for _, p := range proposals {
		proposed[[2]int{min(p.A, p.B), max(p.A, p.B)}] = p
	}
	order := slices.Clone(proposals)
	slices.SortFunc(order, func(p, q Proposal) int {
		a, b := ends(entities, p)
		c, d := ends(entities, q)
		return cmp.Or(cmp.Compare(q.Score, p.Score), cmp.Compare(a, c), cmp.Compare(b, d))
	})
	group := map[int]int{}     // entity → its group
	members := map[int][]int{} // group → its entities
	in := func(i int) []int {
		if g, ok := group[i]; ok {
			return members[g]
		}
		return []int{i}
	}
	for _, p := range order {
		left, right := in(p.A), in(p.B)
		if slices.Contains(left, p.B) || !wholly(left, right, proposed, apart) {
			continue
		}
		both := append(slices.Clone(left), right...)
		g := both[0]
		members[g] = both
		for _, i := range both {
			group[i] = g
		}
	}
	return joinsOf(entities, group, members, proposed)
}

// Separate drops proposals that apart forbids, and of a name that is proposed
// with both of a forbidden pair the less sure one: after IBM was kept apart from
// International Business Machines, International Business Machines Corp. is not
// IBM either.
func Separate(proposals []Proposal, apart func(a, b int) bool) []Proposal {
	neighbours := map[int]map[int]Proposal{}
	note := func(a, b int, p Proposal) {
		if neighbours[a] == nil {
			neighbours[a] = map[int]Proposal{}
		}
		neighbours[a][b] = p
	}
	var forbidden []Proposal
	for _, p := range proposals {
		if apart(p.A, p.B) {
			forbidden = append(forbidden, p)
			continue
		}
		note(p.A, p.B, p)
		note(p.B, p.A, p)
	}
	dropped := map[[2]int]bool{}
	for _, f := range forbidden {
		dropped[[2]int{f.A, f.B}] = true
		for other, p := range neighbours[f.A] {
			q, both := neighbours[f.B][other]
			switch {
			case !both:
			case scores[p.Rule] < scores[q.Rule]:
				dropped[[2]int{p.A, p.B}] = true
			case scores[p.Rule] > scores[q.Rule]:
				dropped[[2]int{q.A, q.B}] = true
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(proposals), func(p Proposal) bool { return dropped[[2]int{p.A, p.B}] })
}

func ends(entities []Named, p Proposal) (small, large graph.EntityID) {
	a, b := entities[p.A].ID, entities[p.B].ID
	return min(a, b), max(a, b)
}

func wholly(left, right []int, proposed map[[2]int]Proposal, apart func(a, b int) bool) bool {
	for _, a := range left {
		for _, b := range right {
			if _, ok := proposed[[2]int{min(a, b), max(a, b)}]; !ok || apart != nil && apart(a, b) {
				return false
			}
		}
	}
	return true
}

func joinsOf(entities []Named, group map[int]int, members map[int][]int, proposed map[[2]int]Proposal) []Joined {
	var out []Joined
	for g, list := range members {
		if group[list[0]] != g {
			continue // became part of another
		}
		kept := slices.MinFunc(list, func(a, b int) int {
			return cmp.Or(nameLength(entities[b])-nameLength(entities[a]), cmp.Compare(entities[a].ID, entities[b].ID))
		})
		for _, i := range list {
			if i != kept {
				p := proposed[[2]int{min(i, kept), max(i, kept)}]
				out = append(out, Joined{Kept: kept, Merged: i, Rule: p.Rule, Score: p.Score})
			}
		}
	}
	slices.SortFunc(out, func(a, b Joined) int {
		return cmp.Or(cmp.Compare(entities[a.Kept].ID, entities[b.Kept].ID), cmp.Compare(entities[a.Merged].ID, entities[b.Merged].ID))
	})
	return out
}

// nameLength is that of the name's key, which all spellings of an entity share.
func nameLength(e Named) int {
	if len(e.Names) == 0 {
		return 0
	}
	return utf8.RuneCountInString(graph.NameKey(e.Names[0]))
}
