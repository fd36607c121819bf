package main

import (
	"context"
	"errors"
	"fmt"

	"graphmill/configs"
	"graphmill/pipeline/models"
	"graphmill/pipeline/models/hugot"
)

// defaultEmbedder is the folder of the model that comes with the program.
const defaultEmbedder = "minilm"

// defaultHashDimension is the length of the vectors of the embedder hash.
const defaultHashDimension = 384

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

func (a *app) openEmbedder(context.Context) (*embedding, error) {
	kind, dimension := a.cfg.Embedder.Kind, a.cfg.Embedder.Dimension
	if kind == configs.EmbedderHash {
		if dimension == 0 {
			dimension = defaultHashDimension
		}
		embedder, err := models.OpenEmbedder(kind, nil, "", dimension, models.EmbedderOptions{})
		if err != nil {
			return nil, err
		}
		return &embedding{Embedder: embedder}, nil
	}
	places := models.Places{DepsDir: a.cfg.Engine.DepsDir, DataDir: a.cfg.DataDir}
	name := a.cfg.Embedder.ModelDir
	if name == "" {
		name = defaultEmbedder
	}
	dir, err := models.FindModel(name, places)
	if err != nil {
		return nil, err
	}
	engine, err := a.openModelEngine(places)
	if err != nil {
		return nil, err
	}
	// One question at a time: all threads may work on it.
	embedder, err := models.OpenEmbedder(kind, engine, dir, dimension, models.EmbedderOptions{
		Session: models.SessionOptions{IntraOpThreads: a.cfg.Models.Threads},
	})
	if err != nil {
		return nil, errors.Join(err, engine.Close())
	}
	if dimension != 0 && embedder.Dimension() != dimension {
		err := fmt.Errorf("embedder.dimension (%s) is %d, but the model in %s has %d; leave the setting out", a.cfg.Origin("embedder.dimension"), dimension, dir, embedder.Dimension())
		return nil, errors.Join(err, embedder.Close(), engine.Close())
	}
	return &embedding{Embedder: embedder, engine: engine}, nil
}

func (a *app) openModelEngine(places models.Places) (models.Engine, error) {
	library, err := models.FindLibrary(a.cfg.Models.Runtime, places)
	if a.cfg.Models.Engine == configs.EngineHugot {
		return hugot.New(library) // "" where there is none: the pure-Go backend needs no library
	}
	if err != nil {
		return nil, err
	}
	return models.NewONNXRuntime(library)
}
