package chunkers

import (
	"math"
	"unicode/utf8"

	"graphmill/pipeline/prose"
)

// size is a cap or an overlap; 0 is none.
type size struct {
	units int // of [token]
	chars int // Unicode code points
}

// holds reports whether an overlap allows that much.
func (s size) holds(units, chars int) bool {
	return (s.units == 0 || units <= s.units) && (s.chars == 0 || chars <= s.chars)
}

// cutter finds the longest pieces of text under a cap.
type cutter struct {
	text string
	cap  size
	// keepWords makes cut list the words of the piece, and of what it read
	// beyond it, in words.
	keepWords bool
	words     []word
}

// word is a place where a word starts, and what stands between the start of the
// piece and it.
type word struct{ start, units, chars int }

// cut returns the end of the piece that starts at start, a cluster boundary
// before end: the last place between words up to which it fits; where a single
// word does not fit, the last cluster boundary in it; where a single grapheme
// cluster does not fit, the last code point.
func (c *cutter) cut(start, end int) int {
	limit := size{math.MaxInt, math.MaxInt}
	if c.cap.units > 0 {
		limit.units = c.cap.units
	}
	if c.cap.chars > 0 {
		limit.chars = c.cap.chars
	}
	c.words = c.words[:0]
	r := reader{last: ' ', lastClass: spaceClass}
	sure, best := start, start // the last places between words: outside of clusters, and perhaps inside
	for i := start; i < end; {
		char, n := decode(c.text[i:])
		class := classify(char)
		if r.wordEdge(char, class) && i > start {
			if char < 0x300 && r.last < 0x300 {
				sure = i
			} else {
				best = i
			}
			if c.keepWords && class != spaceClass {
				c.words = append(c.words, word{i, r.units, r.chars})
			}
		}
		r.read(class)
		r.chars++
		r.last, r.lastClass = char, class
		if (r.units > limit.units || r.chars > limit.chars) && i > start {
			return c.place(start, i, max(sure, best), sure)
		}
		i += n
	}
	return end
}

// place chooses between the places found: best may lie inside a cluster, sure
// does not.
func (c *cutter) place(start, limit, best, sure int) int {
	if best > sure {
		best = max(sure, prose.LastBoundary(c.text, start, best))
	}
	if best > start {
		return best
	}
	if cut := prose.LastBoundary(c.text, start, limit); cut > start {
		return cut
	}
	return limit
}

// reader measures text character by character and knows where it may be cut.
type reader struct {
	meter
	chars     int
	last      rune
	lastClass charClass
}

func (r *reader) skip(text string) {
	r.advance(text)
	r.chars += utf8.RuneCountInString(text)
}

// wordEdge reports whether c begins a word or is white space after one. It does
// not look at grapheme clusters.
func (r *reader) wordEdge(c rune, class charClass) bool {
	switch {
	case class == spaceClass || r.lastClass == spaceClass:
		return class != r.lastClass
	case class == ideographClass || r.lastClass == ideographClass:
		return opensLine(r.last, c)
	}
	return false
}

func decode(text string) (rune, int) {
	if b := text[0]; b < utf8.RuneSelf {
		return rune(b), 1
	}
	return utf8.DecodeRuneInString(text)
}
