package graph

import (
	"slices"
	"strings"
)

// NoPrompt, written as an entity type's prompt, keeps the type from models: it
// is declared, and only pattern rules find it.
const NoPrompt = "-"

// Entity returns the declared entity type with the given label, written exactly
// so.
func (o *Ontology) Entity(label string) (EntityType, bool) {
	for _, t := range o.Entities {
		if t.Label == label {
			return t, true
		}
	}
	return EntityType{}, false
}

// Relation returns the declared relation type with the given label, written
// exactly so.
func (o *Ontology) Relation(label string) (RelationType, bool) {
	for _, t := range o.Relations {
		if t.Label == label {
			return t, true
		}
	}
	return RelationType{}, false
}

// Allows reports whether the ontology declares the relation from source to
// target. A relation type without patterns joins any two declared entity types;
// Unknown is never declared.
func (o *Ontology) Allows(source, relation, target string) bool {
	t, ok := o.Relation(relation)
	if !ok {
		return false
	}
	if len(t.Patterns) > 0 {
		return slices.Contains(t.Patterns, Pattern{source, target})
	}
	_, declaredSource := o.Entity(source)
	_, declaredTarget := o.Entity(target)
	return declaredSource && declaredTarget
}

// PatternKey names a triple of types as Pruned counts it:
// "Person -WORKS_AT-> City".
func PatternKey(source, relation, target string) string {
	return source + " -" + relation + "-> " + target
}

// Canonical is a deep copy in the one order that equal ontologies share: types
// by label, patterns, properties and cues sorted, doubles out. Extraction works
// on this form, so that what it finds depends on what is declared and not on
// the order in which it was written or stored.
func (o *Ontology) Canonical() *Ontology {
	out := &Ontology{Entities: slices.Clone(o.Entities), Relations: slices.Clone(o.Relations)}
	for i := range out.Entities {
		out.Entities[i].Properties = sortedProperties(out.Entities[i].Properties)
	}
	for i := range out.Relations {
		relation := &out.Relations[i]
		relation.Properties = sortedProperties(relation.Properties)
		relation.Cues = sortedSet(relation.Cues)
		relation.PassiveCues = sortedSet(relation.PassiveCues)
		relation.Patterns = slices.Clone(relation.Patterns)
		slices.SortFunc(relation.Patterns, func(a, b Pattern) int { return slices.Compare(a[:], b[:]) })
		relation.Patterns = slices.Compact(relation.Patterns)
	}
	slices.SortStableFunc(out.Entities, func(a, b EntityType) int { return strings.Compare(a.Label, b.Label) })
	slices.SortStableFunc(out.Relations, func(a, b RelationType) int { return strings.Compare(a.Label, b.Label) })
	return out
}

func sortedProperties(properties []Property) []Property {
	out := slices.Clone(properties)
	slices.SortStableFunc(out, func(a, b Property) int { return strings.Compare(a.Name, b.Name) })
	return out
}

func sortedSet(values []string) []string {
	out := slices.Clone(values)
	slices.Sort(out)
	return slices.Compact(out)
}
