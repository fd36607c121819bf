// Package htmldoc parses HTML: the main content of a page, with the same
// structure that Markdown has. It never lets go of text to be rid of the
// page's furniture: where the content cannot be told apart surely, all of the
// page's body is taken.
package htmldoc

import (
	"context"
	"fmt"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"graphmill/pipeline/corpus"
)

// Parser parses HTML. The zero value is ready.
type Parser struct{}

// Parse implements [corpus.Parser].
func (Parser) Parse(ctx context.Context, file corpus.File, data []byte, limits corpus.Limits) (*corpus.Document, error) {
	source, notes, err := corpus.Decode(file, data, limits)
	if err != nil {
		return nil, err
	}
	if reason := tooTangled(source); reason != "" {
		source = flatten(source)
		notes = append(notes, reason+"; read without its inner elements")
	}
	page, err := html.ParseWithOptions(strings.NewReader(source), html.ParseOptionEnableScripting(false))
	if err != nil {
		return nil, fmt.Errorf("parse the markup: %w", err)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	facts := readHead(page)
	content, heading := mainContent(page)
	builder := &corpus.Builder{Limit: limits.WithDefaults().MaxTextBytes}
	builder.Add(corpus.Heading, 1, heading)
	w := &writer{builder: builder, typed: isTyped(content)}
	w.children(content)
	w.flush()
	document, err := builder.Document(file, corpus.HTML)
	if err != nil {
		return nil, err
	}
	document.Title = facts.title(document)
	document.Date = facts.date(content)
	document.Metadata = facts.metadata()
	document.Notes = notes
	return document, nil
}

// AppendFragment adds the blocks of a piece of HTML, such as stands in Markdown,
// to a builder.
func AppendFragment(builder *corpus.Builder, fragment string) {
	if tooTangled(fragment) != "" {
		fragment = flatten(fragment)
	}
	body := &html.Node{Type: html.ElementNode, Data: "body", DataAtom: atom.Body}
	nodes, err := html.ParseFragmentWithOptions(strings.NewReader(fragment), body, html.ParseOptionEnableScripting(false))
	if err != nil {
		builder.Add(corpus.Paragraph, 0, fragment)
		return
	}
	w := &writer{builder: builder}
	for _, node := range nodes {
		w.node(node)
	}
	w.flush()
}

func attr(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

func hasAttr(n *html.Node, key string) bool {
	for _, a := range n.Attr {
		if a.Key == key {
			return true
		}
	}
	return false
}

func hasClass(n *html.Node, classes ...string) bool {
	for class := range strings.FieldsSeq(attr(n, "class")) {
		for _, want := range classes {
			if class == want {
				return true
			}
		}
	}
	return false
}

// elements calls visit for every element below n, in order, until it returns
// false.
func elements(n *html.Node, visit func(*html.Node) bool) {
	for d := range n.Descendants() {
		if d.Type == html.ElementNode && !visit(d) {
			return
		}
	}
}
