package main

import (
	"path/filepath"

	"graphmill/configs"
	"graphmill/pipeline"
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
