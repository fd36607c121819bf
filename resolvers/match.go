package resolvers

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Rule says why two names are taken for one thing's. Its text is stable: the
// graph and reports carry it.
type Rule string

// The rules of similar, and that of a language model.
const (
	Punctuation Rule = "punctuation" // the same words: "U.S.", "US"
	Spelling    Rule = "spelling"    // written out or spelled otherwise: "Co.", "Company"; a slip in a long name
	LegalForm   Rule = "legal form"  // "Acme", "Acme Inc."
	Title       Rule = "title"       // "Marie Curie", "Dr. Marie Curie"
	Article     Rule = "article"     // "The Netherlands", "Netherlands"
	Accents     Rule = "accents"     // "François Mitterrand", "Francois Mitterrand"
	Order       Rule = "order"       // "Knuth, Donald", "Donald Knuth"
	Initials    Rule = "initials"    // "J. S. Bach", "Johann Sebastian Bach"
	Acronym     Rule = "acronym"     // "IBM", "International Business Machines"
	Verified    Rule = "verified"    // a language model was asked
)

// Need is what must be found in the texts beside the two names.
type Need int

// The needs, each more than the one before.
const (
	NeedNothing  Need = iota
	NeedDocument      // one document names both
	NeedBeside        // one names the other in brackets, or right after a comma
)

// match is what two names alone say.
type match struct {
	rule  Rule
	score float64 // how sure the rule is of itself, 0 to 1; an order, not a probability
	need  Need
	// short is the name that says less and could be short for another: -1 the
	// first, 1 the second, 0 neither.
	short int
}

// The scores say in which order rules are believed; 0.85 and less need more than
// names where names.tsv has a counterexample.
var scores = map[Rule]float64{
	Punctuation: 0.99, Spelling: 0.97, LegalForm: 0.95, Title: 0.95, Article: 0.95, Order: 0.94, Accents: 0.93, Initials: 0.9, Acronym: 0.85, Verified: 0.8,
}

// compare says whether two names of one type could be one thing's.
func compare(a, b written) (match, bool) {
	switch {
	case a.plain == b.plain && sameLetters(a.words, b.words):
		return match{rule: Punctuation, score: scores[Punctuation]}, true
	case a.fold == b.fold && a.plain != b.plain:
		return match{rule: Spelling, score: scores[Spelling]}, true
	case !compatible(a, b):
		return match{}, false
	}
	for _, rule := range []func(a, b written) (match, bool){sameCore, acronyms, initials, accents, inverted, slip} {
		if m, ok := rule(a, b); ok {
			return m, true
		}
	}
	return match{}, false
}

// sameLetters keeps "U.S." from "us": letters with full stops are the word only
// where it stands in capitals.
func sameLetters(a, b []word) bool {
	for i := range min(len(a), len(b)) {
		x, y := a[i], b[i]
		if len(x.text) > 1 && (x.initials == nil) != (y.initials == nil) && !(x.capitals && y.capitals) {
			return false
		}
	}
	return true
}

// sameCore joins names that differ in what stands around them.
func sameCore(a, b written) (match, bool) {
	if a.coreFold != b.coreFold || a.fold == b.fold || a.numbers != b.numbers {
		return match{}, false
	}
	rule := decorationRule(a, b)
	m := match{rule: rule, score: scores[rule], short: sign(decorated(a) - decorated(b))}
	if len(a.core) == 1 && len(a.titles)+len(b.titles) > 0 {
		m.need, m.score = NeedDocument, 0.85 // "Dr. Bach"
	}
	return m, true
}

func sign(n int) int {
	switch {
	case n < 0:
		return -1
	case n > 0:
		return 1
	}
	return 0
}

// An acronym has at least two letters and at most maxAcronym.
const maxAcronym = 7

// acronym returns the letters of a name that is one; "" of others.
func acronym(w written) string {
	if len(w.core) != 1 || len(w.titles) > 0 {
		return ""
	}
	only := w.core[0]
	n := letters(only.text)
	if n < 2 || n > maxAcronym || !only.capitals {
		return ""
	}
	return only.text
}

// smallWords may or may not have a letter in an acronym.
var smallWords = setOf("of the and for in on to at by de la le du des del der die das und et y e von van")

