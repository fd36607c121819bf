package models

import "fmt"

// The kinds of local embedder.
const (
	ONNXEmbedder = "onnx"
	HashEmbedder = "hash"
)

// OpenEmbedder opens a local embedder by its kind: [ONNXEmbedder] with the model
// in dir, or [HashEmbedder] with dimension components, which needs no engine.
func OpenEmbedder(kind string, engine Engine, dir string, dimension int, options EmbedderOptions) (Embedder, error) {
	switch kind {
	case ONNXEmbedder:
		if engine == nil {
			return nil, fmt.Errorf("open embedder %s: no engine is open", kind)
		}
		return NewONNXEmbedder(engine, dir, options)
	case HashEmbedder:
		return NewHashEmbedder(dimension)
	}
	return nil, fmt.Errorf("open embedder: kind %q is not known; local kinds are %s and %s", kind, ONNXEmbedder, HashEmbedder)
}
