package tools

import (
	"context"
	"fmt"
	"strings"

	"graphmill/pipeline/graph"
	"graphmill/queryd/evidence"
	"graphmill/toolserver"
)

const ontologyName = "get_ontology"

// Ontology is the reply of get_ontology.
type Ontology struct {
	N             int            `json:"n,omitempty"`
	Graph         string         `json:"graph"`
	EntityTypes   []EntityType   `json:"entity_types"`
	RelationTypes []RelationType `json:"relation_types"`
	toolserver.Notice
}

// EntityType is a declared kind of thing.
type EntityType struct {
	Label       string     `json:"label"`
	Description string     `json:"description,omitempty"`
	Properties  []Property `json:"properties,omitempty"`
}

// RelationType is a declared kind of link.
type RelationType struct {
	Label       string     `json:"label"`
	Description string     `json:"description,omitempty"`
	Patterns    []Pattern  `json:"patterns"`
	Properties  []Property `json:"properties,omitempty"`
}

// Pattern is a pair of entity types that a relation type joins.
type Pattern struct {
	Source string `json:"source"`
	Target string `json:"target"`
}

// Property is a declared property of a type.
type Property struct {
	Name        string `json:"name"`
	Type        string `json:"type,omitempty"`
	Description string `json:"description,omitempty"`
	Required    bool   `json:"required,omitempty"`
}

func (k *kit) ontologyTool() (*toolserver.Tool, error) {
	return toolserver.NewTool(toolserver.Spec{
		Name:  ontologyName,
		Title: "Ontology of the graph",
		Description: "The types that the graph was built with: entity types with their properties, relation types with the pairs of entity types " +
			"that they join. For questions about what kinds of things the graph can know. The result carries one evidence number.",
		Input: object(nil, nil),
	}, k.ontology)
}

func (k *kit) ontology(ctx context.Context, _ struct{}) (*Ontology, error) {
	store, _, err := k.open(ctx)
	if err != nil {
		return nil, err
	}
	declared, err := store.Ontology(ctx, k.Graph())
	if err != nil {
		return nil, k.explain(err)
	}
	out := newOntology(k.Graph(), &declared)
	if len(out.EntityTypes)+len(out.RelationTypes) == 0 {
		out.Hint = "No ontology is stored with this graph; status lists the types in use."
	}
	out.N = k.Ledger.Add(evidence.Item{Tool: ontologyName, Kind: evidence.Graph, Content: out.content()})[0]
	return out, nil
}

func newOntology(name string, declared *graph.Ontology) *Ontology {
	out := &Ontology{Graph: name, EntityTypes: []EntityType{}, RelationTypes: []RelationType{}}
	for _, e := range declared.Entities {
		if !internal(e.Label) {
			out.EntityTypes = append(out.EntityTypes, EntityType{e.Label, e.Description, properties(e.Properties)})
		}
	}
	for _, r := range declared.Relations {
		if internal(r.Label) {
			continue
		}
		patterns := []Pattern{}
		for _, p := range r.Patterns {
			patterns = append(patterns, Pattern{p[0], p[1]})
		}
		out.RelationTypes = append(out.RelationTypes, RelationType{r.Label, r.Description, patterns, properties(r.Properties)})
	}
	return out
}

func properties(declared []graph.Property) []Property {
	var out []Property
	for _, p := range declared {
		out = append(out, Property{p.Name, string(p.Type), p.Description, p.Required})
	}
	return out
}

func (o *Ontology) content() string { return o.Text(1 << 20) }

// Text lists the types.
func (o *Ontology) Text(limit int) string {
	head := fmt.Sprintf("%sOntology of graph %s: %d entity types, %d relation types\n", number(o.N), escapeLine(o.Graph), len(o.EntityTypes), len(o.RelationTypes))
	entities := section{title: "Entity types", weight: 1}
	for _, e := range o.EntityTypes {
		entities.items = append(entities.items, "  "+escapeLine(e.Label)+described(e.Description)+listed(e.Properties))
	}
	relations := section{title: "Relation types", weight: 1}
	for _, r := range o.RelationTypes {
		var pairs []string
		for _, p := range r.Patterns {
			pairs = append(pairs, escapeLine(p.Source)+" → "+escapeLine(p.Target))
		}
		if len(pairs) == 0 {
			pairs = []string{"any declared types"}
		}
		relations.items = append(relations.items, fmt.Sprintf("  %s (%s)%s%s", escapeLine(r.Label), strings.Join(pairs, ", "), described(r.Description), listed(r.Properties)))
	}
	return compose(head, []section{entities, relations, hint(o.Notice)}, limit)
}

func described(text string) string {
	if text == "" {
		return ""
	}
	return ": " + escapeLine(text)
}

func listed(properties []Property) string {
	if len(properties) == 0 {
		return ""
	}
	var names []string
	for _, p := range properties {
		name := escapeLine(p.Name)
		if p.Type != "" {
			name += " " + escapeLine(p.Type)
		}
		names = append(names, name)
	}
	return " {" + strings.Join(names, ", ") + "}"
}

// number is how evidence is marked: "[3] ", or nothing for what cannot be cited.
func number(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("[%d] ", n)
}

// hint is the server's own last word.
func hint(notice toolserver.Notice) section {
	s := section{weight: 1}
	if notice.Hint != "" {
		s.items = []string{"\nNote: " + notice.Hint}
	}
	return s
}