// acronymsOf returns the acronyms that a name may have.
func acronymsOf(w written) []string {
	if len(w.core) < 2 || strings.ContainsFunc(w.coreFold, unicode.IsNumber) {
		return nil
	}
	var all, large strings.Builder
	for _, word := range w.core {
		for _, part := range strings.FieldsFunc(word.text, func(r rune) bool { return r == '-' || r == '/' }) {
			if word.initials != nil {
				return nil
			}
			first, _ := utf8.DecodeRuneInString(part)
			all.WriteRune(first)
			if !smallWords[part] {
				large.WriteRune(first)
			}
		}
	}
	var list []string
	for _, s := range []string{all.String(), large.String()} {
		if n := letters(s); n >= 2 && n <= maxAcronym && !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	return list
}

func acronyms(a, b written) (match, bool) {
	m := match{rule: Acronym, score: scores[Acronym], short: -1}
	letters := acronym(a)
	long := b
	if letters == "" {
		letters, long, m.short = acronym(b), a, 1
	}
	if letters == "" || !slices.Contains(acronymsOf(long), letters) {
		return match{}, false
	}
	if len(letters) < 3 {
		m.need = NeedBeside // two letters stand for too much
	}
	return m, true
}

// place is one given name or initial.
type place struct {
	text    string
	initial bool
}

func places(words []word) []place {
	var list []place
	for _, w := range words {
		for _, letter := range w.initials {
			list = append(list, place{letter, true})
		}
		if w.initials == nil {
			list = append(list, place{w.text, false})
		}
	}
	return list
}

// initials joins names of one surname whose given names agree as far as they are
// written. One given name alone, and as an initial, needs a document of both.
func initials(a, b written) (match, bool) {
	x, y := places(a.core), places(b.core)
	last := len(x) - 1
	if len(x) != len(y) || last < 1 || x[last] != y[last] || x[last].initial || short(x[last].text) {
		return match{}, false
	}
	agree, shortened := 0, 0
	for i := range last {
		p, q := x[i], y[i]
		switch {
		case p.initial != q.initial && firstLetter(p.text) == firstLetter(q.text):
			agree++
			if p.initial {
				shortened--
			} else {
				shortened++
			}
		case p == q:
			agree++
		default:
			return match{}, false
		}
	}
	m := match{rule: Initials, score: scores[Initials], short: sign(shortened)}
	if agree < 2 {
		m.need, m.score = NeedDocument, 0.8
	}
	return m, true
}

func firstLetter(s string) rune {
	r, _ := utf8.DecodeRuneInString(s)
	return r
}

// accents joins names of several words, one of which is the same in both, that
// differ in accents which keyboards leave out.
func accents(a, b written) (match, bool) {
	if a.numbers != b.numbers || len(a.core) < 2 || len(a.core) != len(b.core) || unaccented(a.coreFold) != unaccented(b.coreFold) {
		return match{}, false
	}
	for i := range a.core {
		if a.core[i].text == b.core[i].text && letters(a.core[i].text) >= 3 {
			return match{rule: Accents, score: scores[Accents]}, true
		}
	}
	return match{}, false
}

// upright returns the words of "Knuth, Donald" as "donald knuth"; "" of a name
// that is not written so.
func upright(words []word) string {
	at := slices.IndexFunc(words, func(w word) bool { return w.comma })
	if at < 0 || at > 1 || at == len(words)-1 || len(words) > 4 || slices.ContainsFunc(words[at+1:], func(w word) bool { return w.comma }) {
		return ""
	}
	return joined(words[at+1:]) + " " + joined(words[:at+1])
}

func inverted(a, b written) (match, bool) {
	if a.numbers != b.numbers || strings.ContainsFunc(a.coreFold, unicode.IsNumber) {
		return match{}, false
	}
	x, y := upright(a.core), upright(b.core)
	if x != "" && x == b.coreFold && y == "" || y != "" && y == a.coreFold && x == "" {
		return match{rule: Order, score: scores[Order]}, true
	}
	return match{}, false
}

// leastSlip is how alike two words of a slip are at least, by Jaro and Winkler.
const leastSlip = 0.95

// slip joins names of three words and more, all the same but a long one in which
// a letter inside is doubled, left out or changed places with its neighbour.
func slip(a, b written) (match, bool) {
	if a.numbers != b.numbers || len(a.core) != len(b.core) || len(a.core) < 3 {
		return match{}, false
	}
	at := -1
	for i := range a.core {
		if a.core[i].text != b.core[i].text {
			if at >= 0 {
				return match{}, false
			}
			at = i
		}
	}
	if at < 0 || significant(a.core) < 3 {
		return match{}, false
	}
	x, y := a.core[at].text, b.core[at].text
	likeness := jaroWinkler(x, y)
	if letters(x) < 8 || letters(y) < 8 || likeness < leastSlip || !slipped([]rune(x), []rune(y)) {
		return match{}, false
	}
	return match{rule: Spelling, score: 0.9 * likeness}, true
}

func significant(words []word) int {
	n := 0
	for _, w := range words {
		if !smallWords[w.text] && letters(w.text) >= 3 {
			n++
		}
	}
	return n
}

// slipped reports whether one inner letter of two words is left out or two
// neighbours changed places, at least two letters from either end.
func slipped(x, y []rune) bool {
	from := 0
	for from < len(x) && from < len(y) && x[from] == y[from] {
		from++
	}
	behind := 0
	for behind < len(x)-from && behind < len(y)-from && x[len(x)-1-behind] == y[len(y)-1-behind] {
		behind++
	}
	restX, restY := x[from:len(x)-behind], y[from:len(y)-behind]
	if from < 2 || behind < 2 {
		return false
	}
	switch {
	case len(restX)+len(restY) == 1:
		return true
	case len(restX) == 2 && len(restY) == 2:
		return restX[0] == restY[1] && restX[1] == restY[0]
	}
	return false
}
