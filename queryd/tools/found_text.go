package tools

import (
	"fmt"
	"strings"
)

// passageChars is about how much of a passage the text shows; the JSON has all of
// it.
const passageChars = 1200

// sentenceChars is about how much of a quoted sentence the text shows.
const sentenceChars = 300

// Text lists what was found. Passages get twice the room of the others.
func (f *Found) Text(limit int) string {
	head := ""
	if len(f.Entities)+len(f.Relations)+len(f.Facts)+len(f.Passages) == 0 {
		head = "Nothing found.\n"
	}
	entities := section{title: "Entities", weight: 1}
	for _, e := range f.Entities {
		entities.items = append(entities.items, e.line())
	}
	passages := section{title: "Passages", weight: 2}
	for _, p := range f.Passages {
		passages.items = append(passages.items, number(p.N)+label(p.Place)+"\n"+quoteBlock(p.Text, passageChars))
	}
	text := compose(head, []section{entities, relationLines("Relations", f.Relations), relationLines("Facts", f.Facts), passages, hint(f.Notice)}, limit)
	return strings.TrimLeft(text, "\n")
}

func (e *Entity) line() string {
	line := fmt.Sprintf("%s%s (%s)", number(e.N), escapeLine(e.Name), escapeLine(e.Type))
	if len(e.Aliases) > 0 {
		const most = 5
		line += ", also " + escapeLine(strings.Join(e.Aliases[:min(len(e.Aliases), most)], ", "))
	}
	if e.Description != "" {
		line += "\n" + quoteBlock(escapeLine(e.Description), sentenceChars)
	}
	return line
}

func relationLines(title string, relations []Relation) section {
	s := section{title: title, weight: 1}
	for _, r := range relations {
		line := fmt.Sprintf("%s%s —%s→ %s", number(r.N), escapeLine(r.Source), escapeLine(r.Type), escapeLine(r.Target))
		if r.Hop > 1 {
			line += fmt.Sprintf(", hop %d", r.Hop)
		}
		switch {
		case len(r.Evidence) > 0 && r.Evidence[0].Text != "":
			line += " (" + label(r.Evidence[0].Place) + ")\n" + quoteBlock(escapeLine(r.Evidence[0].Text), sentenceChars)
		case r.Statement != "":
			line += "\n" + quoteBlock(escapeLine(r.Statement), sentenceChars)
		}
		s.items = append(s.items, line)
	}
	return s
}

// label names a file and the place in it: "reports/q1.pdf, pages 3–4, Results".
func label(p Place) string {
	parts := []string{escapeLine(p.Document)}
	switch {
	case p.Pages != nil:
		parts = append(parts, extentLabel(p.Pages, "page"))
	case p.Lines != nil:
		parts = append(parts, extentLabel(p.Lines, "line"))
	}
	if p.Headings != "" {
		parts = append(parts, escapeLine(p.Headings))
	}
	return strings.Join(parts, ", ")
}

func extentLabel(e *Extent, unit string) string {
	if e.First == e.Last {
		return fmt.Sprintf("%s %d", unit, e.First)
	}
	return fmt.Sprintf("%ss %d–%d", unit, e.First, e.Last)
}
