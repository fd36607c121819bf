package main

import (
	"fmt"
	"io"
	"sort"
	"strings"
	"text/tabwriter"

	"graphmill/commandline"
	"graphmill/pipeline"
	"graphmill/pipeline/graph"
)

// textPrinter prints for people.
type textPrinter struct {
	w      io.Writer
	quiet  bool
	advice func(io.Writer, *pipeline.Report) // on the ontology; nil has none
}

func (p textPrinter) report(r *pipeline.Report) {
	if !p.quiet {
		p.rows(r.Documents)
	}
	p.totals(r)
}

func (p textPrinter) rows(documents []pipeline.DocumentReport) {
	if len(documents) == 0 {
		return
	}
	table := tabwriter.NewWriter(p.w, 0, 4, 2, ' ', 0)
	fmt.Fprintln(table, "STATUS\tPATH\tPLAN\tCHUNKS\tENTITIES\tRELATIONS\tSECONDS\tREASON")
	for _, d := range documents {
		fmt.Fprintf(table, "%s\t%s\t%s\t%d\t%d\t%d\t%.2f\t%s\n",
			d.Status, commandline.Printable(d.Path), d.Plan, d.Chunks, d.Entities, d.Relations, d.Seconds, commandline.Printable(d.Reason))
	}
	table.Flush()
	fmt.Fprintln(p.w)
}

// failed names the failed files where no row does: of a run by cron nothing else
// is left.
func (p textPrinter) failed(documents []pipeline.DocumentReport) {
	const most = 10
	n := 0
	for _, d := range documents {
		if d.Status != pipeline.Failed {
			continue
		}
		if n++; n <= most {
			fmt.Fprintf(p.w, "failed:  %s: %s\n", commandline.Printable(d.Path), commandline.Printable(d.Reason))
		}
	}
	if n > most {
		fmt.Fprintf(p.w, "failed:  %d more\n", n-most)
	}
}

func (p textPrinter) totals(r *pipeline.Report) {
	var parts []string
	for _, status := range pipeline.Statuses() {
		if n := r.Totals.Status[status]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, status))
		}
	}
	if len(parts) == 0 {
		parts = []string{"no files"}
	}
	fmt.Fprintf(p.w, "%s: %s · %.1f s\n", r.Graph, strings.Join(parts, ", "), r.Totals.Seconds)
	if r.Wrote() {
		reused := ""
		if r.Totals.Reused > 0 {
			reused = fmt.Sprintf(" (%d of them not extracted again)", r.Totals.Reused)
		}
		fmt.Fprintf(p.w, "written: %s%s, %s, %s\n", counted(r.Totals.Chunks, "chunk"), reused, countedEntities(r.Totals.Entities), counted(r.Totals.Relations, "relation"))
	}
	if f := r.Finalize; f != nil {
		p.finalize(f)
	}
	if r.Cost != nil {
		p.bill(r.Cost)
	}
	p.pruned(r.Pruned)
	if p.advice != nil && !p.quiet {
		p.advice(p.w, r)
	}
	if p.quiet {
		p.failed(r.Documents)
	}
	if n := r.IncompleteCount(); n > 0 {
		fmt.Fprintf(p.w, "incomplete: of %s some chunks gave nothing, because no answer could be used; run again to try those chunks again\n", counted(n, "document"))
	}
	if r.MissingCount > 0 {
		fmt.Fprintf(p.w, "gone: the files of %s in the graph (%s); ingestd forget PATH or run --mirror removes them\n",
			counted(r.MissingCount, "document"), commandline.Printable(sample(r.Missing, 3)))
	}
	if r.Interrupted != "" {
		fmt.Fprintf(p.w, "stopped early (%s); run again to go on\n", r.Interrupted)
	}
	for _, warning := range r.Warnings {
		fmt.Fprintf(p.w, "warning: %s\n", commandline.Printable(warning))
	}
}

func (p textPrinter) finalize(f *pipeline.FinalizeReport) {
	if !f.Done {
		made := 0
		for _, n := range f.Embedded {
			made += n
		}
		fmt.Fprintf(p.w, "graph:   not finalized; %d vectors were made, `ingestd finalize` goes on\n", made)
		return
	}
	c := f.Counts
	fmt.Fprintf(p.w, "graph:   %s; finalized in %.1f s with %s\n", holds(c.Documents, c.Chunks, c.Entities, c.Relations), f.Seconds, f.Embedding)
}

// pruned says what the ontology misses, the most frequent first.
func (p textPrinter) pruned(pruned graph.Pruned) {
	lines := []struct {
		what   string
		counts map[string]int
	}{
		{"undeclared entity types", pruned.EntityTypes},
		{"undeclared relation types", pruned.RelationTypes},
		{"undeclared relation patterns", pruned.Patterns},
		{"relations with an Unknown end", pruned.UnknownEndpoints},
	}
	for _, line := range lines {
		if len(line.counts) > 0 {
			fmt.Fprintf(p.w, "pruned:  %s: %s\n", line.what, commandline.Printable(topCounts(line.counts, 5)))
		}
	}
	if n := pruned.UnknownEntities; n > 0 {
		fmt.Fprintf(p.w, "pruned:  mentions kept as Unknown: %d\n", n)
	}
	if n, m := pruned.UnquotedMentions, pruned.UnquotedRelations; n+m > 0 {
		fmt.Fprintf(p.w, "pruned:  without a quote in their passage: %d names, %d facts\n", n, m)
	}
}

func topCounts(counts map[string]int, limit int) string {
	var parts []string
	for _, key := range mostFrequent(counts, limit) {
		parts = append(parts, fmt.Sprintf("%s (%d)", key, counts[key]))
	}
	if len(counts) > limit {
		parts = append(parts, fmt.Sprintf("…(%d more)", len(counts)-limit))
	}
	return strings.Join(parts, ", ")
}

// counted is "1 document", "2 documents".
func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func countedEntities(n int) string {
	if n == 1 {
		return "1 entity"
	}
	return fmt.Sprintf("%d entities", n)
}

// holds says what a graph holds.
func holds(documents, chunks, entities, relations int) string {
	return strings.Join([]string{counted(documents, "document"), counted(chunks, "chunk"), countedEntities(entities), counted(relations, "relation")}, ", ")
}

// mostFrequent are at most limit keys, those with the largest counts first.
func mostFrequent(counts map[string]int, limit int) []string {
	keys := make([]string, 0, len(counts))
	for key := range counts {
		keys = append(keys, key)
	}
	sort.Slice(keys, func(i, j int) bool {
		if counts[keys[i]] != counts[keys[j]] {
			return counts[keys[i]] > counts[keys[j]]
		}
		return keys[i] < keys[j]
	})
	return keys[:min(limit, len(keys))]
}

func sample(list []string, limit int) string {
	if len(list) <= limit {
		return strings.Join(list, ", ")
	}
	return fmt.Sprintf("%s, …", strings.Join(list[:limit], ", "))
}

// storedRows lists what the graph holds.
func (p textPrinter) storedRows(documents []pipeline.DocumentReport) {
	table := tabwriter.NewWriter(p.w, 0, 4, 2, ' ', 0)
	fmt.Fprintln(table, "PATH\tLAST\tPLAN\tCHUNKS\tENTITIES\tRELATIONS")
	for _, d := range documents {
		fmt.Fprintf(table, "%s\t%s\t%s\t%d\t%d\t%d\n", commandline.Printable(d.Path), d.Status, d.Plan, d.Chunks, d.Entities, d.Relations)
	}
	table.Flush()
	fmt.Fprintln(p.w)
}
