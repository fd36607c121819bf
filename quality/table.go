package quality

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// Total names the sum over all kinds of text.
const Total = "total"

// Table holds figures by part, kind of text and measure.
type Table struct{ rows map[[3]string]Counts }

// Add counts a passage's figures under its part, and under both parts together
// ("all"), each by kind and in total, and those of types under "all".
func (t *Table) Add(p Passage, measured Measured) {
	if t.rows == nil {
		t.rows = map[[3]string]Counts{}
	}
	for measure, c := range measured.Counts {
		for _, part := range []string{"all", p.Part} {
			for _, kind := range []string{Total, p.Kind} {
				key := [3]string{part, kind, measure}
				t.rows[key] = t.rows[key].plus(c)
			}
		}
	}
	for measure, types := range map[string]map[string]Counts{MentionTypes: measured.Mentions, RelationTypes: measured.Relations} {
		for kind, c := range types {
			key := [3]string{"all", kind, measure}
			t.rows[key] = t.rows[key].plus(c)
		}
	}
}

// Row is one line of a table, in points of a hundred.
type Row struct {
	Part, Kind, Measure   string
	Precision, Recall, F1 float64
	Right, Found, Labels  int
}

func (r Row) name() string { return r.Part + "/" + r.Kind + "/" + r.Measure }

// Rows lists the table: measures, then parts, totals before kinds.
func (t *Table) Rows() []Row {
	var rows []Row
	for key, c := range t.rows {
		rows = append(rows, Row{
			Part: key[0], Kind: key[1], Measure: key[2],
			Precision: 100 * c.Precision(), Recall: 100 * c.Recall(), F1: 100 * c.F1(),
			Right: c.Right, Found: c.Found, Labels: c.Labelled,
		})
	}
	rank := func(r Row) string {
		last := "1"
		if r.Kind == Total {
			last = "0"
		}
		place := slices.Index(Measures[:], r.Measure)
		if place < 0 {
			place = len(Measures)
		}
		return fmt.Sprint(place, r.Measure, r.Part, last, r.Kind)
	}
	slices.SortFunc(rows, func(a, b Row) int { return strings.Compare(rank(a), rank(b)) })
	return rows
}

const rowFormat = "%-17s %-9s %-13s %9s %7s %6s %6s %6s %9s\n"

// Write prints the table as text that [ReadRows] reads.
func (t *Table) Write(w io.Writer) error {
	if _, err := fmt.Fprintf(w, rowFormat, "measure", "part", "kind", "precision", "recall", "f1", "right", "found", "labelled"); err != nil {
		return err
	}
	for _, r := range t.Rows() {
		if _, err := fmt.Fprintf(w, rowFormat, strings.ReplaceAll(r.Measure, " ", "_"), r.Part, r.Kind,
			fmt.Sprintf("%.1f", r.Precision), fmt.Sprintf("%.1f", r.Recall), fmt.Sprintf("%.1f", r.F1),
			fmt.Sprint(r.Right), fmt.Sprint(r.Found), fmt.Sprint(r.Labels)); err != nil {
			return err
		}
	}
	return nil
}

// ReadRows reads what [Table.Write] wrote. The figures are counted anew from
// the counts, so that rounding plays no part in a comparison.
func ReadRows(text string) ([]Row, error) {
	var rows []Row
	for n, line := range strings.Split(strings.TrimSpace(text), "\n") {
		if n == 0 {
			continue
		}
		var r Row
		var precision, recall, f1 string
		if _, err := fmt.Sscan(line, &r.Measure, &r.Part, &r.Kind, &precision, &recall, &f1, &r.Right, &r.Found, &r.Labels); err != nil {
			return nil, fmt.Errorf("read figures, line %d: %w", n+1, err)
		}
		r.Measure = strings.ReplaceAll(r.Measure, "_", " ")
		c := Counts{Right: r.Right, Found: r.Found, Labelled: r.Labels}
		r.Precision, r.Recall, r.F1 = 100*c.Precision(), 100*c.Recall(), 100*c.F1()
		rows = append(rows, r)
	}
	return rows, nil
}

// Drops lists the totals of want that got has lower by more than the given
// points, in precision, recall or F1, and those that it lacks.
func Drops(want, got []Row, points float64) []string {
	by := map[string]Row{}
	for _, r := range got {
		by[r.name()] = r
	}
	var drops []string
	for _, w := range want {
		if w.Kind != Total {
			continue
		}
		g, ok := by[w.name()]
		if !ok {
			drops = append(drops, w.name()+" is not measured")
			continue
		}
		for _, figure := range []struct {
			name      string
			was, here float64
		}{{"precision", w.Precision, g.Precision}, {"recall", w.Recall, g.Recall}, {"F1", w.F1, g.F1}} {
			if figure.was-figure.here > points {
				drops = append(drops, fmt.Sprintf("%s: %s is %.1f, was %.1f", w.name(), figure.name, figure.here, figure.was))
			}
		}
	}
	return drops
}
