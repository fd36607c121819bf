package ontology

import (
	"errors"
	"fmt"
	"slices"

	"graphmill/pipeline/graph"
)

// Merge adds extra to base and says what changed, one line a change. It only
// adds: types, properties, patterns, cues. What says how a type is found and
// described (description, prompt, threshold) takes extra's value where extra
// states one, and that is a change too. A contradiction in what is declared (a
// property of another type, a label that differs only by case or spacing) is an
// error, and nothing is merged. Neither argument is changed; the result is in
// canonical order.
func Merge(base, extra *graph.Ontology) (*graph.Ontology, []string, error) {
	m := merger{out: base.Canonical()}
	extra = extra.Canonical()
	for _, t := range extra.Entities {
		m.entity(t)
	}
	for _, t := range extra.Relations {
		m.relation(t)
	}
	if err := errors.Join(m.conflicts...); err != nil {
		return nil, nil, fmt.Errorf("merge ontology: %w", err)
	}
	merged := m.out.Canonical()
	if err := Validate(merged); err != nil {
		return nil, nil, fmt.Errorf("merge ontology: %w", err)
	}
	return merged, m.changes, nil
}

type merger struct {
	out       *graph.Ontology
	changes   []string
	conflicts []error
}

func (m *merger) changef(format string, args ...any) {
	m.changes = append(m.changes, fmt.Sprintf(format, args...))
}

func (m *merger) conflictf(format string, args ...any) {
	m.conflicts = append(m.conflicts, fmt.Errorf(format, args...))
}

// find returns the place of label among labels; -1 when it is new or, with a
// conflict noted, when only its writing differs.
func (m *merger) find(kind, label string, labels []string) (place int, clash bool) {
	for i, have := range labels {
		if have == label {
			return i, false
		}
		if foldLabel(have) == foldLabel(label) {
			m.conflictf("%s %q is declared as %q; write it so", kind, label, have)
			return -1, true
		}
	}
	return -1, false
}

func (m *merger) entity(t graph.EntityType) {
	place, clash := m.find("entity type", t.Label, entityLabels(m.out))
	if clash {
		return
	}
	if place < 0 {
		m.out.Entities = append(m.out.Entities, t)
		m.changef("entity type %q added", t.Label)
		return
	}
	have := &m.out.Entities[place]
	where := fmt.Sprintf("entity type %q", t.Label)
	m.set(where, "description", &have.Description, t.Description)
	m.set(where, "prompt", &have.Prompt, t.Prompt)
	if t.Threshold != 0 && t.Threshold != have.Threshold {
		m.changef("%s: threshold %v replaces %v", where, t.Threshold, have.Threshold)
		have.Threshold = t.Threshold
	}
	m.properties(where, &have.Properties, t.Properties)
}

func (m *merger) relation(t graph.RelationType) {
	place, clash := m.find("relation type", t.Label, relationLabels(m.out))
	if clash {
		return
	}
	if place < 0 {
		m.out.Relations = append(m.out.Relations, t)
		m.changef("relation type %q added", t.Label)
		return
	}
	have := &m.out.Relations[place]
	where := fmt.Sprintf("relation type %q", t.Label)
	m.set(where, "description", &have.Description, t.Description)
	if len(have.Patterns) == 0 && len(t.Patterns) > 0 {
		m.changef("%s: joined any two types until now, joins its patterns only from here on", where)
	}
	for _, pattern := range t.Patterns {
		if !slices.Contains(have.Patterns, pattern) {
			have.Patterns = append(have.Patterns, pattern)
			m.changef("%s: pattern [%s, %s] added", where, pattern[0], pattern[1])
		}
	}
	m.cues(where, "cue", &have.Cues, t.Cues)
	m.cues(where, "passive cue", &have.PassiveCues, t.PassiveCues)
	m.properties(where, &have.Properties, t.Properties)
}

func (m *merger) cues(where, kind string, have *[]string, extra []string) {
	for _, cue := range extra {
		if !slices.Contains(*have, cue) {
			*have = append(*have, cue)
			m.changef("%s: %s %q added", where, kind, cue)
		}
	}
}

func (m *merger) set(where, field string, have *string, value string) {
	if value == "" || value == *have {
		return
	}
	if *have == "" {
		m.changef("%s: %s added", where, field)
	} else {
		m.changef("%s: %s replaced", where, field)
	}
	*have = value
}

func (m *merger) properties(where string, have *[]graph.Property, extra []graph.Property) {
	for _, p := range extra {
		place := slices.IndexFunc(*have, func(q graph.Property) bool { return q.Name == p.Name })
		if place < 0 {
			*have = append(*have, p)
			m.changef("%s: property %q added", where, p.Name)
			continue
		}
		q := &(*have)[place]
		if p.Type != "" && q.Type != "" && p.Type != q.Type {
			m.conflictf("%s: property %q is declared as %s and cannot become %s", where, p.Name, q.Type, p.Type)
			continue
		}
		if p.Type != "" && q.Type == "" {
			q.Type = p.Type
			m.changef("%s: property %q has type %s", where, p.Name, p.Type)
		}
		if p.Required && !q.Required {
			m.conflictf("%s: property %q is optional and cannot become required", where, p.Name)
		}
		m.set(where+" property "+p.Name, "description", &q.Description, p.Description)
	}
}
