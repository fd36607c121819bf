package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sort"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"graphmill/commandline"
	"graphmill/pipeline/falkor/store"
)

// runLine is one line of the run ledger as runs prints it.
type runLine struct {
	ID      string         `json:"id"`
	Verb    string         `json:"verb"`
	Status  string         `json:"status"` // "running", "done", "failed", "interrupted", "died"
	Started time.Time      `json:"started"`
	Seconds float64        `json:"seconds"`
	Totals  map[string]int `json:"totals"` // documents by status
	Message string         `json:"message,omitempty"`
	store.RunDetails
}

func (a *app) runsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "runs",
		Short: "show what changed the graph, and when",
		Long: `runs shows the graph's ledger, the newest first: every verb that changed the graph, when, how it ended, and how many
documents. With --output json also who ran it, with which configuration (a hash), what it cost, and its first failures.
diff shows what one of them changed.`,
		Example: "  ingestd runs --limit 5\n  ingestd runs --output json",
		Args:    cobra.NoArgs,
	}
	var limit int
	cmd.Flags().IntVar(&limit, "limit", 20, "number of lines")
	return a.verb(cmd, nil, func(ctx context.Context, _ []string) error {
		if limit < 1 {
			return commandline.Usage("--limit %d: give at least 1", limit)
		}
		s, err := a.connect(ctx)
		if err != nil {
			return err
		}
		runs, err := s.store.Runs(ctx, limit)
		if err == nil && len(runs) == 0 {
			err = s.built(ctx)
		}
		if err = errors.Join(err, s.close()); err != nil {
			return err
		}
		result := struct {
			Graph string    `json:"graph"`
			Runs  []runLine `json:"runs"`
		}{a.Config.GraphName(), runLines(runs)}
		return a.Print(result, func(w io.Writer) { printRuns(w, result.Runs) })
	})
}

func runLines(runs []store.Run) []runLine {
	lines := make([]runLine, len(runs))
	for i, r := range runs {
		lines[i] = lineOf(r)
	}
	return lines
}

func lineOf(r store.Run) runLine {
	line := runLine{ID: r.ID, Verb: r.Verb, Status: r.Status, Started: r.Started, Totals: r.Totals, Message: r.Message, RunDetails: r.Details}
	if !r.Ended.IsZero() {
		line.Seconds = r.Ended.Sub(r.Started).Seconds()
	}
	return line
}

func printRuns(w io.Writer, runs []runLine) {
	if len(runs) == 0 {
		fmt.Fprintln(w, "nothing has changed this graph yet")
		return
	}
	table := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintln(table, "STARTED\tVERB\tSTATUS\tSECONDS\tDOCUMENTS\tRUN\tMESSAGE")
	for _, r := range runs {
		var totals []string
		for status, n := range r.Totals {
			totals = append(totals, fmt.Sprintf("%d %s", n, status))
		}
		sort.Strings(totals)
		fmt.Fprintf(table, "%s\t%s\t%s\t%.1f\t%s\t%s\t%s\n", r.Started.Local().Format(time.DateTime), r.Verb, r.Status, r.Seconds,
			strings.Join(totals, ", "), r.ID, commandline.Printable(r.Message))
	}
	table.Flush()
}
