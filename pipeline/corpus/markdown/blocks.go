package markdown

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/yuin/goldmark/ast"
	extension "github.com/yuin/goldmark/extension/ast"

	"graphmill/pipeline/corpus"
	"graphmill/pipeline/corpus/htmldoc"
)

func (w *writer) block(n ast.Node) {
	switch n := n.(type) {
	case *ast.Heading:
		if w.quotes > 0 {
			w.paragraph(w.inline(n))
			return
		}
		w.builder.Add(corpus.Heading, n.Level, strings.Join(strings.Fields(w.inline(n)), " "))
	case *ast.Paragraph, *ast.TextBlock:
		content := strings.TrimSpace(w.inline(n))
		if w.quotes > 0 && n.PreviousSibling() == nil {
			content = w.alert(content)
		}
		if content != "" && !labelLine.MatchString(content) {
			w.paragraph(content)
		}
	case *ast.FencedCodeBlock:
		if !w.directive(n) {
			w.builder.Add(corpus.Code, 0, w.lines(n))
		}
	case *ast.CodeBlock:
		w.builder.Add(corpus.Code, 0, w.lines(n))
	case *ast.HTMLBlock:
		w.html(n)
	case *ast.Blockquote:
		w.quotes++
		w.children(n)
		w.quotes--
		w.label = ""
	case *ast.List:
		w.list(n)
	case *extension.Table:
		w.table(n)
	case *extension.FootnoteList:
		w.footnotes(n)
	case *ast.ThematicBreak, *ast.LinkReferenceDefinition:
	default:
		w.children(n)
	}
}

// alertMark begins a quote that GitHub shows as a note, with its kind as a title.
var alertMark = regexp.MustCompile(`^\[!(NOTE|TIP|IMPORTANT|WARNING|CAUTION)\](?:\s+|$)`)

// alert takes an alert's mark from the first paragraph of a quote; its label is
// put before the text that follows.
func (w *writer) alert(content string) string {
	mark := alertMark.FindStringSubmatch(content)
	if mark == nil {
		return content
	}
	w.label = mark[1][:1] + strings.ToLower(mark[1][1:]) + ": "
	return content[len(mark[0]):]
}

func (w *writer) html(n *ast.HTMLBlock) {
	source := w.lines(n)
	if n.HasClosure() {
		source += string(n.ClosureLine.Value(w.source))
	}
	htmldoc.AppendFragment(w.builder, source)
}

func (w *writer) list(n *ast.List) {
	w.lists++
	number := n.Start
	for item := n.FirstChild(); item != nil; item = item.NextSibling() {
		w.marker = "- "
		if n.IsOrdered() {
			w.marker = fmt.Sprintf("%d%c ", number, n.Marker)
			number++
		}
		w.children(item)
	}
	w.marker = ""
	w.lists--
}

func (w *writer) table(n *extension.Table) {
	var rows []string
	head := 0
	for row := n.FirstChild(); row != nil; row = row.NextSibling() {
		var cells []string
		for cell := row.FirstChild(); cell != nil; cell = cell.NextSibling() {
			cells = append(cells, strings.Join(strings.Fields(w.inline(cell)), " "))
		}
		if strings.Join(cells, "") != "" {
			rows = append(rows, strings.TrimSpace(strings.Join(cells, " | ")))
			if row.Kind() == extension.KindTableHeader {
				head = len(rows)
			}
		}
	}
	w.builder.AddTable(head, rows)
}

func (w *writer) footnotes(n *extension.FootnoteList) {
	for note := n.FirstChild(); note != nil; note = note.NextSibling() {
		footnote, ok := note.(*extension.Footnote)
		if !ok {
			continue
		}
		mark := fmt.Sprintf("[%d] ", footnote.Index)
		for child := note.FirstChild(); child != nil; child = child.NextSibling() {
			if child.Kind() != ast.KindParagraph {
				w.block(child)
				continue
			}
			w.builder.Add(corpus.Paragraph, 0, mark+w.inline(child))
			mark = ""
		}
	}
}
