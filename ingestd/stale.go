package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"graphmill/commandline"
	"graphmill/pipeline"
	"graphmill/pipeline/corpus"
	"graphmill/pipeline/falkor/store"
	"graphmill/pipeline/ontology"
)

// stale says what the next run would have to do; its JSON keys are in
// docs/json.md.
type stale struct {
	// ComparedWith is "files" when a files root was given, else "configuration".
	ComparedWith string                  `json:"compared_with"`
	Reasons      map[pipeline.Reason]int `json:"reasons"`
	Files        []pipeline.StaleFile    `json:"files,omitempty"`
	// Source is whose files were compared; Others are documents of other sources.
	Source string `json:"source,omitempty"`
	Others int    `json:"others,omitempty"`
	// Error says why nothing could be compared: a model that is not there.
	Error string `json:"error,omitempty"`
}

// stale compares the graph with the files of root, which may be nil, and with
// the configuration. What keeps it from comparing is told and hides nothing else.
func (s *session) stale(ctx context.Context, meta store.Meta, root corpus.Tree, files bool) (*stale, error) {
	result := &stale{ComparedWith: "configuration", Reasons: map[pipeline.Reason]int{}}
	options, closing, err := s.staleOptions(ctx)
	if closing != nil {
		defer closing()
	}
	if err == nil && root != nil {
		result.ComparedWith, result.Source = "files", s.Config.Source
		options.Root, options.Loader = root, nil
		err = s.checkSource(ctx, meta, root.Dir(), false)
		if err != nil {
			return nil, err
		}
	}
	var found []pipeline.StaleFile
	if err == nil {
		found, result.Others, err = pipeline.Stale(ctx, options)
	}
	if err == nil && files && result.ComparedWith == "files" {
		err = s.explainMissing(ctx, found)
	}
	switch {
	case ctx.Err() != nil:
		return nil, err
	case err != nil:
		result.Error = err.Error()
		return result, nil
	}
	for _, file := range found {
		result.Reasons[file.Reason]++
	}
	if files {
		result.Files = found
	}
	return result, nil
}

// mostLooked is how many lines of the ledger are looked through for a failure.
const mostLooked = 100

// explainMissing says why files are not in the graph, where the ledger knows.
func (s *session) explainMissing(ctx context.Context, found []pipeline.StaleFile) error {
	runs, err := s.store.Runs(ctx, mostLooked)
	if err != nil {
		return err
	}
	failed := map[string]string{} // by path, the latest failure
	for _, run := range slices.Backward(runs) {
		for _, f := range run.Details.Failures {
			failed[f.Path] = fmt.Sprintf("it failed at %s: %s", run.Started.UTC().Format("2006-01-02 15:04"), f.Reason)
		}
	}
	for i, file := range found {
		if file.Reason != pipeline.ReasonMissing {
			continue
		}
		found[i].Detail = "not ingested, and no failure is recorded"
		if why, ok := failed[file.Path]; ok {
			found[i].Detail = why
		}
	}
	return nil
}

// staleOptions are a run's, as far as comparing needs them.
func (s *session) staleOptions(ctx context.Context) (pipeline.Options, func() error, error) {
	w, err := newWired(s.Config)
	if err != nil {
		return pipeline.Options{}, nil, err
	}
	chosen, err := s.chooseOntology(ctx)
	if err != nil {
		return pipeline.Options{}, w.close, err
	}
	plans, err := newPlanner(s.Config)
	return pipeline.Options{
		Store: s.store, Planner: plans, Strategies: w, OntologyDigest: ontology.Digest(w.pattern.Extend(chosen.ontology)),
		Source: s.Config.Source,
	}, w.close, err
}

// meant says what a bare reason could be misread for: a run calls a document missing
// whose file is gone.
var meant = map[pipeline.Reason]string{
	pipeline.ReasonMissing: " (not in the graph)", pipeline.ReasonGone: " (in the graph, the file is deleted)",
}

// reasons are all there are, in the order of showing.
var reasons = []pipeline.Reason{
	pipeline.ReasonMissing, "content", "plan", "ontology", "model", "format", "incomplete", pipeline.ReasonGone, pipeline.ReasonFailed, pipeline.ReasonNone,
}

func (r *stale) print(w io.Writer, files bool) {
	if r.Error != "" {
		fmt.Fprintf(w, "stale: not known: %s\n", commandline.Printable(r.Error))
		return
	}
	if files && len(r.Files) > 0 {
		table := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
		fmt.Fprintln(table, "REASON\tPATH\tDETAIL")
		for _, file := range r.Files {
			fmt.Fprintf(table, "%s\t%s\t%s\n", file.Reason, commandline.Printable(file.Path), commandline.Printable(file.Detail))
		}
		table.Flush()
		fmt.Fprintln(w)
	}
	line := ""
	for _, reason := range reasons {
		if n := r.Reasons[reason]; n > 0 {
			line += fmt.Sprintf(", %d %s%s", n, reason, meant[reason])
		}
	}
	for reason, n := range r.Reasons {
		if !slices.Contains(reasons, reason) {
			line += fmt.Sprintf(", %d %s", n, reason)
		}
	}
	if line == "" {
		line = ", nothing to compare"
	}
	of := ""
	if r.Source != "" {
		of = " of source " + commandline.Printable(r.Source)
	}
	fmt.Fprintf(w, "compared with the %s%s: %s\n", r.ComparedWith, of, line[2:])
	if r.Others > 0 {
		fmt.Fprintf(w, "not compared: %s of other sources\n", counted(r.Others, "document"))
	}
}
