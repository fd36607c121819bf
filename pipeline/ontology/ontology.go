// Package ontology reads, checks, merges and writes ontologies: the entity and
// relation types that extraction looks for. The types themselves belong to
// package graph; where an ontology is stored is the store's business.
package ontology

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"graphmill/pipeline/graph"
)

// Bounds of what may be declared. They stand far beyond what a model can be
// asked for at once and keep one bad file from filling the store.
const (
	MaxTypes      = 1000 // entity types, and as many relation types
	MaxLabelBytes = 100
	MaxTextBytes  = 4000 // a description
	MaxCueBytes   = 200
	MaxCues       = 500 // a relation type, each voice
	MaxPatterns   = 2000
)

// reserved labels are the graph's own.
var reserved = []string{"Chunk", "Document", graph.UnknownType}

// ValidateLabel checks one label: letters of any script, digits, spaces, "-"
// and "_"; not the graph's own labels, and not of the form __X__, which the
// graph keeps for its bookkeeping.
func ValidateLabel(label string) error {
	const allowed = "use letters of any script, digits, spaces, - and _"
	switch {
	case label == "":
		return errors.New("label is empty; " + allowed)
	case !utf8.ValidString(label):
		return fmt.Errorf("label %q is not valid UTF-8", label)
	case len(label) > MaxLabelBytes:
		return fmt.Errorf("label %.40q… is %d bytes long; at most %d are allowed", label, len(label), MaxLabelBytes)
	case strings.TrimSpace(label) != label:
		return fmt.Errorf("label %q begins or ends with a space", label)
	case strings.HasPrefix(label, "__") && strings.HasSuffix(label, "__"):
		return fmt.Errorf("label %q has the form __X__, which the graph keeps for itself", label)
	}
	letters := false
	for _, r := range label {
		switch {
		case unicode.IsLetter(r), unicode.IsNumber(r):
			letters = true
		case unicode.IsMark(r), r == ' ', r == '-', r == '_':
		default:
			return fmt.Errorf("label %q holds %q; %s", label, r, allowed)
		}
	}
	if !letters {
		return fmt.Errorf("label %q holds no letter or digit; %s", label, allowed)
	}
	for _, own := range reserved {
		if foldLabel(own) == foldLabel(label) {
			return fmt.Errorf("label %q is the graph's own (%s); choose another name", label, strings.Join(reserved, ", "))
		}
	}
	return nil
}

// foldLabel is the form in which two labels that a reader would take for one
// are equal: case, spaces, hyphens and underscores do not count.
func foldLabel(label string) string {
	folded := cases.Fold().String(norm.NFKC.String(label))
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || r == '-' || r == '_' {
			return -1
		}
		return r
	}, folded)
}

// Validate checks a whole ontology and returns every fault it finds, joined.
func Validate(o *graph.Ontology) error { return validate(o, false) }

// validateAddition checks what is to be added to an ontology that may declare
// the types its patterns name.
func validateAddition(o *graph.Ontology) error { return validate(o, true) }

func validate(o *graph.Ontology, addition bool) error {
	v := validator{entities: map[string]bool{}, addition: addition}
	if len(o.Entities) > MaxTypes || len(o.Relations) > MaxTypes {
		v.addf("%d entity types and %d relation types are declared; at most %d of each are allowed", len(o.Entities), len(o.Relations), MaxTypes)
		return errors.Join(v.faults...)
	}
	v.labels("entity type", entityLabels(o))
	v.labels("relation type", relationLabels(o))
	for _, t := range o.Entities {
		v.entities[t.Label] = true
		v.entity(t)
	}
	for _, t := range o.Relations {
		v.relation(t)
	}
	return errors.Join(v.faults...)
}

type validator struct {
	entities map[string]bool
	addition bool // patterns may name types that are declared elsewhere
	faults   []error
}

func (v *validator) addf(format string, args ...any) {
	v.faults = append(v.faults, fmt.Errorf(format, args...))
}

func (v *validator) labels(kind string, labels []string) {
	seen := map[string]string{}
	for _, label := range labels {
		if err := ValidateLabel(label); err != nil {
			v.addf("%s: %w", kind, err)
			continue
		}
		folded := foldLabel(label)
		switch other, ok := seen[folded]; {
		case ok && other == label:
			v.addf("%s %q is declared twice", kind, label)
		case ok:
			v.addf("%s %q and %q differ only by case or spacing; keep one", kind, other, label)
		}
		seen[folded] = label
	}
}

