package planner

import (
	"slices"
	"strconv"
	"strings"

	"graphmill/planner/catalogue"
)

// parse reads what Assignment.String wrote: what graphs kept of a plan at first.
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
