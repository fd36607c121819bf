package htmldoc

import (
	"strings"
	"unicode"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Words in the classes and names of elements that are a page's furniture, as
// generators of documentation and of sites name them. A word alone is not
// believed: what is named so must also look so.
var (
	menuWords = wordSet(`nav navbar navigation navheader navfooter navpath navbars docnav topnav subnav bottomnav menu menubar menus
		breadcrumb breadcrumbs crumbs pagination pager prevnext sidebar sphinxsidebar toplang bottomlang toolbar path`)
	footerWords = wordSet(`footer copyright colophon`)
	tocWords    = wordSet(`toc contents tableofcontents quickview`)
)

func wordSet(words string) map[string]bool {
	set := make(map[string]bool)
	for word := range strings.FieldsSeq(words) {
		set[word] = true
	}
	return set
}

const (
	// menuShare is the part of a menu's text that is links.
	menuShare = 0.6
	// footerLength is the longest footer, in characters: a few lines of who
	// made a page, and when.
	footerLength = 400
	// maxMeasured bounds what is looked at in one element, in bytes: nested ones
	// are looked at again. The largest menus have tens of thousands.
	maxMeasured = 400_000
	// maxNames bounds the words that are looked at in one element's names.
	maxNames = 40
)

// furniture reports whether an element is named as a part of a page's furniture
// and looks like it: a menu is mostly links, a footer short and without
// headings, and a table of contents leads to places on its own page, whose
// headings it repeats.
func furniture(n *html.Node) bool {
	if n.DataAtom == atom.A {
		return linkSign(n)
	}
	if n.DataAtom == atom.Body || n.DataAtom == atom.Main || n.DataAtom == atom.Article || formatting(n.DataAtom) {
		return false
	}
	menu, header, footer, toc := named(n)
	if !menu && !header && !footer && !toc {
		return false
	}
	m := measured{budget: maxMeasured}
	m.add(n)
	text := float64(m.text)
	switch {
	case m.text == 0 || m.budget < 0:
		return false
	case toc && float64(m.own) >= menuShare*text:
		return true
	case (menu || header && m.headings == 0) && float64(m.links) >= menuShare*text:
		return true
	}
	return footer && m.headings == 0 && m.text <= footerLength && !inside(n, atom.Article, atom.Main, atom.Blockquote)
}

// linkSigns are the texts of links that lead to where they stand, or back.
var linkSigns = map[string]bool{"": true, "¶": true, "§": true, "#": true, "🔗": true, "∞": true, "⚓": true, "↩": true, "↩︎": true, "↑": true}

// linkSign reports whether a link is a sign for machines or mice: a mark that
// gives a heading its address, a way back from a note, a picture that leads to
// the top, a link that skips a menu.
func linkSign(n *html.Node) bool {
	if hasClass(n, "skip-link", "skiplink", "skip-to-content", "skip") {
		return true
	}
	return strings.HasPrefix(attr(n, "href"), "#") && n.FirstChild != nil && linkSigns[strings.TrimSpace(rawText(n))]
}

// named reports what the words of an element's class and id stand for.
func named(n *html.Node) (menu, header, footer, toc bool) {
	count := 0
	for _, a := range n.Attr {
		if a.Key != "class" && a.Key != "id" {
			continue
		}
		for _, word := range splitWords(a.Val) {
			if count++; count > maxNames {
				return menu, header, footer, toc
			}
			menu = menu || menuWords[word]
			header = header || word == "header"
			footer = footer || footerWords[word]
			toc = toc || tocWords[word]
		}
	}
	return menu, header, footer, toc
}

// splitWords cuts a name such as "topNav" or "page-footer" into its words in
// lower case, and adds the name as a whole.
func splitWords(name string) []string {
	if len(name) > 400 {
		return nil
	}
	var words []string
	for whole := range strings.FieldsSeq(name) {
		start := 0
		for i, r := range whole {
			if i == start {
				continue
			}
			letter := unicode.IsLetter(r) || unicode.IsDigit(r)
			if !letter || unicode.IsUpper(r) && !unicode.IsUpper(rune(whole[i-1])) {
				words = append(words, strings.ToLower(strings.Trim(whole[start:i], "-_")))
				start = i
			}
		}
		words = append(words, strings.ToLower(strings.Trim(whole[start:], "-_")))
		words = append(words, strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(whole)))
	}
	return words
}

// measured are the letters and digits below an element: all, those in links,
// those in links within the page; and its headings.
type measured struct {
	text, links, own, headings int
	budget                     int // what may still be looked at; negative when it was too little
}

func (m *measured) add(n *html.Node) {
	for child := n.FirstChild; child != nil && m.budget >= 0; child = child.NextSibling {
		m.budget -= 1 + len(child.Data)
		switch child.Type {
		case html.TextNode:
			m.text += visible(child.Data)
		case html.ElementNode:
			before := m.text
			switch child.DataAtom {
			case atom.Script, atom.Style:
				continue
			case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
				m.headings++
			}
			m.add(child)
			if child.DataAtom == atom.A {
				m.links += m.text - before
				if strings.HasPrefix(attr(child, "href"), "#") {
					m.own += m.text - before
				}
			}
		}
	}
}

// visible counts what is neither white space nor a sign between links: the
// bars and arrows of menus are no text.
func visible(s string) int {
	total := 0
	for _, r := range s {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			total++
		}
	}
	return total
}
