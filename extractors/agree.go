package extractors

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"graphmill/chunkers"
	"graphmill/pipeline/graph"
)

// Within a passage a name means one thing nearly always, and a small model does
// not always see it: "Abraham Lincoln" is a person to it and "Lincoln", two
// sentences on, a town or nothing. agree lets the mentions of a chunk speak for
// each other; figures for each rule stand in docs/quality.md.

// leastSurname is how many code points a name has that is looked for by itself.
const leastSurname = 3

// agree settles the types of one chunk's mentions.
func agree(chunk chunkers.Chunk, ontology *graph.Ontology, e *graph.Extraction) {
	a := agreeing{chunk: chunk, out: e, person: typeAskedAs(ontology, "person")}
	a.settleTypes()
	a.settleSurnames()
	countUnknown(e)
}

type agreeing struct {
	chunk  chunkers.Chunk
	out    *graph.Extraction
	person string // the label of persons, "" where the ontology has none
}

// typeAskedAs is the first type that the model is asked for by the given word.
func typeAskedAs(ontology *graph.Ontology, word string) string {
	for _, t := range ontology.Entities {
		if t.Prompt == word || t.Prompt == "" && spokenLabel(t.Label) == word {
			return t.Label
		}
	}
	return ""
}

func countUnknown(e *graph.Extraction) {
	e.Pruned.UnknownEntities = 0
	for _, m := range e.Mentions {
		if m.Type == graph.UnknownType {
			e.Pruned.UnknownEntities++
		}
	}
}

// settleTypes gives mentions of one name the type that has the greatest score
// among them all. A certain mention, found by its form, is left alone.
func (a *agreeing) settleTypes() {
	scores := map[string]map[string]float64{}
	for _, m := range a.out.Mentions {
		key := graph.NameKey(m.Text)
		if scores[key] == nil {
			scores[key] = map[string]float64{}
		}
		if m.Type != graph.UnknownType {
			scores[key][m.Type] += m.Score
		}
	}
	for i := range a.out.Mentions {
		m := &a.out.Mentions[i]
		if m.Score >= 1 {
			continue
		}
		best := m.Type
		of := scores[graph.NameKey(m.Text)]
		for kind, score := range of {
			if score > of[best] || score == of[best] && kind < best {
				best = kind
			}
		}
		m.Type = best
	}
}

// settleSurnames takes the last name of a person who is named in full for that
// person, unless it stands where a place does.
func (a *agreeing) settleSurnames() {
	if a.person == "" {
		return
	}
	surnames := map[string]bool{}
	for _, m := range a.out.Mentions {
		if name, ok := surname(m.Text); ok && m.Type == a.person {
			surnames[name] = true
		}
	}
	for i := range a.out.Mentions {
		m := &a.out.Mentions[i]
		if m.Type != a.person && m.Score < 1 && surnames[m.Text] && !a.placed(m.Range.Start-a.chunk.Range.Start) {
			m.Type = a.person
		}
	}
}

// surname is the last of several words of a name, if it can stand alone.
func surname(name string) (string, bool) {
	at := strings.LastIndexByte(name, ' ')
	last := name[at+1:]
	first, _ := utf8.DecodeRuneInString(last)
	return last, at > 0 && unicode.IsUpper(first) && utf8.RuneCountInString(last) >= leastSurname && !strings.ContainsAny(last, ".,()")
}

var placeWords = words("in at near from to through outside around across throughout")

// placed reports that the byte of the chunk's text follows a word that a place
// follows.
func (a *agreeing) placed(start int) bool {
	before := strings.Fields(a.chunk.Text[max(0, start-20):start])
	return len(before) > 0 && placeWords[strings.ToLower(before[len(before)-1])]
}
