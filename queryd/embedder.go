package main

import (
	"context"

	"graphmill/pipeline/models"
	"graphmill/pipeline/models/local"
)

// localModels names the embedder of the configuration.
func (a *app) localModels() local.Options {
	cfg := a.Config
	return local.Options{
		Places: models.Places{DepsDir: cfg.Engine.DepsDir, DataDir: cfg.DataDir},
		Engine: cfg.Models.Engine, Library: cfg.Models.Runtime, Threads: cfg.Models.Threads,
		Embedder: cfg.Embedder.Kind, EmbedderDir: cfg.Embedder.ModelDir, Dimension: cfg.Embedder.Dimension,
	}
}

func (a *app) openEmbedder(context.Context) (models.Embedder, error) {
	return a.localModels().OpenAlone()
}
