package evidence

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// token is a word or a number of a text.
type token struct {
	start, end int    // bytes
	text       string // as written
	word       string // in small letters; "" for a number
	number     number
	glued      bool // a word that a number runs into: the GB of 10GB
}

// tokensOf reads the words and numbers of a text, which must be in NFC.
func tokensOf(text string, take func(token)) {
	for at := 0; at < len(text); {
		r, size := utf8.DecodeRuneInString(text[at:])
		switch {
		case unicode.IsDigit(r), r == '.' && startsFraction(text, at):
			end, n := readNumber(text, at)
			take(token{start: at, end: end, text: text[at:end], number: n})
			at = end
			if r, _ := utf8.DecodeRuneInString(text[at:]); unicode.IsLetter(r) {
				at = takeWord(text, at, true, take)
			}
		case unicode.IsLetter(r):
			at = takeWord(text, at, false, take)
		default:
			at += size
		}
	}
}

// takeWord reads letters, marks and digits; of a version such as v1.2 all of it.
// Letters without capitals end before a digit: in such scripts a number follows
// them without a space, as in 西暦1998年.
func takeWord(text string, at int, glued bool, take func(token)) int {
	start := at
	plain := false // the last letter was one of a script without capitals
	for at < len(text) {
		r, size := utf8.DecodeRuneInString(text[at:])
		if plain && unicode.IsDigit(r) {
			break
		}
		if unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r) {
			plain = unicode.Is(unicode.Lo, r) || plain && unicode.IsMark(r)
			at += size
			continue
		}
		before, _ := utf8.DecodeLastRuneInString(text[start:at])
		after, _ := utf8.DecodeRuneInString(text[min(at+size, len(text)):])
		if r != '.' || !unicode.IsDigit(before) || !unicode.IsDigit(after) {
			break
		}
		at += size
	}
	take(token{start: start, end: at, text: text[start:at], word: strings.ToLower(text[start:at]), glued: glued})
	return at
}

// letters counts the letters of a word.
func (t token) letters() int {
	n := 0
	for _, r := range t.word {
		if unicode.IsLetter(r) {
			n++
		}
	}
	return n
}

func (t token) capitalised() bool {
	r, _ := utf8.DecodeRuneInString(t.text)
	return t.word != "" && !t.glued && (unicode.IsUpper(r) || unicode.IsTitle(r))
}

// startsFraction reports whether the full stop at at begins a number: .5.
func startsFraction(text string, at int) bool {
	next, _ := utf8.DecodeRuneInString(text[at+1:])
	before, _ := utf8.DecodeLastRuneInString(text[:at])
	return unicode.IsDigit(next) && (at == 0 || unicode.IsSpace(before) || strings.ContainsRune("([{$€£¥~≈<>=+-–−", before))
}

// number is what digits and separators stand for: one value, or what is written
// like a date, a version or a list, with its parts. Values are written in one
// form.
type number struct {
	whole string
	parts []string
}

// readNumber reads a number with its separators.
func readNumber(text string, at int) (end int, n number) {
	groups := []string{""}
	var separators []rune
	if text[at] == '.' {
		separators, groups = []rune{'.'}, append(groups, "")
		at++
	}
	for at < len(text) {
		r, size := utf8.DecodeRuneInString(text[at:])
		if unicode.IsDigit(r) {
			groups[len(groups)-1] += string(digit(r))
			start := at
			for at += size; at < len(text) && '0' <= text[at] && text[at] <= '9'; at++ {
			}
			groups[len(groups)-1] += text[start+size : at]
			continue
		}
		if !separates(r, text, at+size) {
			break
		}
		separators, groups = append(separators, r), append(groups, "")
		at += size
	}
	return at, valueOf(groups, separators)
}

// separates reports whether r, with the text after it, goes on a number. A space
// or an apostrophe does before three digits alone.
func separates(r rune, text string, after int) bool {
	next, _ := utf8.DecodeRuneInString(text[min(after, len(text)):])
	switch r {
	case '.', ',', '٫', '٬':
		return unicode.IsDigit(next)
	case '\u00a0', '\u202f', '\u2009', '\'', '’':
		digits := 0
		for _, c := range text[min(after, len(text)):] {
			if !unicode.IsDigit(c) || digits > 3 {
				break
			}
			digits++
		}
		return digits == 3
	}
	return false
}

// digit is a digit of any script as one of 0 to 9. Unicode keeps each script's ten
// together and in order.
func digit(r rune) rune {
	if r < utf8.RuneSelf {
		return r
	}
	for _, block := range unicode.Nd.R16 {
		if rune(block.Lo) <= r && r <= rune(block.Hi) {
			return '0' + (r-rune(block.Lo))%10
		}
	}
	for _, block := range unicode.Nd.R32 {
		if rune(block.Lo) <= r && r <= rune(block.Hi) {
			return '0' + (r-rune(block.Lo))%10
		}
	}
	return r
}

// valueOf says what a number is: 1,234 and 1 234 are 1234, 2.80 and 2,8 are 2.8; a
// date, version or address is what it is, and each of its parts.
func valueOf(groups []string, separators []rune) number {
	signs := 0 // that a decimal fraction may stand behind
	for _, s := range separators {
		if decimalSign(s) {
			signs++
		}
	}
	last := len(groups) - 1
	switch {
	case last == 0:
		return number{whole: decimal(groups[0], "")}
	case thousands(groups) && (signs == 0 || allAre(separators, ',') || last > 1 && allAre(separators, '.')):
		return number{whole: decimal(strings.Join(groups, ""), "")}
	case last == 1:
		return number{whole: decimal(groups[0], groups[1])}
	case decimalSign(separators[last-1]) && !slices.Contains(separators[:last-1], separators[last-1]) && thousands(groups[:last]):
		return number{whole: decimal(strings.Join(groups[:last], ""), groups[last])}
	}
	var n number
	if !allAre(separators, ',') { // else a list without spaces
		n.whole = strings.Join(groups, ".")
	}
	for _, g := range groups {
		n.parts = append(n.parts, decimal(g, ""))
	}
	return n
}

func decimalSign(r rune) bool { return r == '.' || r == ',' || r == '٫' }

func allAre(separators []rune, want rune) bool {
	for _, s := range separators {
		if s != want {
			return false
		}
	}
	return true
}

// thousands reports whether digits are grouped as people group them: by three,
// or as in India the last three and then by two.
func thousands(groups []string) bool {
	last := len(groups) - 1
	if last < 1 || groups[0] == "" || len(groups[0]) > 3 || groups[0] == "0" || len(groups[last]) != 3 {
		return false
	}
	size := len(groups[1])
	for _, g := range groups[1:last] {
		if len(g) != size {
			return false
		}
	}
	return size == 3 || size == 2
}

// decimal drops zeros that say nothing.
func decimal(whole, fraction string) string {
	whole = strings.TrimLeft(whole, "0")
	fraction = strings.TrimRight(fraction, "0")
	if whole == "" {
		whole = "0"
	}
	if fraction == "" {
		return whole
	}
	return whole + "." + fraction
}

// vocabulary is what stands in a piece of evidence.
type vocabulary struct {
	words, figures map[string]bool
}

func vocabularyOf(text string) vocabulary {
	v := vocabulary{map[string]bool{}, map[string]bool{}}
	tokensOf(norm.NFC.String(text), func(t token) {
		if t.word != "" {
			v.words[t.word] = true
			return
		}
		if t.number.whole != "" {
			v.figures[t.number.whole] = true
		}
		for _, part := range t.number.parts {
			v.figures[part] = true
		}
	})
	return v
}
