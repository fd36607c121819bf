package plaintext

import (
	"fmt"
	"strings"
	"testing"

	"graphmill/pipeline/corpus"
	"graphmill/pipeline/corpus/corpustest"
)

func TestHeadings(t *testing.T) {
	for name, test := range map[string]struct{ source, want string }{
		"underlined": {"Title\n=====\n\nText of it,\ntwo lines.\n\nPart\n----\nRight below.\n", `
heading 1: Title\n=====
paragraph: Text of it,\ntwo lines.
heading 2: Part\n----
paragraph: Right below.
`},
		"over and under": {"=======\n Title\n=======\n\ntext\n", `
heading 1: =======\n Title\n=======
paragraph: text
`},
		"numbered": {"1. Introduction\n\nSome text here.\n\n1.1 Scope of this\n\nMore text.\n\n2. End\n\nLast.\n", `
heading 1: 1. Introduction
paragraph: Some text here.
heading 2: 1.1 Scope of this
paragraph: More text.
heading 1: 2. End
paragraph: Last.
`},
		"a numbered list is none": {"1. Buy milk\n\n2. Buy eggs\n\n3. Go home\n", `
list_item: 1. Buy milk
list_item: 2. Buy eggs
list_item: 3. Go home
`},
		"chapters": {"CHAPTER I. The beginning\n\nIt was.\n\nPart 2\n\nIt is.\n\nChapter 7 is where they met.\n", `
heading 1: CHAPTER I. The beginning
paragraph: It was.
heading 1: Part 2
paragraph: It is.
paragraph: Chapter 7 is where they met.
`},
		"manual page": {"NAME\n       ls - list\n\nSEE ALSO\n       dir\n", `
heading 1: NAME
paragraph: ls - list
heading 1: SEE ALSO
paragraph: dir
`},
		"shouting is none": {"STOP RIGHT THERE!\n\nTHE QUICK BROWN FOX JUMPS OVER THE LAZY DOG TODAY\n\nNASA AND ESA\nmet again\n", `
paragraph: STOP RIGHT THERE!
paragraph: THE QUICK BROWN FOX JUMPS OVER THE LAZY DOG TODAY
paragraph: NASA AND ESA\nmet again
`},
		"a drawn line is none": {"text\n\n------\n\n***\n\nmore\n", `
paragraph: text
paragraph: ------
paragraph: ***
paragraph: more
`},
		"numbered and underlined": {"Guide\n=====\n\n1. First\n--------\n\nText.\n\n1.1. Part of it\n\nMore.\n\n- item\n------\n", `
heading 1: Guide\n=====
heading 2: 1. First\n--------
paragraph: Text.
heading 3: 1.1. Part of it
paragraph: More.
list_item: - item\n------
`},
		"under a line across the page": {"~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~\n\t\tLesson 1: Start\n\nText.\n\n---\nAnn Lee\n\nx\n", `
heading 3: ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~\n\t\tLesson 1: Start
paragraph: Text.
paragraph: ---\nAnn Lee
paragraph: x
`},
		"at the left edge": {"A title of it\n=============\n\nFirst part\n\n  Text of it.\n\n  More.\n\nSecond part\n\n  Text.\n\n  One line\n\n  Text.\n", `
heading 1: A title of it\n=============
heading 2: First part
paragraph: Text of it.
paragraph: More.
heading 2: Second part
paragraph: Text.
paragraph: One line
paragraph: Text.
`},
		"lines at the left edge that are none": {"First\n\n  Text of it.\n\nSecond\n\n  Text.\n\nHere is a paragraph\nof two lines.\n", `
paragraph: First
paragraph: Text of it.
paragraph: Second
paragraph: Text.
paragraph: Here is a paragraph\nof two lines.
`},
		"a table's head is none": {"Name   Age\n----   ---\nBob    12\n", `
paragraph: Name   Age\n----   ---\nBob    12
`},
	} {
		t.Run(name, func(t *testing.T) { corpustest.Expect(t, Parser{}, test.source, test.want) })
	}
}

func TestLists(t *testing.T) {
	corpustest.Expect(t, Parser{}, "Take:\n- milk\n- eggs and\n  ham\n    * sub\n\nA sentence - with a dash.\n- one only\n", `
paragraph: Take:
list_item: - milk
list_item: - eggs and\n  ham
list_item 1: * sub
paragraph: A sentence - with a dash.\n- one only
`)
}

func TestTextIsKeptAsItStands(t *testing.T) {
	const source = "  Indented  start\n\twith tabs  \n\n\nend  "
	if got := corpustest.Parse(t, Parser{}, source).Text; got != source {
		t.Errorf("got %q", got)
	}
}

