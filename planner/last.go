package planner

import (
	"slices"
	"strconv"
	"strings"

	"graphmill/planner/catalogue"
)

// Remembering returns a planner that gives files the plan of their last ingest in
// place of a rule's: plans are texts that Assignment.String wrote, by the files'
// paths. Of one that cannot be read, Reason says that none is known, and the rules
// decide. The limits hold all the same.
func (p *Planner) Remembering(plans map[string]string) *Planner {
	with := *p
	with.plans = plans
	return &with
}

// lastRule is the rule that a file's last plan stands for. asked says that it was
// to be found.
func (p *Planner) lastRule(path string) (rule Rule, known, asked bool) {
	text, asked := p.plans[path]
	if !asked {
		return rule, false, false
	}
	rule, known = p.parse(text)
	return rule, known, true
}

// parse reads what Assignment.String wrote.
func (p *Planner) parse(text string) (Rule, bool) {
	parts := strings.Split(text, " · ")
	if len(parts) != 3 {
		return Rule{}, false
	}
	words := strings.Fields(parts[0])
	if len(words) == 0 {
		return Rule{}, false
	}
	rule := Rule{Chunker: words[0], Extractors: strings.Split(parts[1], "+"), Resolver: parts[2], Parameters: map[string]int{}}
	strategy, known := p.find(catalogue.Chunker, rule.Chunker)
	_, resolves := p.find(catalogue.Resolver, rule.Resolver)
	if !known || !resolves || slices.ContainsFunc(rule.Extractors, func(name string) bool { _, ok := p.find(catalogue.Extractor, name); return !ok }) {
		return Rule{}, false
	}
	// Overlaps stand in the order of their units, of which the chunk has a size in
	// some; where the chunker knows none of these, they count sentences.
	var overlaps []string
	for i := 1; i < len(words); i++ {
		number, err := strconv.Atoi(strings.TrimPrefix(words[i], "+"))
		if err != nil {
			return Rule{}, false
		}
		name := "chunk_tokens"
		if strings.HasPrefix(words[i], "+") {
			if len(overlaps) == 0 {
				overlaps = []string{"overlap_sentences"}
			}
			name, overlaps = overlaps[0], overlaps[1:]
		} else if i+1 < len(words) && words[i+1] == "characters" {
			name = "chunk_chars"
			i++
		}
		if unit, is := strings.CutPrefix(name, "chunk_"); is {
			if _, has := parameter(strategy, "overlap_"+unit); has {
				overlaps = append(overlaps, "overlap_"+unit)
			}
		}
		if _, has := parameter(strategy, name); !has {
			return Rule{}, false
		}
		rule.Parameters[name] = number
	}
	return rule, true
}
