package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sort"

	"github.com/spf13/cobra"

	"graphmill/commandline"
	"graphmill/pipeline"
	"graphmill/pipeline/falkor/store"
)

// statusResult is what status prints; its JSON keys are in docs/json.md.
type statusResult struct {
	Graph           string                    `json:"graph"`
	Exists          bool                      `json:"exists"`
	Sources         map[string]string         `json:"sources"`
	EmbeddingModel  string                    `json:"embedding_model,omitempty"`
	Dimension       int                       `json:"dimension,omitempty"`
	FinalizePending bool                      `json:"finalize_pending"`
	Counts          store.Counts              `json:"counts"`
	Documents       []pipeline.DocumentReport `json:"documents"`
}

func (a *app) statusCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "status",
		Short: "show what the graph holds: documents, counts, models",
		Args:  cobra.NoArgs,
	}
	return a.verb(cmd, nil, func(ctx context.Context, _ []string) error {
		s, err := a.connect(ctx)
		if err != nil {
			return err
		}
		result, err := s.status(ctx)
		if err = errors.Join(err, s.close()); err != nil {
			return err
		}
		return a.Print(result, func(w io.Writer) { result.print(w, a.Config.Quiet) })
	})
}

func (s *session) status(ctx context.Context) (*statusResult, error) {
	meta, err := s.store.Meta(ctx)
	if err != nil {
		return nil, err
	}
	stored, err := s.store.Documents(ctx)
	if err != nil {
		return nil, err
	}
	result := &statusResult{
		Graph: s.Config.GraphName(), Exists: meta.Exists, Sources: meta.Sources, EmbeddingModel: meta.EmbeddingModel,
		Dimension: meta.Dimension, FinalizePending: meta.FinalizePending, Counts: meta.Counts,
		Documents: []pipeline.DocumentReport{},
	}
	if result.Sources == nil {
		result.Sources = map[string]string{}
	}
	for path, d := range stored {
		document := pipeline.DocumentReport{
			Path: path, Status: pipeline.Status(d.Status), Plan: d.Plan, Chunks: d.Chunks, Entities: d.Entities, Relations: d.Relations,
			FailedChunks: d.FailedChunks,
		}
		if d.FailedChunks > 0 {
			document.Reason = pipeline.FailedOf(d.FailedChunks, d.Chunks)
		}
		result.Documents = append(result.Documents, document)
	}
	sort.Slice(result.Documents, func(i, j int) bool { return result.Documents[i].Path < result.Documents[j].Path })
	return result, nil
}

// incomplete is how many documents have chunks that gave nothing.
func (r *statusResult) incomplete() (n int) {
	for _, d := range r.Documents {
		if d.FailedChunks > 0 {
			n++
		}
	}
	return n
}

func (r *statusResult) print(w io.Writer, quiet bool) {
	if !r.Exists {
		fmt.Fprintf(w, "graph %s holds nothing yet; `ingestd run --root DIR` fills it\n", r.Graph)
		return
	}
	if !quiet {
		textPrinter{w, quiet}.storedRows(r.Documents)
	}
	c := r.Counts
	fmt.Fprintf(w, "%s: %d documents, %d chunks, %d entities, %d relations\n",
		r.Graph, len(r.Documents), c.Chunks, c.Entities, c.Relations)
	for name, dir := range r.Sources {
		if name == "" {
			name = "(unnamed)"
		}
		fmt.Fprintf(w, "source %s: %s\n", commandline.Printable(name), commandline.Printable(dir))
	}
	if n := r.incomplete(); n > 0 {
		fmt.Fprintf(w, "incomplete: %d documents lack what some of their chunks state; the next `ingestd run` tries them again\n", n)
	}
	if r.EmbeddingModel != "" {
		fmt.Fprintf(w, "vectors: %s, %d dimensions\n", r.EmbeddingModel, r.Dimension)
	}
	if r.FinalizePending {
		fmt.Fprintln(w, "not finalized: some vectors, indexes or counts are missing or stale; run `ingestd finalize`")
	}
}
