package resolvers

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// A description is taken only where it is made of its sentences' own words. The
// rule is literal: figures and names as they stand there, every other word of
// some length in a form of one that does, and as much denied. It knows English
// small words; in other languages, and in scripts without capitals above all, it
// refuses more than it need.

// notOf says what of a text stands neither in the sentences nor in the names; ""
// when all does.
func notOf(text string, sentences, names []string) string {
	own := vocabularyOf(append(append([]string(nil), sentences...), names...))
	tokens := wordsIn(text)
	for from := 0; from < len(tokens); {
		until := from + 1
		for tokens[from].capital && until < len(tokens) && tokens[until].capital && tokens[until].joined {
			until++
		}
		if why := own.lacks(tokens[from:until]); why != "" {
			return why
		}
		from = until
	}
	if denials(tokens) > 0 != (own.denials > 0) {
		return "it denies what the sentences do not, or the other way round"
	}
	return ""
}

// token is a word or a figure of a text, in small letters.
type token struct {
	text    string
	opens   bool // it begins a sentence
	capital bool
	figure  bool // it holds a digit, or says a number
	joined  bool // nothing but one space or sign stands between it and the one before
}

// wordsIn reads letters, marks and digits; signs inside a figure, as in 1,200 or
// 3.5, belong to it, and an apostrophe before a t does: don't.
func wordsIn(text string) []token {
	var words []token
	runes := []rune(norm.NFKC.String(text))
	opens, between := true, 0
	for at := 0; at < len(runes); {
		if !inside(runes[at]) {
			switch {
			case strings.ContainsRune(".!?:;。！？", runes[at]):
				opens = at+1 >= len(runes) || unicode.IsSpace(runes[at+1]) || opens || runes[at] > unicode.MaxLatin1
				between += 2
			case unicode.IsSpace(runes[at]), strings.ContainsRune("-‐‑'’&", runes[at]):
				between++
			default:
				between += 2
			}
			at++
			continue
		}
		start := at
		for at < len(runes) && (inside(runes[at]) || signInside(runes, at)) {
			at++
		}
		w := token{text: strings.ToLower(string(runes[start:at])), opens: opens, joined: len(words) > 0 && between <= 1}
		w.text = strings.NewReplacer("’", "'").Replace(w.text)
		w.capital = unicode.IsUpper(runes[start]) || unicode.IsTitle(runes[start])
		w.figure = strings.ContainsFunc(w.text, unicode.IsDigit) || numerals[w.text]
		words = append(words, w)
		opens, between = false, 0
	}
	return words
}

func inside(r rune) bool { return unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsNumber(r) }

// signInside reports that a sign belongs to the word around it.
func signInside(runes []rune, at int) bool {
	if at == 0 || at+1 >= len(runes) {
		return false
	}
	before, after := runes[at-1], runes[at+1]
	switch runes[at] {
	case '.', ',':
		return unicode.IsDigit(before) && unicode.IsDigit(after)
	case '\'', '’':
		return unicode.ToLower(before) == 'n' && unicode.ToLower(after) == 't'
	}
	return false
}

// vocabulary is what stands in several texts.
type vocabulary struct {
	words   map[string]bool
	plain   map[string]bool // those that stand there without a capital
	runs    []string        // each text's words, with a space around each
	denials int
}

func vocabularyOf(texts []string) vocabulary {
	v := vocabulary{words: map[string]bool{}, plain: map[string]bool{}}
	for _, text := range texts {
		words := wordsIn(text)
		v.denials += denials(words)
		run := " "
		for _, w := range words {
			v.words[w.text] = true
			v.plain[w.text] = v.plain[w.text] || !w.capital
			run += w.text + " "
		}
		v.runs = append(v.runs, run)
	}
	return v
}

// lacks says what of a name, or of one word, the vocabulary does not hold.
func (v vocabulary) lacks(run []token) string {
	if run[0].capital && run[0].opens && len(run) > 1 && (small[run[0].text] || v.plain[run[0].text]) && !v.holds(run) {
		run = run[1:] // its capital is the sentence's
	}
	first := run[0]
	switch {
	case first.figure && !v.words[first.text]:
		return "no sentence holds the figure " + quoted(first.text)
	case first.capital && first.opens && len(run) == 1 && (small[first.text] || v.kin(first.text)):
	case first.capital && !v.holds(run):
		return "no sentence holds the name " + quoted(textOf(run))
	case !first.capital && !small[first.text] && !v.kin(first.text):
		return "no sentence holds the word " + quoted(first.text)
	}
	return ""
}

func quoted(s string) string { return `"` + s + `"` }

func textOf(run []token) string {
	texts := make([]string, len(run))
	for i, w := range run {
		texts[i] = w.text
	}
	return strings.Join(texts, " ")
}

// holds reports that the words of a name stand side by side in a text.
func (v vocabulary) holds(run []token) bool {
	want := " " + textOf(run) + " "
	for _, text := range v.runs {
		if strings.Contains(text, want) {
			return true
		}
	}
	return false
}

// A word is a form of another that begins like it: "designs" of "designed".
const (
	leastStem  = 4 // letters in common, at least
	mostEnding = 4 // letters after them, of each
	shortWord  = 3 // letters of a word that says little by itself
)

// kin reports that a word, or a form of it, stands in a text. Words of scripts
// without capitals, among which are all names, must stand there as they are.
func (v vocabulary) kin(text string) bool {
	if v.words[text] || v.words[text+"s"] || v.words[strings.TrimSuffix(text, "s")] {
		return true
	}
	letters := []rune(text)
	plain := strings.ContainsFunc(text, func(r rune) bool { return unicode.Is(unicode.Lo, r) })
	if plain || len(letters) <= shortWord {
		return !plain
	}
	for other := range v.words {
		same, o := 0, []rune(other)
		for same < len(letters) && same < len(o) && letters[same] == o[same] {
			same++
		}
		if same >= leastStem && len(letters)-same <= mostEnding && len(o)-same <= mostEnding {
			return true
		}
	}
	return false
}

func denials(words []token) (n int) {
	for _, w := range words {
		if negations[w.text] || strings.HasSuffix(w.text, "n't") {
			n++
		}
	}
	return n
}

var (
	negations = setOf(`not no never nor neither without none cannot denied denies`)

	// numerals say a number without a digit. "One" and "first" are left out: they
	// are as often small words.
	numerals = setOf(`two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen
	nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million billion trillion dozen half twice
	second third fourth fifth sixth seventh eighth ninth tenth`)

	// small are words of more than three letters, or such as open a sentence, that
	// say nothing by themselves.
	small = setOf(`a an the this that these those it its he she they we you his her hers their theirs there here
	what which who whom whose where when while as since because although though whereas if so than then thus
	in on at by for from with within of off to into onto out over under after before during between among against about above below
	across along around behind beside beyond near per through throughout toward towards upon via
	and or but yet both either each every all any some many most much more also other others another such same one
	is are was were be been being has have had having does did do can could will would may might must should
	not no never nor neither without none cannot them himself herself itself themselves known called named used well like`)
)
