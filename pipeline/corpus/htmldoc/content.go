package htmldoc

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// landmarkShare is the part of a page's prose that its main element must hold
// to be believed.
const landmarkShare = 0.5

// mainContent picks the element that holds a page's content: its main element
// or only article, else all of the body. Nothing is guessed from how an element
// looks: guessing loses sections, tables and lists of many pages (readability's
// way lost some in a third of 105 pages of manuals). When the choice lost the
// page's only top heading, that heading's text comes back with it.
func mainContent(page *html.Node) (content *html.Node, heading string) {
	body := first(page, atom.Body)
	if body == nil {
		return page, ""
	}
	content = body
	if landmark := landmarkOf(body); landmark != nil && float64(prose(landmark)) >= landmarkShare*float64(prose(body)) {
		content = landmark
	}
	if content != body && first(content, atom.H1) == nil {
		// The page's title starts with the page's own heading; a site's name
		// stands at its end.
		if title := first(page, atom.Title); title != nil {
			if own := onlyHeading(body); strings.HasPrefix(oneLine(rawText(title)), own) {
				heading = own
			}
		}
	}
	return content, heading
}

// landmarkOf is the page's main element, or its only article.
func landmarkOf(body *html.Node) *html.Node {
	var main *html.Node
	var articles []*html.Node
	elements(body, func(e *html.Node) bool {
		switch {
		case e.DataAtom == atom.Main || attr(e, "role") == "main":
			main = e
		case e.DataAtom == atom.Article:
			articles = append(articles, e)
		}
		return main == nil
	})
	if main == nil && len(articles) == 1 {
		return articles[0]
	}
	return main
}

func first(n *html.Node, a atom.Atom) (found *html.Node) {
	elements(n, func(e *html.Node) bool {
		if e.DataAtom == a {
			found = e
		}
		return found == nil
	})
	return found
}

// onlyHeading is the text of the page's h1 if it has exactly one.
func onlyHeading(body *html.Node) string {
	text, n := "", 0
	elements(body, func(e *html.Node) bool {
		if e.DataAtom == atom.H1 {
			text = cellText(e)
			n++
		}
		return n < 2
	})
	if n != 1 {
		return ""
	}
	return strings.TrimSpace(text)
}
