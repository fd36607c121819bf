package prose

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// stops is a run of characters that may end a sentence.
type stops struct {
	length   int
	wide     bool // holds one that ends a sentence whatever follows
	ellipsis bool
	period   bool // is one plain full stop
}

// readStops reads the run that text starts with, a spaced ellipsis included.
func readStops(text string) stops {
	var run stops
	dots, others, count := 0, 0, 0
	for run.length < len(text) {
		c, n := decode(text[run.length:])
		if c == ' ' && dots > 0 && spacedDot(text[run.length:]) {
			c, n = '.', 2
		}
		if !isStop(c) {
			break
		}
		switch {
		case c == '.' || c == '．':
			dots++
		case c == '…':
			dots += 2
		case strings.ContainsRune(wideStops, c):
			run.wide = true
			others++
		default:
			others++
		}
		run.length += n
		count++
	}
	run.ellipsis = dots > 1 && others == 0
	run.period = count == 1 && dots == 1
	return run
}

// spacedDot reports whether text starts with " ." that is part of ". . .".
func spacedDot(text string) bool {
	return len(text) > 1 && text[1] == '.' && (len(text) == 2 || asciiSpace(text[2]) || text[2] == '.')
}

func asciiSpace(b byte) bool { return b == ' ' || '\t' <= b && b <= '\r' }

// closing are the quotes, brackets and marks of emphasis that belong to the
// sentence before them. “ and ‘ close a German quotation.
const closing = "\"')]}»”’›」』】）〉》*_`“‘"

// maxClosers bounds how many of them are read after one stop.
const maxClosers = 16

// closers returns the length of what follows a stop and belongs to it:
// closing quotes and brackets, and references such as "[12]".
func closers(text string) int {
	at := 0
	for range maxClosers {
		c, n := utf8.DecodeRuneInString(text[at:])
		switch {
		case n == 0:
			return at
		case strings.ContainsRune(closing, c):
			at += n
		case c == '[':
			reference := referenceLength(text[at:])
			if reference == 0 {
				return at
			}
			at += reference
		case unicode.IsSpace(c) && strings.HasPrefix(text[at+n:], "»"):
			at += n + len("»")
		default:
			return at
		}
	}
	return at
}

// referenceLength returns the length of a reference like "[12]", or 0.
func referenceLength(text string) int {
	for i := 1; i < len(text) && i < 6; i++ {
		if text[i] == ']' && i > 1 {
			return i + 1
		}
		if text[i] < '0' || text[i] > '9' {
			break
		}
	}
	return 0
}

// startClass is what a sentence might start with.
type startClass uint8

const (
	otherClass startClass = iota
	small
	capital
	caseless // a letter of a script without capitals
	number
)

// following is what comes after a stop and its closers.
type following struct {
	end    bool // the end of the paragraph
	spaced bool // white space comes first
	class  startClass
	word   string // the first word, at most maxWord bytes of it
	dotted bool   // a full stop follows the word at once
	camel  bool   // a small letter first, a capital in the word: iPhone
}

// maxWord bounds, in bytes, the words that rules look at.
const maxWord = 32

// opening may stand before the first word of a sentence.
const opening = "\"'“„«‘‚‹([{¿¡<*_`—–-「『（"

func lookAhead(text string) following {
	var f following
	at, breaks := 0, 0
	for at < len(text) {
		c, n := decode(text[at:])
		if !unicode.IsSpace(c) {
			break
		}
		if c == '\n' {
			breaks++
		}
		if breaks > 1 || c == '\f' || c == '\u2029' {
			f.end = true
			return f
		}
		f.spaced = true
		at += n
	}
	for range 8 {
		c, n := utf8.DecodeRuneInString(text[at:])
		if n == 0 || !(strings.ContainsRune(opening, c) || c == ' ' || c == '\u00a0') {
			break
		}
		at += n
	}
	if at >= len(text) {
		f.end = strings.TrimSpace(text) == ""
		return f
	}
	f.read(text[at:])
	return f
}

// read looks at the first word.
func (f *following) read(text string) {
	for i, c := range text {
		class := classOf(c)
		if i == 0 {
			f.class = class
		}
		if class == otherClass || class == number && f.class != number || i >= maxWord {
			f.word = text[:i]
			f.dotted = c == '.'
			return
		}
		f.camel = f.camel || f.class == small && class == capital
	}
	f.word = text
}

