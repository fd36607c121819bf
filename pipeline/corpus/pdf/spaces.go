package pdf

import (
	"math"
	"slices"
	"unicode"
	"unicode/utf8"
)

// Gaps between the ink of neighbouring letters, in em, as measured on twelve
// manuals by TeX, groff and Word: within words below 0.2, between words above
// 0.22. The engine goes by the letters' widths and so loses the spaces after
// kerned letters ("they are" becomes "theyare" in groff's output).
const (
	wordGap  = 0.22
	digitGap = 0.32 // digits and punctuation stand wider apart
	// The engine also breaks words at kerned letters ("howev er"): such a gap is
	// small, and small beside the line's other spaces.
	tightGap       = 0.19
	tightShare     = 0.55
	spacedOutGap   = 0.10 // the median gap of text set with letter spacing or in a fixed pitch
	ideographicGap = 0.5
)

// respace puts in the spaces that a line's geometry shows and takes out those
// within runs of ideographs.
func respace(glyphs []glyph) []glyph {
	out := make([]glyph, 0, len(glyphs)+len(glyphs)/16)
	for start := 0; start < len(glyphs); {
		end := start
		for end < len(glyphs) && !glyphs[end].brk {
			end++
		}
		out = respaceLine(out, glyphs[start:end])
		for end < len(glyphs) && glyphs[end].brk {
			out = append(out, glyphs[end])
			end++
		}
		start = end
	}
	return out
}

func respaceLine(out []glyph, line []glyph) []glyph {
	em, even := lineMeasure(line)
	last := -1 // index in line of the last glyph with ink
	for i, g := range line {
		if g.space {
			continue
		}
		if last >= 0 {
			gap := g.left - line[last].right
			spaced := i > last+1
			switch {
			case spaced && gap < ideographicGap*em && ideographicPair(line[last], g):
			case spaced:
				out = append(out, line[last+1])
			case even && !g.turned && gap > gapFor(line[last], g)*em:
				out = append(out, glyph{text: " ", space: true, index: g.index, box: line[last].box})
			}
		}
		out = append(out, g)
		last = i
	}
	return out
}

func letter(g glyph) bool {
	r, _ := utf8.DecodeRuneInString(g.text)
	return unicode.In(r, unicode.Latin, unicode.Greek, unicode.Cyrillic)
}

func capital(g glyph) bool {
	r, _ := utf8.DecodeRuneInString(g.text)
	return unicode.IsUpper(r)
}

func known(g glyph) bool {
	r, _ := utf8.DecodeRuneInString(g.text)
	return letter(g) || unicode.IsDigit(r) || unicode.IsPunct(r)
}

// gapFor is the gap between a and b, in em, from which on there is a space.
// Scripts whose letters stand otherwise are left to the engine, and a dot may be
// part of a name.
func gapFor(a, b glyph) float64 {
	switch {
	case letter(a) && letter(b):
		return wordGap
	case !known(a) || !known(b), b.text == ".", a.text == "." && !capital(b):
		return math.Inf(1)
	}
	return digitGap
}

// lineMeasure estimates a line's em from its tallest letter and says whether
// its letters stand close, so that a wide gap means a space.
func lineMeasure(line []glyph) (em float64, even bool) {
	var gaps []float64
	tallest := 0.0
	last := -1
	for i, g := range line {
		r, _ := utf8.DecodeRuneInString(g.text)
		if g.space || !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			last = -1
			continue
		}
		tallest = max(tallest, g.top-g.bottom)
		if last >= 0 {
			gaps = append(gaps, g.left-line[last].right)
		}
		last = i
	}
	em = tallest / 0.72 // capitals and ascenders are about that high
	if em == 0 || len(gaps) < 3 {
		return max(em, 1), false
	}
	slices.Sort(gaps)
	return em, gaps[len(gaps)/2] < spacedOutGap*em
}

func ideographicPair(a, b glyph) bool {
	x, _ := utf8.DecodeRuneInString(a.text)
	y, _ := utf8.DecodeRuneInString(b.text)
	return joinsWithoutSpace(x, y)
}
