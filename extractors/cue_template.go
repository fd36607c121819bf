package extractors

import (
	"slices"
	"strings"
)

// A template is a cue that says what stands around and between two names, word
// for word: "_ , _" in "Hartford, Connecticut", "in _ , * wrote|painted _". Its
// elements are parted by spaces:
//
//	_      one of the two names, with or without an article or a title
//	*      any name
//	word   that word; a form of "be" stands for all of them
//	,      that mark; 's is the possessive
//	a|b    one of several
//	x?     may be left out
//
// Templates read what has no verb: appositions, brackets, places behind names.
// They know no negation, so they should hold no verb that may be denied.

// templateScore is the certainty of what a template reads.
const templateScore = 0.9

// template is a compiled one.
type template struct {
	relation string
	passive  bool
	elements []element
	// plain templates are nothing but two names and a comma, which a list of
	// names has as well.
	plain bool
	// apposed templates end with a comma and a name, as does a phrase before a
	// sentence's subject: "In Ohio, Lincoln spoke".
	apposed bool
}

type element struct {
	slot, any, optional bool
	words               []string // lower case, or marks
}

// isTemplate reports a cue that is a template.
func isTemplate(cue string) bool {
	slots := 0
	for _, field := range strings.Fields(cue) {
		if field == "_" {
			slots++
		}
	}
	return slots == 2
}

func compileTemplate(relation, cue string, passive bool) template {
	t := template{relation: relation, passive: passive}
	for _, field := range strings.Fields(strings.ToLower(cue)) {
		var e element
		if len(field) > 1 {
			field, e.optional = strings.CutSuffix(field, "?")
		}
		for _, word := range strings.Split(field, "|") {
			switch word {
			case "_":
				e.slot = true
			case "*":
				e.any = true
			default:
				e.words = append(e.words, word)
			}
		}
		t.elements = append(t.elements, e)
	}
	if n := len(t.elements); n > 2 && t.elements[n-1].slot && !t.elements[n-2].optional && slices.Contains(t.elements[n-2].words, ",") {
		t.apposed, t.plain = true, n == 3
	}
	return t
}

// matchesToken reports a word or mark of the element.
func (e element) matchesToken(t token) bool {
	if t.kind == entityToken {
		return false
	}
	return slices.Contains(e.words, t.lower) || t.kind == wordToken && beForms[t.lower] && slices.ContainsFunc(e.words, func(w string) bool { return beForms[w] })
}

// match reads the template from token i on and returns its two names.
func (t template) match(s *sentence, i int) (first, second int, ok bool) {
	first, second = -1, -1
	for n, e := range t.elements {
		if (e.slot || e.any) && n > 0 {
			i = s.afterTitles(i)
		}
		switch here := s.at(i); {
		case (e.slot || e.any) && here.kind == entityToken:
			if e.slot && first < 0 {
				first = i
			} else if e.slot {
				second = i
			}
			i++
		case e.matchesToken(here):
			i++
		case !e.optional:
			return -1, -1, false
		}
	}
	return first, second, second >= 0
}

// afterTitles steps over an article and a title before a name.
func (s *sentence) afterTitles(i int) int {
	if s.isWord(i, determiners) {
		i++
	}
	if s.isWord(i, titles) {
		i++
		if s.isPunct(i, ".") {
			i++
		}
	}
	return i
}

// addTemplate files a template under what it begins with.
func (s *cueSet) addTemplate(t template) {
	first := t.elements[0]
	if first.slot || first.any || first.optional {
		s.named = append(s.named, t)
	}
	if slices.ContainsFunc(first.words, func(w string) bool { return beForms[w] }) {
		for form := range beForms {
			s.worded[form] = append(s.worded[form], t)
		}
	}
	for _, word := range first.words {
		if !beForms[word] {
			s.worded[word] = append(s.worded[word], t)
		}
	}
}

// readTemplates adds what the ontology's templates read.
func (r *cueReader) readTemplates() {
	for i, t := range r.tokens {
		beginning := r.set.named
		if t.kind != entityToken {
			beginning = r.set.worded[t.lower]
		}
		for _, t := range beginning {
			a, b, ok := t.match(&r.sentence, i)
			if !ok || t.apposed && !r.closes(b) || t.plain && r.listed(a, b) {
				continue
			}
			c := &cue{relation: t.relation, passive: t.passive}
			if p := (pair{subject: a, object: b, score: templateScore}); r.suitable(c, p) {
				r.emit(c, p)
			}
		}
	}
}

// closes reports that nothing goes on about the name at b as its subject.
func (r *cueReader) closes(b int) bool {
	next := r.at(b + 1)
	return next.kind == punctToken && next.lower != "'s" || next.kind == wordToken && (prepositions[next.lower] || conjunctions[next.lower])
}

// listed reports that the names at a and b, with only a comma between them, are
// of one list: names of one type that an "and" or "or" ends.
func (r *cueReader) listed(a, b int) bool {
	if r.kindOf(a) != r.kindOf(b) {
		return false
	}
	for j := b; ; {
		n := j + 1
		comma := r.isPunct(n, ",")
		if comma {
			n++
		}
		switch word := r.at(n).lower; {
		case r.at(n).kind == wordToken && (word == "and" || word == "or") || word == "&":
			n = r.afterTitles(n + 1)
			if r.isEntity(n) && r.kindOf(n) == r.kindOf(b) && !r.isPunct(n+1, ",") {
				return true
			}
			// "Paris, France, and Rome, Italy" is no list of four.
			return r.isEntity(n) && r.kindOf(n) == r.kindOf(b) && !r.isEntity(n+2)
		case comma && r.isEntity(n) && r.kindOf(n) == r.kindOf(b):
			j = n
		default:
			return r.afterList(a)
		}
	}
}

// afterList reports "X and" right before the name at a.
func (r *cueReader) afterList(a int) bool {
	return r.at(a-1).lower == "and" && r.isEntity(a-2) && r.kindOf(a-2) == r.kindOf(a) && !r.isPunct(a-3, ",")
}
