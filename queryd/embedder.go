package main

import (
	"context"
	"errors"

	"graphmill/pipeline/models"
	"graphmill/pipeline/models/local"
)

// embedding is a loaded embedder with the engine it runs on.
type embedding struct {
	models.Embedder
	engine models.Engine // nil for the embedder hash
}

func (e *embedding) close() error {
	err := e.Embedder.Close()
	if e.engine != nil {
		err = errors.Join(err, e.engine.Close())
	}
	return err
}

// localModels names the embedder of the configuration.
func (a *app) localModels() local.Options {
	cfg := a.Config
	return local.Options{
		Places: models.Places{DepsDir: cfg.Engine.DepsDir, DataDir: cfg.DataDir},
		Engine: cfg.Models.Engine, Library: cfg.Models.Runtime, Threads: cfg.Models.Threads,
		Embedder: cfg.Embedder.Kind, EmbedderDir: cfg.Embedder.ModelDir, Dimension: cfg.Embedder.Dimension,
	}
}

func (a *app) openEmbedder(context.Context) (*embedding, error) {
	options := a.localModels()
	var engine models.Engine
	if options.NeedsEngine() {
		var err error
		if engine, err = options.OpenEngine(); err != nil {
			return nil, err
		}
	}
	embedder, err := options.OpenEmbedder(engine)
	if err != nil {
		if engine != nil {
			err = errors.Join(err, engine.Close())
		}
		return nil, err
	}
	return &embedding{Embedder: embedder, engine: engine}, nil
}
