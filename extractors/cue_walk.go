package extractors

import (
	"strings"

	"graphmill/pipeline/graph"
)

// Bounds of a walk from a cue to its entities, in tokens. They keep the cost of
// a sentence linear and guesses short.
const (
	maxPhrase      = 7  // words of a noun phrase before its name
	maxParenthesis = 25 // between the commas or brackets that are stepped over
	maxGap         = 9  // between the head of a cue and its tail
	maxList        = 12 // names joined by "and"
)

// sentence is a tokenised sentence with the mentions in it.
type sentence struct {
	tokens   []token
	mentions []graph.Mention
}

// group is one or more coordinated entities at one side of a cue.
type group struct {
	tokens  []int // indices of entity tokens, in text order
	skipped int   // tokens between cue and group
	guessed bool  // reached over a parenthesis or from an earlier verb
}

func (s *sentence) at(i int) token {
	if i < 0 || i >= len(s.tokens) {
		return token{kind: punctToken, lower: "."}
	}
	return s.tokens[i]
}

func (s *sentence) isWord(i int, set map[string]bool) bool {
	t := s.at(i)
	return t.kind == wordToken && set[t.lower]
}

func (s *sentence) isPunct(i int, marks string) bool {
	t := s.at(i)
	if t.kind != punctToken {
		return false
	}
	for _, mark := range marks {
		if t.lower == string(mark) {
			return true
		}
	}
	return false
}

func (s *sentence) isEntity(i int) bool { return s.at(i).kind == entityToken }

// isPlain reports a word that describes or names: no function word, no verb.
func (s *sentence) isPlain(i int) bool {
	t := s.at(i)
	return t.kind == wordToken && !functionWords[t.lower] && !isNegation(t.lower)
}

func (s *sentence) kindOf(i int) string { return s.mentions[s.tokens[i].mention].Type }

// subject finds who stands before the cue at token i. fact is false where the
// words between say that nothing is stated: a negation, a modal, a passive
// around an active cue.
func (s *sentence) subject(i int, c *cue, last *clause) (g group, fact bool) {
	j, be, will, fact := s.verbGroup(i-1, c.reduced)
	if !fact {
		return group{}, false
	}
	if will && !be {
		return group{}, false
	}
	apposed := c.reduced && !be
	if s.isWord(j, relatives) {
		apposed = true
		j--
	} else if apposed && s.isWord(j, determiners) {
		j--
	}
	if apposed || be {
		j, be = s.nounPhrase(j, be)
	}
	if apposed && s.isPunct(j, ",(–—") {
		j--
	}
	return s.subjectFrom(i, j, last, apposed)
}

// verbGroup steps left over auxiliaries and adverbs, and for a phrase that "be"
// leads to over what does as well: "became", "served as", "was appointed".
func (s *sentence) verbGroup(j int, reduced bool) (at int, be, will, fact bool) {
	given, have := false, false
	// "Appointed CEO" gives an office to somebody else, and "have signed" is no
	// passive.
	defer func() { fact = fact && (be || !given && !(have && reduced)) }()
	for ; j >= 0; j-- {
		t := s.at(j)
		switch {
		case t.kind == entityToken && j > 1 && s.isWord(j-1, timeWords) && s.isEntity(j-2) && strings.ContainsAny(s.mentions[t.mention].Text, "0123456789"):
			// "Acme in 2019 acquired".
			j--
		case t.kind != wordToken:
			return j, be, will, true
		case isNegation(t.lower) || modals[t.lower]:
			return j, be, will, false
		case beForms[t.lower]:
			if !reduced {
				return j, be, will, false
			}
			be = true
		case reduced && copulas[t.lower]:
			be = true
		case reduced && t.lower == "as" && s.isWord(j-1, servings):
			be = true
			j--
		case reduced && appointments[t.lower]:
			given = true
		case auxiliaries[t.lower]:
			will = will || t.lower == "will"
			have = have || t.lower == "have" || t.lower == "has" || t.lower == "had"
		case weekdays[t.lower] && s.isWord(j-1, onWords):
			j--
		case isAdverb(t.lower):
		default:
			return j, be, will, true
		}
	}
	return j, be, will, true
}

// setOff reports the mark before an apposition or the word before a relative
// clause.
func (s *sentence) setOff(i int) bool { return s.isPunct(i, ",(–—") || s.isWord(i, relatives) }

