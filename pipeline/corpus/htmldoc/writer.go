package htmldoc

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"graphmill/pipeline/corpus"
)

// writer turns elements into blocks. Text collects in line until an element
// begins or ends that stands by itself.
type writer struct {
	builder *corpus.Builder
	line    flow
	heading int // depth of the heading it is in; 0 for none
	quotes  int // how many quotes it is in
	lists   int // how many lists it is in
	item    bool
	marker  string // of the list item that begins; "" once it has begun
	typed   bool   // preformatted text is the page's own
}

// flow is text in which white space collapses as a browser does it.
type flow struct {
	text  strings.Builder
	space bool // white space that is written when something follows
	last  byte
}

func (f *flow) write(s string) {
	for _, r := range s {
		if unicode.IsSpace(r) && r != '\u00a0' {
			f.space = true
			continue
		}
		if f.space && f.text.Len() > 0 && f.last != '\n' {
			f.text.WriteByte(' ')
		}
		f.space = false
		f.text.WriteRune(r)
		f.last = byte(min(r, 0x7f))
	}
}

func (f *flow) newline() {
	if f.text.Len() > 0 {
		f.text.WriteByte('\n')
		f.last = '\n'
	}
	f.space = false
}

func (f *flow) take() string {
	text := f.text.String()
	*f = flow{}
	return text
}

func (w *writer) flush() {
	text := strings.TrimSpace(w.line.take())
	if text == "" {
		return
	}
	switch {
	case w.heading > 0:
		w.builder.Add(corpus.Heading, w.heading, strings.Join(strings.Fields(text), " "))
	case w.item:
		depth := max(0, w.lists-1)
		w.builder.AddIndented(corpus.ListItem, depth, strings.Repeat("  ", min(depth, 16)), w.marker+text)
		w.marker = ""
	case w.quotes > 0:
		w.builder.Add(corpus.Quote, 0, text)
	default:
		w.builder.Add(corpus.Paragraph, 0, text)
	}
}

func (w *writer) children(n *html.Node) {
	for child := n.FirstChild; child != nil; child = child.NextSibling {
		w.node(child)
	}
}

func (w *writer) node(n *html.Node) {
	switch n.Type {
	case html.TextNode:
		w.line.write(n.Data)
	case html.ElementNode:
		if !dropped(n) {
			w.element(n)
		}
	case html.DocumentNode:
		w.children(n)
	}
}

func (w *writer) element(n *html.Node) {
	switch n.DataAtom {
	case atom.Br:
		w.line.newline()
	case atom.Img:
		w.line.write(" " + alternative(n) + " ")
	case atom.Q:
		w.line.write("“")
		w.children(n)
		w.line.write("”")
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		w.inHeading(n)
	case atom.Pre, atom.Listing, atom.Xmp:
		w.preformatted(n)
	case atom.Table:
		w.table(n)
	case atom.Ul, atom.Ol, atom.Menu, atom.Dl, atom.Dir:
		w.list(n)
	case atom.Li, atom.Dt, atom.Dd:
		w.listItem(n, "- ")
	case atom.Blockquote:
		w.flush()
		w.quotes++
		w.children(n)
		w.flush()
		w.quotes--
	case atom.Div:
		if hasClass(n, "summary-table") {
			w.grid(n)
			return
		}
		w.flush()
		w.children(n)
		w.flush()
	default:
		if block(n.DataAtom) {
			w.flush()
			w.children(n)
			w.flush()
			return
		}
		w.children(n)
	}
}

func (w *writer) inHeading(n *html.Node) {
	w.flush()
	outer := w.heading
	w.heading = int(n.Data[1] - '0')
	w.children(n)
	w.flush()
	w.heading = outer
}

// list writes a list's items. A term of a definition list is an item without a
// marker, its definition one a level below.
func (w *writer) list(n *html.Node) {
	w.flush()
	lists, item, marker := w.lists, w.item, w.marker
	w.lists++
	number := 1
	if start, err := strconv.Atoi(attr(n, "start")); err == nil {
		number = start
	}
	for child := n.FirstChild; child != nil; child = child.NextSibling {
		if child.Type != html.ElementNode || child.DataAtom != atom.Li || n.DataAtom != atom.Ol || dropped(child) {
			w.node(child)
			continue
		}
		w.listItem(child, fmt.Sprintf("%d. ", number))
		number++
	}
	w.flush()
	w.lists, w.item, w.marker = lists, item, marker
}

func (w *writer) listItem(n *html.Node, marker string) {
	w.flush()
	item, outerMarker, lists := w.item, w.marker, w.lists
	w.item, w.marker = true, marker
	switch n.DataAtom {
	case atom.Dt:
		w.marker = ""
	case atom.Dd:
		w.marker = ""
		w.lists++
	}
	w.children(n)
	w.flush()
	w.item, w.marker, w.lists = item, outerMarker, lists
}

