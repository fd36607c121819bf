package chunkers

import (
	"unicode"
	"unicode/utf8"

	"graphmill/pipeline/corpus"
	"graphmill/pipeline/graph"
)

// Fixed cuts text into chunks of about equal size, at white space or between
// ideographs where it can. It looks at no structure, so a chunk may cross
// headings and sentences. The zero value is not usable; see [New].
type Fixed struct {
	cap     size
	overlap size
}

// size is a cap or an overlap; 0 is none.
type size struct {
	units int // of [token]
	chars int // Unicode code points
}

// Chunk implements [Chunker].
func (f *Fixed) Chunk(document *corpus.Document) ([]Chunk, error) {
	text := document.Text
	c := collector{document: document, outline: newOutline(document)}
	cutter := cutter{text: text, cap: f.cap}
	rest := trim(text, graph.Range{Start: 0, End: len(text)})
	start := rest.Start
	for covered := start; covered < rest.End; {
		cut := cutter.cut(start, rest.End)
		chunk := trim(text, graph.Range{Start: start, End: cut})
		next := trim(text, graph.Range{Start: cut, End: rest.End})
		if cut <= covered && start < covered {
			start = covered // the overlap left no room for anything new
			continue
		}
		var measured meter
		measured.advance(text[chunk.Start:chunk.End])
		c.add(chunk, measured)
		covered = next.Start
		start = covered
		if covered < rest.End {
			start = f.overlapStart(text, chunk, covered)
		}
	}
	return c.chunks, nil
}

// overlapStart returns where the chunk after the given one starts: at the first
// word of it from which no more than the overlap is repeated, or at next.
func (f *Fixed) overlapStart(text string, chunk graph.Range, next int) int {
	if f.overlap == (size{}) {
		return next
	}
	whole := reader{}
	whole.skip(text[chunk.Start:chunk.End])
	at := reader{}
	for i := chunk.Start; i < chunk.End; {
		r, n := decode(text[i:])
		if i > chunk.Start && at.breakBefore(r) && !unicode.IsSpace(r) && f.overlap.holds(whole.units-at.units, whole.chars-at.chars) {
			if isBoundary(text, chunk.Start, i) {
				return i
			}
		}
		at.read(r)
		i += n
	}
	return next
}

// holds reports whether an overlap allows that much.
func (s size) holds(units, chars int) bool {
	return (s.units == 0 || units <= s.units) && (s.chars == 0 || chars <= s.chars)
}

// reader measures text character by character and knows where it may be cut.
type reader struct {
	meter
	chars int
	last  rune
}

func (r *reader) read(c rune) {
	if c < utf8.RuneSelf {
		r.ascii(byte(c))
	} else {
		r.wide(c)
	}
	r.chars++
	r.last = c
}

func (r *reader) skip(text string) {
	r.advance(text)
	r.chars += utf8.RuneCountInString(text)
}

// breakBefore reports whether c begins a word or is white space after one. It
// does not look at grapheme clusters.
func (r *reader) breakBefore(c rune) bool {
	switch {
	case r.last < utf8.RuneSelf && c < utf8.RuneSelf:
		return (asciiKind[c] == spaceRun) != (asciiKind[r.last] == spaceRun)
	case unicode.IsSpace(c) || unicode.IsSpace(r.last):
		return unicode.IsSpace(c) != unicode.IsSpace(r.last)
	case ideographic(r.last) || ideographic(c):
		return !unicode.Is(unicode.Ps, r.last) && !clings(c)
	}
	return false
}

// clings reports whether a line of Chinese or Japanese does not start with c.
func clings(c rune) bool {
	switch c {
	case 'ー', '々', 'ぁ', 'ぃ', 'ぅ', 'ぇ', 'ぉ', 'っ', 'ゃ', 'ゅ', 'ょ', 'ァ', 'ィ', 'ゥ', 'ェ', 'ォ', 'ッ', 'ャ', 'ュ', 'ョ':
		return true
	}
	return unicode.IsPunct(c) && !unicode.Is(unicode.Ps, c) && !unicode.Is(unicode.Pi, c)
}

// cutter finds the longest pieces of text under a cap.
type cutter struct {
	text string
	cap  size
}

// cut returns the end of the piece that starts at start, a cluster boundary
// before end: the last place between words up to which it fits; where a single
// word does not fit, the last cluster boundary in it; where a single grapheme
// cluster does not fit, the last code point.
func (c cutter) cut(start, end int) int {
	var r reader
	sure, best := start, start
	for i := start; i < end; {
		char, n := decode(c.text[i:])
		if r.chars > 0 && r.breakBefore(char) {
			if char < 0x300 && r.last < 0x300 {
				sure = i
			} else {
				best = i // checked for clusters only when it is needed
			}
		}
		r.read(char)
		if r.chars > 1 && !c.cap.holds(r.units, r.chars) {
			return c.place(start, i, max(sure, best), sure)
		}
		i += n
	}
	return end
}

// place chooses between the places found: best may lie inside a cluster, sure
// does not.
func (c cutter) place(start, limit, best, sure int) int {
	if best > sure {
		best = max(sure, lastBoundary(c.text, start, best))
	}
	if best > start {
		return best
	}
	if cut := lastBoundary(c.text, start, limit); cut > start {
		return cut
	}
	return limit
}

func decode(text string) (rune, int) {
	if b := text[0]; b < utf8.RuneSelf {
		return rune(b), 1
	}
	return utf8.DecodeRuneInString(text)
}
