package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"graphmill/chunkers"
	"graphmill/commandline"
	"graphmill/configs"
	"graphmill/extractors"
	"graphmill/pipeline"
	"graphmill/pipeline/corpus"
	"graphmill/planner"
	"graphmill/planner/catalogue"
	"graphmill/resolvers"
)

func (a *app) planCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "plan --root DIR",
		Short: "show what a run would do with each file, and write nothing",
		Long: `plan shows for each file the rule that matched, the strategies, estimated chunks, tokens, model calls, seconds and money,
and why the file would be processed (new, content, plan, ontology, model, format, none). It writes nothing.`,
		Args: cobra.NoArgs,
	}
	var moved bool
	cmd.Flags().BoolVar(&moved, "moved", false, "the root is the folder that the graph was built from, at a new place")
	return a.verb(cmd, ingestKeys, func(ctx context.Context, _ []string) error { return a.plan(ctx, moved) })
}

func (a *app) plan(ctx context.Context, moved bool) error {
	root, err := a.openRoot()
	if err != nil {
		return err
	}
	defer root.Close()
	w, err := newWired(a.Config)
	if err != nil {
		return err
	}
	defer w.close()
	s, err := a.connect(ctx)
	if err != nil {
		return err
	}
	report, err := s.plan(ctx, w, root, moved)
	if err = errors.Join(err, s.close()); err != nil {
		return err
	}
	if err := a.Print(report, func(w io.Writer) { printPlan(w, report, a.Config.Quiet) }); err != nil {
		return err
	}
	if report.FailedCount() > 0 {
		return &commandline.ExitError{Code: commandline.ExitSomeFailed}
	}
	return nil
}

func (s *session) plan(ctx context.Context, w *wired, root *corpus.Root, moved bool) (*pipeline.PlanReport, error) {
	meta, err := s.store.Meta(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.checkSource(ctx, meta, root.Dir(), moved); err != nil {
		return nil, err
	}
	chosen, err := s.chooseOntology(ctx)
	if err != nil {
		return nil, err
	}
	options, err := s.pipelineOptions(chosen, w, root, pipeline.Silent{})
	if err != nil {
		return nil, err
	}
	return pipeline.Plan(ctx, options)
}

func printPlan(w io.Writer, r *pipeline.PlanReport, quiet bool) {
	if !quiet {
		table := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
		fmt.Fprintln(table, "WHY\tPATH\tPLAN\tCHUNKS\tTOKENS\tCALLS\tSECONDS\tMONEY\tRULE")
		for _, d := range r.Documents {
			why, rule := string(d.Why), d.Rule
			if d.Status != "" {
				why, rule = string(d.Status), d.Reason
			}
			fmt.Fprintf(table, "%s\t%s\t%s\t%d\t%d\t%d\t%.1f\t%.2f\t%s\n",
				why, commandline.Printable(d.Path), d.Plan, d.Chunks, d.Tokens, d.ModelCalls, d.Seconds, d.Money, commandline.Printable(rule))
		}
		table.Flush()
		fmt.Fprintln(w)
	}
	counts := map[string]int{}
	for why, n := range r.Totals.Why {
		counts[string(why)] = n
	}
	t := r.Totals
	fmt.Fprintf(w, "%s: %d files: %s\n", r.Graph, t.Files, topCounts(counts, len(counts)))
	fmt.Fprintf(w, "to do: about %d chunks, %d tokens, %d model calls, %.0f s of one core, %.2f money\n",
		t.Chunks, t.Tokens, t.ModelCalls, t.Seconds, t.Money)
}

// newPlanner makes the planner of the configuration's rules and limits.
func newPlanner(cfg *configs.Config) (*planner.Planner, error) {
	var rules []planner.Rule
	for _, r := range cfg.Plan.Rules {
		rules = append(rules, planner.Rule{
			Match: r.Match, Chunker: r.Chunker, Extractors: r.Extractors, Resolver: r.Resolver,
			MaxChunks: r.MaxChunks, Parameters: r.Parameters, Origin: r.Origin,
		})
	}
	return newPlannerOf(cfg, rules)
}

// newPlannerOf makes the planner of other rules within the configuration's limits.
func newPlannerOf(cfg *configs.Config, rules []planner.Rule) (*planner.Planner, error) {
	limits := cfg.Plan.Limits
	p, err := planner.New(rules, planner.Limits{
		Chunkers: limits.Chunkers, Extractors: limits.Extractors, Resolvers: limits.Resolvers,
		MaxChunks: limits.MaxChunks, MaxLLMPairs: limits.MaxLLMPairs, DefaultParameters: !limits.TuneParams,
	}, strategies())
	if err != nil {
		return nil, commandline.Usage("%v", err)
	}
	return p, checkAsking(cfg, p)
}

// strategies are all there are.
func strategies() []catalogue.Strategy {
	return slices.Concat(chunkers.Catalogue(), extractors.Catalogue(), resolvers.Catalogue())
}
