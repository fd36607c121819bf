package planner

import (
	"fmt"

	"graphmill/pipeline/corpus"
	"graphmill/planner/catalogue"
)

// Asks reports whether a strategy of the assignment asks a language model.
func (p *Planner) Asks(a Assignment) bool {
	for _, cost := range p.costs(a) {
		if cost.ModelCallsPerChunk > 0 {
			return true
		}
	}
	return false
}

// Asking names the strategies that some file may get and that ask a language
// model, each with the rule that gives it: `extractor llm of rule 2 "**/*.md"`.
// It knows no files, so a rule that matches none counts.
func (p *Planner) Asking() []string {
	var found []string
	seen := map[string]bool{}
	add := func(where string, kind catalogue.Kind, name string) {
		strategy, _ := p.find(kind, name)
		text := fmt.Sprintf("%s %s of %s", kind, name, where)
		if strategy.Cost.ModelCallsPerChunk > 0 && !seen[text] {
			seen[text] = true
			found = append(found, text)
		}
	}
	all := func(where string, rule, defaults Rule) {
		var ignored notes
		add(where, catalogue.Chunker, p.choose(catalogue.Chunker, rule.Chunker, defaults.Chunker, &ignored))
		for _, name := range p.chooseExtractors(rule.Extractors, defaults.Extractors, &ignored) {
			add(where, catalogue.Extractor, name)
		}
		add(where, catalogue.Resolver, p.choose(catalogue.Resolver, rule.Resolver, defaults.Resolver, &ignored))
	}
	for _, format := range []corpus.Format{corpus.Text, corpus.Markdown, corpus.RST, corpus.HTML, corpus.PDF} {
		for i, rule := range p.rules {
			all(ruleName(i, rule, format), rule, DefaultRule(format))
		}
		all(ruleName(-1, Rule{}, format), Rule{}, DefaultRule(format))
	}
	return found
}
