package ontology

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"golang.org/x/text/unicode/norm"

	"graphmill/pipeline/graph"
)

// MaxFileBytes is the largest ontology file that is read.
const MaxFileBytes = 4 << 20

// Load reads the ontology file at path, YAML or JSON, and checks it as [Parse]
// does.
func Load(path string) (*graph.Ontology, error) { return load(path, Parse) }

// LoadAddition is Load by [ParseAddition].
func LoadAddition(path string) (*graph.Ontology, error) { return load(path, ParseAddition) }

func load(path string, parse func(string, []byte) (*graph.Ontology, error)) (*graph.Ontology, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read ontology: %w", err)
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, MaxFileBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read ontology %s: %w", path, err)
	}
	return parse(path, data)
}

// Parse reads an ontology from YAML or JSON and checks it. name stands in
// errors. Every key must be known, every label valid, every type that a pattern
// names declared.
func Parse(name string, data []byte) (*graph.Ontology, error) {
	return parseChecked(name, data, Validate)
}

// ParseAddition is Parse for what is added to a graph's ontology: its patterns
// may name types that it does not declare itself. [Merge] checks those.
func ParseAddition(name string, data []byte) (*graph.Ontology, error) {
	return parseChecked(name, data, validateAddition)
}

func parseChecked(name string, data []byte, check func(*graph.Ontology) error) (*graph.Ontology, error) {
	root, err := parseTree(name, data)
	if err != nil {
		return nil, err
	}
	if err := checkKeys(name, root, fileKeys, "the ontology"); err != nil {
		return nil, err
	}
	var o graph.Ontology
	if err := root.Decode(&o); err != nil {
		return nil, fmt.Errorf("parse ontology %s: %s", name, strings.TrimPrefix(err.Error(), "yaml: "))
	}
	tidy(&o)
	if err := check(&o); err != nil {
		return nil, fmt.Errorf("check ontology %s: %w", name, err)
	}
	return &o, nil
}

// parseTree reads the one document that data holds, as a mapping.
func parseTree(name string, data []byte) (*yaml.Node, error) {
	if len(data) > MaxFileBytes {
		return nil, fmt.Errorf("parse ontology %s: more than %d bytes; split it or shorten descriptions", name, MaxFileBytes)
	}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	root, err := parseYAML(data)
	if err != nil && json.Valid(data) {
		// YAML has no surrogate pairs, which JSON writers use for letters
		// outside the basic plane.
		var value any
		if json.Unmarshal(data, &value) == nil {
			root = &yaml.Node{}
			err = root.Encode(value)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("parse ontology %s: %s", name, strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if root.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("parse ontology %s: expected the keys %q and %q at the top", name, "entities", "relations")
	}
	return root, nil
}

func parseYAML(data []byte) (*yaml.Node, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var document yaml.Node
	if err := decoder.Decode(&document); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, errors.New("the file is empty")
		}
		return nil, err
	}
	if err := decoder.Decode(&yaml.Node{}); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one document in the file; keep one")
	}
	root := &document
	if root.Kind == yaml.DocumentNode && len(root.Content) == 1 {
		root = root.Content[0]
	}
	return root, nil
}

// keys lists what a mapping may hold; a nil value is a leaf.
type keys map[string]keys

var (
	propertyKeys = keys{"name": nil, "type": nil, "description": nil, "required": nil}
	fileKeys     = keys{
		"entities": {"label": nil, "description": nil, "prompt": nil, "threshold": nil, "properties": propertyKeys},
		"relations": {
			"label": nil, "description": nil, "patterns": nil, "properties": propertyKeys,
			"cues": nil, "passive_cues": nil,
		},
	}
)

// checkKeys walks a mapping and names the first key that is not known.
func checkKeys(file string, node *yaml.Node, known keys, owner string) error {
	switch node.Kind {
	case yaml.AliasNode:
		// An alias may hold itself, or double at every level.
		return fmt.Errorf("parse ontology %s: line %d: alias *%s; write the value out", file, node.Line, node.Value)
	case yaml.SequenceNode:
		for _, item := range node.Content {
			if err := checkKeys(file, item, known, owner); err != nil {
				return err
			}
		}
	case yaml.MappingNode:
		if label := scalarAt(node, "label"); label != "" {
			owner = fmt.Sprintf("%q", label)
		}
		for i := 0; i+1 < len(node.Content); i += 2 {
			key := node.Content[i]
			below, ok := known[key.Value]
			if !ok {
				return fmt.Errorf("parse ontology %s: line %d: unknown key %q in %s; allowed are %s",
					file, key.Line, key.Value, owner, strings.Join(sortedKeys(known), ", "))
			}
			if below == nil {
				continue
			}
			if err := checkKeys(file, node.Content[i+1], below, key.Value); err != nil {
				return err
			}
		}
	}
	return nil
}

func scalarAt(mapping *yaml.Node, key string) string {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key && mapping.Content[i+1].Kind == yaml.ScalarNode {
			return mapping.Content[i+1].Value
		}
	}
	return ""
}

func sortedKeys(known keys) []string {
	names := make([]string, 0, len(known))
	for name := range known {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// tidy brings labels to one Unicode form and takes needless white space out of
// cues, so that what is stored does not depend on an editor's habits.
func tidy(o *graph.Ontology) {
	for i := range o.Entities {
		t := &o.Entities[i]
		t.Label = norm.NFC.String(t.Label)
		t.Description = strings.TrimSpace(t.Description)
		t.Prompt = strings.TrimSpace(t.Prompt)
		tidyProperties(t.Properties)
	}
	for i := range o.Relations {
		t := &o.Relations[i]
		t.Label = norm.NFC.String(t.Label)
		t.Description = strings.TrimSpace(t.Description)
		for j, pattern := range t.Patterns {
			t.Patterns[j] = graph.Pattern{norm.NFC.String(pattern[0]), norm.NFC.String(pattern[1])}
		}
		for j, cue := range t.Cues {
			t.Cues[j] = strings.Join(strings.Fields(cue), " ")
		}
		for j, cue := range t.PassiveCues {
			t.PassiveCues[j] = strings.Join(strings.Fields(cue), " ")
		}
		tidyProperties(t.Properties)
	}
}

func tidyProperties(properties []graph.Property) {
	for i := range properties {
		p := &properties[i]
		p.Name = norm.NFC.String(p.Name)
		p.Type = graph.PropertyType(strings.ToUpper(string(p.Type)))
		p.Description = strings.TrimSpace(p.Description)
	}
}
