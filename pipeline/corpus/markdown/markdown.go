// Package markdown parses CommonMark with the extensions of GitHub and
// footnotes. The text of the document is what a reader of the page sees: the
// markup is gone, lists, tables and code keep their shape. Front matter becomes
// metadata.
package markdown

import (
	"context"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"

	"graphmill/pipeline/corpus"
	"graphmill/pipeline/corpus/plaintext"
)

// Parser parses Markdown. The zero value is ready.
type Parser struct{}

// Parse implements [corpus.Parser].
func (Parser) Parse(ctx context.Context, file corpus.File, data []byte, limits corpus.Limits) (*corpus.Document, error) {
	decoded, notes, err := corpus.Decode(file, data, limits)
	if err != nil {
		return nil, err
	}
	matter, body, note := splitFrontMatter(decoded)
	if note != "" {
		notes = append(notes, note)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	document, err := parse(file, body, limits, &notes)
	if err != nil {
		return nil, err
	}
	document.Format = corpus.Markdown
	document.Notes = notes
	document.Metadata = matter.metadata
	document.Title = matter.title
	if document.Title == "" {
		document.Title = titleOf(document.Sections)
	}
	document.Date = matter.date
	return document, nil
}

func parse(file corpus.File, body string, limits corpus.Limits, notes *[]string) (*corpus.Document, error) {
	if reason := tooTangled(body); reason != "" {
		*notes = append(*notes, reason+"; read as plain text")
		return plaintext.FromText(file, body), nil
	}
	source := []byte(body)
	root := newEngine().Parser().Parse(text.NewReader(source))
	w := &writer{source: source, builder: &corpus.Builder{Limit: limits.WithDefaults().MaxTextBytes}}
	w.children(root)
	return w.builder.Document(file, corpus.Markdown)
}

func newEngine() goldmark.Markdown {
	return goldmark.New(
		goldmark.WithExtensions(extension.Table, extension.Strikethrough, extension.TaskList, extension.Footnote),
		goldmark.WithParserOptions(parser.WithAttribute()),
	)
}

// titleOf is the only heading of depth 1, else the first heading of all.
func titleOf(sections []corpus.Section) string {
	var tops []string
	for _, section := range sections {
		if section.Depth == 1 {
			tops = append(tops, section.Title)
		}
	}
	switch {
	case len(tops) == 1:
		return tops[0]
	case len(sections) > 0:
		return sections[0].Title
	}
	return ""
}

// writer turns blocks of the syntax tree into blocks of the document.
type writer struct {
	source  []byte
	builder *corpus.Builder
	quotes  int
	lists   int    // how many lists it is in
	marker  string // of the list item that begins; "" once it has begun
	label   string // of the alert or note that begins; "" once it has begun
	// directives is how many directives it is in.
	directives int
}

func (w *writer) children(n ast.Node) {
	for child := n.FirstChild(); child != nil; child = child.NextSibling() {
		w.block(child)
	}
}

// paragraph adds text of the kind that its place gives it.
func (w *writer) paragraph(content string) {
	content = w.label + content
	w.label = ""
	switch {
	case w.lists > 0:
		depth := w.lists - 1
		w.builder.AddIndented(corpus.ListItem, depth, strings.Repeat("  ", min(depth, 16)), w.marker+content)
		w.marker = ""
	case w.quotes > 0:
		w.builder.Add(corpus.Quote, 0, content)
	default:
		w.builder.Add(corpus.Paragraph, 0, content)
	}
}

// lines is the source of a block that is taken as it stands.
func (w *writer) lines(n ast.Node) string {
	var b strings.Builder
	for i := range n.Lines().Len() {
		segment := n.Lines().At(i)
		b.Write(segment.Value(w.source))
	}
	return b.String()
}
