package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"graphmill/commandline"
	"graphmill/configs"
	"graphmill/pipeline"
)

// planOf makes the plan and all that decides it; f is nil when nothing is asked.
func (s *session) planOf(ctx context.Context, options pipeline.Options, f *forecaster) (*pipeline.PlanFile, error) {
	report, err := pipeline.Plan(ctx, options)
	if err != nil {
		return nil, err
	}
	if len(options.Planner.Asking()) > 0 {
		prices := s.Config.Prices()
		report.Model = s.Config.LLM.Model
		if price, known := prices.Of(report.Model); known {
			report.Price = &pipeline.PlanPrice{Currency: prices.Currency, Date: prices.Date, Input: price.Input, Output: price.Output}
		}
	}
	if f != nil {
		report.Notes = f.notes(report)
	}
	file := report.File(options)
	file.Program, file.Settings = commandline.Version(), decidingSettings(s.Config)
	return file, nil
}

// notes say what the figures leave out, and why they may be off.
func (f *forecaster) notes(r *pipeline.PlanReport) []string {
	var notes []string
	if r.Price == nil {
		notes = append(notes, fmt.Sprintf("%s has no price in the table of %s, so money is 0; llm.prices gives it one", r.Model, f.cfg.Prices().Date))
	}
	if len(f.guessed) > 0 {
		var purposes []string
		for purpose := range maps.Keys(f.guessed) {
			purposes = append(purposes, string(purpose))
		}
		slices.Sort(purposes)
		notes = append(notes, fmt.Sprintf("how long %s answers (%s) is the catalogue's guess until %d answers are kept, so output tokens and money may be off by more than a fifth; run a part first (--include), and plan again",
			r.Model, strings.Join(purposes, ", "), enoughAnswers))
	}
	if r.Totals.AtMostCalls > 0 {
		notes = append(notes, fmt.Sprintf("how many pairs of names are checked, and entities described, is known only when the names are: up to %d calls and %.4g %s come on top", r.Totals.AtMostCalls, r.Totals.AtMostMoney, currencyOf(r)))
	}
	if f.cfg.Embedder.Kind == configs.EmbedderOpenAI {
		notes = append(notes, fmt.Sprintf("vectors are made by %s after extraction; they are not in these figures", f.cfg.Embedder.RemoteModel()))
	}
	return notes
}

func currencyOf(r *pipeline.PlanReport) string {
	if r.Price == nil {
		return "(no price)"
	}
	return r.Price.Currency
}

// printModelPlan says what would be asked and paid.
func printModelPlan(w io.Writer, r *pipeline.PlanReport) {
	t := r.Totals
	kept := ""
	if t.Cached > 0 {
		kept = fmt.Sprintf(" (%d more answers are kept)", t.Cached)
	}
	fmt.Fprintf(w, "to ask %s: %d calls%s, %d + %d tokens, %.4g %s", r.Model, t.ModelCalls, kept, t.InputTokens, t.OutputTokens, t.Money, currencyOf(r))
	if r.Price != nil {
		fmt.Fprintf(w, " (prices of %s)", r.Price.Date)
	}
	fmt.Fprintln(w)
	for _, note := range r.Notes {
		fmt.Fprintf(w, "note: %s\n", note)
	}
}

// deciding are the sections of settings that decide what a run does to the graph;
// of the last, what a call may take or how fast it goes does not.
var deciding = []string{"corpus.", "plan.", "extractors.", "models.", "embedder.", "resolvers.", "llm.model", "llm.temperature", "llm.max_output_tokens", "llm.openai.base_url", "llm.anthropic.base_url", "llm.azure.base_url", "llm.ollama.base_url"}

func decidingSettings(cfg *configs.Config) map[string]string {
	settings := map[string]string{}
	for _, setting := range cfg.Effective() {
		if slices.ContainsFunc(deciding, func(prefix string) bool { return strings.HasPrefix(setting.Key, prefix) }) {
			settings[setting.Key] = setting.Value
		}
	}
	return settings
}

// readPlan reads the plan that a run is to follow; "" is none.
func (a *app) readPlan(name string, o *ingestOptions) (err error) {
	if name == "" {
		return nil
	}
	if a.Config.Mirror.Enabled {
		return commandline.Usage("--plan and --mirror exclude each other: a plan removes nothing")
	}
	if o.plan, err = pipeline.ReadPlanFile(name); err != nil {
		return &commandline.ExitError{Code: commandline.ExitUsage, Err: err}
	}
	return nil
}

// followPlan limits a run to what a plan says, or refuses with what moved since.
func (s *session) followPlan(ctx context.Context, options *pipeline.Options, plan *pipeline.PlanFile) error {
	now, err := s.planOf(ctx, *options, nil)
	if err != nil {
		return err
	}
	if moved := plan.Moved(now); len(moved) > 0 {
		return commandline.Usage("the plan of %s does not fit any more:\n  %s\nmake it again with `ingestd plan --out`", plan.Made.Local().Format("2006-01-02 15:04:05"), strings.Join(moved, "\n  "))
	}
	todo := plan.ToDo()
	options.Planned = plan.Files
	options.Select = func(path string) bool { return todo[storedPath(options.Source, path)] }
	return nil
}

func storedPath(source, path string) string {
	if source == "" {
		return path
	}
	return source + "/" + path
}
