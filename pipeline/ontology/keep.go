package ontology

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"graphmill/pipeline/graph"
)

// Addition is what to add to an ontology, in the form that set_ontology and
// `ontology set` take.
type Addition struct {
	Entities  []graph.EntityType   `json:"entities,omitempty"`
	Relations []graph.RelationType `json:"relations,omitempty"`
}

// IsEmpty reports an addition of nothing.
func (a Addition) IsEmpty() bool { return len(a.Entities)+len(a.Relations) == 0 }

// String is the addition as JSON in one line. It holds no quotation mark but ".
func (a Addition) String() string {
	text, err := json.Marshal(a)
	if err != nil {
		return "{}" // there is nothing in it that cannot be written
	}
	return string(text)
}

// Keep is what o lacks for another extraction to keep what pruned counts:
// entity types, relation types, pairs of types. Of more than most of each, the
// most frequent; 0 takes all. What no ontology can declare is left out: labels
// that are refused, pairs with an Unknown end. Adding it to o is never refused.
func Keep(o *graph.Ontology, pruned graph.Pruned, most int) Addition {
	k := keeper{o: o, declared: map[string]bool{}}
	take(pruned.EntityTypes, most, func(label string) bool { return k.entity(label, false) })
	take(pruned.RelationTypes, most, k.relation)
	take(pruned.Patterns, most, func(key string) bool {
		source, relation, target, ok := k.split(key)
		// A type that was not dropped itself is found by a pattern rule, which
		// declares it for its own runs: no model need be asked for it.
		return ok && k.entity(source, pruned.EntityTypes[source] == 0) && k.entity(target, pruned.EntityTypes[target] == 0) &&
			k.pattern(relation, graph.Pattern{source, target})
	})
	added := k.added().Canonical()
	return Addition{added.Entities, added.Relations}
}

// Dropped is the number of relations that pruned counts for their pair of types.
func Dropped(pruned graph.Pruned) int { return sum(pruned.Patterns) }

// Hint says what the ontology misses and how to have it; "" when it misses
// nothing. call is how to add [Keep]'s addition, "" when that is empty.
func Hint(pruned graph.Pruned, call string) string {
	var parts []string
	note := func(n int, what string, args ...any) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d ", n)+fmt.Sprintf(what, args...))
		}
	}
	note(sum(pruned.EntityTypes), "mentions were dropped because their type is not declared (%d types)", len(pruned.EntityTypes))
	note(sum(pruned.RelationTypes), "relations were dropped because their type is not declared (%d types)", len(pruned.RelationTypes))
	note(Dropped(pruned), "relations were dropped only because their pair of types is not declared (%d pairs; pattern_examples has a fact of each)", len(pruned.Patterns))
	note(sum(pruned.UnknownEndpoints), "relations were dropped because one end is of type Unknown, which no pattern can name: declare the entity type that is missing and add it to the relation's patterns")
	note(pruned.UnknownEntities, "mentions are stored as Unknown: an entity type for them may be missing")
	if len(parts) == 0 {
		return ""
	}
	hint := strings.Join(parts, "; ") + "."
	if call != "" {
		hint += " To keep them: " + call + " and extract the files again. Add only the pairs that the relation's meaning fits; for the others, declare a better relation type."
	}
	return hint
}

func sum(counts map[string]int) (n int) {
	for _, count := range counts {
		n += count
	}
	return n
}

// take hands the keys to use, those with the largest counts first, until it took
// most of them; all if most is 0.
func take(counts map[string]int, most int, use func(key string) bool) {
	keys := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	taken := 0
	for _, key := range keys {
		if use(key) {
			taken++
		}
		if taken == most && most > 0 {
			return
		}
	}
}

type keeper struct {
	o        *graph.Ontology
	declared map[string]bool // entity types that are added
	out      Addition
}

func (k *keeper) added() *graph.Ontology {
	return &graph.Ontology{Entities: k.out.Entities, Relations: k.out.Relations}
}

func (k *keeper) known(labels []string, label string) bool {
	return slices.ContainsFunc(labels, func(have string) bool { return foldLabel(have) == foldLabel(label) })
}

// entity adds a type unless o declares it, and reports whether it may be named.
// found says that a pattern rule finds its mentions.
func (k *keeper) entity(label string, found bool) bool {
	if _, ok := k.o.Entity(label); ok || k.declared[label] {
		return true
	}
	if ValidateLabel(label) != nil || k.known(entityLabels(k.o), label) || k.known(entityLabels(k.added()), label) {
		return false
	}
	t := graph.EntityType{Label: label}
	if found {
		t.Prompt = graph.NoPrompt
	}
	k.declared[label] = true
	k.out.Entities = append(k.out.Entities, t)
	return true
}

// split reads a key of Pruned.Patterns. A label may hold " -", but the relation
// of a pair that is not declared is declared.
func (k *keeper) split(key string) (source, relation, target string, ok bool) {
	left, target, ok := strings.Cut(key, "-> ")
	for at := 0; ok; {
		next := strings.Index(left[at:], " -")
		if next < 0 {
			return "", "", "", false
		}
		source, relation = left[:at+next], left[at+next+2:]
		if _, declared := k.o.Relation(relation); declared {
			return source, relation, target, source != graph.UnknownType && target != graph.UnknownType
		}
		at += next + 2
	}
	return "", "", "", false
}

// relation adds a type that joins all declared types.
func (k *keeper) relation(label string) bool {
	if ValidateLabel(label) != nil || k.known(relationLabels(k.o), label) || k.known(relationLabels(k.added()), label) {
		return false
	}
	k.out.Relations = append(k.out.Relations, graph.RelationType{Label: label})
	return true
}

// pattern adds a pair to a relation. One without any joins all declared types
// and would be narrowed by it.
func (k *keeper) pattern(relation string, pattern graph.Pattern) bool {
	if have, _ := k.o.Relation(relation); len(have.Patterns) == 0 {
		return true
	}
	for i := range k.out.Relations {
		if k.out.Relations[i].Label == relation {
			k.out.Relations[i].Patterns = append(k.out.Relations[i].Patterns, pattern)
			return true
		}
	}
	k.out.Relations = append(k.out.Relations, graph.RelationType{Label: relation, Patterns: []graph.Pattern{pattern}})
	return true
}
