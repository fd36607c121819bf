package chunkers

import (
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"

	"graphmill/pipeline/corpus"
	"graphmill/pipeline/graph"
)

func texts(chunks []Chunk) []string {
	var out []string
	for _, chunk := range chunks {
		out = append(out, chunk.Text)
	}
	return out
}

func checkTexts(t *testing.T, chunks []Chunk, want ...string) {
	t.Helper()
	if got := texts(chunks); fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
		t.Errorf("chunks\n got %q\nwant %q", got, want)
	}
}

// words is n different words of one token each.
func words(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "w%c%c ", 'a'+i/26%26, 'a'+i%26)
	}
	return strings.TrimSpace(b.String())
}

func TestEstimateIsCloseToTheTokenizerOnKnownTexts(t *testing.T) {
	// True counts by models/minilm/tokenizer.json without special tokens.
	for text, want := range map[string]int{
		"": 0,
		"The quick brown fox jumps over the lazy dog.":                                                     10,
		"Install the package with `pip install foo_bar`, then call configure_file(INPUT output COPYONLY).": 28,
		"Правительство опубликовало новый закон о защите информации.":                                      50,
		"委员会于一九九八年三月在日内瓦开会。":                                                                               18,
		"政府は新しい法律を公布しました。":                                                                                 16,
	} {
		if got := EstimateTokens(text); math.Abs(float64(got-want)) > 1+0.2*float64(want) {
			t.Errorf("%q: estimate %d, tokenizer %d", text, got, want)
		}
	}
}

func TestEstimateNeverFallsAsTextGrows(t *testing.T) {
	for _, seed := range seeds {
		last := 0
		for i := 0; i <= len(seed); i += 1 + i/64 {
			n := EstimateTokens(strings.ToValidUTF8(seed[:i], ""))
			if n < last {
				t.Fatalf("%q: %d after %d", seed[:i], n, last)
			}
			last = n
		}
	}
}

func TestFixedCutsBetweenWordsAndRepeatsTheOverlap(t *testing.T) {
	text := words(60)
	chunks := mustChunk(t, "fixed", Params{ChunkTokens: 20, OverlapTokens: 5}, &corpus.Document{Text: text})
	if len(chunks) < 3 {
		t.Fatalf("only %d chunks", len(chunks))
	}
	for i, chunk := range chunks[1:] {
		shared := text[chunk.Range.Start:chunks[i].Range.End]
		if n := len(strings.Fields(shared)); n == 0 || EstimateTokens(shared) > 5 {
			t.Errorf("chunk %d repeats %q", i+1, shared)
		}
		if before := text[chunk.Range.Start-1]; before != ' ' {
			t.Errorf("chunk %d starts inside a word", i+1)
		}
	}
}

func TestFixedLeavesNoTailInsideTheOverlap(t *testing.T) {
	for n := range 80 {
		mustChunk(t, "fixed", Params{ChunkTokens: 16, OverlapTokens: 8}, &corpus.Document{Text: words(n)})
	}
}

func TestFixedByCharactersCountsCodePoints(t *testing.T) {
	chunks := mustChunk(t, "fixed", Params{ChunkChars: 64}, &corpus.Document{Text: strings.Repeat("漢", 130)})
	if len(chunks) != 3 || len(chunks[0].Text) != 64*3 {
		t.Errorf("got %d chunks, the first of %d bytes", len(chunks), len(chunks[0].Text))
	}
}

func TestAGiantWordIsCutAtTheCap(t *testing.T) {
	for _, name := range []string{"fixed", "sentence", "structural"} {
		document := documentOf(piece{corpus.Paragraph, "Before " + strings.Repeat("x", 5000) + " after.", 0})
		if chunks := mustChunk(t, name, Params{ChunkTokens: 32}, document); len(chunks) < 60 {
			t.Errorf("%s: %d chunks", name, len(chunks))
		}
	}
}

func TestAGiantGraphemeClusterIsCutAtCodePoints(t *testing.T) {
	for _, name := range []string{"fixed", "sentence", "structural"} {
		text := "e" + strings.Repeat("\u0301", 20_000) + " end"
		chunks := mustChunk(t, name, Params{ChunkTokens: 16}, &corpus.Document{Text: text})
		if len(chunks) < 70 {
			t.Errorf("%s: %d chunks", name, len(chunks))
		}
	}
}

func TestEmojiFamiliesAndFlagsStayWhole(t *testing.T) {
	text := strings.Repeat("👩‍👩‍👧‍👦", 30) + strings.Repeat("🇩🇪🇫🇷", 30)
	for _, name := range []string{"fixed", "sentence", "structural"} {
		mustChunk(t, name, Params{ChunkTokens: 17}, &corpus.Document{Text: text})
	}
}

