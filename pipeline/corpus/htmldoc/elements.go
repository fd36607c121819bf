package htmldoc

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// block reports whether an element stands by itself.
func block(a atom.Atom) bool {
	switch a {
	case atom.Address, atom.Article, atom.Aside, atom.Body, atom.Caption, atom.Center, atom.Details, atom.Dialog, atom.Div,
		atom.Fieldset, atom.Figcaption, atom.Figure, atom.Footer, atom.Form, atom.Header, atom.Hgroup, atom.Hr, atom.Html,
		atom.Legend, atom.Main, atom.Nav, atom.P, atom.Search, atom.Section, atom.Summary, atom.Tbody, atom.Td, atom.Tfoot,
		atom.Th, atom.Thead, atom.Tr, atom.Dt, atom.Dd, atom.Ul, atom.Ol, atom.Dl, atom.Table, atom.Pre, atom.Blockquote,
		atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		return true
	}
	return false
}

// dropped reports whether an element and all in it is not read: what is not
// shown, what is operated and not read, and the furniture around a page.
func dropped(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Script, atom.Style, atom.Noscript, atom.Template, atom.Iframe, atom.Object, atom.Embed, atom.Canvas, atom.Svg,
		atom.Audio, atom.Video, atom.Map, atom.Head, atom.Title, atom.Meta, atom.Link, atom.Select, atom.Button, atom.Input,
		atom.Textarea, atom.Datalist, atom.Progress, atom.Meter, atom.Rt, atom.Rp, atom.Nav, atom.Noframes, atom.Frameset:
		return true
	case atom.Footer:
		return !inside(n, atom.Blockquote, atom.Article, atom.Main)
	case atom.Aside:
		return !inside(n, atom.Article, atom.Main) && !hasClass(n, "admonition", "footnote", "footnote-list", "topic", "note", "warning", "tip")
	}
	if n.Data == "annotation" || n.Data == "annotation-xml" || hasAttr(n, "hidden") && attr(n, "hidden") != "until-found" {
		return true
	}
	switch attr(n, "role") {
	case "navigation", "search", "contentinfo", "menu", "menubar", "toolbar":
		return true
	}
	if style := attr(n, "style"); style != "" {
		style = strings.ReplaceAll(strings.ToLower(style), " ", "")
		if strings.Contains(style, "display:none") || strings.Contains(style, "visibility:hidden") {
			return true
		}
	}
	// What their style sheets hide or keep off paper: permanent links, line
	// numbers, mdBook's lines of code that are not shown, and bars of links.
	return hasClass(n, "headerlink", "linenos", "lineno", "boring", "hideme", "mw-editsection", "navbox", "sphinxsidebar", "noprint",
		"navheader", "navfooter", "docnav", "breadcrumb", "breadcrumbs") || furniture(n)
}

func inside(n *html.Node, atoms ...atom.Atom) bool {
	for above := n.Parent; above != nil; above = above.Parent {
		for _, a := range atoms {
			if above.DataAtom == a {
				return true
			}
		}
	}
	return false
}

// prose counts the letters and signs below n that are read and are no link: a
// measure of content that menus and lists of links do not add to.
func prose(n *html.Node) int {
	total := 0
	for child := n.FirstChild; child != nil; child = child.NextSibling {
		switch {
		case child.Type == html.TextNode:
			for i := range len(child.Data) {
				if child.Data[i] > ' ' {
					total++
				}
			}
		case child.Type == html.ElementNode && child.DataAtom != atom.A && !dropped(child):
			total += prose(child)
		}
	}
	return total
}
