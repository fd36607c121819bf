package assemble

import (
	"context"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"graphmill/chunkers"
	"graphmill/pipeline/corpus"
	"graphmill/pipeline/graph"
	"graphmill/resolvers"
)

// input makes the input for a text whose chunks and mentions are given as
// pieces of it.
func input(t testing.TB, text string, chunks []graph.Range, mentions [][3]string) Input {
	t.Helper()
	document := &corpus.Document{File: corpus.File{Path: "notes/ä.md", Format: corpus.Markdown, Size: int64(len(text))}, Text: text}
	in := Input{Document: document, ID: graph.FileDocumentID("notes/ä.md"), Status: "ingested", ContentKeySeed: "seed"}
	for i, r := range chunks {
		in.Chunks = append(in.Chunks, chunkers.Chunk{Index: i, Range: r, Text: text[r.Start:r.End], Section: -1, Tokens: 7})
		var e graph.Extraction
		for _, m := range mentions {
			for from := 0; ; {
				at := strings.Index(text[from:], m[0])
				if at < 0 {
					break
				}
				place := graph.Range{Start: from + at, End: from + at + len(m[0])}
				from = place.End
				if r.Contains(place) {
					e.Mentions = append(e.Mentions, graph.Mention{Range: place, Text: m[0], Type: m[1], Score: 0.5, Method: m[2]})
				}
			}
		}
		in.Extractions = append(in.Extractions, e)
	}
	resolve(t, &in)
	return in
}

func resolve(t testing.TB, in *Input) {
	t.Helper()
	resolution, err := resolvers.Exact{}.Resolve(context.Background(), Mentions(in.Extractions))
	if err != nil {
		t.Fatal(err)
	}
	in.Resolution = resolution
}

