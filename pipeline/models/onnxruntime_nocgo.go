//go:build !cgo

package models

import "errors"

// NewONNXRuntime says that this build has no such engine.
func NewONNXRuntime(string) (Engine, error) {
	return nil, errors.New("open ONNX Runtime: this program was built without cgo; build it with CGO_ENABLED=1 and a C compiler, or set models.engine to hugot for embeddings")
}
