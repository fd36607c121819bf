// Package fulltext is the agreement between writer and reader about words. The
// engine's full-text index splits at every sign, knows no accents and no words
// in scripts without spaces, so that C++, Node.js, AT&T, e-mail, "über" asked as
// "uber" and 東京 would not be found. [Extra] gives the terms that a text needs
// beside its own words; they are indexed in a second property. [Terms] gives the
// same for a question, in a form that is never a syntax error.
package fulltext

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// MaxQueryTerms bounds how many terms a query holds; each costs a look-up.
const MaxQueryTerms = 48

// maxTermBytes bounds one term; longer runs are no words.
const maxTermBytes = 64

// Extra returns the terms to index beside text itself, each once, sorted and
// separated by spaces; "" when the text's own words are enough.
func Extra(text string) string {
	seen := map[string]bool{}
	eachRun(text, func(run string) { addCompound(seen, run) })
	eachWord(text, func(word string) {
		addFolded(seen, word)
		addBigrams(seen, word)
	})
	terms := make([]string, 0, len(seen))
	for term := range seen {
		terms = append(terms, term)
	}
	slices.Sort(terms)
	return strings.Join(terms, " ")
}

// Query turns a question into a query for the full-text index that finds any of
// its [Terms]; "" when it holds no word.
func Query(question string) string { return strings.Join(Terms(question), "|") }

// Terms are what to look up of a question: terms of letters and digits, in the
// question's order, stop words left out unless there is nothing else. None is a
// syntax error.
func Terms(question string) []string {
	var terms, stops []string
	have := map[string]bool{}
	add := func(term string) {
		switch {
		case have[term] || len(term) > maxTermBytes:
		case stopWords[term]:
			have[term] = true
			stops = append(stops, term)
		default:
			have[term] = true
			terms = append(terms, term)
		}
	}
	eachRun(question, func(run string) {
		extra := map[string]bool{}
		addCompound(extra, run)
		eachWord(run, func(word string) {
			if bigrams := map[string]bool{}; addBigrams(bigrams, word) {
				eachSorted(bigrams, add)
				return
			}
			add(strings.ToLower(word))
			addFolded(extra, word)
		})
		eachSorted(extra, add)
	})
	if len(terms) == 0 {
		terms = stops
	}
	if len(terms) > MaxQueryTerms {
		terms = terms[:MaxQueryTerms]
	}
	return terms
}

func eachSorted(set map[string]bool, do func(string)) {
	list := make([]string, 0, len(set))
	for s := range set {
		list = append(list, s)
	}
	slices.Sort(list)
	for _, s := range list {
		do(s)
	}
}

// eachRun calls do for every run of characters without white space.
func eachRun(text string, do func(string)) {
	for run := range strings.FieldsSeq(text) {
		do(run)
	}
}

// eachWord calls do for every run of letters, marks and digits.
func eachWord(text string, do func(string)) {
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return !isWord(r) }) {
		do(word)
	}
}

func isWord(r rune) bool {
	if r < utf8.RuneSelf {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
	}
	return unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r)
}

// signs are the characters that join a word to what follows, or end it, as part
// of a name, and how they are spelled in a term: + # and & always, the others
// only between digits, where leaving them out would join two numbers.
var signs = map[rune]string{'+': "plus", '#': "sharp", '&': "and", '.': "dot", '-': "dash", '‐': "dash", '‑': "dash", '_': "", '\'': "", '’': "", '/': "slash", ':': "colon"}

// addCompound adds the one-word form of every name written with signs in run:
// C++ is cplusplus, Node.js nodejs, AT&T atandt, e-mail email, 3.1 3dot1.
func addCompound(terms map[string]bool, run string) {
	if !strings.ContainsFunc(run, func(r rune) bool { _, ok := signs[r]; return ok }) {
		return
	}
	for part := range strings.FieldsFuncSeq(run, func(r rune) bool { _, sign := signs[r]; return !sign && !isWord(r) }) {
		if term := compound(part); term != "" && len(term) <= maxTermBytes {
			terms[term] = true
		}
	}
}

func compound(part string) string {
	part = strings.TrimLeft(part, "+#&.-‐‑_'’/:")
	part = strings.TrimRight(part, "&.-‐‑_'’/:")
	runes := []rune(part)
	var b strings.Builder
	joined := false
	for i, r := range runes {
		spelled, sign := signs[r]
		if !sign {
			b.WriteRune(unicode.ToLower(r))
			continue
		}
		joined = true
		betweenDigits := i > 0 && i+1 < len(runes) && unicode.IsDigit(runes[i-1]) && unicode.IsDigit(runes[i+1])
		if betweenDigits || r == '+' || r == '#' || r == '&' {
			b.WriteString(spelled)
		}
	}
	if !joined {
		return ""
	}
	return b.String()
}

// addFolded adds a word without its accents, when it has any.
func addFolded(terms map[string]bool, word string) {
	if isASCII(word) {
		return
	}
	folded := strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return unicode.ToLower(r)
	}, norm.NFKD.String(word))
	if folded != strings.ToLower(word) && folded != "" && len(folded) <= maxTermBytes && !strings.ContainsFunc(folded, func(r rune) bool { return !isWord(r) }) {
		terms[folded] = true
	}
}

// addBigrams adds every pair of neighbours in runs of characters of scripts that
// are written without spaces, a lone one by itself, and reports whether there
// were any.
func addBigrams(terms map[string]bool, word string) bool {
	if isASCII(word) {
		return false
	}
	found := false
	var run []rune
	flush := func() {
		switch {
		case len(run) == 1:
			terms[string(run)] = true
		default:
			for i := 0; i+1 < len(run); i++ {
				terms[string(run[i:i+2])] = true
			}
		}
		found = found || len(run) > 0
		run = run[:0]
	}
	for _, r := range word {
		if unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar) || r == 'ー' {
			run = append(run, r)
		} else {
			flush()
		}
	}
	flush()
	return found
}

func isASCII(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// stopWords are left out of queries: they would match nearly every passage and
// cost the most.
var stopWords = func() map[string]bool {
	set := map[string]bool{}
	for word := range strings.FieldsSeq(`a about after all also am an and any are as at be because been before being between both but by can could did do does
doing down during each few for from further had has have having he her here hers him his how i if in into is it its just me more most my no nor not of off on
once only or other our out over own s same she should so some such t than that the their them then there these they this those through to too under until up
very was we were what when where which while who whom why will with would you your`) {
		set[word] = true
	}
	return set
}()
