package resolvers

import (
	"cmp"
	"slices"
	"strings"

	"graphmill/pipeline/graph"
)

// Candidate is two entities, by their index, that a language model should be
// asked about. Kinds come in the order in which they are worth asking.
type Candidate struct {
	A, B int // A < B
	Kind int
}

// The kinds of candidate.
const (
	CloseNames  = iota // similar proposes them, and the texts do not say more
	OtherTypes         // one name under two types
	PartOfName         // "Babbage", "Charles Babbage"
	LikeNames          // spelled alike
	NearMeaning        // neighbours by their vectors
)

const (
	partBlock   = 20   // names that share a word, at most: of a common word none is asked about
	likeBlock   = 50   // names that begin alike, at most
	likeLetters = 4    // of the beginning
	leastLike   = 0.93 // by Jaro and Winkler
)

// Candidates lists pairs of entities that could be one thing's, the most likely
// first: the proposals, what shares a name or a part of it, what is spelled alike,
// and near, the neighbours by vectors. Names that differ in a number are left out.
func Candidates(entities []Named, proposals []Proposal, near [][2]int) []Candidate {
	taken := make([]written, len(entities))
	for i, e := range entities {
		taken[i] = take(DisplayForm(e.Names))
	}
	kinds := map[[2]int]int{}
	add := func(a, b, kind int) {
		pair := [2]int{min(a, b), max(a, b)}
		if have, ok := kinds[pair]; a != b && (!ok || kind < have) {
			kinds[pair] = kind
		}
	}
	for _, p := range proposals {
		add(p.A, p.B, CloseNames)
	}
	named, words, begins := map[string][]int{}, map[string][]int{}, map[string][]int{}
	for i, e := range entities {
		named[graph.NameKey(e.Names[0])] = append(named[graph.NameKey(e.Names[0])], i)
		kind := strings.ToLower(e.Type) + "\x00"
		for _, w := range taken[i].core {
			if letters(w.text) >= 3 && !smallWords[w.text] {
				words[kind+w.text] = append(words[kind+w.text], i)
			}
		}
		if core := []rune(taken[i].coreFold); len(core) > likeLetters {
			begin := kind + string(core[:likeLetters])
			begins[begin] = append(begins[begin], i)
		}
	}
	within(named, MaxBlock, func(a, b int) { add(a, b, OtherTypes) })
	within(words, partBlock, func(a, b int) {
		if taken[a].numbers == taken[b].numbers && (partOf(taken[a], taken[b]) || partOf(taken[b], taken[a])) {
			add(a, b, PartOfName)
		}
	})
	within(begins, likeBlock, func(a, b int) {
		if taken[a].numbers == taken[b].numbers && jaroWinkler(taken[a].coreFold, taken[b].coreFold) >= leastLike {
			add(a, b, LikeNames)
		}
	})
	for _, pair := range near {
		if taken[pair[0]].numbers == taken[pair[1]].numbers {
			add(pair[0], pair[1], NearMeaning)
		}
	}
	return inOrder(entities, kinds)
}

// within calls do for each two entities of a block that is not too large.
func within(blocks map[string][]int, most int, do func(a, b int)) {
	for _, block := range blocks {
		block = slices.Compact(block)
		if len(block) > most {
			continue
		}
		for i, a := range block {
			for _, b := range block[i+1:] {
				do(a, b)
			}
		}
	}
}

// partOf reports whether all words of a are words of b.
func partOf(a, b written) bool {
	for _, w := range a.core {
		if !slices.ContainsFunc(b.core, func(other word) bool { return other.text == w.text }) {
			return false
		}
	}
	return len(a.core) < len(b.core)
}

func inOrder(entities []Named, kinds map[[2]int]int) []Candidate {
	list := make([]Candidate, 0, len(kinds))
	for pair, kind := range kinds {
		list = append(list, Candidate{A: pair[0], B: pair[1], Kind: kind})
	}
	slices.SortFunc(list, func(p, q Candidate) int {
		a, b := entities[p.A].ID, entities[p.B].ID
		c, d := entities[q.A].ID, entities[q.B].ID
		return cmp.Or(p.Kind-q.Kind, cmp.Compare(min(a, b), min(c, d)), cmp.Compare(max(a, b), max(c, d)))
	})
	return list
}

// Confirm adds to proposals, which are settled, what a model confirmed: the pairs
// themselves, and those of what similar takes for the one with what it takes for
// the other, because the model was asked about one of each.
func Confirm(proposals []Proposal, confirmed [][2]int) []Proposal {
	alike := map[int][]int{}
	best := map[[2]int]Proposal{}
	for _, p := range proposals {
		alike[p.A], alike[p.B] = append(alike[p.A], p.B), append(alike[p.B], p.A)
		best[[2]int{p.A, p.B}] = p
	}
	for _, pair := range confirmed {
		for _, a := range append([]int{pair[0]}, alike[pair[0]]...) {
			for _, b := range append([]int{pair[1]}, alike[pair[1]]...) {
				key := [2]int{min(a, b), max(a, b)}
				if _, have := best[key]; !have && a != b {
					best[key] = Proposal{A: key[0], B: key[1], Rule: Verified, Score: scores[Verified]}
				}
			}
		}
	}
	out := make([]Proposal, 0, len(best))
	for _, p := range best {
		out = append(out, p)
	}
	sortProposals(out)
	return out
}
