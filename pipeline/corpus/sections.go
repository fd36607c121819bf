package corpus

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"graphmill/pipeline/graph"
)

// SectionsOf derives the sections from the heading blocks. A section runs from
// its heading to the end of the last block before the next heading of its depth
// or above.
func SectionsOf(text string, blocks []Block) []Section {
	var sections []Section
	var open []int // indices into sections, outermost first
	closeFrom := func(depth, end int) {
		for len(open) > 0 && sections[open[len(open)-1]].Depth >= depth {
			sections[open[len(open)-1]].Range.End = end
			open = open[:len(open)-1]
		}
	}
	end := 0
	for _, block := range blocks {
		if block.Kind == Heading {
			closeFrom(block.Depth, end)
			parent := -1
			if len(open) > 0 {
				parent = open[len(open)-1]
			}
			open = append(open, len(sections))
			sections = append(sections, Section{
				Title: headingTitle(text[block.Range.Start:block.Range.End]), Depth: block.Depth, Parent: parent,
				Range: graph.Range{Start: block.Range.Start},
			})
		}
		end = block.Range.End
	}
	closeFrom(0, end)
	return sections
}

// headingTitle is a heading's text on one line, without the lines above and
// below that plain text draws.
func headingTitle(text string) string {
	lines := strings.Split(text, "\n")
	kept := lines[:0]
	for _, line := range lines {
		if strings.IndexFunc(line, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) >= 0 {
			kept = append(kept, line)
		}
	}
	if len(kept) == 0 {
		return strings.Join(strings.Fields(text), " ")
	}
	return strings.Join(strings.Fields(strings.Join(kept, " ")), " ")
}

// Check reports the first way in which a document breaks what [Document]
// promises.
func (d *Document) Check() error {
	if !utf8.ValidString(d.Text) || strings.ContainsAny(d.Text, "\x00\r") {
		return fmt.Errorf("check document: the text is not clean UTF-8")
	}
	end := 0
	for i, block := range d.Blocks {
		r := block.Range
		if r.Start < end || r.End <= r.Start || r.End > len(d.Text) {
			return fmt.Errorf("check document: block %d at %d:%d is empty or out of order", i, r.Start, r.End)
		}
		if strings.TrimSpace(d.Text[end:r.Start]) != "" {
			return fmt.Errorf("check document: text before block %d is in no block", i)
		}
		if !boundary(d.Text, r.Start) || !boundary(d.Text, r.End) {
			return fmt.Errorf("check document: block %d cuts a character", i)
		}
		if head := block.Head; head.Len() != 0 && (head.Start != r.Start || head.End >= r.End || d.Text[head.End] != '\n') {
			return fmt.Errorf("check document: the head of block %d is no lines of it", i)
		}
		end = r.End
	}
	if strings.TrimSpace(d.Text[end:]) != "" {
		return fmt.Errorf("check document: text after the last block is in no block")
	}
	end = 0
	for i, page := range d.Pages {
		if page.Range.Start < end || page.Range.End < page.Range.Start || page.Range.End > len(d.Text) ||
			!boundary(d.Text, page.Range.Start) || !boundary(d.Text, page.Range.End) {
			return fmt.Errorf("check document: page %d is out of order", i)
		}
		end = page.Range.End
	}
	return d.checkSections()
}

func (d *Document) checkSections() error {
	for i, section := range d.Sections {
		if section.Range.Start < 0 || section.Range.End < section.Range.Start || section.Range.End > len(d.Text) {
			return fmt.Errorf("check document: section %d is out of range", i)
		}
		if section.Parent >= i || section.Parent < -1 {
			return fmt.Errorf("check document: section %d comes before its parent", i)
		}
		if section.Parent >= 0 && !d.Sections[section.Parent].Range.Contains(section.Range) {
			return fmt.Errorf("check document: section %d lies outside its parent", i)
		}
	}
	return nil
}

func boundary(text string, at int) bool { return at == len(text) || utf8.RuneStart(text[at]) }
