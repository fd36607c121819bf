package extractors

import "strings"

// The word lists of the cue rules. They are English; text in another language
// is read by adjacency alone.

func words(lists ...string) map[string]bool {
	set := map[string]bool{}
	for _, list := range lists {
		for _, word := range strings.Fields(list) {
			set[word] = true
		}
	}
	return set
}

var (
	beForms = words("is are was were be been being")
	// copulas, servings "as" and appointments lead to an office as "be" does.
	copulas      = words("became becomes remained remains")
	servings     = words("served serves acted acts worked works")
	appointments = words("appointed named elected")
	// auxiliaries may stand between a subject and its verb.
	auxiliaries = words("has have had also both himself herself itself themselves will")
	// modals and their like make a statement something other than a fact.
	modals = words("would could might may should must can cannot to if whether unless")
	// negators make it the contrary of one.
	negators = words("not never no nor neither none nobody nothing hardly barely scarcely without cannot n't")
	// doubts anywhere before a statement say that it is somebody's claim.
	doubts = words("denied denies deny denying alleged allegedly rumoured rumored rumors rumours falsely false if whether unless suppose supposedly hypothetically contrary doubts doubted")
	// adverbs that end otherwise than in -ly.
	adverbs = words(`also later then first once since already still now soon even just again ago today
		together earlier afterwards thereafter meanwhile often always sometimes eventually there instead`)
	relatives    = words("who which that")
	determiners  = words("a an the its his her their our this that these those another one some several two three four many")
	prepositions = words(`in on at of by from to for with without near under over between among against during
		before after since until into onto within across through around about as like unlike alongside including
		following despite via per behind beyond outside inside toward towards upon`)
	weekdays  = words("monday tuesday wednesday thursday friday saturday sunday")
	onWords   = words("on last")
	timeWords = words("in on")
	// titles stand before a person's name.
	titles = words(`mr mrs ms dr prof professor sir lady lord general gen colonel col captain capt major lieutenant admiral
		saint st rev reverend father`)
	conjunctions = words("and or but nor yet so because although though while when where whereas if unless than whether after before")
	pronouns     = words("he she it they we i you him them us me himself herself itself themselves who whom whose which what there")
	// temporal words follow a finished object ("joined Acme last year").
	temporal = words("last next this yesterday today tomorrow ago then now again late early earlier later soon shortly once twice aged age here there too together")
	// benign nouns after a name do not make it another thing: the Google team.
	benign = words("team company group corporation firm project inc inc. ltd corp plc ag gmbh family")
	// verbs of the past that do not end in -ed.
	irregular = words(`met saw told said made took gave got went came knew thought found left held kept began wrote
		led won lost sold bought built sent spent spoke stood sat ran rose fell felt grew drew drove flew fought
		became beat broke brought chose ate hid hit paid put read rode sang set shot showed shook sought taught
		understood wore threw says tells meets sees wins makes takes gives`)
	// gapPrepositions end cues that may be interrupted: "was founded in 1998 by".
	gapPrepositions = words("by in on at for with from as to")
)

// function words end or start phrases; all others name, describe or do.
var functionWords = func() map[string]bool {
	set := map[string]bool{}
	for _, list := range []map[string]bool{beForms, auxiliaries, modals, negators, adverbs, relatives, determiners, prepositions, conjunctions, pronouns, temporal} {
		for word := range list {
			set[word] = true
		}
	}
	return set
}()

func isNegation(word string) bool {
	return negators[word] || strings.HasSuffix(word, "n't") || strings.HasSuffix(word, "n’t")
}

func isAdverb(word string) bool {
	return adverbs[word] || len(word) > 4 && strings.HasSuffix(word, "ly")
}

// looksLikeVerb guesses that a word states something of its own.
func looksLikeVerb(word string) bool {
	return irregular[word] || beForms[word] || len(word) > 4 && strings.HasSuffix(word, "ed") || word == "has" || word == "had" || word == "have"
}

// stem takes the endings of English verbs off, so that "works", "worked" and
// "work" are one; base reports that there was no ending. Only equality of stems
// means anything.
func stem(word string) (root string, base bool) {
	if len(word) < 4 {
		return word, true
	}
	root = word
	switch {
	case strings.HasSuffix(word, "ied"), strings.HasSuffix(word, "ies") && len(word) > 4:
		root = word[:len(word)-3] + "y"
	case strings.HasSuffix(word, "ed"):
		root = word[:len(word)-2]
		if n := len(root); n > 3 && root[n-1] == root[n-2] && !strings.ContainsRune("lsz", rune(root[n-1])) {
			root = root[:n-1]
		}
	case strings.HasSuffix(word, "es"):
		root = word[:len(word)-2]
	case strings.HasSuffix(word, "s") && !strings.HasSuffix(word, "ss") && !strings.HasSuffix(word, "us") && !strings.HasSuffix(word, "is"):
		root = word[:len(word)-1]
	}
	base = root == word
	return strings.TrimSuffix(root, "e"), base
}
