// Package plaintext parses text without markup. The text is kept as it stands;
// only its structure is read: paragraphs, lists, and headings where they are
// plain enough not to be guessed.
package plaintext

import (
	"context"
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
	document := FromText(file, text)
	document.Notes = notes
	return document, nil
}

// FromText reads the structure of decoded text. The document's format is Text.
func FromText(file corpus.File, text string) *corpus.Document {
	groups := splitGroups(text)
	blocks := make([]corpus.Block, 0, len(groups))
	for i := range groups {
		var next group
		if i+1 < len(groups) {
			next = groups[i+1]
		}
		blocks = appendBlocks(blocks, text, groups[i], next)
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

// appendBlocks cuts a group into headings, list items and paragraphs.
func appendBlocks(blocks []corpus.Block, text string, g, next group) []corpus.Block {
	whole := true
	for len(g) > 0 {
		n, depth := headingAt(text, g, next, whole)
		if n == 0 {
			break
		}
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

// maxPageLines is the average above which form feeds separate something else
// than printed pages.
const maxPageLines = 100

// pagesOf takes form feeds for page breaks when what they separate is as long
// as pages are.
func pagesOf(text string) []corpus.Page {
	body := strings.TrimRight(text, "\f\n\t ")
	breaks := strings.Count(body, "\f")
	if breaks == 0 || strings.Count(body, "\n") > maxPageLines*(breaks+1) {
		return nil
	}
	pages := make([]corpus.Page, 0, breaks+1)
	for at := 0; at <= len(body); {
		end := strings.IndexByte(body[at:], '\f')
		if end < 0 {
			end = len(text) - at
		}
		pages = append(pages, corpus.Page{Number: len(pages) + 1, Range: graph.Range{Start: at, End: at + end}})
		at += end + 1
	}
	return pages
}

func titleOf(document *corpus.Document, groups []group) string {
	if title := firstOf(document.Metadata, "title"); title != "" {
		return title
	}
	if len(groups) > 0 && len(groups[0]) == 1 {
		first := groups[0][0].in(document.Text)
		if utf8.RuneCountInString(first) <= maxHeading && hasLetter(first) && !strings.Contains(first, ": ") {
			return strings.Join(strings.Fields(first), " ")
		}
	}
	if len(document.Sections) > 0 {
		return document.Sections[0].Title
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
