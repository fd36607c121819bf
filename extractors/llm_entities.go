package extractors

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"graphmill/chunkers"
	"graphmill/pipeline/graph"
)

// entitiesAnswer is the answer to the first call.
type entitiesAnswer struct {
	Entities []struct {
		Name, Type, Quote string
	}
	Other []struct {
		Name, Type string
	}
}

func checkEntities(text string) error {
	var answer entitiesAnswer
	err := decode(text, &answer)
	if err == nil && answer.Entities == nil {
		err = errors.New(`it has no list "entities"`)
	}
	return err
}

func decode(text string, into any) error {
	if err := json.Unmarshal([]byte(text), into); err != nil {
		return fmt.Errorf("it is not the JSON that was asked for: %w", err)
	}
	return nil
}

// readEntities turns an answer into mentions: the name inside its quote, and, a
// little less certain, the same name elsewhere in the passage.
func readEntities(text string, chunk chunkers.Chunk, ontology *graph.Ontology, types []graph.EntityType) graph.Extraction {
	var answer entitiesAnswer
	if err := decode(text, &answer); err != nil {
		return graph.Extraction{Failed: shortened(err.Error(), mostReason)}
	}
	var part graph.Extraction
	p := newPassage(chunk.Text)
	for i, entity := range answer.Entities {
		if i == mostItems {
			part.Pruned.Capped += len(answer.Entities) - mostItems
			break
		}
		if !slices.ContainsFunc(types, func(t graph.EntityType) bool { return t.Label == entity.Type }) {
			part.Pruned.Add(graph.Pruned{EntityTypes: map[string]int{undeclared(entity.Type): 1}})
			continue
		}
		place, similarity, ok := p.named(entity.Name, entity.Quote)
		if !ok {
			part.Pruned.UnquotedMentions++
			continue
		}
		name := chunk.Text[place.Start:place.End]
		add := func(at graph.Range, score float64) {
			part.Mentions = append(part.Mentions, graph.Mention{
				Range: graph.Range{Start: chunk.Range.Start + at.Start, End: chunk.Range.Start + at.End},
				Text:  name, Type: entity.Type, Score: score, Method: llmMethod,
			})
		}
		add(place, llmScore*similarity)
		for _, at := range p.occurrences(name, graph.Range{End: len(chunk.Text)}) {
			if at != place {
				add(at, sameNameScore*similarity)
			}
		}
	}
	for _, other := range answer.Other[:min(len(answer.Other), mostOther)] {
		part.Pruned.Add(graph.Pruned{EntityTypes: map[string]int{undeclared(other.Type): 1}})
	}
	// A name inside another stays for now: [Combined] knows what is wanted.
	out := union([]graph.Extraction{part}, true)
	sortMentions(&out)
	return out
}

// mostOther is how many things without a declared type are counted a chunk.
const mostOther = 5

// named finds a name inside its quote, in the passage's own letters.
func (p *passage) named(name, quote string) (graph.Range, float64, bool) {
	name = strings.TrimSpace(name)
	if graph.NameKey(name) == "" {
		return graph.Range{}, 0, false
	}
	found, ok := p.locate(quote)
	if !ok {
		return graph.Range{}, 0, false
	}
	if at, ok := p.exact(name, found.at); ok {
		return at, found.similarity, true
	}
	wanted, _ := fold(name)
	from, to := p.foldedRange(found.at)
	at, ok := p.loose(wanted, from, to)
	return at, found.similarity, ok
}

// foldedRange is the folded runes that stand in a range of bytes.
func (p *passage) foldedRange(at graph.Range) (from, to int) {
	from, _ = slices.BinarySearch(p.at, at.Start)
	to, _ = slices.BinarySearch(p.at, at.End)
	return from, to
}

// mostLabel bounds, in characters, a label that a model proposes.
const mostLabel = 60

// undeclared is a type that a model gave and nobody declared, as it is counted:
// a label of letters, digits, spaces, - and _, which reports show and an ontology
// could take.
func undeclared(label string) string {
	label = strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) || r == '-' || r == '_' {
			return r
		}
		return ' '
	}, label)), " ")
	if runes := []rune(label); len(runes) > mostLabel {
		label = string(runes[:mostLabel])
	}
	if label == "" {
		return "?"
	}
	return label
}
