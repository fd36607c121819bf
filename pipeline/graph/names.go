package graph

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// NameKey is the form under which two spellings of a name are the same name:
// Unicode NFKC, case folded, quotes and hyphens unified, invisible characters
// out, white space collapsed, and out between Chinese and Japanese characters,
// words divided at a line's end joined, surrounding quotes and a trailing
// possessive taken off. Accents, digits and other punctuation count: "3.1" is not "3.2",
// "Müller" is not "Muller", "Acme Inc." is not "Acme Inc". A name without a
// letter or digit has no key: the result is "", and nothing is named by it.
// NameKey of a key is that key.
func NameKey(name string) string {
	key := joinLines(strings.Map(dropControl, name))
	if isASCII(key) {
		key = strings.ToLower(strings.ReplaceAll(key, "`", "'"))
	} else {
		key = closeUp(foldUnicode(key))
	}
	key = bareName(strings.Join(strings.Fields(key), " "))
	if !strings.ContainsFunc(key, namesSomething) {
		return ""
	}
	return key
}

// foldUnicode unifies quotes before NFKC, which would take an acute accent
// standing for an apostrophe apart, and folds until nothing changes: folding
// can undo normalisation and the other way round.
func foldUnicode(name string) string {
	key := strings.ToValidUTF8(name, "\ufffd")
	for range 4 {
		before := key
		key = strings.Map(dropInvisible, key)
		key = norm.NFKC.String(quoteFold.Replace(key))
		key = norm.NFKC.String(cases.Fold().String(key))
		key = quoteFold.Replace(key)
		if key == before {
			break
		}
	}
	return key
}

// DisplayName tidies a name as it stands in a text for showing: NFC, invisible
// characters out, lines joined, white space collapsed, surrounding quotes and a
// trailing possessive off. Case and typographic quotes inside are kept, and so are the
// joiners that Persian, Indic scripts and emoji need. Its NameKey is the
// name's; it is "" when that is.
func DisplayName(name string) string {
	name = joinLines(strings.Map(dropControl, name))
	if !isASCII(name) {
		name = norm.NFC.String(strings.Map(dropUnseen, strings.ToValidUTF8(name, "\ufffd")))
	}
	// What names nothing is not shown either. Signs that only a key folds would
	// leave the s of a possessive here.
	key := NameKey(name)
	if key == "" {
		return ""
	}
	shown := bareName(strings.Join(strings.Fields(name), " "))
	// A sign that is kept here and not in the key may part an s from its
	// apostrophe, and be all that is left of a name.
	if !isASCII(shown) && NameKey(shown) != key {
		return key
	}
	return shown
}

// Shows reports whether a rather than b, of two names of one thing, is the one to
// show: not the one in capitals if it has several words, as headings have them,
// then the longer, then the smaller.
func Shows(a, b string) bool {
	if x, y := shouted(a), shouted(b); x != y {
		return y
	}
	if n, m := utf8.RuneCountInString(a), utf8.RuneCountInString(b); n != m {
		return n > m
	}
	return a < b
}

func shouted(name string) bool {
	return strings.ContainsRune(name, ' ') && strings.ContainsFunc(name, unicode.IsUpper) && !strings.ContainsFunc(name, unicode.IsLower)
}

// quoteFold maps the quotes and dashes that typesetting puts where a keyboard
// has one of each.
var quoteFold = strings.NewReplacer(
	"‘", "'", "’", "'", "‚", "'", "‛", "'", "ʼ", "'", "′", "'", "`", "'", "´", "'", "＇", "'", "‹", "'", "›", "'",
	"“", `"`, "”", `"`, "„", `"`, "‟", `"`, "«", `"`, "»", `"`, "″", `"`, "＂", `"`,
	"‐", "-", "‑", "-", "‒", "-", "–", "-", "−", "-", "－", "-", "﹣", "-",
)

// quotes are what quoteFold maps to a quote, and the quotes themselves.
const quotes = "'\"‘’‚‛ʼ′`´＇‹›“”„‟«»″＂"

// apostrophes are all that quoteFold maps to one, so that a name as shown has the
// key of the name.
const apostrophes = "'‘’‚‛ʼ′`´＇‹›"

// bareName takes surrounding quotes and trailing possessives off, as often as
// there are any.
func bareName(name string) string {
	for {
		bare := strings.TrimRight(name, quotes+" ")
		if r, size := utf8.DecodeLastRuneInString(bare); isS(r) {
			stem := bare[:len(bare)-size]
			if r, size := utf8.DecodeLastRuneInString(stem); strings.ContainsRune(apostrophes, r) {
				bare = stem[:len(stem)-size]
			}
		}
		bare = strings.Trim(bare, quotes+" ")
		if bare == name {
			return bare
		}
		name = bare
	}
}

// isS knows an s in every form that a key folds to one: full width, raised, long.
func isS(r rune) bool {
	if r < utf8.RuneSelf {
		return r == 's' || r == 'S'
	}
	return cases.Fold().String(norm.NFKC.String(string(r))) == "s"
}

// NameDifference says in what two spellings of one key differ: "case",
// "quotes or hyphens and spacing". It is "" for equal strings.
func NameDifference(a, b string) string {
	if a == b {
		return ""
	}
	steps := []struct {
		name string
		fold func(string) string
	}{
		{"line ends", joinLines},
		{"invisible characters", func(s string) string { return strings.Map(dropInvisible, strings.Map(dropControl, s)) }},
		{"quotes or hyphens", quoteFold.Replace},
		{"Unicode form", norm.NFC.String},
		{"width or compatibility form", norm.NFKC.String},
		{"case", func(s string) string { return cases.Fold().String(s) }},
		{"spacing", func(s string) string { return closeUp(strings.Join(strings.Fields(s), " ")) }},
		{"surrounding quotes or possessive", bareName},
	}
	without := func(skip int) bool {
		x, y := a, b
		for i, step := range steps {
			if i != skip {
				x, y = step.fold(x), step.fold(y)
			}
		}
		return x == y
	}
	var needed []string
	for i, step := range steps {
		if !without(i) {
			needed = append(needed, step.name)
		}
	}
	if len(needed) == 0 {
		return "Unicode form"
	}
	return strings.Join(needed, " and ")
}

func namesSomething(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }

func dropControl(r rune) rune {
	if unicode.IsControl(r) && !unicode.IsSpace(r) {
		return -1
	}
	return r
}

// dropInvisible drops what has no form of its own: format characters, variation
// selectors, the grapheme joiner.
func dropInvisible(r rune) rune {
	if unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Variation_Selector, r) || r == '\u034f' {
		return -1
	}
	return r
}

// dropUnseen is dropInvisible for showing: joiners and variation selectors
// change how their neighbours look.
func dropUnseen(r rune) rune {
	if r == '\u200c' || r == '\u200d' || !unicode.Is(unicode.Cf, r) {
		return r
	}
	return -1
}
