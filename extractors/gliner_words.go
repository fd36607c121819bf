package extractors

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"graphmill/chunkers"
	"graphmill/pipeline/graph"
)

// glinerWords cuts text into the words that GLiNER was trained on. The
// reference engine writes the rule as the Python expression
// \w+(?:[-_]\w+)*|\S: letters, digits and underscores, joined by single
// hyphens, or any one other character that is not white space.
func glinerWords(text string) []graph.Range {
	words := make([]graph.Range, 0, len(text)/5)
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case isWordRune(r):
			end := glinerWordEnd(text, i+size)
			words = append(words, graph.Range{Start: i, End: end})
			i = end
		case isPythonSpace(r):
			i += size
		default:
			words = append(words, graph.Range{Start: i, End: i + size})
			i += size
		}
	}
	return words
}

// glinerWordEnd returns where the word ends that has its first character before at.
func glinerWordEnd(text string, at int) int {
	for at < len(text) {
		r, size := utf8.DecodeRuneInString(text[at:])
		if r == '-' {
			next, width := utf8.DecodeRuneInString(text[at+size:])
			if width == 0 || !isWordRune(next) {
				return at
			}
			at += size + width
			continue
		}
		if !isWordRune(r) {
			return at
		}
		at += size
	}
	return at
}

// isWordRune is Python's \w: combining marks do not belong to it.
func isWordRune(r rune) bool {
	if r < utf8.RuneSelf {
		return r == '_' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z'
	}
	return unicode.IsLetter(r) || unicode.IsNumber(r)
}

// isPythonSpace is Python's \s: Unicode's white space and four separators.
func isPythonSpace(r rune) bool {
	return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f
}

// breaksBefore marks the words that begin something new: a sentence, or a line
// that [parts] takes for one.
// No name reaches over such a place, though the model, which does not see lines,
// reads on ("Owen K. Garriott (CAPCOM)\n- Don L. Lind").
func breaksBefore(text string, words []modelWord) []bool {
	breaks := make([]bool, len(words))
	for i := 1; i < len(words); i++ {
		end := words[i-1].at.End
		if at := strings.IndexByte(text[end:words[i].at.Start], '\n'); at >= 0 {
			breaks[i] = parts(text, end+at)
		}
	}
	for _, start := range sentenceStarts(text, words) {
		breaks[start] = true
	}
	return breaks
}

// linkMarks end a line over which the model does not read a name on, so that
// both lines may share a window.
const linkMarks = ".!?:;,|…-*•+–#>"

// blockStarts lists the words after a heading, an item or a row that no mark
// ends. The model, which does not see lines, would read on and take a heading
// and a sentence that begins with its words for one name.
func blockStarts(text string, words []modelWord) []int {
	var starts []int
	for i := 1; i < len(words); i++ {
		end := words[i-1].at.End
		at := strings.IndexByte(text[end:words[i].at.Start], '\n')
		if at < 0 || !parts(text, end+at) {
			continue
		}
		if last, _ := utf8.DecodeRuneInString(text[words[i-1].at.Start:]); !strings.ContainsRune(linkMarks, last) {
			starts = append(starts, i)
		}
	}
	return starts
}

// sentenceStarts lists the words that begin a sentence, but for the first word.
func sentenceStarts(text string, words []modelWord) []int {
	var starts []int
	next := 0
	for _, s := range chunkers.Sentences(text) {
		for next < len(words) && words[next].at.Start < s.Start {
			next++
		}
		if next > 0 && next < len(words) && words[next].at.Start == s.Start {
			starts = append(starts, next)
		}
	}
	return starts
}
