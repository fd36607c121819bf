package corpus

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"graphmill/pipeline/graph"
)

// Builder puts a document's text together from blocks, so that the blocks cover
// it. The zero value is ready; Limit bounds the text.
type Builder struct {
	// Limit is the largest number of bytes; blocks that would pass it are left
	// out and Full reports so. 0 is DefaultMaxTextBytes.
	Limit  int64
	text   strings.Builder
	blocks []Block
	full   bool
}

// Add appends a block. White space around its text is dropped, but for the
// indentation of the first line of code; a block without text is not added.
// Blocks stand a blank line apart, list items and their like a line; prefix is
// what stands before the block on its line: white space.
func (b *Builder) Add(kind BlockKind, depth int, text string) {
	b.AddIndented(kind, depth, "", text)
}

// AddIndented is Add with white space before the block.
func (b *Builder) AddIndented(kind BlockKind, depth int, indent, text string) {
	text = trimBlock(kind, text)
	if text == "" {
		return
	}
	limit := b.Limit
	if limit == 0 {
		limit = DefaultMaxTextBytes
	}
	if b.full || int64(b.text.Len()+len(text)+len(indent)+2) > limit {
		b.full = true
		return
	}
	if n := len(b.blocks); n > 0 {
		b.text.WriteByte('\n')
		if kind != ListItem || b.blocks[n-1].Kind != ListItem {
			b.text.WriteByte('\n')
		}
	}
	b.text.WriteString(indent)
	start := b.text.Len()
	b.text.WriteString(text)
	b.blocks = append(b.blocks, Block{Kind: kind, Depth: depth, Range: graph.Range{Start: start, End: b.text.Len()}})
}

// AddTable appends a table of one line a row, of which the first head ones name
// the columns.
func (b *Builder) AddTable(head int, rows []string) {
	n := len(b.blocks)
	b.Add(Table, 0, strings.Join(rows, "\n"))
	if len(b.blocks) == n {
		return
	}
	block := &b.blocks[n]
	text := b.text.String()[block.Range.Start:block.Range.End]
	end := 0
	for ; head > 0; head-- {
		line := strings.IndexByte(text[end:], '\n')
		if line < 0 {
			return // all of it names columns, and there is nothing in them
		}
		end += line + 1
	}
	if end > 0 {
		block.Head = graph.Range{Start: block.Range.Start, End: block.Range.Start + end - 1}
	}
}

// Len is the number of blocks so far.
func (b *Builder) Len() int { return len(b.blocks) }

// Full reports whether a block was left out because of Limit.
func (b *Builder) Full() bool { return b.full }

// Document returns what was added as a document of the file, with its sections.
// It is ErrTooLarge when the builder is full.
func (b *Builder) Document(file File, format Format) (*Document, error) {
	if b.full {
		return nil, TextTooLarge(file.Path, Limits{MaxTextBytes: b.Limit})
	}
	text := b.text.String()
	return &Document{File: file, Format: format, Text: text, Blocks: b.blocks, Sections: SectionsOf(text, b.blocks)}, nil
}

func trimBlock(kind BlockKind, text string) string {
	text = dropControls(text)
	trimmed := strings.TrimSpace(text)
	if trimmed == "" || kind != Code {
		return trimmed
	}
	start := strings.Index(text, trimmed)
	lineStart := strings.LastIndexByte(text[:start], '\n') + 1
	return text[lineStart : start+len(trimmed)]
}

// dropControls removes what Decode removes, which character references in
// markup can bring back, and page breaks, which are no part of a block. Spaces
// that only keep a line from breaking become spaces, and what only says where a
// word may break goes: nobody sees them, and names that hold them are not found.
func dropControls(text string) string {
	if utf8.ValidString(text) && strings.IndexFunc(text, unseen) < 0 {
		return text
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\r' || r == '\f':
			return '\n'
		case r == '\u00a0' || r == '\u202f' || r == '\u2007':
			return ' '
		case unseen(r):
			return -1
		}
		return r
	}, text)
}

func unseen(r rune) bool {
	switch r {
	case '\u00a0', '\u202f', '\u2007', '\u00ad', '\u200b', '\u2060', '\ufeff':
		return true
	}
	return isControl(r)
}

func isControl(r rune) bool { return r < 0x20 && r != '\t' && r != '\n' || r == 0x7f }

// Spaceless reports whether a character is of a script that is written without
// spaces between words, or a sign used with it: a line break between two such
// characters stands for nothing.
func Spaceless(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana) || r >= 0x3000 && r <= 0x303f || r >= 0xff00 && r <= 0xffef
}
