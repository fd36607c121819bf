package ontology

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	"go.yaml.in/yaml/v3"

	"graphmill/pipeline/graph"
)

// digestVersion changes when extraction starts to read more of an ontology.
const digestVersion = "ontology/1"

// Digest is the SHA-256 of what extraction reads of o: labels, prompts,
// thresholds, patterns, cues. Descriptions and properties are for readers; a
// change in them is no reason to extract again. Order does not matter.
func Digest(o *graph.Ontology) string {
	canonical := o.Canonical()
	parts := []string{digestVersion}
	for _, t := range canonical.Entities {
		parts = append(parts, "entity", t.Label, t.Prompt, strconv.FormatFloat(t.Threshold, 'g', -1, 64))
	}
	for _, t := range canonical.Relations {
		parts = append(parts, "relation", t.Label)
		for _, pattern := range t.Patterns {
			parts = append(parts, "pattern", pattern[0], pattern[1])
		}
		for _, cue := range t.Cues {
			parts = append(parts, "cue", cue)
		}
		for _, cue := range t.PassiveCues {
			parts = append(parts, "passive", cue)
		}
	}
	return graph.Hash(parts...)
}

// MarshalYAML writes o in canonical order, as Parse reads it.
func MarshalYAML(o *graph.Ontology) ([]byte, error) {
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := encoder.Encode(writable(o)); err != nil {
		return nil, fmt.Errorf("write ontology as YAML: %w", err)
	}
	if err := encoder.Close(); err != nil {
		return nil, fmt.Errorf("write ontology as YAML: %w", err)
	}
	return out.Bytes(), nil
}

// MarshalJSON writes o in canonical order, indented, as Parse reads it.
func MarshalJSON(o *graph.Ontology) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(writable(o)); err != nil {
		return nil, fmt.Errorf("write ontology as JSON: %w", err)
	}
	return out.Bytes(), nil
}

// writable is canonical with empty lists instead of null.
func writable(o *graph.Ontology) *graph.Ontology {
	canonical := o.Canonical()
	if canonical.Entities == nil {
		canonical.Entities = []graph.EntityType{}
	}
	if canonical.Relations == nil {
		canonical.Relations = []graph.RelationType{}
	}
	return canonical
}
