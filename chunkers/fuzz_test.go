package chunkers

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"graphmill/pipeline/corpus"
	"graphmill/pipeline/graph"
)

// seeds are texts that each broke, or could break, a rule of their own.
var seeds = []string{
	"",
	" \n\t ",
	"One sentence. Another one! A third?\n\nA new paragraph with Dr. Smith, e.g. in the U.S. Congress.",
	"# Title\n\nIntro:\n\n- one\n- two\n  - nested\n\n| a | b |\n| 1 | 2 |\n\n## Sub\n\nText text text.",
	"日本語の文章です。「はい。」と言った！本当？中文句子。下一句，很长很长。",
	"هل هذا سؤال؟ نعم۔ यह एक वाक्य है। दूसरा वाक्य॥",
	strings.Repeat("x", 400) + " " + strings.Repeat("漢", 60),
	"e" + strings.Repeat("\u0301", 3000) + " end",
	" \u0301start and \u200d end \u0301 ",
	strings.Repeat("🇩🇪", 40) + strings.Repeat("👩‍👩‍👧‍👦", 12),
	"\u0600" + strings.Repeat("\u0600", 50) + " 12",
	"a\r\nb\r\n\r\nc\u2029d\u0085e\fg",
	strings.Repeat("한국어 ", 30) + strings.Repeat("ᄀ각", 20),
	". . . ... … ?! !? ." + strings.Repeat(".", 300),
	strings.Repeat(" ", 2000) + "a" + strings.Repeat("\u00a0", 2000) + "b" + strings.Repeat("\n", 500) + "c",
	"ก็ำนํ้า" + strings.Repeat("กำ", 80),
}

func FuzzFixed(f *testing.F) {
	for i, seed := range seeds {
		f.Add(seed, uint16(16+i), uint8(i), i%3 == 2)
	}
	f.Fuzz(func(t *testing.T, text string, limit uint16, overlap uint8, chars bool) {
		params := Params{ChunkTokens: 16 + int(limit%300)}
		params[OverlapTokens] = int(overlap) % (params[ChunkTokens]/2 + 1)
		if chars {
			params = Params{ChunkChars: 64 + int(limit%300)}
			params[OverlapChars] = int(overlap) % (params[ChunkChars]/2 + 1)
		}
		mustChunk(t, "fixed", params, fuzzDocument(text, 0))
	})
}

func FuzzSentence(f *testing.F) {
	for i, seed := range seeds {
		f.Add(seed, uint16(i), uint8(i), uint64(i)*0x9E3779B97F4A7C15)
	}
	f.Fuzz(func(t *testing.T, text string, limit uint16, overlap uint8, shape uint64) {
		document := fuzzDocument(text, shape)
		mustChunk(t, "sentence", Params{ChunkTokens: 16 + int(limit%300), OverlapSentences: int(overlap % 11)}, document)
		checkSentences(t, document.Text, Sentences(document.Text))
		checkSentences(t, document.Text, DocumentSentences(document))
	})
}

func FuzzStructural(f *testing.F) {
	for i, seed := range seeds {
		f.Add(seed, uint16(i), uint64(i)*0x9E3779B97F4A7C15)
	}
	f.Fuzz(func(t *testing.T, text string, limit uint16, shape uint64) {
		mustChunk(t, "structural", Params{ChunkTokens: 16 + int(limit%300)}, fuzzDocument(text, shape))
	})
}

// checkSentences checks that sentences cover the text, do not overlap and have
// tidy edges.
func checkSentences(t *testing.T, text string, sentences []graph.Range) {
	t.Helper()
	boundaries := clusterBoundaries(text)
	covered := 0
	for _, r := range sentences {
		if r.Start < covered || r.Len() <= 0 {
			t.Fatalf("sentence %v follows one that ends at %d", r, covered)
		}
		checkBlank(t, text[covered:r.Start], "a sentence")
		covered = r.End
		for _, edge := range []int{r.Start, r.End} {
			if clusterAt(boundaries, edge).Start != edge {
				t.Fatalf("sentence %q divides a cluster", text[r.Start:r.End])
			}
		}
	}
	checkBlank(t, text[covered:], "the end")
}

// fuzzDocument makes a document as a parser would: valid UTF-8, a block for
// each stretch between blank lines, its kind drawn from shape, sections from
// the headings. Every fifth shape leaves blocks out, every seventh starts them
// a character early.
func fuzzDocument(text string, shape uint64) *corpus.Document {
	text = strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", ""), "\uFFFD")
	document := &corpus.Document{Text: text, Title: firstLine(text)}
	if shape == 0 {
		return document
	}
	kinds := []corpus.BlockKind{corpus.Paragraph, corpus.Heading, corpus.ListItem, corpus.Table, corpus.Code, corpus.Quote}
	at := 0
	for _, piece := range strings.SplitAfter(text, "\n\n") {
		shape = shape*6364136223846793005 + 1442695040888963407
		r := trimRange(text, graph.Range{Start: at, End: at + len(piece)})
		at += len(piece)
		draw := shape >> 33
		if r.Len() == 0 || draw%5 == 0 {
			continue
		}
		if draw%7 == 0 {
			_, n := utf8.DecodeRuneInString(text[r.Start:])
			r.Start += n
		}
		document.Blocks = append(document.Blocks, corpus.Block{Kind: kinds[draw%6], Range: r, Depth: int(draw>>8)%3 + 1})
	}
	document.Sections = sectionsOf(document)
	return document
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

func trimRange(text string, r graph.Range) graph.Range {
	piece := text[r.Start:r.End]
	r.Start += len(piece) - len(strings.TrimLeftFunc(piece, unicode.IsSpace))
	r.End = r.Start + len(strings.TrimSpace(piece))
	return r
}

// sectionsOf derives sections from heading blocks.
func sectionsOf(document *corpus.Document) []corpus.Section {
	var sections []corpus.Section
	var open []int
	for _, block := range document.Blocks {
		if block.Kind != corpus.Heading {
			continue
		}
		for len(open) > 0 && sections[open[len(open)-1]].Depth >= block.Depth {
			sections[open[len(open)-1]].Range.End = block.Range.Start
			open = open[:len(open)-1]
		}
		parent := -1
		if len(open) > 0 {
			parent = open[len(open)-1]
		}
		open = append(open, len(sections))
		sections = append(sections, corpus.Section{
			Title: document.Text[block.Range.Start:block.Range.End], Depth: block.Depth, Parent: parent,
			Range: graph.Range{Start: block.Range.Start, End: len(document.Text)},
		})
	}
	return sections
}
