package extractors

import (
	"strings"
	"unicode"

	"graphmill/pipeline/graph"
)

// cueSet is an ontology's cues as one trie over word stems, so that a text is
// read once whatever their number.
type cueSet struct {
	ontology *graph.Ontology
	root     *cueNode
	// allowed holds every declared (source, relation, target).
	allowed map[[3]string]bool
	// open are relation types without patterns.
	open map[string]bool
	// named templates begin with a name, worded ones with a word or mark, by it.
	named  []template
	worded map[string][]template
	// person is the label of persons, "" for none.
	person string
	// declared are the entity types.
	declared map[string]bool
}

type cueNode struct {
	next map[string]*cueNode
	cues []*cue
}

// cue is one phrase of one relation type.
type cue struct {
	relation string
	// passive cues name the target as their subject.
	passive bool
	// reduced cues were written with a form of "be", which text may leave out
	// where it sets a phrase off by commas: "X, (is) CEO of Y".
	reduced bool
	// tail is the last word of a cue that may be interrupted after its head.
	tail string
	// gapOnly says that the tail must not follow at once: the whole phrase is in
	// the trie by itself.
	gapOnly bool
	// implied gaps were not written with "…".
	implied bool
	// possessive cues are "'s CEO" for "is CEO of": object first.
	possessive bool
	// first is the first word as written, for telling "work" from "works".
	first  string
	length int
}

// compileCues builds the trie.
func compileCues(o *graph.Ontology) *cueSet {
	set := &cueSet{ontology: o, root: &cueNode{}, allowed: map[[3]string]bool{}, open: map[string]bool{}, declared: map[string]bool{}, worded: map[string][]template{}}
	set.person = typeAskedAs(o, "person")
	for _, t := range o.Entities {
		set.declared[t.Label] = true
	}
	for _, relation := range o.Relations {
		set.open[relation.Label] = len(relation.Patterns) == 0
		for _, p := range relation.Patterns {
			set.allowed[[3]string{p[0], relation.Label, p[1]}] = true
		}
		for _, phrase := range relation.Cues {
			set.add(relation.Label, phrase, false)
		}
		for _, phrase := range relation.PassiveCues {
			set.add(relation.Label, phrase, true)
		}
	}
	return set
}

func (s *cueSet) allows(source, relation, target string) bool {
	return s.allowed[[3]string{source, relation, target}] || s.open[relation] && s.declared[source] && s.declared[target]
}

// add enters a phrase, and the forms that follow from it.
func (s *cueSet) add(relation, phrase string, passive bool) {
	if isTemplate(phrase) {
		s.addTemplate(compileTemplate(relation, phrase, passive))
		return
	}
	head, tail, gapped := strings.Cut(strings.ReplaceAll(phrase, "...", "…"), "…")
	list := cueWords(head)
	c := cue{relation: relation, passive: passive}
	if len(list) > 1 && beForms[list[0]] {
		c.reduced, list = true, list[1:]
	}
	if len(list) == 0 {
		return
	}
	c.first = list[0]
	if gapped {
		if words := cueWords(tail); len(words) == 1 {
			c.tail, c.gapOnly = words[0], true
			s.insert(list, c)
		} else if len(words) > 1 {
			s.insert(append(list, words...), c)
		}
		return
	}
	s.insert(list, c)
	last := list[len(list)-1]
	if len(list) > 1 && gapPrepositions[last] {
		interrupted := c
		interrupted.tail, interrupted.gapOnly, interrupted.implied = last, true, true
		s.insert(list[:len(list)-1], interrupted)
	}
	if c.reduced && len(list) > 1 && last == "of" {
		owned := c
		owned.possessive = true
		s.insert(list[:len(list)-1], owned)
	}
}

// describes reports that a mention is a common noun or begins a cue, rather
// than a name.
func (s *cueSet) describes(text string) bool {
	if !strings.ContainsFunc(text, unicode.IsUpper) {
		return strings.ContainsFunc(text, unicode.IsLetter)
	}
	list := cueWords(text)
	node := s.root
	for i, word := range list {
		if i == 0 {
			word, _ = stem(word)
		}
		if node = node.next[word]; node == nil {
			return false
		}
	}
	return len(list) > 0
}

func (s *cueSet) insert(list []string, c cue) {
	node := s.root
	for i, word := range list {
		key := word
		if i == 0 {
			key, _ = stem(word)
		}
		if node.next == nil {
			node.next = map[string]*cueNode{}
		}
		if node.next[key] == nil {
			node.next[key] = &cueNode{}
		}
		node = node.next[key]
	}
	c.length = len(list)
	node.cues = append(node.cues, &c)
}

// cueWords are the words of a phrase as tokenise would give them.
func cueWords(phrase string) []string {
	var out []string
	for _, t := range tokenise(phrase, graph.Range{End: len(phrase)}, nil) {
		if t.kind == wordToken {
			out = append(out, t.lower)
		}
	}
	return out
}

// matchAt lists the cues whose head starts at token i: whole phrases of the
// greatest length only (a longer phrase means something else than its
// beginning: "acquired by"), interrupted and possessive ones of any.
func (s *cueSet) matchAt(tokens []token, i int) []*cue {
	var found []*cue
	longest := 0
	node := s.root
	for j := i; j < len(tokens) && tokens[j].kind == wordToken; j++ {
		key := tokens[j].lower
		if j == i {
			key, _ = stem(key)
		}
		if node = node.next[key]; node == nil {
			break
		}
		for _, c := range node.cues {
			found = append(found, c)
			if !c.gapOnly && !c.possessive {
				longest = c.length
			}
		}
	}
	kept := found[:0]
	for _, c := range found {
		if c.gapOnly || c.possessive || c.length == longest {
			kept = append(kept, c)
		}
	}
	return kept
}
