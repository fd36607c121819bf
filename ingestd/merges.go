package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"graphmill/commandline"
	"graphmill/pipeline"
	"graphmill/pipeline/falkor/store"
	"graphmill/pipeline/graph"
)

func (a *app) mergesCommand() *cobra.Command {
	return commandline.Group(&cobra.Command{
		Use:   "merges",
		Short: "show which names are taken for one thing's, and take that back",
		Long: `merges shows which names the resolvers similar and llm_verified take for one thing's, by what rule and where both stand.
What is undone or forbidden stays so through later runs, re-extraction and new documents.`,
		Example: "  ingestd merges list\n  ingestd merges undo m1a2b3c4d5e6\n  ingestd merges forbid IBM 'IBM Research'",
	}, a.mergesListCommand(), a.mergesUndoCommand(), a.mergesForbidCommand(), a.mergesAllowCommand())
}

// mergesResult is what the verbs print as JSON.
type mergesResult struct {
	Graph    string                   `json:"graph"`
	Merges   []store.Merge            `json:"merges"`
	Finalize *pipeline.FinalizeReport `json:"finalize,omitempty"`
	Warnings []string                 `json:"warnings,omitempty"`
}

// mergeStates are what --state takes.
var mergeStates = []string{"active", "undone", "forbidden", "confirmed", "apart", "all"}

func (a *app) mergesListCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "list", Short: "list merges: kept and merged name, rule, score, where they stand",
		Long: `list shows the merges that the graph holds, or with --state those that were undone or forbidden, or what a language model
said of pairs: confirmed, apart.`,
		Example: "  ingestd merges list\n  ingestd merges list --state undone --output json",
		Args:    cobra.NoArgs,
	}
	var state string
	cmd.Flags().StringVar(&state, "state", "active", "which to list: "+strings.Join(mergeStates, ", "))
	return a.verb(cmd, nil, func(ctx context.Context, _ []string) error {
		if !slices.Contains(mergeStates, state) {
			return commandline.Usage("--state %s: there is no such state; choose one of %s", state, strings.Join(mergeStates, ", "))
		}
		s, err := a.connect(ctx)
		if err != nil {
			return err
		}
		records, err := s.store.Merges(ctx)
		if err == nil && len(records) == 0 {
			err = s.built(ctx)
		}
		if err = errors.Join(err, s.close()); err != nil {
			return err
		}
		records = slices.DeleteFunc(records, func(m store.Merge) bool { return state != "all" && string(m.State) != state })
		return a.printMerges(mergesResult{Graph: a.Config.GraphName(), Merges: records})
	})
}

// decideKeys are the settings of the verbs that decide and finalize.
var decideKeys = []string{"wait", "progress", "embedder.kind", "embedder.model_dir", "jobs"}

func (a *app) mergesUndoCommand() *cobra.Command {
	return a.verb(&cobra.Command{
		Use: "undo ID…", Short: "take merges apart, for good",
		Long:    "undo takes merges apart, by the ids that list shows: each name has an entity of its own again, with what documents say of it, for good.",
		Example: "  ingestd merges undo m1a2b3c4d5e6",
		Args:    cobra.MinimumNArgs(1),
	}, decideKeys, func(ctx context.Context, ids []string) error {
		return a.decide(ctx, "merges undo", func(records []store.Merge) ([]store.Merge, error) { return pick(records, ids, store.MergeUndone) })
	})
}

func (a *app) mergesForbidCommand() *cobra.Command {
	return a.verb(&cobra.Command{
		Use: "forbid NAME NAME | ID…", Short: "forbid that two names are taken for one thing's",
		Long: `forbid keeps two names apart for good, whatever their types and whether or not the graph has them already. With ids that list
shows it does so for those pairs. resolvers.must_not_merge does the same from the configuration.`,
		Example: "  ingestd merges forbid IBM 'IBM Research'",
		Args:    cobra.MinimumNArgs(1),
	}, decideKeys, func(ctx context.Context, args []string) error {
		return a.decide(ctx, "merges forbid", func(records []store.Merge) ([]store.Merge, error) { return forbidden(records, args) })
	})
}

func (a *app) mergesAllowCommand() *cobra.Command {
	return a.verb(&cobra.Command{
		Use: "allow ID…", Short: "forget that merges were undone or forbidden",
		Long:    "allow forgets what undo and forbid recorded; finalize then merges again what its rules say.",
		Example: "  ingestd merges list --state undone\n  ingestd merges allow m1a2b3c4d5e6",
		Args:    cobra.MinimumNArgs(1),
	}, decideKeys, func(ctx context.Context, ids []string) error {
		return a.decide(ctx, "merges allow", func(records []store.Merge) ([]store.Merge, error) { return pick(records, ids, store.MergeAllowed) })
	})
}