func TestTitleAndDate(t *testing.T) {
	for name, test := range map[string]struct{ source, title, date string }{
		"header fields":      {"Title: On Things\nAuthor: A. Person\nRelease Date: May 1, 2024 [eBook #1]\n\nText.\n", "On Things", "2024-05-01"},
		"first heading":      {"Some text that is long.\nIt goes on.\n\nPART\n\nx\n", "PART", ""},
		"a short first line": {"On the nature of things\n\nLong text follows here.\nAnd on.\n", "On the nature of things", ""},
		"none":               {"a line\nand another\n", "", ""},
		"empty":              {" \n\n", "", ""},
	} {
		document := corpustest.Parse(t, Parser{}, test.source)
		if document.Title != test.title || document.Date != test.date {
			t.Errorf("%s: title %q, date %q", name, document.Title, document.Date)
		}
	}
}

func TestPages(t *testing.T) {
	document := corpustest.Parse(t, Parser{}, "one\n\ftwo\nstill\f\nthree\f\n")
	var got []string
	for i, page := range document.Pages {
		if page.Number != i+1 {
			t.Errorf("page %d has number %d", i, page.Number)
		}
		got = append(got, strings.TrimSpace(document.Text[page.Range.Start:page.Range.End]))
	}
	if strings.Join(got, "|") != "one|two\nstill|three" {
		t.Errorf("got %q", got)
	}
	if pages := corpustest.Parse(t, Parser{}, strings.Repeat("line\n", 400)+"\fend").Pages; pages != nil {
		t.Errorf("%d pages of a text whose form feed separates no pages", len(pages))
	}
}

// Pages as RFCs have them: a running footer, a form feed, a running header.
func TestRunningHeadersAndFooters(t *testing.T) {
	const turn = "\n\nAuthor          Informational          [Page %d]\n\f\nRFC 1         A Title         May 2024\n\n\n"
	source := "\n   The first paragraph of it, which is long enough, says that\n   the office in the city of New York goes on" + fmt.Sprintf(turn, 1) +
		"   over the page. And here it ends.\n\n   Another one that ends where the page of the text ends." + fmt.Sprintf(turn, 2) +
		"   A new paragraph.\n\n   - a" + fmt.Sprintf(turn, 3) + "   - b\n"
	document := corpustest.Expect(t, Parser{}, source, `
paragraph: The first paragraph of it, which is long enough, says that\n   the office in the city of New York goes on\n   over the page. And here it ends.
paragraph: Another one that ends where the page of the text ends.
paragraph: A new paragraph.
list_item: - a
list_item: - b
`)
	var begins []string
	for _, page := range document.Pages {
		begins = append(begins, strings.Join(strings.Fields(document.Text[page.Range.Start:page.Range.End])[:2], " "))
	}
	if got := strings.Join(begins, "|"); got != "The first|over the|A new|- b" || len(document.Notes) != 1 {
		t.Errorf("pages begin %s, notes %v", got, document.Notes)
	}
	for name, kept := range map[string]string{
		"lines that differ":     "Chapter one\nand its text\nit ends here\n\fChapter two\nand more text\nit ends there\n\fLast one\nx\ny\n",
		"pages without letters": "---\na\n---\n\f---\nb\n---\n\f---\nc\n---\n",
	} {
		if got := corpustest.Parse(t, Parser{}, kept); got.Text != kept || len(got.Pages) != 3 {
			t.Errorf("%s: %d pages of %q", name, len(got.Pages), got.Text)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"", "Title\n=====\n\n1. One\n\n- a\n- b\n", "\f\f a\n\n\tB\n---\n", "===\n x\n===\n===\n", "NAME\n  x\r\n", "CHAPTER X\n\né\x1b[m\b", "A 1\nx\nB 1\n\fA 2\ny\nB 2\n\fA 3\nz\nB 3\n", "A\n\n b\n\nC\n\n d\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, source string) {
		document, err := Parser{}.Parse(t.Context(), corpus.File{Path: "f"}, []byte(source), corpus.Limits{})
		if err != nil {
			return
		}
		if err := document.Check(); err != nil {
			t.Errorf("%v: %q", err, source)
		}
	})
}

func TestLargeInputs(t *testing.T) {
	for name, source := range map[string]string{
		"one line": strings.Repeat("word ", 200_000), "short lines": strings.Repeat("a\n", 300_000), "bullets": strings.Repeat("- a\n", 200_000),
		"headings": strings.Repeat("A\n---\n", 100_000), "blank lines": strings.Repeat("\n", 1_000_000), "form feeds": strings.Repeat("a\f", 300_000),
		"pairs of bullets": strings.Repeat("x\n- a\n", 100_000), "rules": strings.Repeat("===\n", 200_000),
	} {
		t.Run(name, func(t *testing.T) { corpustest.Parse(t, Parser{}, source) })
	}
}
