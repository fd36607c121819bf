package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"graphmill/commandline"
	"graphmill/pipeline"
	"graphmill/pipeline/falkor/store"
)

func (a *app) checkCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check",
		Short: "look for broken invariants in the graph",
		Long: `check looks for what no run, however it ended, should leave behind: passages without a document, mentions and facts
without a source, quotes and spans that do not stand where they say, ids that stand twice, two versions of a document,
vectors, indexes and an ontology that are missing, counts that disagree. It reads, page by page, beside whatever else uses
the graph, and ends with 3 when it finds something.

With --repair it takes the graph's lock and mends what it finds, says what it did, and checks again. What the graph itself
does not tell is taken from the documents again: those are marked, and the next run does them again.`,
		Example: "  ingestd check\n  ingestd check --repair && ingestd run --root corpus",
		Args:    cobra.NoArgs,
	}
	var repair bool
	var most int
	cmd.Flags().BoolVar(&repair, "repair", false, "mend what is found")
	cmd.Flags().IntVar(&most, "most", 100, "findings of a kind that are listed; all are counted")
	return a.verb(cmd, []string{"wait", "ontology"}, func(ctx context.Context, _ []string) error {
		if most < 1 {
			return commandline.Usage("--most %d: give at least 1", most)
		}
		result, err := a.check(ctx, store.CheckOptions{Most: most, Embeddable: embeddable}, repair)
		if err != nil {
			return err
		}
		if err := a.Print(result, func(w io.Writer) { printCheck(w, result, repair, a.Config.Quiet) }); err != nil {
			return err
		}
		if !result.Clean {
			return &commandline.ExitError{Code: commandline.ExitSomeFailed}
		}
		return nil
	})
}

func embeddable(p store.Pending) bool { return len(pipeline.EmbeddingTexts(p)) > 0 }

func (a *app) check(ctx context.Context, o store.CheckOptions, repair bool) (*store.CheckResult, error) {
	if !repair {
		s, err := a.connect(ctx)
		if err != nil {
			return nil, err
		}
		result, err := s.store.Check(ctx, o)
		return result, errors.Join(s.checked(ctx, result, err), s.close())
	}
	s, err := a.openSession(ctx, "check --repair")
	if err != nil {
		return nil, err
	}
	result, err := s.repair(ctx, o)
	return result, errors.Join(s.checked(ctx, result, err), s.close())
}

// checked says of nothing found in nothing that there is no graph.
func (s *session) checked(ctx context.Context, result *store.CheckResult, err error) error {
	if err == nil && result.Clean && result.Checked == (store.Checked{}) {
		return s.built(ctx)
	}
	return err
}

func (s *session) repair(ctx context.Context, o store.CheckOptions) (*store.CheckResult, error) {
	ctx, cancel := s.untilLockLost(ctx)
	defer cancel()
	started := time.Now()
	result, err := s.store.Repair(ctx, o, func(ctx context.Context) error {
		chosen, err := s.chooseOntology(ctx)
		if err != nil {
			return err
		}
		return s.saveOntology(ctx, chosen)
	})
	err = s.explain(ctx, err)
	if result == nil || len(result.Repaired) == 0 {
		return result, err
	}
	return result, errors.Join(err, s.recordRepair(result, started, err))
}

// recordRepair leaves a line in the ledger.
func (s *session) recordRepair(result *store.CheckResult, started time.Time, outcome error) error {
	line := store.Run{Verb: "check --repair", Started: started, Ended: time.Now(), Status: "done", Totals: map[string]int{}}
	for _, r := range result.Repaired {
		line.Totals[string(r.Kind)] += r.Count
	}
	if outcome != nil {
		line.Status, line.Message = "failed", outcome.Error()
	}
	if err := s.saveLine(line); outcome == nil {
		return err
	}
	return nil // the verb's own error says what went wrong
}

// printCheck prints for people: what was done, what is wrong, and how much was
// looked at.
func printCheck(w io.Writer, r *store.CheckResult, repair, quiet bool) {
	for _, did := range r.Repaired {
		fmt.Fprintf(w, "repaired: %d %s: %s\n", did.Count, did.Kind, did.Did)
	}
	listed := map[store.FindingKind]int{}
	for _, f := range r.Findings {
		listed[f.Kind]++
		if quiet {
			continue
		}
		where := f.ID
		if f.Document != "" && f.Document != f.ID {
			where += " in " + f.Document
		}
		fmt.Fprintf(w, "%s: %s: %s\n", f.Kind, commandline.Printable(where), commandline.Printable(f.Detail))
	}
	total := 0
	for _, kind := range store.FindingKinds() {
		total += r.Found[kind]
		if more := r.Found[kind] - listed[kind]; more > 0 {
			fmt.Fprintf(w, "%s: %d more\n", kind, more)
		}
	}
	c := r.Checked
	verdict := "no broken invariant"
	if total > 0 {
		verdict = fmt.Sprintf("%d findings", total)
	}
	fmt.Fprintf(w, "%s: %s in %d documents, %d chunks, %d sections, %d entities, %d mentions, %d relations\n",
		r.Graph, verdict, c.Documents, c.Chunks, c.Sections, c.Entities, c.Mentions, c.Relations)
	if r.Waiting > 0 {
		fmt.Fprintf(w, "waiting: %d documents are marked; the next `ingestd run` does them again\n", r.Waiting)
	}
	if r.Changing {
		fmt.Fprintln(w, "warning: the graph was written to meanwhile, each time it was checked; findings may be of that. Check again when no run is under way")
	}
	if total > 0 && !repair {
		fmt.Fprintln(w, "next: `ingestd check --repair` mends them")
	}
}
