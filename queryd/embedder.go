package main

import (
	"context"

	"graphmill/commandline"
	"graphmill/configs"
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

// openEmbedder opens the embedder that ingestd used. Of one that is asked over the
// network queryd keeps no answers: it writes nothing.
func (a *app) openEmbedder(context.Context) (models.Embedder, error) {
	if a.Config.Embedder.Kind == configs.EmbedderOpenAI {
		return commandline.RemoteEmbedder(a.Config, nil, a.Log)
	}
	return a.localModels().OpenAlone()
}
