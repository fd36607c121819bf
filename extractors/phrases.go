package extractors

import (
	"slices"
	"strings"

	"graphmill/chunkers"
	"graphmill/pipeline/graph"
)

// Phrase is what a sentence states between two mentions that follow each other:
// what an ontology may want a relation type for.
type Phrase struct {
	// First and Second are indices into the mentions, in the order of the text.
	First, Second int
	// Passive says that the second is the one who does: "was founded by".
	Passive bool
	// Cue is the phrase as a cue is written: "succeeded", "was succeeded by",
	// "is pupil of".
	Cue string
	// Name is the verb or noun that the phrase is about with what follows it:
	// "succeeded", "pupil of". Root is Name without the verb's ending; phrases of
	// one relation have one Root.
	Name, Root string
	Evidence   graph.Range // the sentence, bytes of the document's text
}

// maxPhraseWords is how far apart two names may stand.
const maxPhraseWords = 6

// Phrases reads the verb phrases between the mentions of a chunk. Like cues, it
// takes nothing from a question, a negation, a modal or a doubt.
func Phrases(chunk chunkers.Chunk, mentions []graph.Mention) []Phrase {
	placed := outermost(chunk, mentions)
	var out []Phrase
	for _, r := range chunkers.Sentences(chunk.Text) {
		if strings.HasSuffix(chunk.Text[r.Start:r.End], "?") {
			continue
		}
		tokens := tokenise(chunk.Text, r, within(placed, r))
		if len(tokens) > maxSentenceTokens {
			continue
		}
		before := -1 // the entity token before
		for i := range tokens {
			if tokens[i].kind != entityToken {
				continue
			}
			if before >= 0 && !(i+1 < len(tokens) && tokens[i+1].lower == "'s") {
				if p, ok := readPhrase(tokens[:i], before); ok {
					p.First, p.Second = tokens[before].mention, tokens[i].mention
					p.Evidence = graph.Range{Start: r.Start + chunk.Range.Start, End: r.End + chunk.Range.Start}
					out = append(out, p)
				}
			}
			before = i
		}
	}
	return out
}

// CuePhrase reads a cue of an ontology as [Phrases] would read it in a text, so
// that the two can be compared; ok is false for templates and for what is no such
// phrase.
func CuePhrase(cue string) (p Phrase, ok bool) {
	if strings.ContainsAny(cue, "_…|") {
		return Phrase{}, false
	}
	words := strings.Fields(strings.ToLower(cue))
	if len(words) > 1 && beForms[words[0]] {
		return bePhrase(words[1:])
	}
	if len(words) == 0 {
		return Phrase{}, false
	}
	return verbPhrase(words)
}

func within(placed []placedMention, r graph.Range) []placedMention {
	first, _ := slices.BinarySearchFunc(placed, r.Start, func(p placedMention, start int) int { return p.at.Start - start })
	last := first
	for last < len(placed) && placed[last].at.Start < r.End {
		last++
	}
	return placed[first:last]
}

// readPhrase reads the words after the entity token to the end of tokens.
func readPhrase(tokens []token, entity int) (Phrase, bool) {
	for _, t := range tokens[max(0, entity-3):entity] {
		// "neither Ada nor", "whether Ada": no statement begins so.
		if t.kind == wordToken && (negators[t.lower] || doubts[t.lower]) {
			return Phrase{}, false
		}
	}
	if entity > 0 && tokens[entity-1].kind == wordToken && prepositions[tokens[entity-1].lower] {
		// "the winter in Ulm killed": the name is not what the verb is about.
		return Phrase{}, false
	}
	between := tokens[entity+1:]
	if len(between) > 0 && between[0].lower == "," && len(between) > 1 && relatives[between[1].lower] {
		between = between[2:]
	}
	words := make([]string, 0, len(between))
	for i, t := range between {
		// A capital is part of a name, but for "is a British pupil of".
		named := t.capital && !titles[t.lower] && !(i > 0 && (determiners[between[i-1].lower] || beForms[between[i-1].lower]))
		if t.kind != wordToken || named || unstated(t.lower) && !(t.lower == "to" && i > 0) || relatives[t.lower] && len(words) > 0 {
			return Phrase{}, false
		}
		words = append(words, t.lower)
	}
	words = slices.DeleteFunc(words, func(w string) bool { return isAdverb(w) || auxiliaries[w] || relatives[w] })
	for len(words) > 0 && (determiners[words[len(words)-1]] || titles[words[len(words)-1]]) {
		words = words[:len(words)-1]
	}
	if len(words) == 0 || len(words) > maxPhraseWords || slices.Contains(words[:len(words)-1], "to") {
		// "wrote to Ada", and not "wants to visit Ada".
		return Phrase{}, false
	}
	if beForms[words[0]] {
		return bePhrase(words[1:])
	}
	return verbPhrase(words)
}

// unstated reports a word between two names after which nothing is stated of them.
func unstated(word string) bool {
	return modals[word] || doubts[word] || isNegation(word) || conjunctions[word] || pronouns[word] && !relatives[word]
}

// bePhrase reads what follows a form of "be": a participle or what somebody is.
func bePhrase(words []string) (Phrase, bool) {
	for len(words) > 0 && (beForms[words[0]] || determiners[words[0]]) {
		words = words[1:]
	}
	last := len(words) - 1
	if last < 1 || !prepositions[words[last]] {
		return Phrase{}, false
	}
	name := words[0]
	if looksLikeParticiple(name) && last == 1 {
		root, _ := stem(name)
		if words[1] == "by" {
			return Phrase{Passive: true, Cue: "was " + name + " by", Name: name, Root: root}, true
		}
		return Phrase{Cue: "was " + name + " " + words[1], Name: name + " " + words[1], Root: root + " " + words[1]}, true
	}
	// "is (a) (British) pupil of": the noun before the preposition is meant.
	noun := words[last-1]
	if functionWords[noun] || looksLikeVerb(noun) || last > 3 {
		return Phrase{}, false
	}
	name = noun + " " + words[last]
	return Phrase{Cue: "is " + name, Name: name, Root: name}, true
}

func looksLikeParticiple(word string) bool {
	return looksLikeVerb(word) && !beForms[word] || strings.HasSuffix(word, "wn") || strings.HasSuffix(word, "en") && len(word) > 4
}

// verbPhrase reads a verb, alone or with a preposition.
func verbPhrase(words []string) (Phrase, bool) {
	verb, rest := words[0], words[1:]
	for len(rest) > 1 && determiners[rest[0]] {
		rest = rest[1:]
	}
	if functionWords[verb] || !looksLikeVerb(verb) && !thirdPerson(verb) || len(rest) > 1 {
		return Phrase{}, false
	}
	root, _ := stem(verb)
	p := Phrase{Cue: verb, Name: verb, Root: root}
	if len(rest) == 1 {
		if !prepositions[rest[0]] || rest[0] == "by" && !irregular[verb] {
			// "Rome founded by": a participle, of whatever stands before.
			return Phrase{}, false
		}
		p.Cue, p.Name, p.Root = verb+" "+rest[0], verb+" "+rest[0], root+" "+rest[0]
	}
	return p, true
}

// thirdPerson guesses that a word is a verb of the present: "supports".
func thirdPerson(word string) bool {
	return len(word) > 4 && strings.HasSuffix(word, "s") && !strings.HasSuffix(word, "ss") && !strings.HasSuffix(word, "us") && !strings.HasSuffix(word, "'s")
}
