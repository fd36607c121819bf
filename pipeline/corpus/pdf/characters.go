package pdf

import (
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// ligatures are the Latin presentation forms that fonts put in place of
// letters; nobody searches for them.
var ligatures = map[rune]string{
	'\ufb00': "ff", '\ufb01': "fi", '\ufb02': "fl", '\ufb03': "ffi",
	'\ufb04': "ffl", '\ufb05': "st", '\ufb06': "st",
}

// symbolBullets are where the Symbol and Wingdings fonts keep their bullets.
const symbolBullets = "\uf0b7\uf0a7\uf0d8\uf076\uf0fc\uf06e"

// cleanLine makes one line of what the engine gives: ligatures become letters,
// spaces of any kind one space, controls and code points that no text holds go.
func cleanLine(s string) string {
	var out strings.Builder
	out.Grow(len(s))
	var high rune
	space := false
	for _, r := range s {
		if high != 0 {
			r, high = utf16.DecodeRune(high, r), 0
		}
		if r >= 0xd800 && r < 0xdc00 {
			high = r
			continue
		}
		if unicode.IsSpace(r) {
			space = out.Len() > 0
			continue
		}
		part := cleanRune(r)
		if part == "" {
			continue
		}
		if space {
			out.WriteByte(' ')
			space = false
		}
		out.WriteString(part)
	}
	return out.String()
}

func cleanRune(r rune) string {
	if part, ok := ligatures[r]; ok {
		return part
	}
	switch {
	case strings.ContainsRune(symbolBullets, r):
		return "•"
	case r == '\u00ad': // soft hyphen: shown only at a line's end
		return "\u00ad"
	case r == utf8.RuneError, unicode.IsControl(r), r == '\ufeff', r == '\u200b':
		return ""
	case r >= 0xfdd0 && r <= 0xfdef, r&0xfffe == 0xfffe: // noncharacters
		return ""
	}
	return string(r)
}

// joinsWithoutSpace reports whether two lines that end in a and begin with b
// are joined directly, as in scripts written without spaces.
func joinsWithoutSpace(a, b rune) bool { return ideographic(a) && ideographic(b) }

func ideographic(r rune) bool {
	return unicode.Is(unicode.Han, r) ||
		r >= 0x3000 && r <= 0x30ff || // CJK punctuation and kana with their marks
		r >= 0xff00 && r <= 0xff60
}
