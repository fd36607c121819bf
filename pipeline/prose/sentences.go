// Package prose knows where sentences end and where a text may be divided
// between characters. It reads any language that its rules know, needs no model
// and takes time linear in the text's length.
package prose

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"graphmill/pipeline/graph"
)

// Sentences divides text into sentences: ranges in order that do not overlap,
// hold every non-space character and neither start nor end with white space.
// A line break inside a paragraph is a space; a blank line or a page break ends
// a sentence; so does the end of a line that looks like a Markdown heading,
// list item or table row.
func Sentences(text string) []graph.Range {
	var found []graph.Range
	EachSentence(text, graph.Range{Start: 0, End: len(text)}, func(r graph.Range) { found = append(found, r) })
	return found
}

// stopBytes are the first bytes of what can end a sentence.
var stopBytes = stopByteTable()

func stopByteTable() (table [256]bool) {
	for _, stop := range ".!?\n\f" + wideStops + spacedStops + "…．\u2029" {
		table[string(stop)[0]] = true
	}
	return table
}

const (
	// wideStops end a sentence whatever follows.
	wideStops = "。！？｡।॥።፧។။"
	// spacedStops want white space behind them, as ! and ? do.
	spacedStops = "؟۔‼⁇⁈⁉։"
)

// scanner walks over one range of text.
type scanner struct {
	text  string
	end   int
	start int  // of the sentence being read
	list  bool // the paragraph began with, or has become, a list
	yield func(graph.Range)
}

// EachSentence yields the sentences of one range of text, see [Sentences].
func EachSentence(text string, r graph.Range, yield func(graph.Range)) {
	s := scanner{text: text, end: r.End, start: r.Start, yield: yield}
	s.list = listMarker(text[r.Start:r.End])
	for i := r.Start; i < r.End; {
		if !stopBytes[text[i]] {
			i++
			continue
		}
		c, n := decode(text[i:r.End])
		switch {
		case c == '\n':
			i = s.lineEnd(i)
		case c == '\f' || c == '\u2029':
			s.cut(i, i+n)
			i += n
		case isStop(c):
			i = s.stop(i)
		default:
			i += n
		}
	}
	s.cut(r.End, r.End)
}

// cut yields the sentence that ends at end and starts the next at next.
func (s *scanner) cut(end, next int) {
	if r := Trim(s.text, graph.Range{Start: s.start, End: end}); r.Len() > 0 {
		s.yield(r)
	}
	s.start = next
}

// lineEnd handles the line break at i and returns where to read on.
func (s *scanner) lineEnd(i int) int {
	next := i + 1
	for next < s.end && (s.text[next] == ' ' || s.text[next] == '\t' || s.text[next] == '\r') {
		next++
	}
	rest := s.text[next:s.end]
	line := strings.TrimLeft(s.text[s.lineStart(i):i], " \t")
	switch {
	case rest == "" || rest[0] == '\n':
		s.cut(i, i+1)
		for next < s.end && asciiSpace(s.text[next]) {
			next++
		}
		s.list = listMarker(s.text[next:s.end])
	case headingLine(line) || tableLine(line) || headingLine(rest) || tableLine(rest):
		s.cut(i, i+1)
		s.list = false
	case listMarker(rest) && (s.list || endsClause(line)):
		s.cut(i, i+1)
		s.list = true
	}
	return next
}

// lineStart returns the start of the line that ends at i, or of the sentence if
// that comes later. Only its first and last characters matter, so a long line
// is not read again.
func (s *scanner) lineStart(i int) int {
	return s.start + strings.LastIndexByte(s.text[s.start:i], '\n') + 1
}

// stop handles the run of stops at i and returns where to read on.
func (s *scanner) stop(i int) int {
	run := readStops(s.text[i:s.end])
	at := i + run.length
	after := at + closers(s.text[at:s.end])
	follow := lookAhead(s.text[after:s.end])
	if !follow.spaced && !follow.end && !run.wide && !(run.period && s.amongIdeographs(i, after)) {
		return at
	}
	if !follow.end && i-s.start < maxWord && strings.IndexFunc(s.text[s.start:i], saysSomething) < 0 {
		return at // "!! Note" is no sentence of its own
	}
	if follow.end || s.ends(i, run, after, follow) {
		if after < s.end && !follow.spaced && !IsBoundary(s.text, s.start, after) {
			return at
		}
		s.cut(after, after)
		return after
	}
	return at
}

