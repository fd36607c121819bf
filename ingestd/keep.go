package main

import (
	"context"
	"path/filepath"

	"graphmill/configs"
	"graphmill/pipeline"
	"graphmill/pipeline/graph"
)

// extractionsDir is where what was extracted for a graph is kept.
func extractionsDir(cfg *configs.Config) string {
	return filepath.Join(cfg.DataDir, "cache", "extractions", cfg.GraphName())
}

// extractions is what the configuration has kept of earlier extractions; nil
// when it has nothing kept.
func (a *app) extractions() *pipeline.Extractions {
	if a.Config.Extractors.KeepBytes == 0 {
		return nil
	}
	return pipeline.OpenExtractions(extractionsDir(a.Config), a.Config.Extractors.KeepBytes)
}

// forgetExtractions removes what was kept of documents that are not in the graph
// any more.
func (s *session) forgetExtractions(ctx context.Context) error {
	kept := s.extractions()
	if kept == nil {
		return nil
	}
	stored, err := s.store.Documents(ctx)
	if err != nil {
		return err
	}
	var live []graph.Fingerprints
	for _, d := range stored {
		live = append(live, d.Fingerprints)
	}
	return kept.Prune(live)
}