func (v *validator) entity(t graph.EntityType) {
	where := fmt.Sprintf("entity type %q", t.Label)
	v.text(where, "description", t.Description, MaxTextBytes)
	v.text(where, "prompt", t.Prompt, MaxLabelBytes)
	if t.Threshold < 0 || t.Threshold > 1 || t.Threshold != t.Threshold {
		v.addf("%s: threshold %v is not between 0 and 1", where, t.Threshold)
	}
	v.properties(where, t.Properties)
}

func (v *validator) relation(t graph.RelationType) {
	where := fmt.Sprintf("relation type %q", t.Label)
	v.text(where, "description", t.Description, MaxTextBytes)
	v.properties(where, t.Properties)
	if len(t.Patterns) > MaxPatterns {
		v.addf("%s: %d patterns; at most %d are allowed", where, len(t.Patterns), MaxPatterns)
		return
	}
	for _, pattern := range t.Patterns {
		for _, end := range pattern {
			v.end(where, pattern, end)
		}
	}
	v.cues(where, "cues", t.Cues)
	v.cues(where, "passive_cues", t.PassiveCues)
	for _, cue := range t.Cues {
		// Of a template with a mark alone ("_ , _") the types tell the direction.
		if slices.Contains(t.PassiveCues, cue) && !isTemplate(cue) {
			v.addf("%s: %q stands in cues and in passive_cues; a cue names the source first or the target first", where, cue)
		}
	}
}

// end checks one end of a pattern.
func (v *validator) end(where string, pattern graph.Pattern, end string) {
	switch {
	case end == graph.UnknownType:
		v.addf("%s: pattern [%s, %s] names Unknown; declare the missing entity type and name that", where, pattern[0], pattern[1])
	case v.entities[end]:
	case !v.addition:
		v.addf("%s: pattern [%s, %s] names %q, which is no declared entity type%s", where, pattern[0], pattern[1], end, v.suggest(end))
	default:
		if err := ValidateLabel(end); err != nil {
			v.addf("%s: pattern [%s, %s]: %w", where, pattern[0], pattern[1], err)
		}
	}
}

func (v *validator) suggest(label string) string {
	for declared := range v.entities {
		if foldLabel(declared) == foldLabel(label) {
			return fmt.Sprintf(" (%q is)", declared)
		}
	}
	return ""
}

func (v *validator) cues(where, field string, cues []string) {
	if len(cues) > MaxCues {
		v.addf("%s: %d %s; at most %d are allowed", where, len(cues), field, MaxCues)
		return
	}
	for _, cue := range cues {
		v.text(where, field, cue, MaxCueBytes)
		if !isTemplate(cue) && !strings.ContainsFunc(cue, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }) {
			v.addf("%s: %s entry %q holds no word", where, field, cue)
		}
	}
}

// isTemplate reports a cue with two names in it, which needs no word.
func isTemplate(cue string) bool {
	return strings.Count(" "+strings.ReplaceAll(cue, " ", "  ")+" ", " _ ") == 2
}

func (v *validator) properties(where string, properties []graph.Property) {
	seen := map[string]bool{}
	for _, p := range properties {
		if err := ValidateLabel(p.Name); err != nil {
			v.addf("%s: property %w", where, err)
		}
		if seen[p.Name] {
			v.addf("%s: property %q is declared twice", where, p.Name)
		}
		seen[p.Name] = true
		v.text(where+" property "+p.Name, "description", p.Description, MaxTextBytes)
		if p.Type != "" && !slices.Contains(propertyTypes, p.Type) {
			v.addf("%s: property %q has type %q; allowed are %s", where, p.Name, p.Type, joinTypes())
		}
	}
}

func (v *validator) text(where, field, text string, limit int) {
	switch {
	case !utf8.ValidString(text) || strings.ContainsRune(text, 0):
		v.addf("%s: %s is not valid UTF-8 text", where, field)
	case len(text) > limit:
		v.addf("%s: %s is %d bytes long; at most %d are allowed", where, field, len(text), limit)
	}
}

var propertyTypes = []graph.PropertyType{
	graph.StringProperty, graph.IntegerProperty, graph.FloatProperty,
	graph.BooleanProperty, graph.DateProperty, graph.ListProperty,
}

func joinTypes() string {
	names := make([]string, len(propertyTypes))
	for i, t := range propertyTypes {
		names[i] = string(t)
	}
	return strings.Join(names, ", ")
}

func entityLabels(o *graph.Ontology) []string {
	labels := make([]string, len(o.Entities))
	for i, t := range o.Entities {
		labels[i] = t.Label
	}
	return labels
}

func relationLabels(o *graph.Ontology) []string {
	labels := make([]string, len(o.Relations))
	for i, t := range o.Relations {
		labels[i] = t.Label
	}
	return labels
}