func saysSomething(c rune) bool {
	return unicode.IsLetter(c) || unicode.IsNumber(c) || unicode.Is(unicode.So, c)
}

// ends decides about a run of stops at i.
func (s *scanner) ends(i int, run stops, after int, follow following) bool {
	switch {
	case run.wide:
		return !quoted(s.text[i:after], s.text[after:s.end])
	case run.period && !follow.spaced:
		return true // a full stop among ideographs
	case run.ellipsis:
		return follow.class == capital || follow.class == caseless
	case run.period:
		return s.periodEnds(i, follow)
	}
	return follow.class != small || follow.camel
}

// amongIdeographs reports whether a plain full stop stands between ideographs,
// where no space follows it.
func (s *scanner) amongIdeographs(i, after int) bool {
	before, _ := utf8.DecodeLastRuneInString(s.text[s.start:i])
	next, _ := utf8.DecodeRuneInString(s.text[after:s.end])
	return Ideographic(before) && Ideographic(next) && !('０' <= next && next <= '９')
}

// quoted reports whether a closed quotation goes on: 「…。」と言った.
func quoted(closed, rest string) bool {
	last, _ := utf8.DecodeLastRuneInString(closed)
	if !strings.ContainsRune("」』”）", last) {
		return false
	}
	return strings.HasPrefix(rest, "と") || strings.HasPrefix(rest, "って") || strings.HasPrefix(rest, "の") || strings.HasPrefix(rest, "，") || strings.HasPrefix(rest, "、")
}

// headingLine reports whether a line is an ATX heading.
func headingLine(line string) bool {
	level := 0
	for level < len(line) && line[level] == '#' {
		level++
	}
	return level > 0 && level <= 6 && level < len(line) && line[level] == ' '
}

func tableLine(line string) bool { return strings.HasPrefix(line, "|") }

// listMarker reports whether text starts with a bullet or a number of at most
// two digits and a space.
func listMarker(text string) bool {
	text = strings.TrimLeft(text[:min(len(text), 64)], " \t")
	digits := 0
	for digits < len(text) && digits < 3 && '0' <= text[digits] && text[digits] <= '9' {
		digits++
	}
	switch {
	case digits == 3:
		return false
	case digits > 0:
		return len(text) > digits+1 && (text[digits] == '.' || text[digits] == ')') && text[digits+1] == ' '
	}
	for _, bullet := range []string{"- ", "* ", "+ ", "• ", "‣ ", "◦ "} {
		if strings.HasPrefix(text, bullet) {
			return true
		}
	}
	return false
}

// endsClause reports whether a list may follow the line.
func endsClause(line string) bool {
	line = strings.TrimRight(line, " \t")
	if line == "" {
		return true
	}
	last, _ := utf8.DecodeLastRuneInString(line)
	return strings.ContainsRune(".:;!?。：；！？…", last)
}

func isStop(c rune) bool {
	return c == '.' || c == '!' || c == '?' || c == '…' || c == '．' || c > 0x7F && (strings.ContainsRune(wideStops, c) || strings.ContainsRune(spacedStops, c))
}

func decode(text string) (rune, int) {
	if b := text[0]; b < utf8.RuneSelf {
		return rune(b), 1
	}
	return utf8.DecodeRuneInString(text)
}

// Ideographic reports whether r is written without spaces between words and
// counts as one.
func Ideographic(r rune) bool {
	if r < 0x2E80 {
		return false
	}
	return 0x4E00 <= r && r <= 0x9FFF || 0x3041 <= r && r <= 0x3096 || 0x309B <= r && r <= 0x30FF ||
		r <= 0x2FDF || 0x3001 <= r && r <= 0x3029 || 0x3031 <= r && r <= 0x303C ||
		0x3105 <= r && r <= 0x312F || 0x3400 <= r && r <= 0x4DBF ||
		0xF900 <= r && r <= 0xFAFF || 0xFF01 <= r && r <= 0xFF9D || 0x20000 <= r && r <= 0x323AF
}
