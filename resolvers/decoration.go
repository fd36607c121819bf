package resolvers

import (
	"strings"
	"unicode"
)

// legalForms are the legal forms of companies, as unified. Those of legalShort
// are also words or parts of words; they count only in capitals.
var (
	legalForms = setOf("inc corp co ltd llc llp plc gmbh kgaa ohg sarl sas srl bv nv oyj aps asa pty ag se sa spa ab as kg ug oy lp kk ev")
	legalShort = setOf("ag se sa spa ab as kg ug oy lp kk bv nv ev sas srl aps asa")
)

// titles are forms of address, with the sex that they tell: persons of different
// sex are two.
var titles = map[string]string{
	"dr": "", "prof": "", "president": "", "senator": "", "chancellor": "", "governor": "",
	"mr": "m", "sir": "m", "mrs": "f", "ms": "f", "miss": "f", "dame": "f",
}

// calls are the titles by which a person is called with one name alone.
var calls = setOf("dr prof mr mrs ms")

var degrees = setOf("phd md esq dds mba obe cbe frs jd dphil msc")

// strip takes the article, titles, degrees and the legal form off and returns
// the rest, never nothing.
func (w *written) strip(words []word) []word {
	words = w.stripLegal(words)
	for len(words) > 2 && degrees[words[len(words)-1].text] && (words[len(words)-2].comma || words[len(words)-1].capitals) {
		words, w.degrees = words[:len(words)-1], true
	}
	if len(words) > 1 && words[0].text == "the" && (len(words) > 2 || letters(words[1].text) >= 7) {
		words, w.article = words[1:], true
	}
	for len(words) > 1 && words[0].initials == nil && !words[0].comma {
		if _, title := titles[words[0].text]; !title {
			break
		}
		if len(words) == 2 && !calls[words[0].text] && len(w.titles) == 0 {
			break // "President Hotel"
		}
		w.titles = append(w.titles, words[0].text)
		words = words[1:]
	}
	return words
}

func (w *written) stripLegal(words []word) []word {
	for len(words) > 1 {
		last := words[len(words)-1]
		if !legalForms[last.text] || legalShort[last.text] && last.upper < 2 && last.initials == nil {
			return words
		}
		rest := words[:len(words)-1]
		if len(rest) > 1 && rest[len(rest)-1].text == "and" { // "Tiffany & Co."
			rest = rest[:len(rest)-1]
		}
		// "The Limited", "Bad Company", "X Corp".
		if w.legal == "" && (rest[0].text == "the" && len(rest) == 1 || last.text == "co" && len(rest) == 1 || weight(rest) < 3) {
			return words
		}
		w.legal = strings.TrimSpace(last.text + " " + w.legal)
		words = rest
	}
	return words
}

// weight is how many letters and digits words have.
func weight(words []word) int {
	n := 0
	for _, w := range words {
		for _, r := range w.text {
			if unicode.IsLetter(r) || unicode.IsNumber(r) {
				n++
			}
		}
	}
	return n
}

// compatible reports whether what stands around two names allows that they are
// one thing's.
func compatible(a, b written) bool {
	if a.legal != "" && b.legal != "" && a.legal != b.legal {
		return false
	}
	x, y := sexOf(a), sexOf(b)
	return x == "" || y == "" || x == y
}

func sexOf(w written) string {
	for _, title := range w.titles {
		if sex := titles[title]; sex != "" {
			return sex
		}
	}
	return ""
}

// decorated is how much stands around a name.
func decorated(w written) int {
	n := len(w.titles)
	for _, is := range []bool{w.article, w.legal != "", w.degrees} {
		if is {
			n++
		}
	}
	return n
}

// decorationRule names in what two names of one core differ.
func decorationRule(a, b written) Rule {
	switch {
	case a.legal != b.legal:
		return LegalForm
	case len(a.titles) != len(b.titles) || strings.Join(a.titles, " ") != strings.Join(b.titles, " ") || a.degrees != b.degrees:
		return Title
	default:
		return Article
	}
}
