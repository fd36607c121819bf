package main

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// line is one row of the table. Every column is text that says its unit.
type line struct {
	what, ours, limit, ratio, target string
	met                              bool
	note                             string
}

type table struct{ lines []line }

func (t *table) add(l line) { t.lines = append(t.lines, l) }

// skip says why there is no figure.
func (t *table) skip(what, why string) { t.add(line{what: what, ours: "skipped", note: why}) }

func (t *table) print(w io.Writer) {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "WHAT\tOURS\tLIMIT OR PEER\tRATIO\tTARGET\tMET\tNOTE")
	for _, l := range t.lines {
		met := ""
		if l.target != "" && l.ours != "skipped" {
			met = map[bool]string{true: "yes", false: "NO"}[l.met]
		}
		fmt.Fprintf(out, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", l.what, l.ours, l.limit, l.ratio, l.target, met, l.note)
	}
	out.Flush()
}

func seconds(s float64) string { return fmt.Sprintf("%.1f s", s) }
func times(r float64) string   { return fmt.Sprintf("%.2f ×", r) }
func percent(r float64) string { return fmt.Sprintf("%.0f %%", 100*r) }
