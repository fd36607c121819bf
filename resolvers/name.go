package resolvers

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"graphmill/pipeline/graph"
)

// word is one word of a name as it is compared.
type word struct {
	text     string   // folded; of initials the letters together
	initials []string // of "J. R. R." the letters; nil for other words
	capitals bool     // it stands there in capitals
	upper    int      // how many of its letters are capitals
	comma    bool     // a comma follows it
}

// written is a name taken apart: what belongs to the thing's name in the middle,
// what only says what kind of thing it is around it.
type written struct {
	words    []word
	fold     string // all words, abbreviations and spellings unified
	plain    string // all words, only punctuation unified
	article  bool
	titles   []string
	core     []word
	coreFold string
	legal    string
	degrees  bool
	numbers  string // all that counts or tells apart: digits, Roman numerals, generations, single letters
}

// abbreviations are words whose full stop says nothing.
var abbreviations = setOf("inc corp co ltd llc plc dr prof mr mrs ms st jr sr mt bros sen gov rev univ dept intl assoc ft lt sgt col pty cie")

// firstWords and lastWords are spellings of one word at a name's begin and end.
var (
	firstWords = map[string]string{"doctor": "dr", "professor": "prof", "saint": "st", "mount": "mt"}
	lastWords  = map[string]string{"incorporated": "inc", "corporation": "corp", "limited": "ltd", "company": "co"}
)

// take takes a name apart.
func take(name string) written {
	words := wordsOf(name)
	w := written{words: words, plain: joined(words)}
	w.fold = joined(unify(words))
	w.numbers = numbersOf(words)
	w.core = w.strip(unify(words))
	w.coreFold = joined(w.core)
	return w
}

// wordsOf divides a name. Words come from its key, so that what exact takes for
// one name is one here; whether they stand in capitals from what is shown.
func wordsOf(name string) []word {
	key := strings.Fields(graph.NameKey(name))
	shown := strings.Fields(graph.DisplayName(name))
	var words []word
	for i := 0; i < len(key); i++ {
		field, as := key[i], ""
		if len(shown) == len(key) {
			as = shown[i]
		}
		// "AT & T" is "AT&T", "Smith & Sons" is "Smith and Sons".
		if field == "&" && i > 0 && i+1 < len(key) {
			if last := len(words) - 1; short(key[i-1]) && short(key[i+1]) && last >= 0 {
				words[last].text += "&" + key[i+1]
				words[last].initials = nil
				i++
				continue
			}
			field = "and"
		}
		words = append(words, splitAnd(oneWord(field, as, i+1 == len(key), len(key) == 1))...)
	}
	return glueInitials(words)
}

func short(s string) bool { return utf8.RuneCountInString(s) <= 2 }

func oneWord(field, shown string, last, only bool) word {
	w := word{text: field}
	if !last && strings.HasSuffix(field, ",") && len(field) > 1 {
		w.text, w.comma = field[:len(field)-1], true
		shown = strings.TrimSuffix(shown, ",")
	}
	w.capitals, w.upper = inCapitals(shown), capitalsOf(shown)
	if letters := dotted(w.text); len(letters) > 1 || len(letters) == 1 && !only {
		w.text, w.initials = strings.Join(letters, ""), letters
		return w
	}
	stem := strings.TrimSuffix(w.text, ".")
	switch {
	case stem == "ph.d" || stem == "phd":
		w.text = "phd"
	case stem != w.text && (abbreviations[stem] || last && letters(stem) >= 4):
		w.text = stem
	case last && strings.HasSuffix(w.text, "!") && letters(w.text[:len(w.text)-1]) >= 5:
		w.text = w.text[:len(w.text)-1]
	}
	return w
}

// letters is how many letters s has, 0 when it has anything else.
func letters(s string) int {
	for _, r := range s {
		if !unicode.IsLetter(r) {
			return 0
		}
	}
	return utf8.RuneCountInString(s)
}

// inCapitals reports whether a word is written as acronyms are: in capitals, also
// with full stops.
func inCapitals(s string) bool {
	upper := 0
	for _, r := range s {
		switch {
		case unicode.IsUpper(r):
			upper++
		case r != '.' && r != '&':
			return false
		}
	}
	return upper > 0
}

func capitalsOf(s string) int {
	n := 0
	for _, r := range s {
		if unicode.IsUpper(r) {
			n++
		}
	}
	return n
}

// dotted returns the letters of "u.s.", "j." or "u.s.a"; nil of anything else.
func dotted(s string) []string {
	if !strings.Contains(s, ".") {
		return nil
	}
	var list []string
	for _, part := range strings.Split(strings.TrimSuffix(s, "."), ".") {
		if letters(part) != 1 {
			return nil
		}
		list = append(list, part)
	}
	return list
}

// splitAnd makes three words of "procter&gamble"; "at&t" stays.
func splitAnd(w word) []word {
	left, right, ok := strings.Cut(w.text, "&")
	if !ok || letters(left) < 3 || letters(right) < 3 {
		return []word{w}
	}
	return []word{{text: left}, {text: "and"}, {text: right, comma: w.comma}}
}

// glueInitials makes one word of "j." "r." "r.".
func glueInitials(words []word) []word {
	var out []word
	for _, w := range words {
		if n := len(out); n > 0 && w.initials != nil && out[n-1].initials != nil && !out[n-1].comma {
			last := &out[n-1]
			last.text += w.text
			last.initials = append(slices.Clone(last.initials), w.initials...)
			last.comma = w.comma
			continue
		}
		out = append(out, w)
	}
	return out
}

func joined(words []word) string {
	texts := make([]string, len(words))
	for i, w := range words {
		texts[i] = w.text
	}
	return strings.Join(texts, " ")
}

// unify gives words that are written out and abbreviated, or spelled in two ways,
// one form.
func unify(words []word) []word {
	out := slices.Clone(words)
	for i := range out {
		if utf8.RuneCountInString(out[i].text) >= 9 {
			out[i].text = strings.Replace(out[i].text, "isation", "ization", 1)
		}
	}
	if n := len(out); n > 1 {
		if is, ok := firstWords[out[0].text]; ok {
			out[0].text = is
		}
		if is, ok := lastWords[out[n-1].text]; ok {
			out[n-1].text = is
		}
	}
	return out
}

// numbersOf lists, sorted, the words of a name that tell things of one kind
// apart. Names whose lists differ never name one thing.
func numbersOf(words []word) string {
	var list []string
	for _, w := range words {
		digits := strings.ContainsFunc(w.text, unicode.IsNumber)
		switch {
		case digits, roman(w), generations[w.text]:
			list = append(list, w.text)
		case w.initials == nil && utf8.RuneCountInString(w.text) == 1 && w.text[0] < utf8.RuneSelf:
			list = append(list, w.text)
		}
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

var generations = setOf("jr sr junior senior père fils elder younger")

func roman(w word) bool {
	return w.capitals && w.initials == nil && strings.Trim(w.text, "ivxlcdm") == ""
}

func setOf(words string) map[string]bool {
	set := map[string]bool{}
	for _, word := range strings.Fields(words) {
		set[word] = true
	}
	return set
}

// separable are the accents that keyboards leave out and that make no other
// letter: not those of ö, å, ñ, which are letters of their own in some languages.
var separable = setOf("\u0300 \u0301 \u0302 \u0304 \u0306 \u0323 \u0327 \u0328 \u030c")

// unaccented takes separable accents off.
func unaccented(s string) string {
	bare := strings.Map(func(r rune) rune {
		if separable[string(r)] {
			return -1
		}
		return r
	}, norm.NFD.String(s))
	return norm.NFC.String(bare)
}
