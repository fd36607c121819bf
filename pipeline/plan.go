package pipeline

import (
	"context"
	"sort"

	"graphmill/pipeline/corpus"
	"graphmill/pipeline/falkor/store"
	"graphmill/pipeline/graph"
	"graphmill/planner"
)

// PlannedDocument is what a run would do with one file.
type PlannedDocument struct {
	Path       string      `json:"path"`
	Rule       string      `json:"rule"` // what chose the strategies, and what the limits replaced
	Plan       string      `json:"plan"` // "structural 256 · gliner · exact"
	Why        planner.Why `json:"why"`  // "" for files that are not ingested
	Chunks     int         `json:"chunks"`
	Tokens     int         `json:"tokens"`
	ModelCalls int         `json:"model_calls"` // that will be paid; see Cached
	Seconds    float64     `json:"seconds"`     // of one core
	Money      float64     `json:"money"`
	Asked
	// Status is set for files that are not ingested: skipped, failed.
	Status Status `json:"status,omitempty"`
	Reason string `json:"reason"`
}

// PlanReport is what a run would do. Documents are sorted by path.
type PlanReport struct {
	Graph     string            `json:"graph"`
	Documents []PlannedDocument `json:"documents"`
	Totals    PlanTotals        `json:"totals"`
	// Model is what strategies will ask, and Price what that costs; absent when
	// no strategy asks one.
	Model string     `json:"model,omitempty"`
	Price *PlanPrice `json:"price,omitempty"`
	// Notes say what the figures leave out, and why they may be off.
	Notes []string `json:"notes,omitempty"`

	fingerprints map[string]graph.Fingerprints // of the planned documents, by path
	ontology     string
}

// PlanPrice is what a million tokens of the model cost.
type PlanPrice struct {
	Currency string  `json:"currency"`
	Date     string  `json:"date"` // of the table
	Input    float64 `json:"input"`
	Output   float64 `json:"output"`
}

// FailedCount is the number of files that cannot be processed.
func (r *PlanReport) FailedCount() int {
	failed := 0
	for _, d := range r.Documents {
		if d.Status == Failed {
			failed++
		}
	}
	return failed
}

// PlanTotals sums the files that would be processed.
type PlanTotals struct {
	Files      int                 `json:"files"`
	Why        map[planner.Why]int `json:"why"`
	Chunks     int                 `json:"chunks"`
	Tokens     int                 `json:"tokens"`
	ModelCalls int                 `json:"model_calls"`
	Seconds    float64             `json:"seconds"`
	Money      float64             `json:"money"`
	Asked
}

// Plan says what Run would do, and writes nothing. It reads every file to tell
// changed ones. Files whose strategies ask a language model it also parses and
// cuts, and has o.Forecaster count the questions: that costs little beside the
// answers. The figures of all others are estimates from sizes.
func Plan(ctx context.Context, o Options) (*PlanReport, error) {
	report := &PlanReport{Graph: o.Graph, Documents: []PlannedDocument{}, fingerprints: map[string]graph.Fingerprints{}, ontology: o.OntologyDigest}
	stored, err := o.Store.Documents(ctx)
	if err != nil {
		return nil, err
	}
	meta, err := o.Store.Meta(ctx)
	if err != nil {
		return nil, err
	}
	var totals planner.Totals
	var asked Asked
	for entry, err := range o.Root.List(ctx) {
		if err != nil {
			return nil, err
		}
		if s := entry.Skipped; s != nil {
			r := skipReport(storedPath(o.Source, s.Path), s)
			report.Documents = append(report.Documents, PlannedDocument{Path: r.Path, Status: r.Status, Reason: r.Reason})
			continue
		}
		path := storedPath(o.Source, entry.File.Path)
		var planned planned
		if err = o.takenBy(path, meta.Sources); err == nil {
			planned, err = planFile(ctx, o, entry.File, stored[path])
		}
		if planned.current.Content != "" {
			report.fingerprints[path] = planned.current
		}
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case isSetup(err):
			return nil, err
		case err != nil:
			report.Documents = append(report.Documents, PlannedDocument{Path: path, Status: Failed, Reason: err.Error()})
			continue
		}
		totals.Add(planned.Planned)
		asked.add(planned.asked)
		report.Documents = append(report.Documents, describePlanned(path, planned))
	}
	sort.Slice(report.Documents, func(i, j int) bool { return report.Documents[i].Path < report.Documents[j].Path })
	work := totals.Work
	report.Totals = PlanTotals{
		Files: totals.Files, Why: totals.Why, Chunks: work.Chunks, Tokens: work.Tokens,
		ModelCalls: work.ModelCalls, Seconds: work.Seconds, Money: work.Money, Asked: asked,
	}
	return report, nil
}

// planned is one file on its way into the report.
type planned struct {
	planner.Planned
	current graph.Fingerprints
	asked   Asked
}

func planFile(ctx context.Context, o Options, file corpus.File, stored store.StoredDocument) (planned, error) {
	f := planner.File{Path: file.Path, Format: file.Format, Size: file.Size}
	a := o.Planner.Assign(f)
	current, err := fingerprints(o.Strategies, a, o.OntologyDigest)
	if err != nil {
		return planned{}, setup(err)
	}
	if current.Content, err = o.Root.Hash(ctx, file); err != nil {
		return planned{}, err
	}
	p := planned{Planned: planner.Planned{Assignment: a, Estimate: o.Planner.Estimate(f, a), Why: whyOf(stored, current)}, current: current}
	switch {
	case p.Why == planner.WhyNone:
		p.Estimate.ModelCalls, p.Estimate.Money = 0, 0
	case o.Forecaster != nil && o.Planner.Asks(a):
		err = p.forecast(ctx, o, file, stored.Fingerprints)
	}
	return p, err
}

func describePlanned(path string, p planned) PlannedDocument {
	return PlannedDocument{
		Path: path, Rule: p.Reason, Plan: p.String(), Why: p.Why, Chunks: p.Estimate.Chunks, Tokens: p.Estimate.Tokens,
		ModelCalls: p.Estimate.ModelCalls, Seconds: p.Estimate.Seconds, Money: p.Estimate.Money, Asked: p.asked,
	}
}
