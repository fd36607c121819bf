package graph

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// hyphens are what stands where a word goes on in the next line.
const hyphens = "-\u2010\u00ad"

// joinLines joins a name that was wrapped: a word divided by a hyphen is whole
// again, a hyphen that the name has itself stays ("Jean-\nLuc"), and where words
// have no spaces between them the line's end is none. Other line ends stay.
func joinLines(name string) string {
	at := strings.IndexByte(name, '\n')
	if at < 0 {
		return name
	}
	var b strings.Builder
	for ; at >= 0; at = strings.IndexByte(name, '\n') {
		before := strings.TrimRightFunc(name[:at], unicode.IsSpace)
		name = strings.TrimLeftFunc(name[at:], unicode.IsSpace)
		last, size := utf8.DecodeLastRuneInString(before)
		next, _ := utf8.DecodeRuneInString(name)
		switch {
		case strings.ContainsRune(hyphens, last) && namesSomething(next) && namesSomething(lastOf(before[:len(before)-size])):
			before = before[:len(before)-size]
			if last != '\u00ad' && !(unicode.IsLower(next) && unicode.IsLetter(lastOf(before))) {
				before += "-"
			}
		case spaceless(last) && spaceless(next):
		default:
			before += " "
		}
		b.WriteString(before)
	}
	b.WriteString(name)
	return b.String()
}

func lastOf(text string) rune {
	r, _ := utf8.DecodeLastRuneInString(text)
	return r
}

// closeUp drops the white space between characters that are written without: a
// family name and a given name, a line's end.
func closeUp(name string) string {
	if !strings.ContainsFunc(name, spaceless) {
		return name
	}
	fields := strings.Fields(name)
	var b strings.Builder
	for i, field := range fields {
		if i > 0 {
			last, _ := utf8.DecodeLastRuneInString(fields[i-1])
			next, _ := utf8.DecodeRuneInString(field)
			if !spaceless(last) || !spaceless(next) {
				b.WriteByte(' ')
			}
		}
		b.WriteString(field)
	}
	return b.String()
}

// spaceless reports whether a character is of a script without spaces between
// words. Korean has them.
func spaceless(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana) || r == 'ー'
}