func TestSentencePacksWholeSentencesAndRepeatsSome(t *testing.T) {
	document := &corpus.Document{Text: "One two three four five six. Two two three four five six. Three two three four five six. Four."}
	checkTexts(t, mustChunk(t, "sentence", Params{ChunkTokens: 16}, document),
		"One two three four five six. Two two three four five six.",
		"Three two three four five six. Four.")
	checkTexts(t, mustChunk(t, "sentence", Params{ChunkTokens: 16, OverlapSentences: 1}, document),
		"One two three four five six. Two two three four five six.",
		"Two two three four five six. Three two three four five six.",
		"Three two three four five six. Four.")
}

func TestStructuralKeepsASmallDocumentInOneChunk(t *testing.T) {
	document := documentOf(piece{corpus.Heading, "Title", 1}, piece{corpus.Paragraph, "Text.", 0},
		piece{corpus.Heading, "Sub", 2}, piece{corpus.Paragraph, "More.", 0})
	chunks := mustChunk(t, "structural", nil, document)
	checkTexts(t, chunks, "Title\n\nText.\n\nSub\n\nMore.")
	if chunks[0].Header != "Title" || chunks[0].Section != 0 {
		t.Errorf("header %q, section %d", chunks[0].Header, chunks[0].Section)
	}
}

func TestStructuralFollowsSections(t *testing.T) {
	long := words(19)
	document := documentOf(
		piece{corpus.Heading, "Guide", 1},
		piece{corpus.Heading, "Install", 2}, piece{corpus.Paragraph, long, 0},
		piece{corpus.Heading, "Use", 2}, piece{corpus.Paragraph, long, 0},
		piece{corpus.Heading, "Notes", 2}, piece{corpus.Paragraph, "Short.", 0},
		piece{corpus.Heading, "Thanks", 2}, piece{corpus.Paragraph, "You.", 0},
	)
	document.Title = "Manual"
	chunks := mustChunk(t, "structural", Params{ChunkTokens: 24}, document)
	checkTexts(t, chunks, "Guide\n\nInstall\n\n"+long, "Use\n\n"+long, "Notes\n\nShort.\n\nThanks\n\nYou.")
	for i, want := range []string{"Manual › Guide", "Manual › Guide › Use", "Manual › Guide"} {
		if chunks[i].Header != want {
			t.Errorf("chunk %d: header %q, want %q", i, chunks[i].Header, want)
		}
	}
	if chunks[1].Section != 2 || chunks[2].Section != 3 {
		t.Errorf("sections %d and %d", chunks[1].Section, chunks[2].Section)
	}
}

func TestStructuralKeepsBlocksWholeAndLeadsTogether(t *testing.T) {
	list := []piece{{corpus.ListItem, "- " + words(3), 0}, {corpus.ListItem, "- " + words(3), 0}}
	pieces := append([]piece{{corpus.Paragraph, words(9), 0}, {corpus.Paragraph, "These are allowed:", 0}}, list...)
	pieces = append(pieces, piece{corpus.Code, "a = 1\n\nb = 2", 0}, piece{corpus.Paragraph, words(9), 0})
	chunks := mustChunk(t, "structural", Params{ChunkTokens: 20}, documentOf(pieces...))
	got := strings.Join(texts(chunks), "¦")
	if !strings.Contains(got, "¦These are allowed:\n\n- ") || !strings.Contains(got, "a = 1\n\nb = 2") {
		t.Errorf("got %q", texts(chunks))
	}
}

func TestStructuralDividesLargeBlocksAlongTheirOwnLines(t *testing.T) {
	row := "| " + words(4) + " |"
	table := strings.TrimSuffix(strings.Repeat(row+"\n", 12), "\n")
	for _, chunk := range mustChunk(t, "structural", Params{ChunkTokens: 20}, documentOf(piece{corpus.Table, table, 0})) {
		if !strings.HasPrefix(chunk.Text, "|") || !strings.HasSuffix(chunk.Text, "|") {
			t.Errorf("a row is divided: %q", chunk.Text)
		}
	}
	var items []piece
	for range 6 {
		items = append(items, piece{corpus.ListItem, "- " + words(4), 0}, piece{corpus.ListItem, "  - " + words(4), 1})
	}
	for _, chunk := range mustChunk(t, "structural", Params{ChunkTokens: 20}, documentOf(items...)) {
		if !strings.HasPrefix(chunk.Text, "- ") {
			t.Errorf("a nested item is parted from its own: %q", chunk.Text)
		}
	}
}

