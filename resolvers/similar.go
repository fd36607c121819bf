package resolvers

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"graphmill/pipeline/graph"
)

// Similar takes names for one thing's that are written alike: see the rules. It
// is careful: names that differ in a number, a generation or a legal form are
// never joined, nor is a short name that could be short for two others.
//
// Within a document it gives the ids of [Exact]: what is one is decided over all
// names of a graph, by [Propose] and [Cluster], so that it does not depend on
// which document came first, and can be undone.
type Similar struct{ Exact }

// Named is an entity as a resolver knows it.
type Named struct {
	ID    graph.EntityID
	Type  string
	Names []string // as documents show them
}

// Proposal is two entities, by their index, that could be one.
type Proposal struct {
	A, B  int // A < B
	Rule  Rule
	Score float64
	Need  Need
	short int
}

// MaxBlock is how many names that share a feature are compared with each other;
// larger groups are left alone. 200 make 20,000 comparisons.
const MaxBlock = 200

// Propose compares names of one type that share a feature: folded name, name
// without what stands around it, acronym, initials with surname, words but one.
// The proposals come sorted by A and B and hold no short name that could be short
// for two things that are not proposed as one. skipped counts the groups beyond
// [MaxBlock].
func Propose(entities []Named) (proposals []Proposal, skipped int) {
	taken := make([]written, len(entities))
	blocks := map[string][]int{}
	for i, e := range entities {
		taken[i] = take(DisplayForm(e.Names))
		kind := strings.ToLower(e.Type)
		for _, feature := range features(taken[i]) {
			key := kind + "\x00" + feature
			if list := blocks[key]; len(list) == 0 || list[len(list)-1] != i {
				blocks[key] = append(list, i)
			}
		}
	}
	seen := map[[2]int]bool{}
	for _, block := range blocks {
		if len(block) > MaxBlock {
			skipped++
			continue
		}
		for k, a := range block {
			for _, b := range block[k+1:] {
				pair := [2]int{a, b}
				if seen[pair] || entities[a].ID == entities[b].ID {
					continue
				}
				seen[pair] = true
				if m, ok := compare(taken[a], taken[b]); ok {
					proposals = append(proposals, Proposal{A: a, B: b, Rule: m.rule, Score: m.score, Need: m.need, short: m.short})
				}
			}
		}
	}
	return unambiguous(proposals), skipped
}

func sortProposals(list []Proposal) {
	slices.SortFunc(list, func(a, b Proposal) int { return cmp.Or(a.A-b.A, a.B-b.B) })
}

// features are what names must share to be compared; names that compare joins
// share one at least.
func features(w written) []string {
	if w.plain == "" {
		return nil
	}
	list := []string{"plain " + w.plain, "fold " + w.fold, "core " + w.coreFold}
	if len(w.core) > 1 {
		list = append(list, "bare "+unaccented(w.coreFold))
	}
	if letters := acronym(w); letters != "" {
		list = append(list, "acronym "+letters)
	}
	for _, letters := range acronymsOf(w) {
		list = append(list, "acronym "+letters)
	}
	if names := places(w.core); len(names) > 1 {
		list = append(list, "initials "+string(firstLetter(names[0].text))+strconv.Itoa(len(names))+names[len(names)-1].text)
	}
	if turned := upright(w.core); turned != "" {
		list = append(list, "core "+turned)
	}
	if len(w.core) >= 3 && len(w.core) <= 8 {
		for i := range w.core {
			if letters(w.core[i].text) >= 8 {
				list = append(list, "but "+joined(w.core[:i])+" _ "+joined(w.core[i+1:]))
			}
		}
	}
	return list
}

// unambiguous drops, for each name and rule, the proposals in which the name is
// the short one, or none is, when two of them lead to names that are not proposed
// as one: "Acme" is then neither Acme Inc. nor Acme GmbH.
func unambiguous(proposals []Proposal) []Proposal {
	joined := map[[2]int]bool{}
	type way struct {
		from int
		rule Rule
	}
	ways := map[way][]int{}
	for _, p := range proposals {
		joined[[2]int{p.A, p.B}] = true
		if p.short <= 0 {
			ways[way{p.A, p.Rule}] = append(ways[way{p.A, p.Rule}], p.B)
		}
		if p.short >= 0 {
			ways[way{p.B, p.Rule}] = append(ways[way{p.B, p.Rule}], p.A)
		}
	}
	torn := map[way]bool{}
	for w, others := range ways {
		for i, x := range others {
			for _, y := range others[i+1:] {
				if !joined[[2]int{min(x, y), max(x, y)}] {
					torn[w] = true
				}
			}
		}
	}
	kept := proposals[:0]
	for _, p := range proposals {
		if p.short <= 0 && torn[way{p.A, p.Rule}] || p.short >= 0 && torn[way{p.B, p.Rule}] {
			continue
		}
		kept = append(kept, p)
	}
	sortProposals(kept)
	return kept
}

// Resolve implements [Resolver], see [Similar].
func (s Similar) Resolve(ctx context.Context, mentions []graph.Mention) (Resolution, error) {
	return s.Exact.Resolve(ctx, mentions)
}
