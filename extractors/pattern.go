package extractors

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"graphmill/chunkers"
	"graphmill/pipeline/graph"
	"graphmill/planner/catalogue"
)

// Methods as mentions and relations carry them.
const (
	patternMethod   = "pattern"
	neighbourMethod = "neighbours"
)

// neighbourScore is the score of a relation that only says that two names
// stand next to each other.
const neighbourScore = 0.5

// Pattern finds what has a form: matches of regular expressions, with score 1.
// Types that the ontology does not declare are counted in Pruned and dropped;
// [Pattern.Extend] declares those of the rules.
type Pattern struct {
	rules       []compiledRule
	fingerprint string
}

// NewPattern compiles the configuration. Every fault is reported, each naming
// its pattern and field.
func NewPattern(config PatternConfig) (*Pattern, error) {
	rules, err := config.rules()
	if err != nil {
		return nil, fmt.Errorf("make pattern extractor: %w", err)
	}
	p := &Pattern{}
	var faults []error
	parts := []string{"pattern/1"}
	for _, rule := range rules {
		compiled, err := rule.compile()
		if err != nil {
			faults = append(faults, err)
			continue
		}
		compiled.optional = config.Builtin == nil && len(p.rules) < len(rules)-len(config.Rules)
		p.rules = append(p.rules, compiled)
		// The stop words stand for the file, which may change under its name.
		rule.StopWordsFile = ""
		written, err := json.Marshal(struct {
			Rule PatternRule
			Stop map[string]bool
		}{rule, compiled.stop})
		if err != nil {
			return nil, fmt.Errorf("make pattern extractor: %w", err)
		}
		parts = append(parts, string(written))
	}
	if err := errors.Join(faults...); err != nil {
		return nil, fmt.Errorf("make pattern extractor: %w", err)
	}
	p.fingerprint = graph.Hash(parts...)
	return p, nil
}

// Fingerprint changes whenever the extractor could find something else, for
// the plan's fingerprint.
func (p *Pattern) Fingerprint() string { return p.fingerprint }

// Extend returns the ontology with what the configured rules find and base does
// not declare: their types, which no model is asked for, and their neighbour
// relations, between any two types. Whoever configures a rule wants its matches.
func (p *Pattern) Extend(base *graph.Ontology) *graph.Ontology {
	out := base.Canonical()
	entity := func(label string) {
		if _, ok := out.Entity(label); !ok {
			out.Entities = append(out.Entities, graph.EntityType{Label: label, Prompt: graph.NoPrompt})
		}
	}
	for _, rule := range p.rules {
		if rule.optional {
			continue
		}
		entity(rule.Type)
		for _, t := range rule.types {
			entity(t.kind)
		}
		if _, ok := out.Relation(rule.Neighbours); !ok && rule.Neighbours != "" {
			out.Relations = append(out.Relations, graph.RelationType{
				Label: rule.Neighbours, Description: "Two names stand next to each other in a passage",
			})
		}
	}
	return out.Canonical()
}

// Extract implements [Extractor].
func (p *Pattern) Extract(ctx context.Context, chunks []chunkers.Chunk, ontology *graph.Ontology) ([]graph.Extraction, error) {
	out := make([]graph.Extraction, len(chunks))
	for i, chunk := range chunks {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		parts := make([]graph.Extraction, 0, len(p.rules))
		for j := range p.rules {
			if _, declared := ontology.Entity(p.rules[j].Type); declared || !p.rules[j].optional {
				parts = append(parts, p.rules[j].find(chunk, ontology))
			}
		}
		out[i] = union(parts, false)
		sortMentions(&out[i])
	}
	return out, nil
}

// matches are the places of a text that a rule means. None reaches over the end
// of a paragraph, list item or row, which "\s" would take for a space.
func (r *compiledRule) matches(text string) []graph.Range {
	var found []graph.Range
	eachPiece(text, func(from, to int) {
		for _, at := range r.expression.FindAllStringSubmatchIndex(text[from:to], -1) {
			start, end := at[2*r.Group], at[2*r.Group+1]
			if start >= 0 && start < end && !r.refuses(text[from+start:from+end]) {
				found = append(found, graph.Range{Start: from + start, End: from + end})
			}
		}
	})
	return found
}

