// Package hugot runs models with hugot. By default that is its pure-Go backend,
// which needs no native library and no C compiler (CGO_ENABLED=0 builds it) and
// serves sentence embeddings only. It is slow: 5 texts of 128 word pieces a
// second with float weights on two cores, and one in four seconds with
// models/minilm, whose dynamic quantisation it computes step by step. Built with
// the tag ORT it loads models through hugot's ONNX Runtime backend, GLiNER
// included; that build wants libtokenizers.a at link time. It is a package of
// its own because it brings a tensor compiler along, 13 MB of program.
package hugot

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"github.com/knights-analytics/hugot/backends"
	"github.com/knights-analytics/hugot/options"

	"graphmill/pipeline/models"
)

// session is a model that hugot has loaded.
type session struct {
	inputs, outputs []string
	run             func(ctx context.Context, inputs map[string]models.Tensor) (map[string]models.Tensor, error)
	destroy         func() error
	once            sync.Once
}

func (s *session) Inputs() []string  { return slices.Clone(s.inputs) }
func (s *session) Outputs() []string { return slices.Clone(s.outputs) }

func (s *session) Close() error {
	var err error
	s.once.Do(func() { err = s.destroy() })
	return err
}

func (s *session) Run(ctx context.Context, inputs map[string]models.Tensor) (map[string]models.Tensor, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	outputs, err := guard(func() (map[string]models.Tensor, error) { return s.run(ctx, inputs) })
	if err != nil {
		return nil, fmt.Errorf("run model with hugot: %w", err)
	}
	return outputs, nil
}

// load lets hugot read the model file with the given backend. hugot changes the
// working directory while it loads with ONNX Runtime; it is put back.
func load(modelFile string, settings *options.Options) (*backends.Model, error) {
	path, err := filepath.Abs(modelFile)
	if err != nil {
		return nil, fmt.Errorf("load model %s: %w", modelFile, err)
	}
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return nil, fmt.Errorf("load model %s: no such file; a model folder holds model.onnx and tokenizer.json", modelFile)
	}
	working, err := os.Getwd()
	if err != nil {
		return nil, fmt.Errorf("load model %s: %w", modelFile, err)
	}
	model := &backends.Model{ID: path, Path: filepath.Dir(path), OnnxFilename: filepath.Base(path)}
	_, err = guard(func() (struct{}, error) {
		return struct{}{}, backends.CreateModelBackend(context.Background(), model, settings)
	})
	if err = errors.Join(err, os.Chdir(working)); err != nil {
		return nil, fmt.Errorf("load model %s with hugot: %w", modelFile, err)
	}
	return model, nil
}

// guard turns a panic of the tensor library, which is its way to report a graph
// that it cannot run, into an error.
func guard[T any](f func() (T, error)) (result T, err error) {
	defer func() {
		if r := recover(); r != nil {
			reason, _, _ := strings.Cut(fmt.Sprint(r), "\n")
			err = fmt.Errorf("%s", reason)
			if os.Getenv("GRAPHMILL_DEBUG") != "" {
				err = fmt.Errorf("%w\n%s", err, debug.Stack())
			}
		}
	}()
	return f()
}
