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
	Need  Need // of the texts; what is asked of [Settle]
	short int
}

// MaxBlock is how many names that share a feature are compared with each other;
// larger groups are left alone. 200 make 20,000 comparisons.
const MaxBlock = 200

// Propose compares names of one type that share a feature: folded name, name
// without what stands around it, acronym, initials with surname, words but one.
// The proposals come sorted by A and B. They are what the names alone allow:
// [Settle] holds them to the texts. skipped counts the groups beyond [MaxBlock].
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
	sortProposals(proposals)
	return proposals, skipped
}

// besideScore is that of a name that a text gives another for, whatever the rule.
const besideScore = 0.98

// Settle drops the proposals whose need the texts do not meet, and those of a
// short name that could be short for two things which are not proposed as one. In
// meets a caller says what the texts hold of a proposal's two names. Where a text
// gives one name right beside the other, that decides.
func Settle(proposals []Proposal, meets func(p Proposal) Need) []Proposal {
	var settled []Proposal
	for _, p := range proposals {
		has := meets(p)
		if has < p.Need {
			continue
		}
		if p.Need = NeedNothing; has == NeedBeside && p.short != 0 {
			p.Need, p.Score = NeedBeside, max(p.Score, besideScore)
		}
		settled = append(settled, p)
	}
	return unambiguous(settled)
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
// as one: "Acme" is then neither Acme Inc. nor Acme GmbH. Those that stand beside
// each other in a text are asked alone, if there are any.
func unambiguous(proposals []Proposal) []Proposal {
	proposed := map[[2]int]bool{}
	ways := map[way][]Proposal{}
	for _, p := range proposals {
		proposed[[2]int{p.A, p.B}] = true
		for _, w := range p.ways() {
			ways[w] = append(ways[w], p)
		}
	}
	dropped := map[[2]int]bool{}
	for w, list := range ways {
		beside := slices.DeleteFunc(slices.Clone(list), func(p Proposal) bool { return p.Need != NeedBeside })
		decisive := list
		if len(beside) > 0 {
			decisive = beside
		}
		torn := tornBetween(w, decisive, proposed)
		for _, p := range list {
			if torn || len(beside) > 0 && p.Need != NeedBeside && tornBetween(w, append(slices.Clone(beside), p), proposed) {
				dropped[[2]int{p.A, p.B}] = true
			}
		}
	}
	var kept []Proposal
	for _, p := range proposals {
		if !dropped[[2]int{p.A, p.B}] {
			kept = append(kept, p)
		}
	}
	return kept
}

// way is a name that may be short for others by a rule.
type way struct {
	from int
	rule Rule
}

// ways are the ends of a proposal that are short, or both where none is.
func (p Proposal) ways() []way {
	switch {
	case p.short < 0:
		return []way{{p.A, p.Rule}}
	case p.short > 0:
		return []way{{p.B, p.Rule}}
	}
	return []way{{p.A, p.Rule}, {p.B, p.Rule}}
}

// tornBetween reports whether proposals lead from a name to two that are not
// proposed as one.
func tornBetween(from way, list []Proposal, proposed map[[2]int]bool) bool {
	for i, p := range list {
		x := p.A + p.B - from.from
		for _, q := range list[i+1:] {
			y := q.A + q.B - from.from
			if !proposed[[2]int{min(x, y), max(x, y)}] {
				return true
			}
		}
	}
	return false
}

// Folded is the form in which two names are the same but for punctuation,
// abbreviations and spellings.
func Folded(name string) string { return take(name).fold }

// Resolve implements [Resolver], see [Similar].
func (s Similar) Resolve(ctx context.Context, mentions []graph.Mention) (Resolution, error) {
	return s.Exact.Resolve(ctx, mentions)
}
