package pdf

import (
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"graphmill/pipeline/corpus"
)

// paragraph is a block before it is text: lines that belong together.
type paragraph struct {
	kind  corpus.BlockKind
	lines []placedLine
	depth int // headings
}

type placedLine struct {
	line
	page int // index into the pages
}

func (p *paragraph) first() placedLine { return p.lines[0] }
func (p *paragraph) last() placedLine  { return p.lines[len(p.lines)-1] }

// listMark is what begins an item of a list.
var listMark = regexp.MustCompile(`^(?:[•◦▪▫‣⁃·●○■□➢✓\-–*] |[•◦▪▫‣⁃●○■□]|\(?(?:\d{1,3}|[a-zA-Z]|[ivx]{1,5})[.)] )`)

// leader is a line of a table of contents: dots that lead to a page number.
var leader = regexp.MustCompile(`(?:\s?[.…·]){5,}\s*[\dA-Za-z-]{0,8}$`)

// paragraphsOf cuts a region into paragraphs.
func paragraphsOf(r region, page int) []paragraph {
	if len(r.lines) == 0 {
		return nil
	}
	edge := edgesOf(r)
	leading := leadingOf(r)
	var paragraphs []paragraph
	for i, after := 0, 0; i < len(r.lines); i++ {
		l := r.lines[i]
		placed := placedLine{line: l, page: page}
		if n, rows := tableAt(r.lines[i:]); n > 0 {
			table := paragraph{kind: corpus.Table}
			for _, row := range rows {
				table.lines = append(table.lines, placedLine{line: row, page: page})
			}
			paragraphs = append(paragraphs, table)
			i += n - 1
			after = i + 1
			continue
		}
		if i > after && !begins(r.lines, i, edge, leading, len(paragraphs[len(paragraphs)-1].lines)) {
			current := &paragraphs[len(paragraphs)-1]
			current.lines = append(current.lines, placed)
			continue
		}
		paragraphs = append(paragraphs, paragraph{kind: kindOf(l), lines: []placedLine{placed}, depth: l.heading})
	}
	return paragraphs
}

func kindOf(l line) corpus.BlockKind {
	switch {
	case l.heading > 0:
		return corpus.Heading
	case l.mono && utf8.RuneCountInString(l.text) > 1:
		return corpus.Code
	case listMark.MatchString(l.text), leader.MatchString(l.text):
		return corpus.ListItem
	}
	return corpus.Paragraph
}

// begins reports whether lines[i] begins a paragraph; have is the number of
// lines in the one before it.
func begins(lines []line, i int, edge box, leading float64, have int) bool {
	before, l := lines[i-1], lines[i]
	if l.headingID != before.headingID {
		return true
	}
	gap := before.baseline - l.baseline
	if l.headingID != 0 || before.hyphen && gap > 0 && gap < 2*l.size {
		return false
	}
	if math.Abs(l.size-before.size) > 0.08*max(l.size, before.size) && !insideLine(before, l) {
		return true
	}
	if l.bold != before.bold && have == 1 || l.mono != before.mono {
		return true
	}
	if leader.MatchString(l.text) || leader.MatchString(before.text) {
		return true
	}
	if gap > 1.3*leading+0.5 || gap < 0 {
		return true
	}
	if l.mono {
		return false
	}
	if listMark.MatchString(l.text) && !endsInHyphen(before) && startsItem(lines, i, have) {
		return true
	}
	first := lines[i-have]
	if listMark.MatchString(first.text) && l.left > first.left+0.3*l.size && (have == 1 || l.left < before.left+0.8*l.size) {
		return false // under the text of an item, whose mark hangs out
	}
	if l.left > edge.left+0.8*l.size && before.right < edge.right-shortLine*edge.width() {
		return true // an indented line after one that ended early
	}
	em := l.size
	if l.left > before.left+0.8*em && before.left < edge.left+0.8*em {
		// Indented: a new paragraph, unless the next line is indented too, as
		// under a hanging first line.
		return first.left > edge.left+0.8*em || i+1 >= len(lines) || lines[i+1].left < l.left-0.5*em
	}
	if l.left < before.left-0.8*em && have > 1 {
		return true
	}
	return before.right < edge.right-shortLine*edge.width() && endsSentence(before.text)
}

// shortLine is the part of a region's width that a line falls short of when it
// ends a paragraph.
const shortLine = 0.25

// insideLine reports whether a line of another size is a fraction or an index
// that belongs to the line above.
func insideLine(before, l line) bool {
	return len(l.text) < 4 && before.baseline-l.baseline < 0.6*before.size
}

// startsItem tells an item from a line of text that happens to begin like one
// ("… in the year\n1994. After that …"): items stand at a paragraph's left edge
// or hang out of it.
func startsItem(lines []line, i, have int) bool {
	before, l := lines[i-1], lines[i]
	if strings.ContainsAny(l.text[:1], "-*") && have > 1 && math.Abs(l.left-before.left) < 0.3*l.size {
		return endsSentence(before.text) || listMark.MatchString(lines[i-have].text)
	}
	if unicode.IsDigit(rune(l.text[0])) || unicode.IsLetter(rune(l.text[0])) {
		return listMark.MatchString(lines[i-have].text) || endsSentence(before.text) || math.Abs(l.left-before.left) > 0.3*l.size
	}
	return true
}

func endsSentence(s string) bool {
	s = strings.TrimRight(s, `"'”’»)]`)
	r, _ := utf8.DecodeLastRuneInString(s)
	return strings.ContainsRune(".?!:。？！：", r)
}

func endsInHyphen(l line) bool { return l.hyphen || strings.HasSuffix(l.text, "-") }

func edgesOf(r region) box {
	b := r.lines[0].box
	for _, l := range r.lines {
		b = b.union(l.box)
	}
	return b
}

// leadingOf is the usual distance of two lines in a region.
func leadingOf(r region) float64 {
	var gaps []float64
	for i := 1; i < len(r.lines); i++ {
		a, b := r.lines[i-1], r.lines[i]
		if gap := a.baseline - b.baseline; gap > 0.7*b.size && gap < 2.2*b.size {
			gaps = append(gaps, gap)
		}
	}
	if len(gaps) == 0 {
		return 1.2 * r.lines[0].size
	}
	slices.Sort(gaps)
	// Below the median: gaps between paragraphs must not set the measure.
	return gaps[len(gaps)*2/5]
}

// continues reports whether b, first on its page or column, goes on with a.
func continues(a, b *paragraph) bool {
	if a.kind != corpus.Paragraph && a.kind != corpus.ListItem || b.kind != corpus.Paragraph {
		return false
	}
	last, first := a.last(), b.first()
	if math.Abs(last.size-first.size) > 0.05*max(last.size, first.size) || last.bold != first.bold {
		return false
	}
	if endsInHyphen(last.line) {
		return true
	}
	if strings.HasSuffix(last.text, ",") {
		return true
	}
	r, _ := utf8.DecodeRuneInString(first.text)
	return !endsSentence(last.text) && unicode.IsLower(r)
}