// find applies one rule to one chunk.
func (r *compiledRule) find(chunk chunkers.Chunk, ontology *graph.Ontology) graph.Extraction {
	var out graph.Extraction
	var names []patternName
	places := map[string]int{}
	for _, at := range r.matches(chunk.Text) {
		text := chunk.Text[at.Start:at.End]
		key := text
		if r.Distinct == "lower" {
			key = strings.ToLower(text)
		}
		place, known := places[key]
		if !known {
			if r.MaxDistinct > 0 && len(names) >= r.MaxDistinct {
				out.Pruned.Capped++
				continue
			}
			place = len(names)
			places[key] = place
			names = append(names, r.name(text, ontology))
		}
		name := &names[place]
		if !name.declared {
			out.Pruned.Add(graph.Pruned{EntityTypes: map[string]int{name.kind: 1}})
		} else {
			if name.first < 0 {
				name.first = len(out.Mentions)
			}
			out.Mentions = append(out.Mentions, graph.Mention{
				Range: graph.Range{Start: chunk.Range.Start + at.Start, End: chunk.Range.Start + at.End},
				Text:  text, Type: name.kind, Score: 1, Method: patternMethod,
			})
		}
	}
	if r.Neighbours != "" {
		r.join(&out, names, ontology)
	}
	return out
}

// patternName is one distinct name in a chunk.
type patternName struct {
	text, kind string
	declared   bool
	first      int // its first mention; -1 while it has none
}

func (r *compiledRule) name(text string, ontology *graph.Ontology) patternName {
	kind := r.typeOf(text)
	_, declared := ontology.Entity(kind)
	return patternName{text: text, kind: kind, declared: declared, first: -1}
}

// join relates each name to the next.
func (r *compiledRule) join(out *graph.Extraction, names []patternName, ontology *graph.Ontology) {
	for i := 0; i+1 < len(names); i++ {
		a, b := names[i], names[i+1]
		if !ontology.Allows(a.kind, r.Neighbours, b.kind) {
			out.Pruned.Add(prunedRelation(ontology, a.kind, r.Neighbours, b.kind, a.text, b.text))
			continue
		}
		out.Relations = append(out.Relations, graph.RelationMention{
			Source: a.first, Target: b.first, Type: r.Neighbours, Score: neighbourScore, Method: neighbourMethod,
			Evidence: graph.Range{Start: out.Mentions[a.first].Range.Start, End: out.Mentions[b.first].Range.End},
		})
	}
}

// prunedRelation counts a relation that the ontology does not allow.
func prunedRelation(ontology *graph.Ontology, source, relation, target, sourceName, targetName string) graph.Pruned {
	if _, declared := ontology.Relation(relation); !declared {
		return graph.Pruned{RelationTypes: map[string]int{relation: 1}}
	}
	if source == graph.UnknownType || target == graph.UnknownType {
		return graph.Pruned{UnknownEndpoints: map[string]int{relation: 1}}
	}
	key := graph.PatternKey(source, relation, target)
	fact := fmt.Sprintf("(%s, %s, %s)", graph.DisplayName(sourceName), relation, graph.DisplayName(targetName))
	return graph.Pruned{Patterns: map[string]int{key: 1}, PatternExamples: map[string]string{key: fact}}
}

// refuses reports whether a match is not meant.
func (r *compiledRule) refuses(text string) bool {
	if len(text) < r.MinBytes || r.MaxBytes > 0 && len(text) > r.MaxBytes {
		return true
	}
	if len(r.stop) > 0 && !strings.ContainsFunc(text, isWordBreak) && r.stop[strings.ToLower(text)] {
		return true
	}
	return r.exclude != nil && r.exclude.MatchString(text)
}

// typeOf is the type of the first type rule that holds, or the rule's own.
func (r *compiledRule) typeOf(text string) string {
	for _, t := range r.types {
		if t.holds(text) {
			return t.kind
		}
	}
	return r.Type
}

func (t *compiledType) holds(text string) bool {
	switch {
	case t.lastWord != nil && !t.lastWord[lastWord(text)]:
		return false
	case t.matches != nil && !t.matches.MatchString(text):
		return false
	case t.digit && !strings.ContainsFunc(text, unicode.IsDigit):
		return false
	case t.allUpper && (strings.ContainsFunc(text, unicode.IsLower) || !strings.ContainsFunc(text, unicode.IsUpper)):
		return false
	}
	return true
}

// isWordBreak is what stands between two words of a match.
func isWordBreak(r rune) bool { return r == '-' || unicode.IsSpace(r) }

func lastWord(text string) string {
	at := strings.LastIndexFunc(text, isWordBreak)
	if at < 0 {
		return text
	}
	_, size := utf8.DecodeRuneInString(text[at:])
	return text[at+size:]
}

var _ Extractor = (*Pattern)(nil)

// patternStrategy describes the extractor to the planner.
func patternStrategy() catalogue.Strategy {
	return catalogue.Strategy{
		// 1: templates and pronouns among the cues. 2: no match over the end of a
		// paragraph, item or row.
		Kind: catalogue.Extractor, Name: "pattern", Cheap: true, Version: 2,
		Description: "regular expressions for what has a form: CVE numbers, standards, dates, tickets, and your own",
		Cost:        catalogue.Cost{LocalSecondsPerKToken: 0.0005, Source: "measured: see BenchmarkPattern"},
	}
}
