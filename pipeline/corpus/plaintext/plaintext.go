// Package plaintext parses text without markup. The text is kept as it stands,
// but for the running headers and footers of text laid out in pages; only its
// structure is read: paragraphs, lists, and headings where they are plain enough
// not to be guessed.
package plaintext

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"graphmill/pipeline/corpus"
	"graphmill/pipeline/graph"
)

// Parser parses plain text. The zero value is ready.
type Parser struct{}

// Parse implements [corpus.Parser].
func (Parser) Parse(ctx context.Context, file corpus.File, data []byte, limits corpus.Limits) (*corpus.Document, error) {
	text, notes, err := corpus.Decode(file, data, limits)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	text, pages, removed := unpaginate(text)
	if removed > 0 {
		notes = append(notes, fmt.Sprintf("%d running headers and footers left out", removed))
	}
	document := FromText(file, text)
	document.Pages = pages
	document.Notes = notes
	return document, nil
}

// FromText reads the structure of decoded text. The document's format is Text.
func FromText(file corpus.File, text string) *corpus.Document {
	groups := splitGroups(text)
	blocks := make([]corpus.Block, 0, len(groups))
	s := structure{text: text, hanging: hangingHeadings(text, groups)}
	for i := range groups {
		var next group
		if i+1 < len(groups) {
			next = groups[i+1]
		}
		blocks = s.appendBlocks(blocks, groups[i], next)
	}
	document := &corpus.Document{
		File: file, Format: corpus.Text, Text: text, Blocks: blocks,
		Sections: corpus.SectionsOf(text, blocks), Pages: pagesOf(text),
	}
	document.Metadata = headerFields(text)
	document.Title = titleOf(document, groups)
	document.Date = corpus.NormalDate(firstOf(document.Metadata, "date", "release date"))
	return document
}

// group is the lines between two blank ones, each from its first character
// that is not white space to its last.
type group []line

type line struct {
	graph.Range
	indent int
}

func (l line) in(text string) string { return text[l.Start:l.End] }

func splitGroups(text string) []group {
	var groups []group
	var current group
	flush := func() {
		if len(current) > 0 {
			groups = append(groups, current)
			current = nil
		}
	}
	for at := 0; at < len(text); {
		end := strings.IndexAny(text[at:], "\n\f")
		if end < 0 {
			end = len(text) - at
		}
		raw := text[at : at+end]
		content := strings.TrimSpace(raw)
		if content == "" {
			flush()
		} else {
			start := at + strings.Index(raw, content)
			current = append(current, line{graph.Range{Start: start, End: start + len(content)}, start - at})
		}
		at += end
		if at < len(text) && text[at] == '\f' {
			flush()
		}
		at++
	}
	flush()
	return groups
}

// maxHeading is the longest line, in characters, that is taken for a heading.
const maxHeading = 100

// structure is what is known of a text as a whole while its groups are read.
type structure struct {
	text    string
	hanging bool // lines at the left edge, above indented text, are headings
	titled  bool // a title was drawn with lines of "=" and the like
	deeper  int  // how much deeper numbered headings are than their numbers say
}

// settle is the depth of a heading among those before it: where drawn headings
// have numbers, those that have numbers alone go by them.
func (s *structure) settle(heading string, drawn bool, depth int) int {
	number := strings.TrimRight(headingNumber.FindString(heading), " .)")
	switch {
	case drawn && number != "":
		s.deeper = max(0, depth-1-strings.Count(number, "."))
	case drawn:
		s.titled = s.titled || depth == 1
	case number != "":
		depth += s.deeper
	}
	return depth
}

// appendBlocks cuts a group into headings, list items and paragraphs.
func (s *structure) appendBlocks(blocks []corpus.Block, g, next group) []corpus.Block {
	text, whole := s.text, true
	for len(g) > 0 {
		n, depth := headingAt(text, g, next, whole)
		if n == 0 && whole && s.hanging && hangs(text, g) && len(next) > 0 && next[0].indent > 0 {
			if n, depth = 1, 1; s.titled {
				depth = 2
			}
		}
		if n == 0 {
			break
		}
		depth = s.settle(g[0].in(text), n > 1, depth)
		blocks = append(blocks, corpus.Block{Kind: corpus.Heading, Depth: depth, Range: graph.Range{Start: g[0].Start, End: g[n-1].End}})
		g = g[n:]
		whole = false
	}
	for len(g) > 0 {
		n, kind, depth := itemAt(text, g)
		blocks = append(blocks, corpus.Block{Kind: kind, Depth: depth, Range: graph.Range{Start: g[0].Start, End: g[n-1].End}})
		g = g[n:]
	}
	return blocks
}