func classOf(c rune) startClass {
	switch {
	case unicode.IsUpper(c) || unicode.IsTitle(c):
		return capital
	case unicode.IsLower(c):
		return small
	case unicode.IsLetter(c):
		return caseless
	case unicode.IsDigit(c):
		return number
	}
	return otherClass
}

// periodEnds decides about one full stop at i that white space follows.
func (s *scanner) periodEnds(i int, follow following) bool {
	word := wordBefore(s.text[s.start:i])
	before := s.text[s.start : i-len(word)]
	ordinary := follow.class != small || follow.camel
	switch {
	case word == "":
		return ordinary
	case enumerator(word) && strings.Trim(before, listSigns) == "", numbersCaption(word, before):
		return false
	case digitsOnly(word):
		return ordinary && !ordinal(word, before, follow)
	}
	starter := starters[follow.word] && !follow.dotted
	key := strings.ToLower(word)
	if c, n := utf8.DecodeRuneInString(word); n == len(word) && unicode.IsLetter(c) {
		if previous := wordBefore(strings.TrimRight(before, " \u00a0")); strings.HasSuffix(previous, ".") && len(previous) <= 5 {
			key = strings.ToLower(previous) + key // "z. B." is "z.B."
		} else if !unicode.IsLower(c) {
			return starter // an initial
		}
		if follow.dotted && utf8.RuneCountInString(follow.word) == 1 {
			return false
		}
	}
	switch abbreviations[key] {
	case title:
		return ordinary && !capitalised(word)
	case always:
		return false
	case beforeNumber:
		return ordinary && follow.class != number
	case unlessStarter:
		return starter
	case unlessCapital:
		return follow.class == capital || follow.class == caseless
	case afterNumber:
		return follow.class == capital && numeral(wordBefore(strings.TrimRight(before, " \u00a0")))
	}
	if acronym(key) {
		return starter
	}
	return ordinary
}

// listSigns may stand before the number of an item: a bullet, a box to tick.
const listSigns = " \t\n\u00a0-*+•[]xX"

// numbersCaption reports whether word is the number of a table or the like whose
// title follows: "Table 8.6. Data types".
func numbersCaption(word, before string) bool {
	return strings.IndexFunc(word, unicode.IsDigit) >= 0 && strings.Trim(word, "0123456789.-ABCDEFGHIVX") == "" &&
		len(before) <= maxWord && captions[strings.TrimSpace(before)]
}

// wordBefore returns the word that text ends with, at most about maxWord bytes.
func wordBefore(text string) string {
	at := len(text)
	for at > 0 && len(text)-at < maxWord {
		c, n := utf8.DecodeLastRuneInString(text[:at])
		if unicode.IsSpace(c) || strings.ContainsRune("([{<\"“”„«»‘‚—–/", c) {
			break
		}
		at -= n
	}
	return strings.TrimLeft(text[at:], "'’*_`")
}

// enumerator reports whether word, at the start of a sentence, numbers it: "1",
// "12", "3.1", "b", "IV".
func enumerator(word string) bool {
	if strings.Trim(word, "0123456789.") == "" {
		return len(word) <= 3 || strings.Contains(word, ".")
	}
	if strings.Trim(word, "IVXLC") == "" {
		return len(word) <= 5
	}
	return len(word) == 1 && unicode.IsLetter(rune(word[0]))
}

// ordinal reports whether a number with a full stop is a German ordinal.
func ordinal(word, before string, follow following) bool {
	if len(word) > 2 || follow.class != capital {
		return false
	}
	lead := wordBefore(strings.TrimRight(before, " \u00a0"))
	return ordinalTails[follow.word] || ordinalLeads[lead] && !starters[follow.word]
}

func digitsOnly(word string) bool { return strings.Trim(word, "0123456789") == "" }

// numeral reports whether word is a number, Arabic or Roman, or a range of them.
func numeral(word string) bool {
	return word != "" && strings.Trim(word, "0123456789IVXLCХ-–") == ""
}

func capitalised(word string) bool {
	c, _ := utf8.DecodeRuneInString(word)
	return unicode.IsUpper(c)
}

// acronym reports whether word is single letters with full stops between them.
func acronym(word string) bool {
	letters, dots := 0, 0
	for _, c := range word {
		switch {
		case c == '.' && letters == dots+1:
			dots++
		case unicode.IsLetter(c) && letters == dots:
			letters++
		default:
			return false
		}
	}
	return dots > 0
}
