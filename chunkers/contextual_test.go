package chunkers

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"graphmill/pipeline/corpus"
	"graphmill/pipeline/graph"
	"graphmill/pipeline/llm"
)

// scripted is a model that answers as it is told, held to the request's check.
type scripted func(r llm.Request) (string, error)

func (scripted) Fingerprint() string { return "scripted" }

func (s scripted) Ask(ctx context.Context, r llm.Request) (llm.Answer, error) {
	if err := ctx.Err(); err != nil {
		return llm.Answer{}, err
	}
	text, err := s(r)
	if err == nil && r.Check != nil {
		if reason := r.Check(text); reason != nil {
			err = fmt.Errorf("%w: %w", llm.ErrUnusable, reason)
		}
	}
	return llm.Answer{Text: text}, err
}

func contextual(t *testing.T, params Params, answer scripted) *Contextual {
	t.Helper()
	c, err := NewContextual(params, answer)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func plain(text string) *corpus.Document {
	return &corpus.Document{Text: text, Blocks: []corpus.Block{{Kind: corpus.Paragraph, Range: graph.Range{End: len(text)}}}}
}

func TestContextStandsInFrontAndNotInside(t *testing.T) {
	text := strings.Repeat("Ada Lovelace wrote to the man at length. ", 12) + "He never wrote back to her in all those years."
	document := plain(text)
	c := contextual(t, Params{ChunkTokens: 32}, func(r llm.Request) (string, error) {
		if !strings.Contains(r.User, text) || strings.Contains(r.System, "Ada") || r.Purpose != llm.Situate {
			t.Errorf("asked with %q", r.User)
		}
		if strings.Contains(r.User, "PASSAGE") && strings.Contains(r.User[strings.LastIndex(r.User, "PASSAGE"):], "never") {
			t.Error("the passage stands outside of its fence")
		}
		return "  It is about\nBabbage. ", nil
	})
	chunks, err := c.Chunk(document)
	if err != nil || len(chunks) < 3 {
		t.Fatal(chunks, err)
	}
	plainCut, err := New("sentence", Params{ChunkTokens: 32})
	if err != nil {
		t.Fatal(err)
	}
	if same, err := plainCut.Chunk(document); err != nil || fmt.Sprint(same) != fmt.Sprint(chunks) {
		t.Errorf("it cuts otherwise than sentence: %v", err)
	}
	lines, err := c.Situate(t.Context(), document, chunks)
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range lines {
		chunks[i].Context = line.Line
		if line.Line != "It is about Babbage." || strings.Contains(chunks[i].Text, "Babbage") || chunks[i].Lead() != "It is about Babbage." {
			t.Errorf("chunk %d: %+v", i, line)
		}
	}
	chunks[0].Header = "Letters"
	if lead := chunks[0].Lead(); lead != "Letters\nIt is about Babbage." {
		t.Errorf("lead %q", lead)
	}
	if c.Windowed(document) {
		t.Error("a short document is sent whole")
	}
}

func TestSectionsAreCutAlongTheStructure(t *testing.T) {
	c := contextual(t, nil, nil)
	text := "One\nText of one.\nTwo\nText of two."
	document := &corpus.Document{Text: text, Sections: []corpus.Section{
		{Title: "One", Depth: 1, Parent: -1, Range: graph.Range{End: 17}}, {Title: "Two", Depth: 1, Parent: -1, Range: graph.Range{Start: 17, End: len(text)}},
	}}
	structural, err := New("structural", nil)
	if err != nil {
		t.Fatal(err)
	}
	want, err := structural.Chunk(document)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := c.Chunk(document); err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, %v; structural gives %v", got, err, want)
	}
}

func TestAContextThatCannotBeUsedCostsOneLine(t *testing.T) {
	document := plain(strings.Repeat("Some words stand here for length and weight. ", 20) + "This one is odd, is it not, my dear reader.")
	unavailable := fmt.Errorf("ask: %w", llm.ErrUnavailable)
	for name, c := range map[string]struct {
		answer func() (string, error)
		want   error
		failed string
	}{
		"empty":    {func() (string, error) { return " \n", nil }, nil, "empty"},
		"a novel":  {func() (string, error) { return strings.Repeat("word ", 200), nil }, nil, "characters"},
		"no model": {func() (string, error) { return "", unavailable }, llm.ErrUnavailable, ""},
		"no money": {func() (string, error) { return "", &llm.BudgetError{} }, llm.ErrBudget, ""},
		"a panic":  {func() (string, error) { panic("oh") }, errors.ErrUnsupported, ""},
	} {
		t.Run(name, func(t *testing.T) {
			odd := contextual(t, Params{ChunkTokens: 32}, func(r llm.Request) (string, error) {
				if strings.Contains(r.User[strings.LastIndex(r.User, "\nPASSAGE "):], "is odd") {
					return c.answer()
				}
				return "fine", nil
			})
			chunks, err := odd.Chunk(document)
			if err != nil {
				t.Fatal(err)
			}
			lines, err := odd.Situate(t.Context(), document, chunks)
			if c.want != nil {
				if err == nil || c.want != errors.ErrUnsupported && !errors.Is(err, c.want) {
					t.Fatalf("%v, want %v", err, c.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			for i, line := range lines {
				last := i == len(lines)-1
				if last != (line.Failed != "") || last != (line.Line == "") || last && !strings.Contains(line.Failed, c.failed) {
					t.Errorf("chunk %d of %d: %+v", i, len(lines), line)
				}
			}
		})
	}
}

// A window holds the beginning, the chunk and what is around it, and is no larger
// than was said.
func TestWindowsOfLongDocuments(t *testing.T) {
	words := make([]string, 5000)
	for i := range words {
		words[i] = fmt.Sprintf("wörd%d", i)
	}
	text := strings.Join(words, " ")
	for _, most := range []int{400, 2000, 8000, len(text) - 1, len(text)} {
		for _, at := range []int{0, 10, most / 8, most / 2, len(text) / 2, len(text) - 300} {
			r := graph.Range{Start: betweenWords(text, at), End: betweenWords(text, at+200)}
			window := windowOf(text, r, most)
			if len(window) > most+2*len(omitted)+200 || !utf8.ValidString(window) {
				t.Errorf("window of %d at %d has %d bytes", most, at, len(window))
			}
			if !strings.Contains(window, text[r.Start:r.End]) && r.Start >= most/startShare {
				t.Errorf("window of %d at %d lacks the chunk", most, at)
			}
			if !strings.HasPrefix(window, "wörd0 ") {
				t.Errorf("window of %d at %d lacks the beginning: %.40q", most, at, window)
			}
			if most == len(text) && window != text {
				t.Error("a text that fits is not whole")
			}
			if n := strings.Count(window, "wörd2500 "); n > 1 {
				t.Errorf("window of %d at %d holds a word %d times", most, at, n)
			}
		}
	}
}
