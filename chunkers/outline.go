package chunkers

import (
	"strings"
	"unicode/utf8"

	"graphmill/pipeline/corpus"
	"graphmill/pipeline/graph"
	"graphmill/pipeline/prose"
)

const (
	trailSeparator = " › "
	// maxTrailTitle bounds, in characters, what one heading adds to a trail, so that
	// a heading of a megabyte does not follow every chunk around.
	maxTrailTitle = 120
	maxTrailDepth = 8
	// maxColumns bounds, in characters, what a table's head adds to a trail.
	maxColumns = 240
)

// outline answers which section a place is in. Places must be asked for in
// rising order.
type outline struct {
	title    string
	sections []corpus.Section
	trails   []string
	next     int // the first section that starts after the last place asked for
}

// newOutline uses the document's sections if they nest as they should, and
// none otherwise.
func newOutline(document *corpus.Document) *outline {
	o := &outline{title: trailTitle(document.Title), sections: document.Sections}
	for i := range o.sections {
		if !o.nests(i) || o.sections[i].Range.End > len(document.Text) {
			o.sections = nil
			break
		}
	}
	o.trails = make([]string, len(o.sections))
	return o
}

// nests reports whether section i lies inside its parent and after everything
// before it that is not around it.
func (o *outline) nests(i int) bool {
	r, parent := o.sections[i].Range, o.parent(i)
	if r.Start < 0 || parent >= i || i > 0 && o.sections[i-1].Range.Start >= r.Start {
		return false
	}
	if parent >= 0 && !o.sections[parent].Range.Contains(r) {
		return false
	}
	before := i - 1
	for before >= 0 && before != parent && o.sections[before].Range.End <= r.Start {
		before = o.parent(before)
	}
	return before == parent
}

// at returns the innermost section that holds the byte at place, or -1.
func (o *outline) at(place int) int {
	for o.next < len(o.sections) && o.sections[o.next].Range.Start <= place {
		o.next++
	}
	section := o.next - 1
	for section >= 0 && o.sections[section].Range.End <= place {
		section = o.parent(section)
	}
	return section
}

func (o *outline) parent(section int) int {
	return max(-1, o.sections[section].Parent)
}

// around returns the innermost section that holds all of r, starting the search
// at the section that holds its first byte.
func (o *outline) around(section int, r graph.Range) int {
	for section >= 0 && !o.sections[section].Range.Contains(r) {
		section = o.parent(section)
	}
	return section
}

// trail returns the titles from the document's down to the section's.
func (o *outline) trail(section int) string {
	if section < 0 {
		return o.title
	}
	if o.trails[section] == "" {
		o.trails[section] = o.joinTrail(section)
	}
	return o.trails[section]
}

func (o *outline) joinTrail(section int) string {
	var titles []string
	for at := section; at >= 0 && len(titles) < maxTrailDepth; at = o.parent(at) {
		if title := trailTitle(o.sections[at].Title); title != "" {
			titles = append(titles, title)
		}
	}
	if o.title != "" && (len(titles) == 0 || titles[len(titles)-1] != o.title) {
		titles = append(titles, o.title)
	}
	for i, j := 0, len(titles)-1; i < j; i, j = i+1, j-1 {
		titles[i], titles[j] = titles[j], titles[i]
	}
	return strings.Join(titles, trailSeparator)
}

func trailTitle(title string) string { return onOneLine(title, maxTrailTitle) }

// onOneLine is a text on one line and of at most so many characters.
func onOneLine(text string, most int) string {
	if len(text) > 16*most {
		text = text[:prose.LastBoundary(text, 0, 16*most)]
	}
	text = strings.Join(strings.Fields(text), " ")
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	cut := cutter{text: text, cap: size{chars: most}}
	return text[:cut.cut(0, len(text))] + "…"
}

// collector turns ranges into chunks, which come in rising order.
type collector struct {
	document *corpus.Document
	outline  *outline
	chunks   []Chunk
	passed   int // how many of the document's blocks end before the last chunk
}

// add appends the chunk that covers r, which measured has read, unless it is
// empty.
func (c *collector) add(r graph.Range, measured meter) {
	if r.Len() <= 0 {
		return
	}
	text := c.document.Text[r.Start:r.End]
	section := c.outline.at(r.Start)
	c.chunks = append(c.chunks, Chunk{
		Index:   len(c.chunks),
		Range:   r,
		Text:    text,
		Tokens:  measured.tokens(),
		Header:  c.header(c.outline.around(section, r), r.Start),
		Section: section,
	})
}

// header is the trail of what a chunk stands under. To one that begins among a
// table's rows it adds the names of the columns, which stand in an earlier chunk.
func (c *collector) header(section, start int) string {
	trail := c.outline.trail(section)
	blocks := c.document.Blocks
	for c.passed < len(blocks) && blocks[c.passed].Range.End <= start {
		c.passed++
	}
	if c.passed == len(blocks) {
		return trail
	}
	head := blocks[c.passed].Head
	if head.Len() == 0 || head.End > start || head.End > len(c.document.Text) {
		return trail
	}
	columns := onOneLine(c.document.Text[head.Start:head.End], maxColumns)
	if trail == "" {
		return columns
	}
	return trail + trailSeparator + columns
}
