package commandline

import (
	"fmt"
	"strings"
	"unicode"
)

// Printable escapes what would move a terminal's cursor or reorder its text: file
// names and reasons may hold anything.
func Printable(text string) string {
	if !strings.ContainsFunc(text, unprintable) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		switch {
		case !unprintable(r):
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		default:
			fmt.Fprintf(&b, `\u{%X}`, r)
		}
	}
	return b.String()
}

func unprintable(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029'
}
