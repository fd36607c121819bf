package evidence

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// nameLetters is how many letters a word needs to be looked for; shorter ones
// are initials, articles and the like.
const nameLetters = 3

// minWords is what a sentence has at least: "Sources:" is none.
const minWords = 3

// claim is what a sentence states that can be looked up: figures and names.
type claim struct {
	figures []figure
	names   []name
	// opens says that the sentence begins with a capitalised word that may be a
	// name: enough to ask for a citation, too little to look for it.
	opens bool
}

type figure struct {
	text string // as written
	number
}

type name struct {
	text  string   // the run of capitalised words
	words []string // those that must be found, in small letters
}

func (c claim) empty() bool { return len(c.figures)+len(c.names) == 0 && !c.opens }

// claimOf reads a sentence without its citations.
func claimOf(sentence string) claim {
	sentence = norm.NFC.String(dropListMark(sentence))
	var c claim
	var runs [][]token
	words := 0
	first := true // no word has been read yet
	startsSentence := false
	var last token
	tokensOf(sentence, func(t token) {
		if t.word == "" {
			c.figures = append(c.figures, figure{t.text, t.number})
		}
		if t.capitalised() {
			if n := len(runs); n > 0 && last.capitalised() && oneRun(sentence[last.end:t.start]) {
				runs[n-1] = append(runs[n-1], t)
			} else {
				runs = append(runs, []token{t})
				startsSentence = startsSentence || first
			}
		}
		first, last = false, t
		words++
	})
	c.names, c.opens = namesOf(sentence, runs, startsSentence)
	c.opens = c.opens && words >= minWords
	return c
}

// namesOf makes names of the runs. The word that a sentence begins with has its
// capital for that: alone it is a name only where the sentence has another; else it may be one.
func namesOf(sentence string, runs [][]token, startsSentence bool) (names []name, mayBe bool) {
	doubtful := false
	for i, run := range runs {
		atStart := i == 0 && startsSentence
		opened := false
		for len(run) > 0 && openers[run[0].word] {
			run, opened = run[1:], true
		}
		n := name{}
		for _, t := range run {
			if t.letters() >= nameLetters {
				n.words = append(n.words, t.word)
			}
		}
		if len(n.words) == 0 {
			continue
		}
		n.text = sentence[run[0].start:run[len(run)-1].end]
		doubtful = doubtful || atStart && !opened && len(run) == 1
		names = append(names, n)
	}
	if doubtful && len(names) == 1 {
		return nil, !strings.HasSuffix(names[0].words[0], "ly")
	}
	return names, false
}

// oneRun reports whether what stands between two capitalised words leaves them
// one name: spaces, and one sign that names are written with.
func oneRun(between string) bool {
	signs := 0
	for _, r := range between {
		switch {
		case unicode.IsSpace(r):
		case strings.ContainsRune("-‐‑'’.&", r):
			signs++
		default:
			return false
		}
	}
	return signs <= 1
}

// dropListMark takes away what stands before a sentence and is no part of it:
// bullets, numbers of a list, quotation and heading marks.
func dropListMark(sentence string) string {
	for {
		before := sentence
		sentence = strings.TrimLeft(sentence, " \t\n>#*_-+•‣◦|\"“„'")
		digits := 0
		for digits < len(sentence) && digits < 3 && '0' <= sentence[digits] && sentence[digits] <= '9' {
			digits++
		}
		if digits > 0 && digits+1 < len(sentence) && (sentence[digits] == '.' || sentence[digits] == ')') && sentence[digits+1] == ' ' {
			sentence = sentence[digits+1:]
		}
		if sentence == before {
			return sentence
		}
	}
}

// missing lists what of the claim stands in none of the evidence.
func (c claim) missing(cited []vocabulary) (figures, names []string) {
	for _, f := range c.figures {
		whole := f.whole != "" && standsIn(cited, []string{f.whole}, figuresOf)
		if !whole && (len(f.parts) == 0 || !standsIn(cited, f.parts, figuresOf)) {
			figures = appendOnce(figures, f.text)
		}
	}
	for _, n := range c.names {
		if !standsIn(cited, n.words, wordsOf) {
			names = appendOnce(names, n.text)
		}
	}
	return figures, names
}

func figuresOf(v vocabulary) map[string]bool { return v.figures }
func wordsOf(v vocabulary) map[string]bool   { return v.words }

// standsIn reports whether each of the terms stands in some of the evidence.
func standsIn(cited []vocabulary, terms []string, of func(vocabulary) map[string]bool) bool {
	for _, term := range terms {
		if !slices.ContainsFunc(cited, func(v vocabulary) bool { return of(v)[term] }) {
			return false
		}
	}
	return true
}

func appendOnce(list []string, item string) []string {
	if slices.Contains(list, item) {
		return list
	}
	return append(list, item)
}

// openers are words that sentences begin with and that are no names.
var openers = wordSet(`a an the this that these those it its he she they we you i his her hers their theirs our my your there here
	what which who whom whose where when why how whether if unless until once as since because although though while whereas
	in on at by for from with without within of off to into onto out over under after before during between among against about above below
	across along around behind beside besides beyond despite except inside like near outside per regarding through throughout toward towards
	underneath unlike upon via according based given compared
	and or but nor so yet both either neither not no none nothing nobody each every all any some many most much more few fewer several
	other others another such same one two three four five six seven eight nine ten half
	first second third fourth fifth last next then later earlier finally lastly initially originally previously subsequently afterwards
	now today currently recently meanwhile eventually soon still already again always never often sometimes usually typically generally
	however therefore thus hence moreover furthermore additionally also further likewise similarly conversely instead otherwise nevertheless
	nonetheless consequently accordingly indeed perhaps maybe overall specifically notably especially particularly together only just even
	is are was were be been being am do does did has have had can could might must shall should would let please note yes
	answer summary conclusion source sources evidence`)

func wordSet(words string) map[string]bool {
	set := map[string]bool{}
	for word := range strings.FieldsSeq(words) {
		set[word] = true
	}
	return set
}
