package suggest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"graphmill/pipeline/graph"
)

// What is proposed, not only mentioned. A type with one name, or a relation with
// one fact, may be an error of the extractor; a type that is in the ontology
// already is doubted less than a phrase that was only read.
const (
	leastNames  = 3  // of an entity type
	leastFacts  = 2  // of a relation type that the ontology has
	leastReads  = 3  // of a phrase, and of a pair that the relation does not declare, by different pairs of names
	mostPairs   = 6  // of a new relation
	mostNew     = 25 // new relations, and entity types
	mostDoubts  = 40
	examples    = 5
	exampleSize = 160 // characters of a sentence
)

type entityCount struct {
	mentions int
	names    map[string]int    // name key → mentions
	shown    map[string]string // name key → how it is written
	files    map[string]bool
}

func newEntityCount() *entityCount {
	return &entityCount{names: map[string]int{}, shown: map[string]string{}, files: map[string]bool{}}
}

func (c *entityCount) add(path, name string) {
	key := graph.NameKey(name)
	c.mentions++
	c.names[key]++
	c.files[path] = true
	if have, ok := c.shown[key]; !ok || graph.DisplayName(name) < have {
		c.shown[key] = graph.DisplayName(name)
	}
}

func (c *entityCount) entity(t graph.EntityType) Entity {
	names := frequent(c.names)
	e := Entity{Type: t, Mentions: c.mentions, Names: len(names), Files: len(c.files), Doubtful: len(names) < leastNames, Examples: []string{}}
	for _, key := range names[:min(examples, len(names))] {
		e.Examples = append(e.Examples, c.shown[key])
	}
	return e
}

type relationCount struct {
	pairs   map[graph.Pattern]*pairCount
	cues    map[string]int
	passive map[string]int
	names   map[string]int
}

type pairCount struct {
	facts   map[string]bool // a fact that is told twice is one
	files   map[string]bool
	example example
}

// example is a fact with its sentence.
type example struct{ source, target, sentence string }

func (e example) String(label string) string {
	return fmt.Sprintf("(%s, %s, %s): %s", e.source, label, e.target, e.sentence)
}

// before prefers the shorter.
func (e example) before(o example) bool {
	return cmp.Or(len(e.source+e.target+e.sentence)-len(o.source+o.target+o.sentence),
		strings.Compare(e.sentence, o.sentence), strings.Compare(e.source, o.source), strings.Compare(e.target, o.target)) < 0
}

// count is the entry of that key, which it makes.
func count(counts map[string]*relationCount, key string) *relationCount {
	if counts[key] == nil {
		counts[key] = &relationCount{pairs: map[graph.Pattern]*pairCount{}, cues: map[string]int{}, passive: map[string]int{}, names: map[string]int{}}
	}
	return counts[key]
}

func (c *relationCount) add(sample Sample, source, target graph.Mention, evidence graph.Range) {
	pattern := graph.Pattern{source.Type, target.Type}
	pair := c.pairs[pattern]
	if pair == nil {
		pair = &pairCount{facts: map[string]bool{}, files: map[string]bool{}}
		c.pairs[pattern] = pair
	}
	pair.facts[graph.NameKey(source.Text)+"\x00"+graph.NameKey(target.Text)] = true
	pair.files[sample.Path] = true
	e := example{graph.DisplayName(source.Text), graph.DisplayName(target.Text), shorten(sample.Text[evidence.Start:evidence.End])}
	if pair.example == (example{}) || e.before(pair.example) {
		pair.example = e
	}
}

// relation is t with those of the pairs that keep wants, the first of them by
// frequency. What is counted is of those alone.
func (c *relationCount) relation(t graph.RelationType, most int, keep func(graph.Pattern, int) bool) Relation {
	r := Relation{Type: t, Pairs: []Pair{}}
	for pattern, p := range c.pairs {
		if keep(pattern, len(p.facts)) {
			r.Pairs = append(r.Pairs, Pair{Source: pattern[0], Target: pattern[1], Facts: len(p.facts), Example: p.example.String(t.Label)})
		}
	}
	slices.SortFunc(r.Pairs, func(a, b Pair) int {
		return cmp.Or(b.Facts-a.Facts, strings.Compare(a.Source, b.Source), strings.Compare(a.Target, b.Target))
	})
	r.Pairs = r.Pairs[:min(most, len(r.Pairs))]
	r.Type.Patterns = nil
	files := map[string]bool{}
	for _, p := range r.Pairs {
		pattern := graph.Pattern{p.Source, p.Target}
		r.Type.Patterns = append(r.Type.Patterns, pattern)
		r.Facts += p.Facts
		maps.Copy(files, c.pairs[pattern].files)
	}
	r.Files = len(files)
	return r
}

