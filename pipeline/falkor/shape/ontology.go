package shape

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"graphmill/pipeline/falkor/conn"
	"graphmill/pipeline/falkor/cypher"
	"graphmill/pipeline/graph"
)

// OntologyGraph is the graph that holds graphName's ontology, where
// graphrag-sdk keeps it.
func OntologyGraph(graphName string) string { return graphName + "__ontology" }

// Extras are what an ontology holds beyond graphrag-sdk's shape: JSON text in
// the property extras of an :Entity or :Relation node.
type Extras struct {
	Prompt      string   `json:"prompt,omitempty"`
	Threshold   float64  `json:"threshold,omitempty"`
	Cues        []string `json:"cues,omitempty"`
	PassiveCues []string `json:"passive_cues,omitempty"`
}

// ReadOntology reads the ontology of graphName, sorted by label; the empty one
// when none was stored.
func ReadOntology(ctx context.Context, query Query, graphName string) (graph.Ontology, error) {
	var ontology graph.Ontology
	read := func(statement cypher.Statement) (*conn.Rows, error) {
		return query(ctx, OntologyGraph(graphName), statement)
	}
	entities, err := read(cypher.New(`MATCH (n:Entity) WHERE n.label IS NOT NULL
OPTIONAL MATCH (n)-[:HAS_PROPERTY]->(p:Property)
RETURN n.label AS label, n.description AS description, n.extras AS extras,
       p.label AS property, p.type AS type, p.description AS about, p.required AS required
ORDER BY label, property`, nil))
	if conn.KindOf(err) == conn.NoGraph {
		return ontology, nil
	}
	if err != nil {
		return ontology, err
	}
	relations, err := read(cypher.New(`MATCH (n:Relation) WHERE n.label IS NOT NULL
OPTIONAL MATCH (n)-[:SOURCE]->(s:Entity)
OPTIONAL MATCH (n)-[:TARGET]->(t:Entity)
OPTIONAL MATCH (n)-[:HAS_PROPERTY]->(p:Property)
RETURN n.label AS label, n.description AS description, n.extras AS extras, s.label AS source, t.label AS target,
       p.label AS property, p.type AS type, p.description AS about, p.required AS required
ORDER BY label, source, target, property`, nil))
	if err != nil {
		return ontology, err
	}
	if err := addEntities(&ontology, entities); err != nil {
		return ontology, err
	}
	return ontology, addRelations(&ontology, relations)
}

func addEntities(ontology *graph.Ontology, rows *conn.Rows) error {
	for i := range rows.Len() {
		label := rows.String(i, "label")
		n := len(ontology.Entities)
		if n == 0 || ontology.Entities[n-1].Label != label {
			extras, err := decodeExtras(label, rows.String(i, "extras"))
			if err != nil {
				return err
			}
			ontology.Entities = append(ontology.Entities, graph.EntityType{
				Label: label, Description: rows.String(i, "description"), Prompt: extras.Prompt, Threshold: extras.Threshold,
			})
			n++
		}
		addProperty(&ontology.Entities[n-1].Properties, rows, i)
	}
	return rows.Err()
}

func addRelations(ontology *graph.Ontology, rows *conn.Rows) error {
	for i := range rows.Len() {
		label := rows.String(i, "label")
		n := len(ontology.Relations)
		if n == 0 || ontology.Relations[n-1].Label != label {
			ontology.Relations = append(ontology.Relations, graph.RelationType{Label: label})
			n++
		}
		relation := &ontology.Relations[n-1]
		extras, err := decodeExtras(label, rows.String(i, "extras"))
		if err != nil {
			return err
		}
		// Every pattern is a node of its own and says the same of the relation; one
		// that another program added may say less.
		if relation.Description == "" {
			relation.Description = rows.String(i, "description")
		}
		if relation.Cues == nil {
			relation.Cues = extras.Cues
		}
		if relation.PassiveCues == nil {
			relation.PassiveCues = extras.PassiveCues
		}
		pattern := graph.Pattern{rows.String(i, "source"), rows.String(i, "target")}
		if pattern[0] != "" && pattern[1] != "" && !slices.Contains(relation.Patterns, pattern) {
			relation.Patterns = append(relation.Patterns, pattern)
		}
		addProperty(&relation.Properties, rows, i)
	}
	for i := range ontology.Relations {
		slices.SortFunc(ontology.Relations[i].Properties, func(a, b graph.Property) int { return strings.Compare(a.Name, b.Name) })
	}
	return rows.Err()
}

func addProperty(properties *[]graph.Property, rows *conn.Rows, i int) {
	name := rows.String(i, "property")
	if name == "" || slices.ContainsFunc(*properties, func(p graph.Property) bool { return p.Name == name }) {
		return
	}
	*properties = append(*properties, graph.Property{
		Name: name, Type: graph.PropertyType(rows.String(i, "type")),
		Description: rows.String(i, "about"), Required: rows.Bool(i, "required"),
	})
}

func decodeExtras(label, text string) (Extras, error) {
	var extras Extras
	if text == "" {
		return extras, nil
	}
	if err := json.Unmarshal([]byte(text), &extras); err != nil {
		return extras, fmt.Errorf("read ontology: %s: extras: %w", label, err)
	}
	return extras, nil
}
