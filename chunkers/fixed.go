package chunkers

import (
	"sort"
	"strings"

	"graphmill/pipeline/corpus"
	"graphmill/pipeline/graph"
	"graphmill/pipeline/prose"
)

// Fixed cuts text into chunks of about equal size, at line breaks, white space or
// between ideographs where it can. It looks at no structure, so a chunk may cross
// headings and sentences. The zero value is not usable; see [New].
type Fixed struct {
	cap     size
	overlap size
}

// Chunk implements [Chunker].
func (f *Fixed) Chunk(document *corpus.Document) ([]Chunk, error) {
	text := document.Text
	c := collector{document: document, outline: newOutline(document)}
	cutter := cutter{text: text, cap: f.cap, keepWords: f.overlap != size{}}
	rest := prose.Trim(text, graph.Range{Start: 0, End: len(text)})
	start := rest.Start
	for covered := start; covered < rest.End; {
		cut := f.atBreak(text, covered, start, cutter.cut(start, rest.End), rest.End)
		if cut <= covered && start < covered {
			start = covered // the overlap left no room for anything new
			continue
		}
		chunk := prose.Trim(text, graph.Range{Start: start, End: cut})
		var measured meter
		measured.advance(text[chunk.Start:chunk.End])
		c.add(chunk, measured)
		covered = prose.Trim(text, graph.Range{Start: cut, End: rest.End}).Start
		start = covered
		if covered < rest.End {
			start = f.overlapStart(&cutter, chunk, covered)
		}
	}
	return c.chunks, nil
}

// atBreak moves a cut back to the last empty line in the chunk's last quarter,
// else to the last line break there. What stands at such a place is cut there
// whatever stands before it, so that after an edit the chunks soon are the old
// ones again; cut by size alone, all that follow would differ.
func (f *Fixed) atBreak(text string, covered, start, cut, end int) int {
	if cut >= end {
		return cut
	}
	from := max(covered, cut-(cut-start)/4)
	if from >= cut {
		return cut
	}
	for _, mark := range []string{"\n\n", "\n"} {
		if at := strings.LastIndex(text[from:cut], mark); at > 0 {
			return from + at + len(mark)
		}
	}
	return cut
}

// overlapStart returns where the chunk after the given one, the last cut,
// starts: at its first word from which no more than the overlap is repeated, or
// at next.
func (f *Fixed) overlapStart(c *cutter, chunk graph.Range, next int) int {
	words := c.words
	last := sort.Search(len(words), func(i int) bool { return words[i].start >= chunk.End })
	words = words[:last]
	if len(words) == 0 {
		return next
	}
	whole := words[len(words)-1] // and what comes after it
	tail := reader{}
	tail.skip(c.text[whole.start:chunk.End])
	whole.units += tail.units
	whole.chars += tail.chars
	first := sort.Search(len(words), func(i int) bool {
		return f.overlap.holds(whole.units-words[i].units, whole.chars-words[i].chars)
	})
	for _, word := range words[first:] {
		if prose.IsBoundary(c.text, chunk.Start, word.start) {
			return word.start
		}
	}
	return next
}