func TestLaterPartsOfATableNameItsColumns(t *testing.T) {
	const head = "Part No. | Made By"
	table := head
	for i := range 40 {
		table += fmt.Sprintf("\nP%03d | Acme", i)
	}
	document := documentOf(piece{corpus.Heading, "Parts", 1}, piece{corpus.Table, table, 0})
	block := &document.Blocks[1]
	block.Head = graph.Range{Start: block.Range.Start, End: block.Range.Start + len(head)}
	for _, name := range []string{"fixed", "sentence", "structural"} {
		chunks := mustChunk(t, name, Params{ChunkTokens: 24}, document)
		if len(chunks) < 5 || chunks[0].Header != "Parts" || !strings.Contains(chunks[0].Text, head) {
			t.Errorf("%s: %d chunks, the first %q under %q", name, len(chunks), chunks[0].Text, chunks[0].Header)
		}
		for _, chunk := range chunks[1:] {
			if chunk.Header != "Parts › "+head {
				t.Errorf("%s: %q is under %q", name, chunk.Text, chunk.Header)
			}
		}
	}
	// A head of any length is bounded.
	block.Head.End = block.Range.Start + strings.LastIndex(table, "\n")
	chunks := mustChunk(t, "structural", Params{ChunkTokens: 24}, document)
	if last := chunks[len(chunks)-1]; len([]rune(last.Header)) > 300 || !strings.HasSuffix(last.Header, "…") && strings.HasPrefix(last.Text, "P039") {
		t.Errorf("%q is under %q", last.Text, last.Header)
	}
}

func TestSectionsThatDoNotNestAreIgnored(t *testing.T) {
	document := documentOf(piece{corpus.Paragraph, words(40), 0}, piece{corpus.Paragraph, words(40), 0})
	document.Sections = []corpus.Section{
		{Title: "a", Parent: -1, Range: graph.Range{Start: 0, End: 100}},
		{Title: "b", Parent: -1, Range: graph.Range{Start: 50, End: 60}},
		{Title: "c", Parent: 0, Range: graph.Range{Start: 70, End: 90}},
		{Title: "d", Parent: 9, Range: graph.Range{Start: 95, End: 1 << 30}},
	}
	for _, chunk := range mustChunk(t, "structural", Params{ChunkTokens: 16}, document) {
		if chunk.Section != -1 {
			t.Errorf("section %d", chunk.Section)
		}
	}
}

func TestALongHeadingDoesNotFollowEveryChunk(t *testing.T) {
	document := documentOf(piece{corpus.Heading, strings.Repeat("long ", 50_000), 1}, piece{corpus.Paragraph, words(60), 0})
	for _, chunk := range mustChunk(t, "structural", Params{ChunkTokens: 16}, document) {
		if len(chunk.Header) > 200 {
			t.Fatalf("a header of %d bytes", len(chunk.Header))
		}
	}
}

func TestTenMegabytesOnOneLineNeedLittleMemory(t *testing.T) {
	if testing.Short() || raceDetector {
		t.Skip("reads 50 MB, and shares nothing between goroutines")
	}
	for _, sample := range []string{english, "x"} {
		document := oneLine(sample)
		for _, name := range []string{"fixed", "sentence", "structural"} {
			if sample == "x" && name == "structural" {
				continue // the same path as sentence
			}
			chunker, err := New(name, nil)
			if err != nil {
				t.Fatal(err)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			chunks, err := chunker.Chunk(document)
			runtime.ReadMemStats(&after)
			if err != nil || len(chunks) < 5000 {
				t.Fatalf("%s: %d chunks, %v", name, len(chunks), err)
			}
			if spent := (after.TotalAlloc - before.TotalAlloc) >> 20; spent > 40 {
				t.Errorf("%s: allocated %d MB for a text of 10 MB", name, spent)
			}
		}
	}
}

func TestNewRefusesWhatIsNotAllowed(t *testing.T) {
	for want, give := range map[string]struct {
		name   string
		params Params
	}{
		`unknown chunker "semantic"; allowed are fixed, sentence, structural, contextual`:             {"semantic", nil},
		"chunker fixed: chunk_tokens is 5; allowed are 16 to 8192 tokens":                             {"fixed", Params{ChunkTokens: 5}},
		`chunker sentence: unknown parameter "chunk_chars"; it takes chunk_tokens, overlap_sentences`: {"sentence", Params{ChunkChars: 100}},
		"chunker fixed: overlap_tokens is 40; allowed is up to half of chunk_tokens, 32":              {"fixed", Params{ChunkTokens: 64, OverlapTokens: 40}},
		"chunker fixed: overlap_tokens is 140; allowed is up to half of chunk_tokens, 128":            {"fixed", Params{OverlapTokens: 140}},
		"chunker sentence: overlap_sentences is -1; allowed are 0 to 10 sentences":                    {"sentence", Params{OverlapSentences: -1}},
		"chunker fixed: overlap_chars is 33; allowed is up to half of chunk_chars, 32":                {"fixed", Params{ChunkChars: 64, OverlapChars: 33}},
		`chunker structural: unknown parameter "overlap_tokens"; it takes chunk_tokens`:               {"structural", Params{OverlapTokens: 1}},
	} {
		if _, err := New(give.name, give.params); err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}
