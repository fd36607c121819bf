package main

import (
	"cmp"
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
		Short: "show what a run would do with each file, and what it would cost",
		Long: `plan shows for each file the rule that matched, the strategies, chunks, tokens, model calls, seconds and money, and why
the file would be processed (new, content, plan, ontology, model, format, incomplete, none). It writes nothing to the graph.

Files whose strategies ask a language model are parsed and cut, and their questions counted: that is what will be paid, but
for the length of answers and for answers that are kept from before. The other figures are estimates from the files' sizes.
With --out the plan is kept in a file, and ` + "`ingestd run --plan FILE`" + ` does exactly that, or refuses and says what moved.`,
		Example: "  ingestd plan --root corpus\n  ingestd plan --root corpus --out plan.json && ingestd run --root corpus --plan plan.json",
		Args:    cobra.NoArgs,
	}
	var moved bool
	var out string
	cmd.Flags().BoolVar(&moved, "moved", false, "the root is the folder that the graph was built from, at a new place")
	cmd.Flags().StringVar(&out, "out", "", "keep the plan in this file, for run --plan")
	keys := slices.DeleteFunc(slices.Clone(ingestKeys), func(key string) bool { return key == "wait" }) // it takes no lock
	return a.verb(cmd, keys, func(ctx context.Context, _ []string) error { return a.plan(ctx, moved, out) })
}

func (a *app) plan(ctx context.Context, moved bool, out string) error {
	out, err := replaceable("--out", out)
	if err != nil {
		return err
	}
	if out != "" {
		if err := writable(out); err != nil {
			return err
		}
	}
	root, err := a.openRoot(ctx)
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
	file, err := s.plan(ctx, w, root, moved)
	if err = errors.Join(err, s.close()); err != nil {
		return err
	}
	if out != "" {
		if err := file.Write(out); err != nil {
			return err
		}
		a.Say(fmt.Sprintf("the plan is in %s; `ingestd run --root %s --plan %s` does exactly that", out, shellWord(a.Config.Root), shellWord(out)))
	}
	report := &file.PlanReport
	if err := a.Print(report, func(w io.Writer) { printPlan(w, report, a.Config.Quiet) }); err != nil {
		return err
	}
	if report.FailedCount() > 0 {
		return &commandline.ExitError{Code: commandline.ExitSomeFailed}
	}
	return nil
}

func (s *session) plan(ctx context.Context, w *wired, root corpus.Tree, moved bool) (*pipeline.PlanFile, error) {
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
	if len(options.Planner.Asking()) == 0 {
		return s.planOf(ctx, options, nil)
	}
	f, err := newForecaster(ctx, s.Config)
	if err != nil {
		return nil, err
	}
	defer f.close()
	options.Forecaster = f
	return s.planOf(ctx, options, f)
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
			fmt.Fprintf(table, "%s\t%s\t%s\t%d\t%d\t%d\t%.1f\t%.4g\t%s\n",
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
	failed := r.FailedCount()
	if failed > 0 {
		counts[string(pipeline.Failed)] = failed
	}
	fmt.Fprintf(w, "%s: %s: %s\n", r.Graph, counted(t.Files+failed, "file"), cmp.Or(topCounts(counts, len(counts)), "nothing to do"))
	fmt.Fprintf(w, "to do: about %s, %s, %.0f s of one core\n", counted(t.Chunks, "chunk"), counted(t.Tokens, "token"), t.Seconds)
	if r.Model != "" {
		printModelPlan(w, r)
	}
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
	price, _ := cfg.Prices().Of(cfg.LLM.Model)
	p = p.WithRates(planner.Rates{InputPerMillion: price.Input, OutputPerMillion: price.Output})
	return p, checkAsking(cfg, p)
}

// strategies are all there are.
func strategies() []catalogue.Strategy {
	return slices.Concat(chunkers.Catalogue(), extractors.Catalogue(), resolvers.Catalogue())
}
