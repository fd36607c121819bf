//go:build cgo && ORT

package hugot

import (
	"fmt"

	"github.com/knights-analytics/hugot/backends"
	"github.com/knights-analytics/hugot/options"

	"graphmill/pipeline/models"
)

// engine holds the library's one environment and loads models through hugot.
type engine struct{ models.Engine }

// New opens ONNX Runtime's library for hugot's ORT backend.
func New(library string) (models.Engine, error) {
	inner, err := models.NewONNXRuntime(library)
	if err != nil {
		return nil, err
	}
	return engine{inner}, nil
}

func (engine) Name() string { return "hugot" }

func (engine) Load(modelFile string, sessionOptions models.SessionOptions) (models.Session, error) {
	native, err := models.ONNXSessionSettings(sessionOptions)
	if err != nil {
		return nil, fmt.Errorf("load model %s: %w", modelFile, err)
	}
	defer native.Destroy()
	settings := options.Defaults()
	settings.Backend = "ORT"
	settings.BackendOptions = native
	model, err := load(modelFile, settings)
	if err != nil {
		return nil, err
	}
	return models.WrapONNXSession(model.ORTModel.Session, backends.GetNames(model.InputsMeta), backends.GetNames(model.OutputsMeta)), nil
}
