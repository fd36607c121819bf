package suggest

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"graphmill/pipeline/graph"
)

// spellings makes one label of those that differ by case, spaces, hyphens and
// underscores alone: an ontology takes only one of them.
type spellings struct{ entities, relations spelling }

// spelling counts how each label is written, by its folded form.
type spelling struct {
	declared map[string]string
	written  map[string]map[string]int
}

func newSpellings(base *graph.Ontology) spellings {
	s := spellings{newSpelling(), newSpelling()}
	for _, t := range base.Entities {
		s.entities.declared[folded(t.Label)] = t.Label
	}
	for _, t := range base.Relations {
		s.relations.declared[folded(t.Label)] = t.Label
	}
	return s
}

func newSpelling() spelling {
	return spelling{declared: map[string]string{}, written: map[string]map[string]int{}}
}

func (s spelling) add(label string) {
	key := folded(label)
	if s.written[key] == nil {
		s.written[key] = map[string]int{}
	}
	s.written[key][label]++
}

// of is the declared spelling of a label, else the one that was met most often.
func (s spelling) of(label string) string {
	key := folded(label)
	if declared, ok := s.declared[key]; ok {
		return declared
	}
	return frequent(s.written[key])[0]
}

func folded(label string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || r == '-' || r == '_' {
			return -1
		}
		return unicode.ToLower(r)
	}, norm.NFKC.String(label))
}
