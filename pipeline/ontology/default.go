package ontology

import (
	_ "embed"
	"fmt"

	"graphmill/pipeline/graph"
)

//go:embed default.yaml
var defaultYAML []byte

// Default returns the built-in English ontology, so that a run without any
// configuration finds entities and relations. The error is one in the embedded
// file, which a test rules out.
func Default() (*graph.Ontology, error) {
	o, err := Parse("the built-in ontology", defaultYAML)
	if err != nil {
		return nil, fmt.Errorf("load built-in ontology: %w", err)
	}
	return o, nil
}

// DefaultYAML is the built-in ontology's source, comments included: the file to
// start one's own from.
func DefaultYAML() []byte {
	return append([]byte(nil), defaultYAML...)
}
