package htmldoc

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"graphmill/pipeline/corpus"
	"graphmill/pipeline/corpus/plaintext"
)

// typedShare is the part of a page's text that must be preformatted for it to be
// the page's own text: manual pages and letters that were put between tags.
const typedShare = 0.8

// isTyped reports whether a page's text is preformatted prose.
func isTyped(content *html.Node) bool {
	var text strings.Builder
	inside := 0
	elements(content, func(e *html.Node) bool {
		if e.DataAtom == atom.Pre && first(e, atom.Code) == nil {
			inside += prose(e)
			text.WriteString(rawText(e) + "\n\n")
		}
		return true
	})
	return inside > 0 && float64(inside) >= typedShare*float64(prose(content)) && goesOn(text.String())
}

// Lines of prose are this long, and at least one in so many of them goes on in
// the next: it ends in a letter, and the next begins with a small one.
const (
	fullLine  = 40
	oneGoesOn = 4
)

func goesOn(text string) bool {
	lines := strings.Split(text, "\n")
	full, on := 0, 0
	for i, line := range lines[:len(lines)-1] {
		line, next := strings.TrimSpace(line), strings.TrimSpace(lines[i+1])
		if len(line) < fullLine {
			continue
		}
		full++
		last, _ := utf8.DecodeLastRuneInString(line)
		first, _ := utf8.DecodeRuneInString(next)
		if (unicode.IsLetter(last) || last == ',' || last == '-') && unicode.IsLower(first) {
			on++
		}
	}
	return on > 0 && oneGoesOn*on >= full
}

// preformatted writes text that keeps its lines: code, or what a typed page has
// to say.
func (w *writer) preformatted(n *html.Node) {
	w.flush()
	text := rawText(n)
	if !w.typed || isCode(text) {
		w.builder.Add(corpus.Code, 0, text)
		return
	}
	typed := plaintext.FromText(corpus.File{}, text)
	for _, block := range typed.Blocks {
		lines := strings.Split(typed.Text[block.Range.Start:block.Range.End], "\n")
		for i, line := range lines {
			lines[i] = strings.Join(strings.Fields(line), " ")
		}
		w.builder.Add(block.Kind, block.Depth, strings.Join(lines, "\n"))
	}
}

// isCode reports whether three in ten lines end or begin as those of programs
// do.
func isCode(text string) bool {
	lines, code := 0, 0
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		lines++
		if strings.ContainsAny(line[len(line)-1:], ";{}") || line[0] == '#' || line[0] == '$' {
			code++
		}
	}
	return 10*code >= 3*lines
}
