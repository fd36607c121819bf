package pipeline

import (
	"context"
	"sort"

	"graphmill/pipeline/corpus"
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
	ModelCalls int         `json:"model_calls"`
	Seconds    float64     `json:"seconds"` // of one core
	Money      float64     `json:"money"`
	// Status is set for files that are not ingested: skipped, failed.
	Status Status `json:"status,omitempty"`
	Reason string `json:"reason"`
}

// PlanReport is what a run would do. Documents are sorted by path.
type PlanReport struct {
	Graph     string            `json:"graph"`
	Documents []PlannedDocument `json:"documents"`
	Totals    PlanTotals        `json:"totals"`
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
}

// Plan says what Run would do, and writes nothing. It reads every file to tell
// changed ones, but parses none: the figures are estimates from sizes.
func Plan(ctx context.Context, o Options) (*PlanReport, error) {
	report := &PlanReport{Graph: o.Graph, Documents: []PlannedDocument{}}
	stored, err := o.Store.Documents(ctx)
	if err != nil {
		return nil, err
	}
	meta, err := o.Store.Meta(ctx)
	if err != nil {
		return nil, err
	}
	var totals planner.Totals
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
		var planned planner.Planned
		if err = o.takenBy(path, meta.Sources); err == nil {
			planned, err = planFile(ctx, o, entry.File, stored[path].Fingerprints)
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
		totals.Add(planned)
		report.Documents = append(report.Documents, describePlanned(path, planned))
	}
	sort.Slice(report.Documents, func(i, j int) bool { return report.Documents[i].Path < report.Documents[j].Path })
	work := totals.Work
	report.Totals = PlanTotals{
		Files: totals.Files, Why: totals.Why, Chunks: work.Chunks, Tokens: work.Tokens,
		ModelCalls: work.ModelCalls, Seconds: work.Seconds, Money: work.Money,
	}
	return report, nil
}

func planFile(ctx context.Context, o Options, file corpus.File, stored graph.Fingerprints) (planner.Planned, error) {
	f := planner.File{Path: file.Path, Format: file.Format, Size: file.Size}
	a := o.Planner.Assign(f)
	current, err := fingerprints(o.Strategies, a, o.OntologyDigest)
	if err != nil {
		return planner.Planned{}, setup(err)
	}
	current.Content, err = o.Root.Hash(ctx, file)
	return planner.Planned{Assignment: a, Estimate: o.Planner.Estimate(f, a), Why: planner.Compare(stored, current)}, err
}

func describePlanned(path string, p planner.Planned) PlannedDocument {
	return PlannedDocument{
		Path: path, Rule: p.Reason, Plan: p.String(), Why: p.Why, Chunks: p.Estimate.Chunks, Tokens: p.Estimate.Tokens,
		ModelCalls: p.Estimate.ModelCalls, Seconds: p.Estimate.Seconds, Money: p.Estimate.Money,
	}
}
