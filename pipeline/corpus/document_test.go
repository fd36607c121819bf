package corpus

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestNormalDate(t *testing.T) {
	for stated, want := range map[string]string{
		"2024": "2024", "2024-05": "2024-05", "2024-5-1": "2024-05-01", "2024/05/01": "2024-05-01", "2024.05.01": "2024-05-01",
		"2024-05-01T23:59:59+02:00": "2024-05-01", "2024-05-01 10:00": "2024-05-01", "20240501": "2024-05-01",
		"D:20240501120000Z": "2024-05-01", "1 May 2024": "2024-05-01", "Wed, 01 May 2024 10:00:00 GMT": "2024-05-01",
		"May 1, 2024": "2024-05-01", "1st September 2023": "2023-09-01", "Sept. 3, 2023": "2023-09-03", "May 2024": "2024-05",
		"01-May-2024": "2024-05-01", "Wed May  1 10:00:00 2024": "2024-05-01", "Wed May  1 10:00:00 CEST 2024": "2024-05-01",
		"$Date: 2009-08-05 12:00:00 +0200 $": "2009-08-05", "01.05.2024": "2024-05-01", "25/12/2024": "2024-12-25",
		"12/25/2024": "2024-12-25", "5/5/2024": "2024-05-05",
		"4/5/2024": "", "2024-02-30": "", "2024-13": "", "yesterday": "", "": "", "0024-01-01": "", "Marching 2024": "", "version 2024": "",
		"12345678901234": "",
	} {
		if got := NormalDate(stated); got != want {
			t.Errorf("%q gives %q, want %q", stated, got, want)
		}
	}
}

func TestSectionsOf(t *testing.T) {
	var b Builder
	b.Add(Paragraph, 0, "before")
	b.Add(Heading, 1, "One")
	b.Add(Paragraph, 0, "p1")
	b.Add(Heading, 3, "Deep\n====")
	b.Add(Heading, 2, "Less  deep")
	b.Add(Paragraph, 0, "p2")
	b.Add(Heading, 1, "Two")
	document, err := b.Document(File{}, Text)
	must(t, err)
	must(t, document.Check())
	var got []string
	for _, s := range document.Sections {
		got = append(got, fmt.Sprintf("%s/%d/%d/%q", s.Title, s.Depth, s.Parent, document.Text[s.Range.Start:s.Range.End]))
	}
	equal(t, got, []string{
		`One/1/-1/"One\n\np1\n\nDeep\n====\n\nLess  deep\n\np2"`, `Deep/3/0/"Deep\n===="`, `Less deep/2/0/"Less  deep\n\np2"`, `Two/1/-1/"Two"`,
	})
}

func TestBuilderKeepsBlocksApartAndCleanAndBounded(t *testing.T) {
	b := Builder{Limit: 60}
	b.Add(ListItem, 0, "  - a ")
	b.AddIndented(ListItem, 1, "  ", "- b\x00\x07")
	b.Add(Code, 0, "\n    if x:\n        y\n\n")
	b.Add(Paragraph, 0, " \n ")
	b.Add(Paragraph, 0, "c\r\nd\fe")
	document, err := b.Document(File{}, Text)
	must(t, err)
	must(t, document.Check())
	if want := "- a\n  - b\n\n    if x:\n        y\n\nc\n\nd\ne"; document.Text != want {
		t.Errorf("got %q, want %q", document.Text, want)
	}
	b.Add(Paragraph, 0, strings.Repeat("x", 100))
	b.Add(Paragraph, 0, "y")
	if _, err := b.Document(File{Path: "big.md"}, Text); err == nil || !strings.Contains(err.Error(), "corpus.max_text_bytes") {
		t.Errorf("got %v", err)
	}
}

func TestCheckFindsWhatIsBroken(t *testing.T) {
	whole := func() *Document {
		var b Builder
		b.Add(Heading, 1, "é")
		b.Add(Paragraph, 0, "text")
		document, err := b.Document(File{}, Text)
		must(t, err)
		return document
	}
	must(t, whole().Check())
	for name, breakIt := range map[string]func(*Document){
		"text in no block":       func(d *Document) { d.Blocks = d.Blocks[:1] },
		"text before the blocks": func(d *Document) { d.Blocks = d.Blocks[1:] },
		"overlap":                func(d *Document) { d.Blocks[1].Range.Start = 1 },
		"an empty block":         func(d *Document) { d.Blocks[0].Range.End = 0 },
		"out of order":           func(d *Document) { slices.Reverse(d.Blocks) },
		"a cut character":        func(d *Document) { d.Blocks[0].Range.End = 1 },
		"beyond the end":         func(d *Document) { d.Blocks[1].Range.End++ },
		"a carriage return":      func(d *Document) { d.Text = strings.Replace(d.Text, "text", "te\rt", 1) },
		"a parent below":         func(d *Document) { d.Sections[0].Parent = 0 },
		"pages overlap":          func(d *Document) { d.Pages = []Page{{Range: d.Blocks[1].Range}, {Range: d.Blocks[0].Range}} },
	} {
		document := whole()
		breakIt(document)
		if document.Check() == nil {
			t.Errorf("%s was not found", name)
		}
	}
}
