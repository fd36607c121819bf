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
		result.ComparedWith = "files"
		options.Root, options.Loader = root, nil
		err = s.checkSource(ctx, meta, root.Dir(), false)
		if err != nil {
			return nil, err
		}
	}
	var found []pipeline.StaleFile
	if err == nil {
		found, err = pipeline.Stale(ctx, options)
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
			line += fmt.Sprintf(", %d %s", n, reason)
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
	fmt.Fprintf(w, "compared with the %s: %s\n", r.ComparedWith, line[2:])
}