// nounPhrase steps left over "(is) a software company": the words that describe
// a subject before the cue goes on about it. Without a "be" or a mark before
// them they are the subject themselves, and stay.
func (s *sentence) nounPhrase(j int, be bool) (at int, beSeen bool) {
	k, n := j, 0
	for n < maxPhrase && (s.isPlain(k) && !irregular[s.at(k).lower] || n > 0 && s.isEntity(k) || s.oneOf(k) || n > 0 && s.at(k).lower == "of" && s.isPlain(k-1)) {
		k--
		n++
	}
	if s.isWord(k, determiners) {
		k--
		n++
	}
	after, beHere, _, fact := s.verbGroup(k, true)
	switch {
	case be && n > 0 && s.isWord(k, determiners):
		return k - 1, true
	case !fact:
		return -1, be
	case beHere:
		return after, true
	case s.isPunct(k, ",(–—"):
		return k, be
	}
	return j, be
}

// oneOf reports the "of" of "one of the founders of".
func (s *sentence) oneOf(k int) bool { return s.at(k).lower == "of" && s.at(k-1).lower == "one" }

// subjectFrom finds the entity that ends at or before token j. A phrase set off
// from its subject belongs to the nearest name, whatever that is itself:
// "led by A, who founded B".
func (s *sentence) subjectFrom(i, j int, last *clause, apposed bool) (group, bool) {
	guessed := false
	for steps := 0; j >= 0 && steps < 4; steps++ {
		switch {
		case s.isEntity(j):
			g, object := s.listBefore(j)
			if object && apposed && j < i-1 {
				g.tokens = g.tokens[len(g.tokens)-1:]
			}
			if !object || apposed && j < i-1 && s.setOff(j+1) {
				g.skipped, g.guessed = i-1-j, guessed
				return g, !s.denied(g.tokens[0])
			}
			j = s.beforeObject(g.tokens[0])
		case s.isPunct(j, ")"):
			open := s.seekLeft(j-1, "(")
			if open < 0 {
				return group{}, true
			}
			j = open - 1
		case s.isPunct(j, ",–—"):
			open := s.seekLeft(j-1, ",–—")
			if open < 0 {
				return last.continues(s, j)
			}
			if g, ok := last.continues(s, j); ok && len(g.tokens) > 0 && last.end > open {
				return g, true
			}
			j = open - 1
		case s.isWord(j, andWords):
			return last.continues(s, j)
		default:
			return group{}, true
		}
		guessed = true
	}
	return group{}, true
}

var andWords = words("and then")

// seekLeft finds one of the marks left of j, within reach.
func (s *sentence) seekLeft(j int, marks string) int {
	for k := j; k >= 0 && j-k < maxParenthesis; k-- {
		if s.isPunct(k, marks) {
			return k
		}
		if s.isPunct(k, ";:") {
			return -1
		}
	}
	return -1
}

// listBefore collects the coordinated entities that end with the one at j.
// object reports that a preposition stands before them: they are no subject.
func (s *sentence) listBefore(j int) (g group, object bool) {
	list := []int{j}
	joined := false
	for k := j; len(list) < maxList; {
		p := k - 1
		and := s.at(p).lower == "and" || s.at(p).lower == "&"
		if and {
			p--
		}
		if s.isPunct(p, ",") {
			p--
		} else if !and {
			break
		}
		if !and && !joined || !s.isEntity(p) || s.kindOf(p) != s.kindOf(j) {
			break
		}
		joined = true
		list = append([]int{p}, list...)
		k = p
	}
	before := s.beforeTitles(list[0])
	if s.isWord(before, prepositions) {
		return group{tokens: list}, true
	}
	if t := s.at(before); t.kind == wordToken && (looksLikeVerb(t.lower) || t.lower == "and") {
		list = list[len(list)-1:]
	}
	return group{tokens: list}, false
}

// beforeTitles steps left over a determiner before a name.
func (s *sentence) beforeTitles(j int) int {
	j--
	if s.isWord(j, determiners) {
		j--
	}
	return j
}

// beforeObject steps over the preposition before a name and the name's article.
func (s *sentence) beforeObject(first int) int { return s.beforeTitles(first) - 1 }

// denied reports words before a statement that make it somebody's claim or the
// contrary.
func (s *sentence) denied(first int) bool {
	if t := s.at(first - 1); t.kind == wordToken && isNegation(t.lower) {
		return true
	}
	for k := 0; k < first; k++ {
		if s.isWord(k, doubts) {
			return true
		}
	}
	return false
}

