package htmldoc

import (
	"strings"

	readability "codeberg.org/readeck/go-readability/v2"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

const (
	// landmarkShare is the part of a page's prose that its main element must
	// hold to be believed.
	landmarkShare = 0.5
	// articleShare is the part that a guessed article must hold: losing text
	// is worse than keeping furniture. At 0.75 a quarter of a DocBook chapter,
	// its lists, was lost.
	articleShare = 0.9
	// headingShare is the part of the page's headings that a guessed article must
	// keep; guessing takes headings in boxes of their own for decoration.
	headingShare = 0.5
	// maxGuessBytes and maxGuessElements bound the pages whose article is
	// guessed; guessing looks at every element several times.
	maxGuessBytes    = 1 << 20
	maxGuessElements = 20_000
)

// mainContent picks the element that holds a page's content. When the choice
// lost the page's only top heading, that heading's text comes back with it.
func mainContent(page *html.Node, size int) (content *html.Node, heading string) {
	body := first(page, atom.Body)
	if body == nil {
		return page, ""
	}
	all := prose(body)
	content = body
	if landmark := landmarkOf(body); landmark != nil && float64(prose(landmark)) >= landmarkShare*float64(all) {
		content = landmark
	} else if article := guessArticle(page, size); article != nil && float64(prose(article)) >= articleShare*float64(all) && keepsHeadings(article, body) {
		content = article
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

func guessArticle(page *html.Node, size int) (article *html.Node) {
	if size > maxGuessBytes {
		return nil
	}
	// The guess is an improvement only: what goes wrong in it costs nothing.
	defer func() {
		if recover() != nil {
			article = nil
		}
	}()
	parser := readability.NewParser()
	parser.MaxElemsToParse = maxGuessElements
	if !parser.CheckDocument(page) {
		return nil
	}
	found, err := parser.ParseDocument(page, nil)
	if err != nil {
		return nil
	}
	return found.Node
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

// keepsHeadings leaves the page's top heading aside, which is put back.
func keepsHeadings(article, body *html.Node) bool {
	return float64(subheadings(article)) >= headingShare*float64(subheadings(body))
}

func subheadings(n *html.Node) int {
	total := 0
	elements(n, func(e *html.Node) bool {
		switch e.DataAtom {
		case atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
			total++
		}
		return true
	})
	return total
}
