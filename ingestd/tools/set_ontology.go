package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"graphmill/pipeline/graph"
	"graphmill/pipeline/ontology"
	"graphmill/toolserver"
)

const ontologyName = "set_ontology"

// OntologySet is the reply of set_ontology.
type OntologySet struct {
	Graph string `json:"graph"`
	// Changes are sentences, one a change; none when all was declared already.
	Changes       []string `json:"changes"`
	EntityTypes   []string `json:"entity_types"`   // declared now
	RelationTypes []string `json:"relation_types"` // likewise
	toolserver.Notice
}

func (k *kit) ontologyTool() (*toolserver.Tool, error) {
	text := func(description string, most int) *jsonschema.Schema {
		return &jsonschema.Schema{Type: "string", Description: description, MaxLength: jsonschema.Ptr(most)}
	}
	texts := func(description string) *jsonschema.Schema {
		return &jsonschema.Schema{Type: "array", Description: description, Items: &jsonschema.Schema{Type: "string"}, MaxItems: jsonschema.Ptr(ontology.MaxCues)}
	}
	label := func() *jsonschema.Schema {
		return text("Its name: letters of any script, digits, spaces, - and _.", ontology.MaxLabelBytes)
	}
	properties := func() *jsonschema.Schema {
		return &jsonschema.Schema{Type: "array", Description: "What is kept about each.", Items: object([]string{"name"}, map[string]*jsonschema.Schema{
			"name": text("Its name.", ontology.MaxLabelBytes), "description": text("What it means.", ontology.MaxTextBytes), "required": {Type: "boolean"},
			"type": {Type: "string", Enum: []any{
				string(graph.StringProperty), string(graph.IntegerProperty), string(graph.FloatProperty),
				string(graph.BooleanProperty), string(graph.DateProperty), string(graph.ListProperty),
			}},
		})}
	}
	return toolserver.NewTool(toolserver.Spec{
		Name: ontologyName, Title: "Declare types of entities and relations", Destructive: true, Time: k.Time,
		Description: "Declares or extends the entity and relation types that extraction looks for. It only adds: types, descriptions, patterns, cues. " +
			"Declared before the first ingest, they take the place of the built-in types; later they are added. Documents that are in the graph already are extracted with them when they are next ingested with reextract=true.",
		Input: object(nil, map[string]*jsonschema.Schema{
			"entities": {Type: "array", Description: "Entity types.", MaxItems: jsonschema.Ptr(ontology.MaxTypes), Items: object([]string{"label"}, map[string]*jsonschema.Schema{
				"label": label(), "description": text("What is of this type; a model reads it.", ontology.MaxTextBytes), "properties": properties(),
				"prompt":    text("What the local model is asked for, when the label is no word for it.", ontology.MaxLabelBytes),
				"threshold": {Type: "number", Description: "Least score of a mention, in place of the model's.", Minimum: jsonschema.Ptr(0.0), Maximum: jsonschema.Ptr(1.0)},
			})},
			"relations": {Type: "array", Description: "Relation types.", MaxItems: jsonschema.Ptr(ontology.MaxTypes), Items: object([]string{"label"}, map[string]*jsonschema.Schema{
				"label": label(), "description": text("What it states; a model reads it.", ontology.MaxTextBytes), "properties": properties(),
				"patterns": {
					Type: "array", Description: "Pairs of entity types that it joins, as [\"Drug\", \"Disease\"]. Without any it joins all.", MaxItems: jsonschema.Ptr(ontology.MaxPatterns),
					Items: &jsonschema.Schema{Type: "array", Items: &jsonschema.Schema{Type: "string"}, MinItems: jsonschema.Ptr(2), MaxItems: jsonschema.Ptr(2)},
				},
				"cues":         texts("Words between the two ends that state it, source first: \"treats\". Without a language model, relations are found by cues alone."),
				"passive_cues": texts("Words that state it target first: \"is treated with\"."),
			})},
		}),
	}, k.setOntology)
}

// ontologyInput is handed on as it is: package ontology reads and checks it.
type ontologyInput struct {
	Entities  json.RawMessage `json:"entities,omitempty"`
	Relations json.RawMessage `json:"relations,omitempty"`
}

func (k *kit) setOntology(ctx context.Context, in ontologyInput) (*OntologySet, error) {
	text, err := json.Marshal(in)
	if err != nil {
		return nil, err
	}
	extra, err := ontology.ParseAddition("in the call", text)
	if err != nil {
		return nil, usage(
			"Labels hold letters of any script, digits, spaces, - and _, and are not the graph's own (Chunk, Document, Unknown, __X__); patterns name declared entity types",
			"The ontology is not right: %s", reason(err, "check ontology in the call: ", "parse ontology in the call: "))
	}
	if len(extra.Entities)+len(extra.Relations) == 0 {
		return nil, usage("Give `entities`, `relations` or both", "There is nothing to declare")
	}
	out, err := k.Backend.SetOntology(ctx, extra)
	if err != nil {
		return nil, err
	}
	if len(out.Changes) == 0 {
		out.Hint = "All of it was declared already; nothing changed."
	}
	return out, nil
}

// reason is an error without what the caller knows: its beginning, and that it is
// several lines.
func reason(err error, known ...string) string {
	text := err.Error()
	for _, prefix := range known {
		text = strings.TrimPrefix(text, prefix)
	}
	return strings.Join(strings.Split(strings.TrimSpace(text), "\n"), "; ")
}

// Text lists what changed, and what is declared.
func (o *OntologySet) Text(limit int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Graph %s: %d entity types, %d relation types\n", line(o.Graph), len(o.EntityTypes), len(o.RelationTypes))
	if len(o.Changes) > 0 {
		b.WriteString("\nChanges\n")
	}
	changes := make([]string, len(o.Changes))
	for i, change := range o.Changes {
		changes[i] = "  " + line(change)
	}
	b.WriteString(some(changes, limit/2))
	fmt.Fprintf(&b, "\nEntity types: %s\n", clip(line(strings.Join(o.EntityTypes, ", ")), limit/5))
	fmt.Fprintf(&b, "Relation types: %s\n", clip(line(strings.Join(o.RelationTypes, ", ")), limit/5))
	if o.Hint != "" {
		b.WriteString("\n" + o.Hint + "\n")
	}
	return clip(b.String(), limit)
}
