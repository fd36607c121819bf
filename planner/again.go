package planner

import (
	"encoding/json"
	"maps"
	"strings"

	"graphmill/planner/catalogue"
)

// choices is what a plan chose for a file, as it is kept with its document. Not
// max_chunks: it bounds work and chooses nothing, so today's holds.
type choices struct {
	Chunker     string         `json:"chunker"`
	Params      map[string]int `json:"params,omitempty"`
	Extractors  []string       `json:"extractors"`
	Resolver    string         `json:"resolver"`
	MaxLLMPairs int            `json:"max_llm_pairs,omitempty"`
}

// Choices is what the plan chose, as compact JSON for [Planner.Again].
func (a Assignment) Choices() string {
	kept := choices{Chunker: a.Chunker, Params: a.Params, Extractors: a.Extractors, Resolver: a.Resolver, MaxLLMPairs: a.MaxLLMPairs}
	text, err := json.Marshal(kept)
	if err != nil {
		return "" // there is nothing in it that cannot be written
	}
	return string(text)
}

// Again gives a file the strategies that a plan chose for it before, whatever the
// rules say now: kept are that assignment's Choices, text its String, which says
// nearly as much and is all that older graphs have. The limits hold as for a rule,
// and Reason says what they replaced. Without a plan that can be read, the file
// gets that of the rules, and Reason says that none is known.
func (p *Planner) Again(file File, kept, text string) Assignment {
	notes := notes{"the plan of its last ingest"}
	rule, pairs, ok := p.lastRule(kept, text, &notes)
	if !ok {
		assigned := p.Assign(file)
		assigned.Reason += "; no plan of an earlier ingest is known"
		return assigned
	}
	assigned := p.assign(file, rule, &notes)
	assigned.Rule = -1
	if pairs > 0 && p.asksForPairs(assigned.Resolver) {
		assigned.MaxLLMPairs = min(pairs, p.limits.MaxLLMPairs)
	}
	assigned.Reason = strings.Join(notes, "; ")
	assigned.Fingerprint = p.fingerprint(assigned)
	return assigned
}

// lastRule is the rule that a last plan stands for, without what this version does
// not have any more, which is noted.
func (p *Planner) lastRule(kept, text string, notes *notes) (rule Rule, pairs int, ok bool) {
	var was choices
	if err := json.Unmarshal([]byte(kept), &was); err == nil && was.Chunker != "" {
		rule = Rule{Chunker: was.Chunker, Extractors: was.Extractors, Resolver: was.Resolver, Parameters: was.Params}
	} else if rule, ok = p.parse(text); !ok {
		return Rule{}, 0, false
	}
	rule.Parameters = p.unusual(rule.Chunker, rule.Parameters)
	p.gone(&rule, notes)
	return rule, was.MaxLLMPairs, true
}

// unusual are the numbers that differ from what the catalogue would set.
func (p *Planner) unusual(chunker string, params map[string]int) map[string]int {
	strategy, _ := p.find(catalogue.Chunker, chunker)
	usual := map[string]int{}
	fillDefaults(strategy, usual)
	if maps.Equal(params, usual) {
		return nil
	}
	return maps.Clone(params)
}

// gone takes out what this version does not have any more.
func (p *Planner) gone(rule *Rule, notes *notes) {
	if _, ok := p.find(catalogue.Chunker, rule.Chunker); !ok {
		notes.add("there is no chunker %s any more", rule.Chunker)
		rule.Chunker, rule.Parameters = "", nil
	}
	if _, ok := p.find(catalogue.Resolver, rule.Resolver); !ok {
		notes.add("there is no resolver %s any more", rule.Resolver)
		rule.Resolver = ""
	}
	var have []string
	for _, name := range rule.Extractors {
		if _, ok := p.find(catalogue.Extractor, name); ok {
			have = append(have, name)
		} else {
			notes.add("there is no extractor %s any more", name)
		}
	}
	rule.Extractors = have
}

func (p *Planner) asksForPairs(resolver string) bool {
	strategy, _ := p.find(catalogue.Resolver, resolver)
	return strategy.Cost.ModelCallsPerChunk > 0
}