// clause is the last statement read in a sentence: the next verb after "and"
// goes on about its subject.
type clause struct {
	subject group
	end     int // token after its object
}

// continues returns the last statement's subject when only a short phrase
// stands between its object and the conjunction at j.
func (l *clause) continues(s *sentence, j int) (group, bool) {
	if l == nil || len(l.subject.tokens) == 0 || l.end > j || j-l.end > 6 {
		return group{}, true
	}
	for k := l.end; k < j; k++ {
		t := s.at(k)
		if t.kind == wordToken && (looksLikeVerb(t.lower) || pronouns[t.lower] || conjunctions[t.lower]) || t.kind == punctToken && t.lower != "," {
			return group{}, true
		}
	}
	g := l.subject
	g.guessed = true
	return g, true
}

// object finds what stands after token j: the first name of the phrase that the
// cue opens, and what is joined to it. suits says which types the cue can take.
func (s *sentence) object(j int, suits func(kind string) bool) (g group, ok bool) {
	start := j
	determined := false
	for ; j < len(s.tokens) && j-start <= maxPhrase; j++ {
		t := s.at(j)
		switch {
		case t.kind == entityToken:
			if s.modifies(j, suits) {
				if s.isPunct(j+1, "'") || s.at(j+1).lower == "'s" {
					j++
				}
				continue
			}
			list := s.listAfter(j)
			return group{tokens: list, skipped: j - start}, true
		case t.kind == punctToken:
			return group{}, false
		case determiners[t.lower] || t.lower == "both" || t.lower == "then":
			determined = true
		case functionWords[t.lower] || isNegation(t.lower):
			return group{}, false
		case !determined && looksLikeVerb(t.lower):
			return group{}, false
		}
	}
	return group{}, false
}

// modifies reports that the entity at j only describes what follows it:
// "Acme's board", "the Paris startup Acme", "Acme shares".
func (s *sentence) modifies(j int, suits func(kind string) bool) bool {
	next := s.at(j + 1)
	switch {
	case next.lower == "'s" && next.kind == punctToken:
		return true
	case next.kind == entityToken:
		return suits(s.kindOf(j+1)) || !suits(s.kindOf(j))
	case next.kind != wordToken || functionWords[next.lower] || isNegation(next.lower):
		return false
	}
	if benign[next.lower] && suits(s.kindOf(j)) || temporal[next.lower] {
		return false
	}
	n := len(next.lower)
	ending := n > 4 && (next.lower[n-2:] == "ed" || next.lower[n-2:] == "ly" || next.lower[n-3:] == "ing") || irregular[next.lower]
	return !ending
}

// listAfter collects the entities joined to the one at j by "and".
func (s *sentence) listAfter(j int) []int {
	list := []int{j}
	pending := list
	for k := j; len(pending) < maxList; {
		n := s.afterDate(k + 1)
		if s.isPunct(n, ",") {
			n++
		}
		and := s.at(n).lower == "and" || s.at(n).lower == "&"
		if and {
			n++
		}
		if !and && !s.isPunct(n-1, ",") {
			break
		}
		if s.isWord(n, determiners) {
			n++
		}
		if !s.isEntity(n) || s.kindOf(n) != s.kindOf(j) || s.opensClause(n) {
			break
		}
		pending = append(pending[:len(pending):len(pending)], n)
		k = n
		if and {
			// Names joined only by commas may describe each other; an "and"
			// makes a list of them.
			return pending
		}
	}
	return list
}

// afterDate steps over "in 2016" after an object.
func (s *sentence) afterDate(n int) int {
	t := s.at(n + 1)
	if s.at(n).lower != "in" || n+1 >= len(s.tokens) {
		return n
	}
	if t.kind == entityToken && strings.ContainsAny(s.mentions[t.mention].Text, "0123456789") || t.kind == wordToken && strings.ContainsAny(t.lower, "0123456789") {
		return n + 2
	}
	return n
}

// opensClause reports that the entity at n is the subject of what follows.
func (s *sentence) opensClause(n int) bool {
	t := s.at(n + 1)
	if t.kind == punctToken && t.lower == "'s" {
		return true
	}
	return t.kind == wordToken && (looksLikeVerb(t.lower) || relatives[t.lower] && !s.isPunct(n, ",") || auxiliaries[t.lower] && t.lower != "also" && t.lower != "both")
}