func build(t testing.TB, in Input) graph.DocumentGraph {
	t.Helper()
	g, err := Document(in)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

const story = "# Über Acme\n\nAcme Corp is a maker of anvils in Zürich. “ACME CORP” was founded by Jane Roe.\n\nJane Roe’s brother worked there. --- Acme Corp grew.\n"

func TestOverlappingChunksAreBothLinkedAndCountedOnce(t *testing.T) {
	whole := graph.Range{Start: 0, End: len(story) - 1}
	second := graph.Range{Start: strings.Index(story, "“ACME"), End: len(story) - 1}
	in := input(t, story, []graph.Range{whole, second}, [][3]string{{"Acme Corp", "Organization", "gliner"}, {"ACME CORP", "Organization", "gliner"}, {"Jane Roe", "Person", "gliner"}, {"---", "Person", "gliner"}})
	for i := range in.Extractions {
		e := &in.Extractions[i]
		person, company := -1, -1
		for j, m := range e.Mentions {
			switch m.Text {
			case "Jane Roe":
				person = j
			case "ACME CORP":
				company = j
			}
		}
		start := strings.Index(story, "“ACME")
		evidence := graph.Range{Start: start, End: strings.Index(story, "Roe.") + 4}
		e.Relations = append(e.Relations,
			graph.RelationMention{Source: person, Target: company, Type: "FOUNDED", Evidence: evidence, Score: 0.4, Method: "cues"},
			graph.RelationMention{Source: person, Target: company, Type: "FOUNDED", Evidence: evidence, Score: 0.9, Method: "cues"},
			graph.RelationMention{Source: person, Target: person, Type: "FAMILY_OF", Evidence: evidence, Score: 0.9, Method: "cues"})
	}
	g := build(t, in)
	if len(g.Entities) != 2 {
		t.Fatalf("entities %+v", g.Entities)
	}
	acme, jane := g.Entities[0], g.Entities[1]
	if acme.ID != "acme_corp__organization" || acme.Name != "Acme Corp" || !reflect.DeepEqual(acme.Aliases, []string{"ACME CORP"}) || acme.Mentions != 3 {
		t.Errorf("acme %+v", acme)
	}
	if acme.Description != "Acme Corp is a maker of anvils in Zürich." {
		t.Errorf("acme is described by %q", acme.Description)
	}
	if jane.Mentions != 2 || len(g.Mentions) != 4 {
		t.Errorf("%d mentions of Jane Roe, %d rows", jane.Mentions, len(g.Mentions))
	}
	if len(g.Relations) != 1 {
		t.Fatalf("relations %+v", g.Relations)
	}
	r := g.Relations[0]
	if len(r.Evidence) != 2 || r.Score != 0.9 || r.Fact != "(Jane Roe, FOUNDED, Acme Corp): “ACME CORP” was founded by Jane Roe." {
		t.Errorf("relation %+v", r)
	}
	if d := g.Document; d.Folder != "notes" || d.Format != "markdown" || d.ChunkCount != 2 || d.EntityCount != 2 || d.RelationCount != 1 {
		t.Errorf("document %+v", d)
	}
}

func TestChunksKnowTheirPagesLinesAndSections(t *testing.T) {
	text := "Één\nzwei\n\fdrei\nvier"
	page := strings.Index(text, "\f")
	in := input(t, text, []graph.Range{{Start: 0, End: 5}, {Start: 6, End: page + 5}, {Start: page + 6, End: len(text)}}, nil)
	in.Document.Pages = []corpus.Page{{Number: 1, Range: graph.Range{End: page}}, {Number: 2, Range: graph.Range{Start: page + 1, End: len(text)}}}
	in.Document.Sections = []corpus.Section{
		{Title: "Top", Depth: 1, Parent: -1, Range: graph.Range{End: len(text)}},
		{Title: "Sub", Depth: 2, Parent: 0, Range: graph.Range{Start: page + 1, End: len(text)}},
	}
	for i, section := range []int{0, 0, 1} {
		in.Chunks[i].Section = section
	}
	g := build(t, in)
	want := [][4]int{{1, 1, 1, 1}, {1, 2, 2, 3}, {2, 2, 4, 4}}
	for i, c := range g.Chunks {
		if got := [4]int{c.FirstPage, c.LastPage, c.FirstLine, c.LastLine}; got != want[i] {
			t.Errorf("chunk %d has pages and lines %v, want %v", i, got, want[i])
		}
	}
	if g.Chunks[1].Span.Start != 4 {
		t.Errorf("spans count bytes: %+v", g.Chunks[1].Span)
	}
	if len(g.Sections) != 2 || len(g.Sections[0].Chunks) != 2 || len(g.Sections[1].Chunks) != 1 || g.Sections[1].Parent != g.Sections[0].ID {
		t.Errorf("sections %+v", g.Sections)
	}
}

func TestPartsThatDoNotFitAreAnError(t *testing.T) {
	for want, spoil := range map[string]func(*Input){
		"no document":          func(in *Input) { in.Document = nil },
		"no id":                func(in *Input) { in.ID = "" },
		"extractions for":      func(in *Input) { in.Extractions = nil },
		"not the text":         func(in *Input) { in.Chunks[0].Text = "x" },
		"mention \"Jane":       func(in *Input) { in.Extractions[0].Mentions[0].Range.Start++ },
		"resolved mentions":    func(in *Input) { in.Resolution.Entities = nil },
		"joins no mentions or": func(in *Input) { in.Extractions[0].Relations = []graph.RelationMention{{Source: 9}} },
	} {
		in := input(t, story, []graph.Range{{Start: 0, End: 100}}, [][3]string{{"Jane Roe", "Person", "x"}})
		spoil(&in)
		if _, err := Document(in); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}

// TestRowsAreExactAndOrderDoesNotMatter builds random documents twice, the
// second time with the mentions of every chunk shuffled.
func TestRowsAreExactAndOrderDoesNotMatter(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	alphabet := []string{"Zürich ", "Ann Lee ", "ann  lee ", "東京", "😀 ", "e\u0301t. ", "is a ", "\n", "\n\n", "Corp’s ", "founded ", "- "}
	for range 300 {
		var text strings.Builder
		text.WriteString("x")
		for range random.IntN(60) {
			text.WriteString(alphabet[random.IntN(len(alphabet))])
		}
		text.WriteString("x")
		in := randomInput(t, random, text.String())
		first := build(t, in)
		checkSpans(t, text.String(), first)
		shuffle(random, &in)
		resolve(t, &in)
		if second := build(t, in); !reflect.DeepEqual(first, second) {
			t.Fatalf("another order gives other rows for %q\n%+v\n%+v", text.String(), first, second)
		}
	}
}

func randomInput(t *testing.T, random *rand.Rand, text string) Input {
	runes := []rune(text)
	cut := func(n int) int { return len(string(runes[:n])) }
	var chunks []graph.Range
	for at := 0; at < len(runes); at += 10 {
		chunks = append(chunks, graph.Range{Start: cut(at), End: cut(min(at+15, len(runes)))})
	}
	in := input(t, text, chunks, nil)
	for i, r := range chunks {
		inside := []rune(text[r.Start:r.End])
		for range random.IntN(5) {
			a := random.IntN(len(inside))
			b := a + 1 + random.IntN(len(inside)-a)
			place := graph.Range{Start: r.Start + len(string(inside[:a])), End: r.Start + len(string(inside[:b]))}
			in.Extractions[i].Mentions = append(in.Extractions[i].Mentions, graph.Mention{
				Range: place, Text: text[place.Start:place.End], Type: []string{"A", "B"}[random.IntN(2)],
				Score: float64(random.IntN(3)) / 2, Method: []string{"gliner", "pattern"}[random.IntN(2)],
			})
		}
		if n := len(in.Extractions[i].Mentions); n > 0 {
			for range 3 {
				in.Extractions[i].Relations = append(in.Extractions[i].Relations, graph.RelationMention{
					Source: random.IntN(n), Target: random.IntN(n), Type: "R", Evidence: r, Score: random.Float64(), Method: "cues",
				})
			}
		}
	}
	resolve(t, &in)
	return in
}

func shuffle(random *rand.Rand, in *Input) {
	for i := range in.Extractions {
		e := &in.Extractions[i]
		order := random.Perm(len(e.Mentions))
		mentions := make([]graph.Mention, len(order))
		for from, to := range order {
			mentions[to] = e.Mentions[from]
		}
		e.Mentions = mentions
		for j := range e.Relations {
			e.Relations[j].Source, e.Relations[j].Target = order[e.Relations[j].Source], order[e.Relations[j].Target]
		}
		random.Shuffle(len(e.Relations), func(a, b int) { e.Relations[a], e.Relations[b] = e.Relations[b], e.Relations[a] })
	}
}

func checkSpans(t *testing.T, text string, g graph.DocumentGraph) {
	t.Helper()
	runes := []rune(text)
	slice := func(s graph.Span) string { return string(runes[s.Start:s.End]) }
	known := map[graph.EntityID]graph.Entity{}
	for _, e := range g.Entities {
		known[e.ID] = e
		if e.Name == "" || e.NameKey == "" || e.Mentions == 0 || len([]rune(e.Description)) > 500 {
			t.Errorf("entity %+v", e)
		}
	}
	for _, c := range g.Chunks {
		if slice(c.Span) != c.Text {
			t.Errorf("chunk %q is not the text at %v", c.Text, c.Span)
		}
	}
	for _, m := range g.Mentions {
		e, ok := known[m.Entity]
		if !ok || len(m.Spans) == 0 || len(m.Names) == 0 {
			t.Errorf("mention row %+v", m)
		}
		for _, span := range m.Spans {
			if graph.NameKey(slice(span)) != e.NameKey {
				t.Errorf("%q at %v is no mention of %q", slice(span), span, e.Name)
			}
		}
	}
	for _, r := range g.Relations {
		_, source := known[r.Source]
		_, target := known[r.Target]
		if !source || !target || r.Source == r.Target || len(r.Evidence) == 0 {
			t.Errorf("relation %+v", r)
		}
		for _, evidence := range r.Evidence {
			if slice(evidence.Span) != evidence.Quote {
				t.Errorf("quote %q is not the text at %v", evidence.Quote, evidence.Span)
			}
		}
	}
}
