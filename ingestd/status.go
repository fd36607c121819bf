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
	"graphmill/pipeline/corpus"
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
	Stale           *stale                    `json:"stale,omitempty"`
	Documents       []pipeline.DocumentReport `json:"documents"`
}

// statusKeys are the settings that comparing with files and configuration needs.
var statusKeys = []string{"root", "source", "ontology", "corpus.include", "corpus.exclude", "extractors.gliner.model_dir"}

func (a *app) statusCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "status",
		Short: "show what the graph holds, and what of it is stale and why",
		Long: `status shows the graph's documents, counts and models, and how many files the next run would process, by reason:

  missing     the file is not in the graph: new, or it failed whenever it was tried
  content     the file changed
  plan        strategies or their numbers changed
  ontology    extraction would look for something else
  model       the weights of an extraction model changed
  format      the program reads or stores files in another way
  incomplete  some of its chunks gave nothing the last time
  gone        the graph has the document, its file is deleted; forget or run --mirror removes it
  failed      the file cannot be read
  none        it is current

With a files root each file is read and compared, with --source those of that source; without a root, only plan, ontology,
model and format are. --files lists each file's reason, and what the ledger knows of a missing one. It writes nothing.`,
		Example: "  ingestd status\n  ingestd status --root corpus --files",
		Args:    cobra.NoArgs,
	}
	var files bool
	cmd.Flags().BoolVar(&files, "files", false, "list each file with its reason")
	return a.verb(cmd, statusKeys, func(ctx context.Context, _ []string) error { return a.status(ctx, files) })
}

func (a *app) status(ctx context.Context, files bool) error {
	var root corpus.Tree
	if a.Config.Root != "" {
		var err error
		if root, err = a.openRoot(ctx); err != nil {
			return err
		}
		defer root.Close()
	}
	s, err := a.connect(ctx)
	if err != nil {
		return err
	}
	result, err := s.status(ctx, root, files)
	if err = errors.Join(err, s.close()); err != nil {
		return err
	}
	if err := a.Print(result, func(w io.Writer) { result.print(w, a.Config.Quiet, files) }); err != nil {
		return err
	}
	if !result.Exists {
		return commandline.Usage("graph %s holds nothing yet; `ingestd run --root DIR` fills it, --graph and --tenant name another", result.Graph)
	}
	return nil
}

func (s *session) status(ctx context.Context, root corpus.Tree, files bool) (*statusResult, error) {
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
	if meta.Exists || root != nil {
		result.Stale, err = s.stale(ctx, meta, root, files)
	}
	return result, err
}

func (r *statusResult) print(w io.Writer, quiet, files bool) {
	if !r.Exists {
		if r.Stale != nil {
			r.Stale.print(w, files)
		}
		return
	}
	if !quiet && !files {
		textPrinter{w: w, quiet: quiet}.storedRows(r.Documents)
	}
	c := r.Counts
	fmt.Fprintf(w, "%s: %s\n", r.Graph, holds(len(r.Documents), c.Chunks, c.Entities, c.Relations))
	for name, dir := range r.Sources {
		if name == "" {
			name = "(unnamed)"
		}
		fmt.Fprintf(w, "source %s: %s\n", commandline.Printable(name), commandline.Printable(dir))
	}
	if r.EmbeddingModel != "" {
		fmt.Fprintf(w, "vectors: %s, %d dimensions\n", r.EmbeddingModel, r.Dimension)
	}
	r.Stale.print(w, files)
	if r.FinalizePending {
		fmt.Fprintln(w, "not finalized: some vectors, indexes or counts are missing or stale; run `ingestd finalize`")
	}
}