// pick gives the records that ids name another state.
func pick(records []store.Merge, ids []string, state store.MergeState) ([]store.Merge, error) {
	var picked []store.Merge
	for _, id := range ids {
		i := slices.IndexFunc(records, func(m store.Merge) bool { return m.ID == id })
		if i < 0 {
			return nil, commandline.Usage("the graph has no merge %s; `ingestd merges list --state all` shows them", id)
		}
		m := records[i]
		switch {
		case state == store.MergeUndone && m.State != store.MergeActive && m.State != store.MergeUndone:
			return nil, commandline.Usage("%s is %s, not active: there is nothing to undo", id, m.State)
		case state == store.MergeAllowed && m.State == store.MergeActive:
			return nil, commandline.Usage("%s is active: nothing forbids it", id)
		}
		m.State = state
		picked = append(picked, m)
	}
	return picked, nil
}

// forbidden makes a record of two names, or of those that ids name.
func forbidden(records []store.Merge, args []string) ([]store.Merge, error) {
	known := slices.ContainsFunc(records, func(m store.Merge) bool { return m.ID == args[0] })
	if len(args) != 2 || known {
		return pick(records, args, store.MergeForbidden)
	}
	a, b := graph.NameKey(args[0]), graph.NameKey(args[1])
	switch {
	case a == "" || b == "":
		return nil, commandline.Usage("forbid %q %q: a name needs a letter or a digit", args[0], args[1])
	case a == b:
		return nil, commandline.Usage("forbid %q %q: these are spellings of one name, which every resolver takes for one thing's", args[0], args[1])
	}
	return []store.Merge{{ID: store.ForbiddenID(a, b), State: store.MergeForbidden, KeptName: graph.DisplayName(args[0]), MergedName: graph.DisplayName(args[1])}}, nil
}

// decide records what an operator says and finalizes, so that the graph is as it
// says when the verb ends.
func (a *app) decide(ctx context.Context, verb string, choose func([]store.Merge) ([]store.Merge, error)) error {
	s, err := a.openSession(ctx, verb)
	if err != nil {
		return err
	}
	if err := s.built(ctx); err != nil {
		return errors.Join(err, s.close())
	}
	started := time.Now()
	report := pipeline.NewReport(a.Config.GraphName())
	decided, err := s.decide(ctx, choose, report)
	err = errors.Join(err, s.record(verb, report, started, err), s.close())
	if err != nil {
		return err
	}
	return a.printMerges(mergesResult{Graph: a.Config.GraphName(), Merges: decided, Finalize: report.Finalize, Warnings: report.Warnings})
}

func (s *session) decide(ctx context.Context, choose func([]store.Merge) ([]store.Merge, error), report *pipeline.Report) ([]store.Merge, error) {
	ctx, cancel := s.untilLockLost(ctx)
	defer cancel()
	records, err := s.store.Merges(ctx)
	if err != nil {
		return nil, err
	}
	decided, err := choose(records)
	if err != nil {
		return nil, err
	}
	// Dies before: nothing is decided. Dies after: the next finalize, which the
	// graph waits for, does what was decided.
	if err = s.store.Decide(ctx, decided); err == nil {
		err = s.finalizeForgotten(ctx, report)
	}
	if err != nil {
		err = report.Interrupt(ctx, err)
	}
	return decided, s.explain(ctx, err)
}

func (a *app) printMerges(result mergesResult) error {
	if result.Merges == nil {
		result.Merges = []store.Merge{}
	}
	return a.Print(result, func(w io.Writer) {
		if len(result.Merges) == 0 {
			fmt.Fprintln(w, "no merges")
			return
		}
		table := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
		fmt.Fprintln(table, "ID\tSTATE\tKEPT\tMERGED\tTYPE\tRULE\tSCORE\tWHERE")
		for _, m := range result.Merges {
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", m.ID, m.State, commandline.Printable(m.KeptName), commandline.Printable(m.MergedName),
				commandline.Printable(m.KeptType), m.Rule, scoreText(m.Score), commandline.Printable(whereText(m)))
		}
		table.Flush()
		for _, warning := range result.Warnings {
			fmt.Fprintln(w, "warning: "+commandline.Printable(warning))
		}
	})
}

func scoreText(score float64) string {
	if score == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f", score)
}

// whereText names the documents of a merge's evidence, each once.
func whereText(m store.Merge) string {
	var paths []string
	for _, p := range m.Evidence {
		if !slices.Contains(paths, p.Path) {
			paths = append(paths, p.Path)
		}
	}
	return strings.Join(paths, ", ")
}
