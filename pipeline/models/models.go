// Package models runs neural networks on this machine: the Engine interface
// with its implementations, tokenizers, and embedders. It does not know what a
// mention or a graph is.
package models

import (
	"context"
	"errors"
	"fmt"
)

// DefaultEngine is the name of the engine that [NewONNXRuntime] opens.
const DefaultEngine = "onnxruntime"

// RuntimeVersion is the version of ONNX Runtime that the Go binding is made
// for; it refuses an older one.
const RuntimeVersion = "1.26.0"

// Embedder turns texts into vectors. Implementations are safe for concurrent
// use; the same text gives the same vector in every call and every batch; a
// vector has Dimension components and Euclidean length 1. Text beyond the
// model's window is embedded as the normalised mean of its windows, never cut.
// An empty or blank text is an error: it has no meaning to embed.
type Embedder interface {
	Embed(ctx context.Context, texts []string) ([][]float32, error)
	// Model names the model and its weights: "all-MiniLM-L6-v2@3f2a…" changes
	// whenever the vectors would.
	Model() string
	Dimension() int
	Close() error
}

// Engine loads ONNX models. One engine a process.
type Engine interface {
	// Load reads a model file. The error says what is missing and how to get it.
	Load(modelFile string, options SessionOptions) (Session, error)
	Name() string
	Close() error
}

// SessionOptions tune one session; zero values are the engine's defaults.
type SessionOptions struct {
	// IntraOpThreads is how many threads one call uses; 0 means 1, so that
	// parallelism comes from calls side by side.
	IntraOpThreads int
	// NoArena gives memory back to the system after each call. It sounds
	// thrifty and is not: with two workers over 60 chunks the process grew to
	// 617 MB without the engine's arena and to 255 MB with it, and a call took
	// a fifth longer, because the C allocator keeps a heap per thread.
	NoArena bool
}

// Session is a loaded model. Run is safe for concurrent use.
type Session interface {
	Inputs() []string
	Outputs() []string
	Run(ctx context.Context, inputs map[string]Tensor) (map[string]Tensor, error)
	Close() error
}

// Tensor is a dense array in row-major order; exactly one of the data fields is
// set, and its length is the product of Shape.
type Tensor struct {
	Shape   []int64
	Int64   []int64
	Float32 []float32
	Bool    []bool
}

// check reports whether exactly one data field is set and has the length that
// the shape says, which must not be zero.
func (t Tensor) check() error {
	size := int64(1)
	for _, n := range t.Shape {
		if n <= 0 || size > (1<<40)/n {
			return fmt.Errorf("shape %v is empty or too large", t.Shape)
		}
		size *= n
	}
	set, length := 0, 0
	for _, n := range []int{len(t.Int64), len(t.Float32), len(t.Bool)} {
		if n > 0 {
			set, length = set+1, n
		}
	}
	if set != 1 {
		return errors.New("exactly one data field must be set")
	}
	if int64(length) != size {
		return fmt.Errorf("shape %v needs %d values, not %d", t.Shape, size, length)
	}
	return nil
}
