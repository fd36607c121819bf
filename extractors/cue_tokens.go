package extractors

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"graphmill/pipeline/graph"
)

type tokenKind uint8

const (
	wordToken tokenKind = iota
	punctToken
	entityToken
)

// token is a word, a punctuation mark or a whole mention of a sentence.
type token struct {
	kind    tokenKind
	lower   string
	capital bool
	mention int  // index into the extraction's mentions
	pronoun bool // an entity token that stands for a name elsewhere
	start   int  // byte of the chunk's text
	end     int
}

// tokenise splits text[within] around the given mentions, which are sorted by
// start and in bytes of text; one that reaches beyond is left out. Quotation marks and markup are left out: they
// say nothing about who did what.
func tokenise(text string, within graph.Range, mentions []placedMention) []token {
	var out []token
	for i := within.Start; i < within.End; {
		for len(mentions) > 0 && (mentions[0].at.Start < i || mentions[0].at.End > within.End) {
			mentions = mentions[1:]
		}
		if len(mentions) > 0 && mentions[0].at.Start == i {
			m := mentions[0]
			out = append(out, token{kind: entityToken, mention: m.index, start: i, end: m.at.End})
			i = m.at.End
			continue
		}
		limit := within.End
		if len(mentions) > 0 {
			limit = min(limit, mentions[0].at.Start)
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case unicode.IsLetter(r) || unicode.IsNumber(r):
			end := cueWordEnd(text, i, limit)
			out = append(out, token{kind: wordToken, lower: strings.ReplaceAll(strings.ToLower(text[i:end]), "’", "'"), capital: unicode.IsUpper(r), start: i, end: end})
			i = end
		case isPossessive(text[i:within.End]) && len(out) > 0 && out[len(out)-1].end == i:
			end := i + size + 1
			out = append(out, token{kind: punctToken, lower: "'s", start: i, end: end})
			i = end
		case r == ']' && i+1 < limit && text[i+1] == '(':
			// The target of a Markdown link.
			if closing := strings.IndexByte(text[i:limit], ')'); closing > 0 {
				i += closing + 1
			} else {
				i += size
			}
		case unicode.IsSpace(r), strings.ContainsRune("\"“”„«»‘’'`*_[]~", r):
			i += size
		case r == '.' && len(out) > 0 && i+size < within.End && out[len(out)-1].kind == wordToken && out[len(out)-1].end == i && len(out[len(out)-1].lower) <= 4:
			// An abbreviation inside the sentence.
			i += size
		default:
			out = append(out, token{kind: punctToken, lower: string(r), start: i, end: i + size})
			i += size
		}
	}
	return out
}

// cueWordEnd is where the word at i ends: letters, digits and marks, with single
// hyphens, apostrophes and dots inside.
func cueWordEnd(text string, i, limit int) int {
	end := i
	for end < limit {
		r, size := utf8.DecodeRuneInString(text[end:])
		if unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r) {
			end += size
			continue
		}
		if !strings.ContainsRune("-'’.‑", r) || end+size >= limit {
			return end
		}
		next, _ := utf8.DecodeRuneInString(text[end+size:])
		if !unicode.IsLetter(next) && !unicode.IsNumber(next) {
			return end
		}
		if r == '.' && !unicode.IsNumber(next) && end-i > 1 && !strings.Contains(text[i:end], ".") {
			return end
		}
		end += size
	}
	return end
}

// isPossessive reports whether text begins with 's and then no word goes on.
func isPossessive(text string) bool {
	rest := ""
	switch {
	case strings.HasPrefix(text, "'s"), strings.HasPrefix(text, "'S"):
		rest = text[2:]
	case strings.HasPrefix(text, "’s"), strings.HasPrefix(text, "’S"):
		rest = text[len("’s"):]
	default:
		return false
	}
	r, _ := utf8.DecodeRuneInString(rest)
	return rest == "" || !unicode.IsLetter(r) && !unicode.IsNumber(r)
}

// placedMention is a mention in bytes of its chunk's text.
type placedMention struct {
	index int
	at    graph.Range
}
