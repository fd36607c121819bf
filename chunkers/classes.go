package chunkers

import (
	"unicode"

	"graphmill/pipeline/prose"
)

// charClass is what estimating and cutting need to know of a character.
type charClass uint8

const (
	otherChar charClass = iota // punctuation and symbols
	spaceClass
	letterClass // A to Z
	digitClass  // 0 to 9
	accentClass // other letters of the Latin script
	spelledClass
	ideographClass // Han, kana and their full-width punctuation: written without spaces
	hangulClass
	thaiClass
	faintClass // marks, joiners, controls
	classCount
)

// classes holds the classes of the characters below the ideographs.
var classes = buildClasses()

func buildClasses() (table [0x3000]charClass) {
	for i := range table {
		table[i] = lookUp(rune(i))
	}
	return table
}

func classify(r rune) charClass {
	switch {
	case r < rune(len(classes)):
		return classes[r]
	case prose.Ideographic(r):
		return ideographClass
	case 0xAC00 <= r && r <= 0xD7A3:
		return hangulClass
	}
	return lookUp(r)
}

// lookUp classifies a character by the Unicode tables, which is slow.
func lookUp(r rune) charClass {
	switch {
	case unicode.IsSpace(r):
		return spaceClass
	case r < 0x80 && unicode.IsLetter(r):
		return letterClass
	case r < 0x80 && unicode.IsDigit(r):
		return digitClass
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf) || r >= 0x80 && unicode.IsControl(r):
		return faintClass
	case prose.Ideographic(r):
		return ideographClass
	case 0x0E00 <= r && r < 0x0F00:
		return thaiClass
	case unicode.IsLetter(r) && (r < 0x250 || 0x1E00 <= r && r < 0x1F00):
		return accentClass
	case unicode.IsLetter(r) || unicode.In(r, unicode.Mc, unicode.Nd):
		return spelledClass
	}
	return otherChar
}

// opensLine reports whether a line of Chinese or Japanese may end before c and
// after last, one of them an ideograph.
func opensLine(last, c rune) bool {
	if 0x4E00 <= c && c <= 0x9FFF && 0x3041 <= last && last <= 0x9FFF {
		return true
	}
	return !unicode.Is(unicode.Ps, last) && !clings(c)
}

// clings reports whether a line of Chinese or Japanese does not start with c.
func clings(c rune) bool {
	switch c {
	case 'ー', '々', 'ぁ', 'ぃ', 'ぅ', 'ぇ', 'ぉ', 'っ', 'ゃ', 'ゅ', 'ょ', 'ァ', 'ィ', 'ゥ', 'ェ', 'ォ', 'ッ', 'ャ', 'ュ', 'ョ':
		return true
	}
	if 0x3041 <= c && c <= 0x3096 || 0x30A1 <= c && c <= 0x30FA {
		return false
	}
	return unicode.IsPunct(c) && !unicode.Is(unicode.Ps, c) && !unicode.Is(unicode.Pi, c)
}
