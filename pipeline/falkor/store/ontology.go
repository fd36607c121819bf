package store

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"graphmill/pipeline/falkor/cypher"
	"graphmill/pipeline/falkor/shape"
	"graphmill/pipeline/faultpoint"
	"graphmill/pipeline/graph"
)

// LoadOntology reads the graph's ontology, sorted by label; the empty one when
// none was stored.
func (s *Store) LoadOntology(ctx context.Context) (graph.Ontology, error) {
	return shape.ReadOntology(ctx, s.query, s.options.Graph)
}

// SaveOntology adds the ontology to the stored one: types, properties and
// patterns that are there are overwritten, none is taken away. Whether a change
// is allowed is the caller's to decide.
//
// Dies anywhere: the ontology is as before or as after.
func (s *Store) SaveOntology(ctx context.Context, ontology graph.Ontology) error {
	return s.saveOntology(ctx, ontology, false)
}

// ReplaceOntology stores the ontology in place of the stored one.
//
// Dies anywhere: the ontology is as before or as after.
func (s *Store) ReplaceOntology(ctx context.Context, ontology graph.Ontology) error {
	return s.saveOntology(ctx, ontology, true)
}

func (s *Store) saveOntology(ctx context.Context, ontology graph.Ontology, replace bool) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	entities, entityProperties := entityRows(ontology)
	patterns, open, relationProperties := relationRows(ontology)
	var statements []cypher.Statement
	add := func(rows int, statement cypher.Statement) {
		if rows > 0 {
			statements = append(statements, statement)
		}
	}
	if replace {
		add(1, cypher.New(`MATCH (n) WHERE n:Entity OR n:Relation OR n:Property DETACH DELETE n`, nil))
	}
	add(len(entities), cypher.New(`UNWIND $rows AS row MERGE (n:Entity {label: row.label}) SET n += row.p`, over("rows", entities)))
	add(len(entityProperties), cypher.New(`UNWIND $rows AS row MATCH (n:Entity {label: row.label})
MERGE (n)-[:HAS_PROPERTY]->(p:Property {label: row.name}) SET p += row.p`, over("rows", entityProperties)))
	// A relation with patterns is no longer one that joins anything.
	add(len(patterns), cypher.New(`UNWIND $rows AS row MATCH (r:Relation {label: row.label}) WHERE NOT (r)-[:SOURCE]->()
OPTIONAL MATCH (r)-[:HAS_PROPERTY]->(p:Property) DETACH DELETE r, p`, over("rows", patterns)))
	add(len(patterns), cypher.New(`UNWIND $rows AS row MATCH (s:Entity {label: row.s}) MATCH (t:Entity {label: row.t})
MERGE (s)<-[:SOURCE]-(r:Relation {label: row.label})-[:TARGET]->(t)`, over("rows", patterns)))
	add(len(open), cypher.New(`UNWIND $rows AS row MERGE (r:Relation {label: row.label})`, over("rows", open)))
	add(len(patterns)+len(open), cypher.New(`UNWIND $rows AS row MATCH (r:Relation {label: row.label}) SET r += row.p`,
		over("rows", slices.Concat(patterns, open))))
	add(len(relationProperties), cypher.New(`UNWIND $rows AS row MATCH (n:Relation {label: row.label})
MERGE (n)-[:HAS_PROPERTY]->(p:Property {label: row.name}) SET p += row.p`, over("rows", relationProperties)))
	if len(statements) == 0 {
		return nil
	}
	lock := s.held()
	if lock == nil {
		return fmt.Errorf("save ontology of graph %s: %w", s.options.Graph, ErrNotLocked)
	}
	err := lock.check(ctx)
	if err == nil {
		faultpoint.Reach("before", "ontology")
		err = s.send(ctx, shape.OntologyGraph(s.options.Graph), cypher.Chain(statements...))
		faultpoint.Reach("after", "ontology")
	}
	return s.explain("save ontology", err)
}

// entityRows lists the entity types, those that only a pattern names among them.
func entityRows(ontology graph.Ontology) (types, properties []cypher.Record) {
	declared := map[string]bool{}
	for _, e := range ontology.Entities {
		declared[e.Label] = true
		types = append(types, cypher.Record{{Name: "label", Value: e.Label}, {Name: "p", Value: cypher.Record{
			{Name: "description", Value: orNull(e.Description)},
			{Name: "extras", Value: extrasText(shape.Extras{Prompt: e.Prompt, Threshold: e.Threshold})},
		}}})
		properties = append(properties, propertyRows(e.Label, e.Properties)...)
	}
	for _, r := range ontology.Relations {
		for _, pattern := range r.Patterns {
			for _, label := range pattern {
				if !declared[label] {
					declared[label] = true
					types = append(types, cypher.Record{{Name: "label", Value: label}, {Name: "p", Value: cypher.Record{}}})
				}
			}
		}
	}
	return types, properties
}

func relationRows(ontology graph.Ontology) (patterns, open, properties []cypher.Record) {
	for _, r := range ontology.Relations {
		p := cypher.Record{
			{Name: "description", Value: orNull(r.Description)},
			{Name: "extras", Value: extrasText(shape.Extras{Cues: r.Cues, PassiveCues: r.PassiveCues})},
		}
		for _, pattern := range r.Patterns {
			patterns = append(patterns, cypher.Record{{Name: "label", Value: r.Label}, {Name: "s", Value: pattern[0]}, {Name: "t", Value: pattern[1]}, {Name: "p", Value: p}})
		}
		if len(r.Patterns) == 0 {
			open = append(open, cypher.Record{{Name: "label", Value: r.Label}, {Name: "p", Value: p}})
		}
		properties = append(properties, propertyRows(r.Label, r.Properties)...)
	}
	return patterns, open, properties
}

func propertyRows(label string, properties []graph.Property) []cypher.Record {
	rows := make([]cypher.Record, len(properties))
	for i, p := range properties {
		kind := p.Type
		if kind == "" {
			kind = graph.StringProperty
		}
		rows[i] = cypher.Record{{Name: "label", Value: label}, {Name: "name", Value: p.Name}, {Name: "p", Value: cypher.Record{
			{Name: "type", Value: kind}, {Name: "description", Value: orNull(p.Description)}, {Name: "required", Value: p.Required},
		}}}
	}
	return rows
}

func extrasText(extras shape.Extras) any {
	text, err := json.Marshal(extras)
	if err != nil || string(text) == "{}" {
		return nil
	}
	return string(text)
}