// itemAt returns how many lines the list item or paragraph at the start of g
// has. A list may follow its introduction without a blank line when it has two
// items or more.
func itemAt(text string, g group) (n int, kind corpus.BlockKind, depth int) {
	first := bullet(g[0].in(text))
	bullets := 0
	for i := 1; i < len(g); i++ {
		if !bullet(g[i].in(text)) {
			continue
		}
		if first {
			return i, corpus.ListItem, g[0].indent / 4
		}
		if bullets++; n == 0 {
			n = i
		}
	}
	if first {
		return len(g), corpus.ListItem, g[0].indent / 4
	}
	if bullets >= 2 {
		return n, corpus.Paragraph, 0
	}
	return len(g), corpus.Paragraph, 0
}

// bullet reports whether a line starts with a list marker: a bullet, or a short
// number with a dot or a parenthesis.
func bullet(s string) bool {
	for _, mark := range []string{"- ", "* ", "+ ", "• ", "– ", "◦ ", "‣ "} {
		if strings.HasPrefix(s, mark) {
			return true
		}
	}
	digits := 0
	for digits < len(s) && s[digits] >= '0' && s[digits] <= '9' {
		digits++
	}
	return digits > 0 && digits <= 3 && len(s) > digits+1 && (s[digits] == '.' || s[digits] == ')') && s[digits+1] == ' '
}

func titleOf(document *corpus.Document, groups []group) string {
	if title := firstOf(document.Metadata, "title"); title != "" {
		return title
	}
	if len(groups) > 0 && len(groups[0]) == 1 {
		first := groups[0][0].in(document.Text)
		// A manual page has its name at both ends of its first line.
		if m := manualPage.FindStringSubmatch(short(first)); m != nil && strings.EqualFold(m[1], m[2]) {
			return m[1]
		}
		if utf8.RuneCountInString(first) <= maxHeading && hasLetter(first) && !strings.Contains(first, ": ") {
			return strings.Join(strings.Fields(first), " ")
		}
	}
	if title := centredTitle(document, groups); title != "" {
		return title
	}
	if len(document.Sections) > 0 {
		return document.Sections[0].Title
	}
	return ""
}

var manualPage = regexp.MustCompile(`^(\S{1,60}\(\w{1,5}\))\s{2,}\S.*\s{2,}(\S{1,60}\(\w{1,5}\))$`)

// centre is the middle of the lines of text that is laid out for 72 columns, as
// RFCs are, and nearCentre how far from it a centred line's may be.
const (
	centre     = 36
	nearCentre = 3
)

// centredTitle is the first group before any heading whose lines stand in the
// middle.
func centredTitle(document *corpus.Document, groups []group) string {
	if len(document.Sections) == 0 {
		return ""
	}
	for _, g := range groups {
		if g[0].Start >= document.Sections[0].Range.Start {
			break
		}
		var lines []string
		for _, l := range g {
			line := l.in(document.Text)
			middle := l.indent + utf8.RuneCountInString(line)/2
			if l.indent < 2*nearCentre || middle < centre-nearCentre || middle > centre+nearCentre || !hasLetter(line) {
				lines = nil
				break
			}
			if strings.Contains(line, " ") { // and no file's name
				lines = append(lines, line)
			}
		}
		if title := strings.Join(strings.Fields(strings.Join(lines, " ")), " "); title != "" && utf8.RuneCountInString(title) <= 2*maxHeading {
			return title
		}
	}
	return ""
}

func firstOf(metadata map[string]string, keys ...string) string {
	for _, key := range keys {
		if metadata[key] != "" {
			return metadata[key]
		}
	}
	return ""
}
