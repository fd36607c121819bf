package assemble

import (
	"sort"
	"strings"

	"graphmill/pipeline/graph"
)

// chunks builds the chunk rows, in document order.
func (b *builder) chunks() []graph.Chunk {
	lines := newLines(b.text)
	out := make([]graph.Chunk, len(b.in.Chunks))
	for i, c := range b.in.Chunks {
		span := b.offsets.Span(c.Range)
		first, last := b.pages(c.Range)
		out[i] = graph.Chunk{
			ID: graph.NewChunkID(b.in.ID, span, c.Text), Index: i, Text: c.Text, Span: span,
			FirstPage: first, LastPage: last, FirstLine: lines.at(c.Range.Start), LastLine: lines.at(c.Range.End - 1),
			TokenCount: c.Tokens, Header: c.Header, Context: c.Context, ContentKey: ContentKey(b.in.ContentKeySeed, c.Lead(), c.Text),
		}
	}
	return out
}

// pages returns the numbers of the first and last page that r touches; 0 and 0
// in a document without pages.
func (b *builder) pages(r graph.Range) (first, last int) {
	pages := b.in.Document.Pages
	if len(pages) == 0 {
		return 0, 0
	}
	// The first page that ends after the start, and the last that starts
	// before the end; text between two pages belongs to the one before.
	from := sort.Search(len(pages), func(i int) bool { return pages[i].Range.End > r.Start })
	to := sort.Search(len(pages), func(i int) bool { return pages[i].Range.Start >= r.End }) - 1
	from = min(from, len(pages)-1)
	to = max(to, from)
	return pages[from].Number, pages[to].Number
}

// lines finds line numbers.
type lines struct{ ends []int }

func newLines(text string) lines {
	l := lines{ends: make([]int, 0, strings.Count(text, "\n"))}
	for i := 0; ; {
		at := strings.IndexByte(text[i:], '\n')
		if at < 0 {
			return l
		}
		l.ends = append(l.ends, i+at)
		i += at + 1
	}
}

// at is the number of the line that holds a byte, from 1.
func (l lines) at(offset int) int { return sort.SearchInts(l.ends, offset) + 1 }

// sections builds the section rows, each with the chunks that start in it and
// in none of its subsections.
func (b *builder) sections(chunks []graph.Chunk) []graph.Section {
	if len(b.in.Document.Sections) == 0 {
		return nil
	}
	out := make([]graph.Section, len(b.in.Document.Sections))
	for i, s := range b.in.Document.Sections {
		out[i] = graph.Section{
			ID: graph.NewSectionID(b.in.ID, i, s.Title), Title: s.Title, Depth: s.Depth, Order: i, Span: b.offsets.Span(s.Range),
		}
		if s.Parent >= 0 && s.Parent < i {
			out[i].Parent = out[s.Parent].ID
		}
	}
	for i, c := range b.in.Chunks {
		if c.Section >= 0 && c.Section < len(out) {
			out[c.Section].Chunks = append(out[c.Section].Chunks, chunks[i].ID)
		}
	}
	return out
}
