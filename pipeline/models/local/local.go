// Package local opens the models that a configuration names: it chooses the
// engine, finds the folders of the models that come with the program, and knows
// their names. Both programs use it, so that what one embeds the other can ask
// for.
package local

import (
	"errors"
	"fmt"

	"graphmill/pipeline/models"
	"graphmill/pipeline/models/hugot"
)

// The folders of the models that come with the program.
const (
	DefaultGLiNER   = "gliner-minilm-en"
	DefaultEmbedder = "minilm"
)

// The kinds of embedder: a sentence model in ONNX, or hashed words without a
// model, for tests and benchmarks.
const (
	ONNX = "onnx"
	Hash = "hash"
)

// DefaultHashDimension is the length of the hash embedder's vectors: that of
// the default model's, so that a benchmark writes as much.
const DefaultHashDimension = 384

// Hugot is the engine that needs nothing native; models.DefaultEngine is the
// other.
const Hugot = "hugot"

// Options name the models. Zero values are the defaults.
type Options struct {
	Places  models.Places
	Engine  string // models.DefaultEngine ("") or Hugot
	Library string // ONNX Runtime's library; "" is looked up
	Threads int    // of one call
	// Parallel is how many texts of one call are embedded side by side; 0 is one
	// a processor.
	Parallel int

	Embedder    string // kind: ONNX ("") or Hash
	EmbedderDir string // a folder or a name; "" is DefaultEmbedder
	Dimension   int    // 0 is the model's own
	GLiNERDir   string // a folder or a name; "" is DefaultGLiNER
}

// OpenEngine opens the engine. One a process.
func (o Options) OpenEngine() (models.Engine, error) {
	library, err := models.FindLibrary(o.Library, o.Places)
	if o.Engine == Hugot {
		return hugot.New(library) // "" where there is none: its pure Go backend needs none
	}
	if err != nil {
		return nil, err
	}
	return models.NewONNXRuntime(library)
}

// Session are the options of every model.
func (o Options) Session() models.SessionOptions {
	return models.SessionOptions{IntraOpThreads: o.Threads}
}

// NeedsEngine reports whether the embedder runs a model.
func (o Options) NeedsEngine() bool { return o.Embedder != Hash }

// OpenEmbedder opens the embedder; engine may be nil when it needs none.
func (o Options) OpenEmbedder(engine models.Engine) (models.Embedder, error) {
	if !o.NeedsEngine() {
		return models.NewHashEmbedder(orDefault(o.Dimension, DefaultHashDimension))
	}
	dir, err := o.embedderDir()
	if err != nil {
		return nil, err
	}
	embedder, err := models.NewONNXEmbedder(engine, dir, models.EmbedderOptions{Session: o.Session(), Parallel: o.Parallel})
	if err != nil {
		return nil, err
	}
	if o.Dimension != 0 && embedder.Dimension() != o.Dimension {
		embedder.Close()
		return nil, fmt.Errorf("open embedder: embedder.dimension is %d, but the model in %s has %d; leave the setting out", o.Dimension, dir, embedder.Dimension())
	}
	return embedder, nil
}

// OpenAlone opens the embedder on an engine of its own, which is closed with it.
func (o Options) OpenAlone() (models.Embedder, error) {
	if !o.NeedsEngine() {
		return o.OpenEmbedder(nil)
	}
	engine, err := o.OpenEngine()
	if err != nil {
		return nil, err
	}
	embedder, err := o.OpenEmbedder(engine)
	if err != nil {
		return nil, errors.Join(err, engine.Close())
	}
	return &alone{embedder, engine}, nil
}

type alone struct {
	models.Embedder
	engine models.Engine
}

func (a *alone) Close() error { return errors.Join(a.Embedder.Close(), a.engine.Close()) }

// EmbedderModel is what the embedder's Model will be, without loading weights.
func (o Options) EmbedderModel() (string, error) {
	if !o.NeedsEngine() {
		embedder, err := o.OpenEmbedder(nil)
		if err != nil {
			return "", err
		}
		return embedder.Model(), nil
	}
	dir, err := o.embedderDir()
	if err != nil {
		return "", err
	}
	return models.EmbedderIdentity(dir, "", orDefault(o.Engine, models.DefaultEngine))
}

func (o Options) embedderDir() (string, error) {
	return models.FindModel(orDefault(o.EmbedderDir, DefaultEmbedder), o.Places)
}

// FindGLiNER returns the folder of the entity model.
func (o Options) FindGLiNER() (string, error) {
	return models.FindModel(orDefault(o.GLiNERDir, DefaultGLiNER), o.Places)
}

func orDefault[T comparable](value, otherwise T) T {
	var zero T
	if value == zero {
		return otherwise
	}
	return value
}
