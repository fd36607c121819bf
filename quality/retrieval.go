package quality

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"graphmill/pipeline/graph"
)

// Place is where a text stands.
type Place struct {
	Document string // path
	graph.Span
}

// mostOf is the share of an answer that has to be inside a place: where the
// border of two chunks cuts an answer, the one with the larger piece holds it.
const mostOf = 0.5

func (p Place) holds(answer Place) bool {
	inside := min(p.End, answer.End) - max(p.Start, answer.Start)
	return p.Document == answer.Document && float64(inside) > mostOf*float64(answer.End-answer.Start)
}

// Hit is one thing that a search returned: the places that it cites.
type Hit []Place

// Ranks gives each answer the rank, from 1, of the first hit that holds most of
// it; 0 when none does.
func Ranks(answers []Place, hits []Hit) []int {
	ranks := make([]int, len(answers))
	for i, answer := range answers {
		ranks[i] = 1 + slices.IndexFunc(hits, func(h Hit) bool {
			return slices.ContainsFunc(h, func(p Place) bool { return p.holds(answer) })
		})
	}
	return ranks
}

// Standing are the figures of one search, over all questions of a part, in points
// of a hundred.
type Standing struct {
	Search string // a path, or all of them fused
	Part   string // [Tuning], [HeldOut] or [All]
	// Recall is the share of a question's answers that stand among the first 5 and
	// 10 hits, the mean over the questions.
	Recall5, Recall10 float64
	// MRR is 1 / the rank of the first hit with an answer, the mean over the
	// questions.
	MRR       float64
	Questions int
}

// All names both parts together.
const All = "all"

// Standings sums searches up.
type Standings struct {
	order []string
	sums  map[[2]string]*Standing
}

// Add counts the ranks of one question's answers.
func (s *Standings) Add(search string, q Question, ranks []int) {
	if s.sums == nil {
		s.sums = map[[2]string]*Standing{}
	}
	if !slices.Contains(s.order, search) {
		s.order = append(s.order, search)
	}
	best := 0
	for _, rank := range ranks {
		if rank > 0 && (best == 0 || rank < best) {
			best = rank
		}
	}
	for _, part := range []string{All, q.Part()} {
		sum := s.sums[[2]string{search, part}]
		if sum == nil {
			sum = &Standing{Search: search, Part: part}
			s.sums[[2]string{search, part}] = sum
		}
		sum.Questions++
		sum.Recall5 += within(ranks, 5)
		sum.Recall10 += within(ranks, 10)
		if best > 0 {
			sum.MRR += 1 / float64(best)
		}
	}
}

func within(ranks []int, first int) float64 {
	n := 0
	for _, rank := range ranks {
		if 0 < rank && rank <= first {
			n++
		}
	}
	return ratio(n, len(ranks))
}

// Rows lists the figures: searches in the order in which they came, both parts
// together first.
func (s *Standings) Rows() []Standing {
	var rows []Standing
	for _, sum := range s.sums {
		row := *sum
		for _, figure := range []*float64{&row.Recall5, &row.Recall10, &row.MRR} {
			*figure *= 100 / float64(row.Questions)
		}
		rows = append(rows, row)
	}
	slices.SortFunc(rows, func(a, b Standing) int {
		return cmp.Or(cmp.Compare(slices.Index(s.order, a.Search), slices.Index(s.order, b.Search)), cmp.Compare(a.Part, b.Part))
	})
	return rows
}

const standingFormat = "%-12s %-9s %9s %10s %6s %10s\n"

// WriteStandings prints figures as text that [ReadStandings] reads.
func WriteStandings(w io.Writer, rows []Standing) error {
	if _, err := fmt.Fprintf(w, standingFormat, "search", "part", "recall@5", "recall@10", "mrr", "questions"); err != nil {
		return err
	}
	for _, r := range rows {
		if _, err := fmt.Fprintf(w, standingFormat, r.Search, r.Part, fmt.Sprintf("%.1f", r.Recall5), fmt.Sprintf("%.1f", r.Recall10),
			fmt.Sprintf("%.1f", r.MRR), fmt.Sprint(r.Questions)); err != nil {
			return err
		}
	}
	return nil
}

// ReadStandings reads what [WriteStandings] wrote.
func ReadStandings(text string) ([]Standing, error) {
	var rows []Standing
	for n, line := range strings.Split(strings.TrimSpace(text), "\n") {
		if n == 0 {
			continue
		}
		var r Standing
		if _, err := fmt.Sscan(line, &r.Search, &r.Part, &r.Recall5, &r.Recall10, &r.MRR, &r.Questions); err != nil {
			return nil, fmt.Errorf("read figures, line %d: %w", n+1, err)
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// Falls lists the figures over all questions that got has lower than want by more
// than the given points, and those that it lacks.
func Falls(want, got []Standing, points float64) []string {
	var falls []string
	for _, w := range want {
		if w.Part != All {
			continue
		}
		i := slices.IndexFunc(got, func(g Standing) bool { return g.Search == w.Search && g.Part == All })
		if i < 0 {
			falls = append(falls, w.Search+" is not measured")
			continue
		}
		for _, f := range w.beside(got[i]) {
			if f.mine-f.other > points+rounding {
				falls = append(falls, fmt.Sprintf("%s: %s is %.1f, was %.1f", w.Search, f.name, f.other, f.mine))
			}
		}
	}
	return falls
}

// rounding is what a figure may have lost on its way through the table.
const rounding = 0.05

// NotBetter lists the searches that one is not better than: its three figures over
// all questions have a greater mean, and none of them is lower by more than the
// given points.
func NotBetter(rows []Standing, search string, points float64) []string {
	i := slices.IndexFunc(rows, func(r Standing) bool { return r.Search == search && r.Part == All })
	if i < 0 {
		return []string{search + " is not measured"}
	}
	var misses []string
	for _, r := range rows {
		if r.Search == search || r.Part != All {
			continue
		}
		gain := 0.0
		for _, f := range rows[i].beside(r) {
			if gain += f.mine - f.other; f.other-f.mine > points+rounding {
				misses = append(misses, fmt.Sprintf("%s: %s is %.1f, that of %s %.1f", search, f.name, f.mine, r.Search, f.other))
			}
		}
		if gain <= 0 {
			misses = append(misses, fmt.Sprintf("%s: the mean of its figures is %.1f points from that of %s", search, gain/3, r.Search))
		}
	}
	return misses
}

type compared struct {
	name        string
	mine, other float64
}

func (s Standing) beside(other Standing) []compared {
	return []compared{{"recall@5", s.Recall5, other.Recall5}, {"recall@10", s.Recall10, other.Recall10}, {"MRR", s.MRR, other.MRR}}
}
