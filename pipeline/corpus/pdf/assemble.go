package pdf

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"graphmill/pipeline/corpus"
	"graphmill/pipeline/graph"
)

// assembly writes paragraphs as text with blocks and page starts.
type assembly struct {
	text   strings.Builder
	blocks []corpus.Block
	starts []int // byte at which each page begins; -1 until known
	// compounds are the words that the document writes with a hyphen within a
	// line: such a word keeps it when it is broken there.
	compounds map[string]bool
}

func assemble(paragraphs []paragraph, pages []rawPage) *corpus.Document {
	a := &assembly{starts: make([]int, len(pages)), compounds: compoundsOf(paragraphs)}
	for i := range a.starts {
		a.starts[i] = -1
	}
	for i := range paragraphs {
		a.write(&paragraphs[i])
	}
	text := a.text.String()
	return &corpus.Document{Text: text, Blocks: a.blocks, Pages: a.pages(pages, len(text))}
}

func (a *assembly) write(p *paragraph) {
	if n := len(a.blocks); n > 0 {
		separator := "\n\n"
		if p.kind == corpus.ListItem && a.blocks[n-1].Kind == corpus.ListItem {
			separator = "\n"
		}
		a.text.WriteString(separator)
	}
	start := a.text.Len()
	for i, l := range p.lines {
		written := l.text
		if i+1 < len(p.lines) {
			written = a.joined(p, i)
		} else {
			written = strings.TrimSuffix(written, "\u00ad")
		}
		if a.starts[l.page] < 0 {
			a.starts[l.page] = a.text.Len()
		}
		written = strings.ReplaceAll(written, "\u00ad", "")
		if p.kind == corpus.ListItem {
			written = leaderDots.ReplaceAllString(written, " … ")
		}
		a.text.WriteString(written)
	}
	if a.text.Len() == start {
		return
	}
	a.blocks = append(a.blocks, corpus.Block{
		Kind: p.kind, Depth: p.depth, Range: graph.Range{Start: start, End: a.text.Len()},
	})
}

// joined is line i with what stands between it and the next.
func (a *assembly) joined(p *paragraph, i int) string {
	text, next := p.lines[i].text, p.lines[i+1].text
	if p.kind == corpus.Code || p.kind == corpus.Table {
		return text + "\n"
	}
	if strings.HasSuffix(text, "\u00ad") {
		return strings.TrimSuffix(text, "\u00ad")
	}
	last, _ := utf8.DecodeLastRuneInString(text)
	first, _ := utf8.DecodeRuneInString(next)
	if last == '-' || last == '\u2010' {
		stem := strings.TrimRight(text, "-\u2010")
		before, _ := utf8.DecodeLastRuneInString(stem)
		switch {
		case len(stem)+utf8.RuneLen(last) < len(text), !unicode.IsLetter(before) && !unicode.IsDigit(before):
			return text + " " // a dash or an option, not a broken word
		case !unicode.IsLower(first) || !unicode.IsLetter(before):
			return text
		case a.compounds[compound(stem, next)]:
			return text
		}
		return stem
	}
	if joinsWithoutSpace(last, first) {
		return text
	}
	return text + " "
}

// leaderDots are not words, and a page of them would crowd a chunk.
var leaderDots = regexp.MustCompile(`(?:\s?[.…·]){5,}\s*`)

func compound(stem, next string) string {
	head := stem[strings.LastIndexFunc(stem, unicode.IsSpace)+1:]
	tail := next
	if end := strings.IndexFunc(next, func(r rune) bool { return !unicode.IsLetter(r) && r != '-' }); end >= 0 {
		tail = next[:end]
	}
	return strings.ToLower(strings.TrimLeftFunc(head, func(r rune) bool { return !unicode.IsLetter(r) }) + "-" + tail)
}

var compoundWord = regexp.MustCompile(`\p{L}+(?:-\p{L}+)+`)

func compoundsOf(paragraphs []paragraph) map[string]bool {
	found := map[string]bool{}
	for i := range paragraphs {
		for _, l := range paragraphs[i].lines {
			if !strings.Contains(l.text, "-") {
				continue
			}
			for _, word := range compoundWord.FindAllString(l.text, -1) {
				found[strings.ToLower(word)] = true
			}
		}
	}
	return found
}

// pages gives each page the text from where it begins to where the next one
// does; a page without text is empty.
func (a *assembly) pages(pages []rawPage, end int) []corpus.Page {
	result := make([]corpus.Page, len(pages))
	for i := len(pages) - 1; i >= 0; i-- {
		start := a.starts[i]
		if start < 0 {
			start = end
		}
		result[i] = corpus.Page{Number: pages[i].number, Label: pages[i].label, Range: graph.Range{Start: start, End: end}}
		end = start
	}
	return result
}
