package extractors

import (
	"cmp"
	"math"
	"slices"
)

// candidate is a span of words with a label, as the model scored it.
type candidate struct {
	start, end int // words, end included
	label      int
	score      float64
}

// decoding says which spans may stand side by side.
type decoding struct {
	nested     bool // a span may lie inside another
	multiLabel bool // one span may have several labels
}

// logit is the inverse of the logistic function, so that scores below a
// threshold are passed over without computing them.
func logit(p float64) float64 { return math.Log(p / (1 - p)) }

// logistic rounds to the 32 bits that the reference engine compares in, so that
// scores which tie there tie here.
func logistic(x float32) float64 { return float64(float32(1 / (1 + math.Exp(-float64(x))))) }

// choose picks spans greedily, highest score first; among equals the earlier,
// shorter, first-declared one. The result is in order of the text.
func (d decoding) choose(candidates []candidate) []candidate {
	sorted := slices.Clone(candidates)
	slices.SortFunc(sorted, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.start, b.start), cmp.Compare(a.end, b.end), cmp.Compare(a.label, b.label))
	})
	var chosen []candidate
	for _, c := range sorted {
		if !d.conflicts(c, chosen) {
			chosen = append(chosen, c)
		}
	}
	slices.SortFunc(chosen, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.end, b.end), cmp.Compare(a.label, b.label))
	})
	return chosen
}

func (d decoding) conflicts(c candidate, chosen []candidate) bool {
	for _, other := range chosen {
		switch {
		case c.start > other.end || other.start > c.end:
			continue
		case c.start == other.start && c.end == other.end:
			if !d.multiLabel {
				return true
			}
		case d.nested && (c.start <= other.start && c.end >= other.end || other.start <= c.start && other.end >= c.end):
			continue
		default:
			return true
		}
	}
	return false
}