// table writes a table of data as one block, a row a line. A table that only
// lays out a page is written as what is in its cells.
func (w *writer) table(n *html.Node) {
	w.flush()
	if laysOut(n) {
		w.children(n)
		w.flush()
		return
	}
	var rows []string
	head := 0
	elements(n, func(e *html.Node) bool {
		switch e.DataAtom {
		case atom.Caption:
			w.builder.Add(corpus.Paragraph, 0, cellText(e))
		case atom.Tr:
			if row := rowText(e); row != "" {
				if head == len(rows) && namesColumns(e) {
					head++
				}
				rows = append(rows, row)
			}
		}
		return true
	})
	w.builder.AddTable(head, rows)
}

// grid writes a table that javadoc draws with boxes: those of the class
// col-first begin a row.
func (w *writer) grid(n *html.Node) {
	w.flush()
	var rows, cells []string
	head := 0
	flush := func() {
		if strings.Join(cells, "") != "" {
			rows = append(rows, strings.Join(cells, " | "))
		}
		cells = nil
	}
	for cell := n.FirstChild; cell != nil; cell = cell.NextSibling {
		if cell.Type != html.ElementNode || dropped(cell) {
			continue
		}
		if hasClass(cell, "col-first") {
			flush()
		}
		if hasClass(cell, "table-header") && len(rows) == 0 {
			head = 1
		}
		cells = append(cells, cellText(cell))
	}
	flush()
	w.builder.AddTable(head, rows)
}

// alternative is the text of a picture; a row of signs is none.
func alternative(n *html.Node) string {
	alt := attr(n, "alt")
	if strings.IndexFunc(alt, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r >= 0x80 }) < 0 {
		return ""
	}
	return alt
}

// namesColumns reports whether a row stands in the head of its table or has
// nothing but headings.
func namesColumns(row *html.Node) bool {
	if row.Parent != nil && row.Parent.DataAtom == atom.Thead {
		return true
	}
	headings := 0
	for cell := row.FirstChild; cell != nil; cell = cell.NextSibling {
		switch cell.DataAtom {
		case atom.Td:
			return false
		case atom.Th:
			headings++
		}
	}
	return headings > 1
}

func rowText(row *html.Node) string {
	var cells []string
	empty := true
	for cell := row.FirstChild; cell != nil; cell = cell.NextSibling {
		if cell.DataAtom != atom.Td && cell.DataAtom != atom.Th || dropped(cell) {
			continue
		}
		text := cellText(cell)
		empty = empty && text == ""
		cells = append(cells, text)
	}
	if empty {
		return ""
	}
	return strings.TrimSpace(strings.Join(cells, " | "))
}

// cellText is all text of an element on one line.
func cellText(n *html.Node) string {
	var f flow
	var walk func(*html.Node)
	walk = func(n *html.Node) {
		for child := n.FirstChild; child != nil; child = child.NextSibling {
			switch {
			case child.Type == html.TextNode:
				f.write(child.Data)
			case child.Type != html.ElementNode || dropped(child):
			case child.DataAtom == atom.Img:
				f.write(" " + alternative(child) + " ")
			case block(child.DataAtom) || child.DataAtom == atom.Br || child.DataAtom == atom.Li:
				f.write(" ")
				walk(child)
				f.write(" ")
			default:
				walk(child)
			}
		}
	}
	walk(n)
	return strings.TrimSpace(f.take())
}

// laysOut reports whether a table holds what tables of data do not: another
// table, headings, code, lists, or never more than one cell in a row.
func laysOut(table *html.Node) bool {
	if role := attr(table, "role"); role == "presentation" || role == "none" {
		return true
	}
	layout, several, header := false, false, false
	elements(table, func(e *html.Node) bool {
		switch e.DataAtom {
		case atom.Table, atom.Pre, atom.H1, atom.H2, atom.H3, atom.H4, atom.Blockquote, atom.Article, atom.Section:
			layout = true
		case atom.Th:
			header = true
		case atom.Td:
			for next := e.NextSibling; next != nil && !several; next = next.NextSibling {
				several = next.DataAtom == atom.Td || next.DataAtom == atom.Th
			}
		}
		return !layout
	})
	return layout || !several && !header
}

// rawText is an element's text as it stands, as in code.
func rawText(n *html.Node) string {
	var b strings.Builder
	var walk func(*html.Node)
	walk = func(n *html.Node) {
		for child := n.FirstChild; child != nil; child = child.NextSibling {
			switch {
			case child.Type == html.TextNode:
				b.WriteString(child.Data)
			case child.DataAtom == atom.Br:
				b.WriteByte('\n')
			case child.Type == html.ElementNode && !dropped(child):
				walk(child)
			}
		}
	}
	walk(n)
	return strings.Trim(b.String(), "\n")
}
