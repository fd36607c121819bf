//go:build !cgo || !ORT

package hugot

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync"

	"github.com/gomlx/gomlx/pkg/core/tensors"
	"github.com/knights-analytics/hugot/backends"
	"github.com/knights-analytics/hugot/options"

	_ "github.com/gomlx/gomlx/backends/simplego" // the backend that "go" names

	"graphmill/pipeline/models"
)

type engine struct{}

// New opens hugot's pure-Go backend. library is not used by it.
func New(library string) (models.Engine, error) { return engine{}, nil }

func (engine) Name() string { return "hugot" }
func (engine) Close() error { return nil }

// sentenceInputs are what the pure-Go backend is known to run: graphs whose
// shapes depend on nothing but the length of the text.
var sentenceInputs = []string{"input_ids", "attention_mask", "token_type_ids"}

const remedy = "set models.engine to onnxruntime (`make deps` fetches its library)"

func (engine) Load(modelFile string, _ models.SessionOptions) (models.Session, error) {
	settings := options.Defaults()
	settings.Backend = "GO"
	model, err := load(modelFile, settings)
	if err != nil {
		return nil, fmt.Errorf("%w; if the file is whole, this backend lacks what the model needs: %s", err, remedy)
	}
	s := &session{
		inputs:  backends.GetNames(model.InputsMeta),
		outputs: backends.GetNames(model.OutputsMeta),
		destroy: func() error { model.GoMLXModel.Destroy(); return nil },
	}
	for _, name := range s.inputs {
		if !slices.Contains(sentenceInputs, name) {
			s.Close()
			return nil, fmt.Errorf("load model %s: hugot's pure-Go backend runs sentence embedders only, and this model wants the input %q: %s",
				filepath.Clean(modelFile), name, remedy)
		}
	}
	runner := &goRunner{session: s, model: model}
	s.run = runner.run
	return s, nil
}

// goRunner computes one call at a time: the backend spreads a call over the
// processors itself, and its executor has dead-locked when called side by side.
type goRunner struct {
	session *session
	model   *backends.Model
	mu      sync.Mutex
}

func (r *goRunner) run(_ context.Context, inputs map[string]models.Tensor) (map[string]models.Tensor, error) {
	values := make([]*tensors.Tensor, 0, len(inputs))
	defer func() { finalize(values) }()
	for _, name := range r.session.inputs {
		tensor, ok := inputs[name]
		if !ok || tensor.Int64 == nil {
			return nil, fmt.Errorf("input %q is missing or not of integers", name)
		}
		dimensions := make([]int, len(tensor.Shape))
		for i, n := range tensor.Shape {
			dimensions[i] = int(n)
		}
		values = append(values, tensors.FromFlatDataAndDimensions(tensor.Int64, dimensions...))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	results, err := r.model.GoMLXModel.Exec.Exec(values)
	if err != nil {
		return nil, err
	}
	defer finalize(results)
	outputs := make(map[string]models.Tensor, len(results))
	for i, result := range results {
		var out models.Tensor
		for _, n := range result.Shape().Dimensions {
			out.Shape = append(out.Shape, int64(n))
		}
		if err := tensors.ConstFlatData(result, func(flat []float32) { out.Float32 = slices.Clone(flat) }); err != nil {
			return nil, err
		}
		outputs[r.session.outputs[i]] = out
	}
	return outputs, nil
}

func finalize(values []*tensors.Tensor) {
	for _, v := range values {
		v.FinalizeAll()
	}
}
