package extractors

import (
	"strings"

	"graphmill/chunkers"
	"graphmill/pipeline/graph"
)

// Biographies name a person once and go on with "he" or "she". A pronoun is
// taken for a person only where there is nobody else it could be: the one person
// that its sentence named before it, or else the one person of the sentence
// before, on through sentences with the same pronoun. What is read so holds both
// sentences as its evidence.

// pronounShare is the share of certainty that a statement about a pronoun keeps.
const pronounShare = 0.85

var (
	subjectPronouns    = words("he she")
	possessivePronouns = map[string]string{"his": "he", "her": "she"}
)

// referent is whom the next pronoun may mean.
type referent struct {
	mention int // -1 for nobody
	key     string
	pronoun string // the one that stood for the person, "" for none yet
	since   int    // start of the sentence that names the person, bytes of the chunk
}

var nobody = referent{mention: -1}

// discourse resolves a chunk's pronouns, sentence by sentence.
type discourse struct {
	person   string // the label of persons
	mentions []graph.Mention
	last     referent
	end      int // of the sentence before
}

// enter begins a sentence: a new paragraph means nobody from before.
func (p *discourse) enter(chunk chunkers.Chunk, within graph.Range) {
	if within.Start < p.end || strings.Contains(chunk.Text[p.end:within.Start], "\n\n") || strings.Contains(chunk.Text[p.end:within.Start], "\n#") {
		p.last = nobody
	}
	p.end = within.End
	if p.last.mention >= 0 && within.End-p.last.since > maxEvidenceBytes {
		p.last = nobody
	}
}

// resolve puts persons in the place of a sentence's pronouns. It returns the
// tokens, the start of what the sentence then speaks of, and whom the next
// sentence may mean.
func (p *discourse) resolve(tokens []token, within graph.Range) (out []token, since int, next referent) {
	since = within.Start
	here := nobody // the one person named so far
	several, told := false, false
	used := nobody
	for i, t := range tokens {
		switch {
		case t.kind == entityToken && p.mentions[t.mention].Type == p.person:
			if key := graph.NameKey(p.mentions[t.mention].Text); here.mention >= 0 && !sameSurname(key, here.key) {
				several = true
			} else if here.mention < 0 && told {
				// Whoever stands behind the verb is not whom it is about.
				several = true
			} else if here.mention < 0 {
				here = referent{mention: t.mention, key: key, since: within.Start}
			}
		case t.kind == wordToken && subjectPronouns[t.lower]:
			if who, ok := p.meant(t.lower, here, several); ok {
				out = append(out, token{kind: entityToken, mention: who.mention, start: t.start, end: t.end, pronoun: true})
				since, used = min(since, who.since), who
				continue
			}
		case t.kind == wordToken && possessivePronouns[t.lower] != "" && i == 0:
			if who, ok := p.meant(possessivePronouns[t.lower], here, several); ok {
				out = append(out, token{kind: entityToken, mention: who.mention, start: t.start, end: t.end, pronoun: true},
					token{kind: punctToken, lower: "'s", start: t.end, end: t.end})
				since, used = min(since, who.since), who
				continue
			}
		}
		told = told || t.kind == wordToken && looksLikeVerb(t.lower)
		out = append(out, t)
	}
	return out, since, p.following(here, used, several)
}

// meant is the person that a pronoun can only mean.
func (p *discourse) meant(pronoun string, here referent, several bool) (referent, bool) {
	who := here
	if who.mention < 0 {
		who = p.last
	}
	if several || who.mention < 0 || who.pronoun != "" && who.pronoun != pronoun {
		return nobody, false
	}
	who.pronoun = pronoun
	return who, true
}

// following is whom the next sentence's pronoun may mean: the one that this one
// spoke of by a pronoun, or the only person that it named.
func (p *discourse) following(here, used referent, several bool) referent {
	switch {
	case used.mention >= 0:
		return used
	case several || here.mention < 0:
		return nobody
	case p.last.mention >= 0 && sameSurname(here.key, p.last.key):
		here.pronoun = p.last.pronoun
	}
	return here
}

// sameSurname reports that one name's key is the other's or ends it.
func sameSurname(a, b string) bool {
	return a == b || strings.HasSuffix(a, " "+b) || strings.HasSuffix(b, " "+a)
}