func (f *finder) suggestion(samples int) *Suggestion {
	s := &Suggestion{Samples: samples, Entities: []Entity{}, Relations: []Relation{}}
	for _, t := range f.base.Entities {
		if c := f.entities[t.Label]; c != nil {
			s.Entities = append(s.Entities, c.entity(t))
		}
	}
	if f.open {
		s.Entities = append(s.Entities, f.newTypes()...)
	}
	declared := s.checkEntities()
	for _, t := range f.base.Relations {
		if c := f.known[t.Label]; c != nil {
			r := c.relation(t, len(c.pairs), func(p graph.Pattern, facts int) bool {
				return declared[p[0]] && declared[p[1]] && (facts >= f.least || f.base.Allows(p[0], t.Label, p[1]))
			})
			r.Doubtful = r.Facts < leastFacts
			s.Relations = append(s.Relations, r)
		}
	}
	s.Relations = append(s.Relations, f.fromPhrases(declared)...)
	s.checkRelations()
	return s
}

// newTypes are entity types that base does not have.
func (f *finder) newTypes() (out []Entity) {
	for _, label := range slices.Sorted(maps.Keys(f.entities)) {
		if _, declared := f.base.Entity(label); !declared {
			out = append(out, f.entities[label].entity(graph.EntityType{Label: label}))
		}
	}
	slices.SortStableFunc(out, func(a, b Entity) int { return b.Mentions - a.Mentions })
	return out[:min(mostNew, len(out))]
}

// fromPhrases makes relations of the phrases that base reads nothing from.
func (f *finder) fromPhrases(declared map[string]bool) []Relation {
	var sure, doubts []Relation
	for _, c := range f.phrases {
		label := relationLabel(frequent(c.names)[0])
		c.settleCues()
		if _, taken := f.base.Relation(label); taken {
			continue
		}
		r := c.relation(graph.RelationType{
			Label: label, Cues: slices.Sorted(maps.Keys(c.cues)), PassiveCues: slices.Sorted(maps.Keys(c.passive)),
		}, mostPairs, func(p graph.Pattern, _ int) bool { return declared[p[0]] && declared[p[1]] })
		if r.Doubtful = r.Facts < f.least; r.Doubtful {
			doubts = append(doubts, r)
		} else {
			sure = append(sure, r)
		}
	}
	return append(mostFrequent(sure, mostNew), mostFrequent(doubts, mostDoubts)...)
}

// settleCues leaves a cue in one voice, that in which it was met more often.
func (c *relationCount) settleCues() {
	for cue, n := range c.cues {
		switch passive, both := c.passive[cue]; {
		case !both:
		case passive > n:
			delete(c.cues, cue)
		default:
			delete(c.passive, cue)
		}
	}
}

func mostFrequent(relations []Relation, most int) []Relation {
	slices.SortFunc(relations, func(a, b Relation) int {
		return cmp.Or(b.Facts-a.Facts, strings.Compare(a.Type.Label, b.Type.Label), slices.Compare(a.Type.Cues, b.Type.Cues))
	})
	return relations[:min(most, len(relations))]
}

// shorten writes a sentence in one line and not too long.
func shorten(sentence string) string {
	line := strings.Join(strings.Fields(sentence), " ")
	if utf8.RuneCountInString(line) <= exampleSize {
		return line
	}
	return strings.TrimSpace(string([]rune(line)[:exampleSize])) + " …"
}

// relationLabel is a phrase as relation types are written: "STUDIED_UNDER".
func relationLabel(phrase string) string {
	return strings.ToUpper(strings.ReplaceAll(strings.Join(strings.Fields(phrase), "_"), "'", ""))
}

// frequent are the keys of counts, those with the largest first.
func frequent(counts map[string]int) []string {
	return slices.SortedFunc(maps.Keys(counts), func(a, b string) int { return cmp.Or(counts[b]-counts[a], strings.Compare(a, b)) })
}
