package extractors

import (
	"strings"

	"graphmill/chunkers"
	"graphmill/pipeline/graph"
)

// Quotes looks up in a text what a model quotes from it. Ranges are bytes of the
// text.
type Quotes struct{ passage *passage }

// NewQuotes prepares a text.
func NewQuotes(text string) *Quotes { return &Quotes{newPassage(text)} }

// Sentences returns the sentences that hold the quote, at its first place: see
// [QuoteFloor] for how close it has to be.
func (q *Quotes) Sentences(quote string) (graph.Range, bool) {
	found, ok := q.passage.locate(quote)
	return sentencesAround(q.passage.text, found.at), ok
}

// Names returns the places that hold a name as whole words: all that do to the
// letter, else those of the first with white space, case and marks folded.
func (q *Quotes) Names(name string) []graph.Range {
	name = strings.TrimSpace(name)
	if graph.NameKey(name) == "" {
		return nil
	}
	whole := graph.Range{End: len(q.passage.text)}
	if all := q.passage.occurrences(name, whole); len(all) > 0 {
		return all
	}
	wanted, _ := fold(name)
	at, ok := q.passage.loose(wanted, 0, len(q.passage.folded))
	if !ok {
		return nil
	}
	return q.passage.occurrences(q.passage.text[at.Start:at.End], whole)
}

// sentencesAround widens a range to the sentences that it touches.
func sentencesAround(text string, quote graph.Range) graph.Range {
	at := quote
	for _, s := range chunkers.Sentences(text) {
		if s.Overlaps(quote) {
			at.Start, at.End = min(at.Start, s.Start), max(at.End, s.End)
		}
	}
	return at
}
