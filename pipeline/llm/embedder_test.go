package llm_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"graphmill/pipeline/llm"
	"graphmill/pipeline/llm/llmtest"
)

func embedder(t *testing.T, s *llmtest.Server, change func(*llm.EmbedOptions)) *llm.Embedder {
	t.Helper()
	o := llm.EmbedOptions{Endpoint: llm.Endpoint{Model: "openai/text-embedding-3-small", BaseURL: s.BaseURL(), Backoff: time.Millisecond}}
	if change != nil {
		change(&o)
	}
	e, err := llm.NewEmbedder(o)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// unit is the server's vector of a text, at length 1.
func unit(text string, dimension int) []float32 {
	v := llmtest.Vector(text, dimension)
	out := make([]float32, len(v))
	for i := range v {
		out[i] = float32(v[i] / 2)
	}
	return out
}

func near(a, b []float32) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if math.Abs(float64(a[i]-b[i])) > 1e-6 {
			return false
		}
	}
	return true
}

func TestVectorsComeInTheOrderOfTheirTexts(t *testing.T) {
	server := llmtest.New(t, llmtest.InOrder(llmtest.Reply{Reversed: true}))
	e := embedder(t, server, func(o *llm.EmbedOptions) { o.BatchTexts = 3 })
	texts := []string{"one", "two", "three", "four", "one", "five", "six", "seven"}
	vectors, err := e.Embed(t.Context(), texts)
	if err != nil {
		t.Fatal(err)
	}
	for i, text := range texts {
		if !near(vectors[i], unit(text, 1536)) {
			t.Errorf("text %d has another's vector", i)
		}
	}
	if got := server.Counts(); got.Calls != 3 || got.Inputs != 7 { // "one" is asked for once
		t.Errorf("%+v", got)
	}
}

func TestBatchesAreBoundedByTokens(t *testing.T) {
	server := llmtest.New(t, llmtest.InOrder(llmtest.Reply{}))
	e := embedder(t, server, func(o *llm.EmbedOptions) { o.BatchTokens = 200 })
	var texts []string
	for i := range 6 {
		texts = append(texts, strings.Repeat("many words ", 40)+strings.Repeat("x", i))
	}
	if _, err := e.Embed(t.Context(), texts); err != nil || server.Counts().Calls != 3 {
		t.Errorf("%d calls, %v", server.Counts().Calls, err)
	}
}

func TestDimensionsAreTheSeeds(t *testing.T) {
	for _, test := range []struct {
		model     string
		dimension int
		send      bool
		want      int // the vectors' length
		sent      int // what the endpoint is asked for
	}{
		{"openai/text-embedding-3-small", 0, false, 1536, 0},
		{"openai/text-embedding-3-large", 0, false, 3072, 0},
		{"openai/text-embedding-ada-002", 0, false, 1536, 0},
		{"openai/text-embedding-3-large", 256, false, 256, 256},
		{"openai/other", 1536, false, 1536, 0},
		{"openai/other", 64, true, 64, 64},
	} {
		server := llmtest.New(t, func(c llmtest.Call) llmtest.Reply {
			if c.Dimensions == 0 && strings.Contains(c.Model, "large") {
				return llmtest.Reply{Vectors: [][]float64{llmtest.Vector("text", 3072)}}
			}
			return llmtest.Reply{}
		})
		e := embedder(t, server, func(o *llm.EmbedOptions) {
			o.Model, o.Dimension, o.SendDimensions = test.model, test.dimension, test.send
		})
		vectors, err := e.Embed(t.Context(), []string{"text"})
		if err != nil || len(vectors[0]) != test.want || e.Dimension() != test.want || server.Calls()[0].Dimensions != test.sent {
			t.Errorf("%+v: dimension %d, sent %d, %v", test, e.Dimension(), server.Calls()[0].Dimensions, err)
		}
	}
}

func TestAModelsIdentityHoldsWhatItsVectorsDependOn(t *testing.T) {
	seen := map[string]bool{}
	for _, o := range []llm.EmbedOptions{
		{Endpoint: llm.Endpoint{Model: "openai/a", APIKey: "k"}},
		{Endpoint: llm.Endpoint{Model: "openai/b", APIKey: "k"}},
		{Endpoint: llm.Endpoint{Model: "openai/a", APIKey: "k"}, Dimension: 64},
		{Endpoint: llm.Endpoint{Model: "openai/a", APIKey: "k"}, Window: 512},
		{Endpoint: llm.Endpoint{Model: "openai/a", BaseURL: "http://one/v1"}},
		{Endpoint: llm.Endpoint{Model: "openai/a", BaseURL: "http://two/v1"}},
	} {
		e, err := llm.NewEmbedder(o)
		if err != nil || seen[e.Model()] {
			t.Fatalf("%+v: %s, %v", o, e.Model(), err)
		}
		seen[e.Model()] = true
	}
	if !seen["openai/a@1536"] {
		t.Error(seen)
	}
}

func TestVectorsThatNoModelGivesAreRefused(t *testing.T) {
	zero, big := make([]float64, 1536), llmtest.Vector("x", 1536)
	big[7] = 1e300
	for name, test := range map[string]struct {
		reply llmtest.Reply
		want  string
	}{
		"length":   {llmtest.Reply{Vectors: [][]float64{{1, 2, 3}, {4, 5, 6}}}, `the vector of text 1 of 2 ("apple") has 3 numbers, not 1536`},
		"too few":  {llmtest.Reply{Vectors: [][]float64{big}}, "1 vectors came for 2 texts"},
		"zeros":    {llmtest.Reply{Vectors: [][]float64{zero, zero}}, "only zeros"},
		"infinity": {llmtest.Reply{Vectors: [][]float64{big, big}}, "holds NaN or infinity"},
		"null":     {llmtest.Reply{Body: `{"data":[{"index":0,"embedding":[` + strings.Repeat("0.1,", 1535) + `null]},{"index":1,"embedding":[` + strings.Repeat("0.1,", 1535) + `0.1]}]}`}, "no number"},
		"indexes":  {llmtest.Reply{Body: `{"data":[{"index":1,"embedding":[` + strings.Repeat("0.1,", 1535) + `1]},{"index":1,"embedding":[` + strings.Repeat("0.1,", 1535) + `1]}]}`}, "says that it is number 1"},
	} {
		t.Run(name, func(t *testing.T) {
			server := llmtest.New(t, llmtest.InOrder(test.reply))
			_, err := embedder(t, server, nil).Embed(t.Context(), []string{"apple", "pear"})
			if !errors.Is(err, llm.ErrSettings) || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "GRAPHRAG_EMBED_DIM") {
				t.Errorf("error %v", err)
			}
			if n := server.Counts().Calls; n != 1 {
				t.Errorf("%d calls", n)
			}
		})
	}
	server := llmtest.New(t, llmtest.InOrder(llmtest.Reply{Body: `{"data":[{"index":0,"embedding":[NaN,1]}]}`}))
	_, err := embedder(t, server, func(o *llm.EmbedOptions) { o.Attempts = 2 }).Embed(t.Context(), []string{"apple"})
	if !errors.Is(err, llm.ErrUnavailable) || !strings.Contains(err.Error(), "NaN") {
		t.Errorf("error %v", err)
	}
}

func TestABlankTextHasNoVector(t *testing.T) {
	server := llmtest.New(t, nil)
	_, err := embedder(t, server, nil).Embed(t.Context(), []string{"a", " \n"})
	if err == nil || !strings.Contains(err.Error(), "text 2 of 2: the text is blank") || server.Counts().Calls != 0 {
		t.Errorf("%d calls, %v", server.Counts().Calls, err)
	}
}

func TestALongTextIsTheMeanOfItsWindows(t *testing.T) {
	server := llmtest.New(t, llmtest.InOrder(llmtest.Reply{}))
	e := embedder(t, server, func(o *llm.EmbedOptions) { o.Window = 100 })
	var long strings.Builder
	for i := range 100 {
		fmt.Fprintf(&long, "wörter %d für 文字 🙂 end. ", i)
	}
	text := long.String()
	vectors, err := e.Embed(t.Context(), []string{text})
	if err != nil {
		t.Fatal(err)
	}
	inputs := server.Calls()[0].Inputs
	whole := 0
	for _, input := range inputs {
		whole += len(input)
		if n := llm.EstimateTokens(input); n > 100 {
			t.Errorf("a window of %d tokens", n)
		}
		if !strings.Contains(text, input) {
			t.Errorf("%q is not in the text", input)
		}
	}
	if len(inputs) < 8 || whole < len(text)-10 {
		t.Errorf("%d windows with %d of %d bytes", len(inputs), whole, len(text))
	}
	sum := 0.0
	for _, x := range vectors[0] {
		sum += float64(x) * float64(x)
	}
	if math.Abs(sum-1) > 1e-5 {
		t.Errorf("length² %g", sum)
	}
}

func TestEmbeddingIsRetriedMeteredAndLimited(t *testing.T) {
	server := llmtest.New(t, llmtest.InOrder(llmtest.Reply{Status: 429}, llmtest.Reply{Half: true}, llmtest.Reply{Input: 7}))
	meter := llm.NewMeter(llm.Limits{Calls: 4}, llm.Limits{})
	e := embedder(t, server, func(o *llm.EmbedOptions) { o.Meter = meter })
	ctx := llm.WithFile(t.Context(), "a.md")
	if _, err := e.Embed(ctx, []string{"a text"}); err != nil {
		t.Fatal(err)
	}
	total := meter.Snapshot().ByPurpose()[llm.Embed]
	if total.Calls != 3 || total.InputTokens < 7 || total.Unreported != 1 || meter.Snapshot().Accounts[0].File != "a.md" {
		t.Errorf("%+v", total)
	}
	if _, err := e.Embed(ctx, []string{"b"}); err != nil {
		t.Error(err)
	}
	if _, err := e.Embed(ctx, []string{"c"}); !errors.Is(err, llm.ErrBudget) {
		t.Errorf("error %v", err)
	}
}

func TestNoVectorIsPaidForTwice(t *testing.T) {
	server := llmtest.New(t, llmtest.InOrder(llmtest.Reply{}))
	dir := t.TempDir()
	open := func() *llm.Embedder {
		cache, err := llm.OpenCache(dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		return embedder(t, server, func(o *llm.EmbedOptions) { o.Cache = cache })
	}
	first, err := open().Embed(t.Context(), []string{"a", "b"})
	if err != nil {
		t.Fatal(err)
	}
	e := open()
	second, err := e.Embed(t.Context(), []string{"b", "c", "a"})
	if err != nil || !near(second[0], first[1]) || !near(second[2], first[0]) || !near(second[1], unit("c", 1536)) {
		t.Fatalf("other vectors, %v", err)
	}
	if got := server.Counts(); got.Calls != 2 || got.Inputs != 3 {
		t.Errorf("%+v", got)
	}
	if _, err := e.Embed(t.Context(), []string{"a", "b", "c"}); err != nil || server.Counts().Calls != 2 {
		t.Errorf("%d calls, %v", server.Counts().Calls, err)
	}
}

func TestATextThatIsTooLongIsNoFaultOfTheSettings(t *testing.T) {
	server := llmtest.New(t, llmtest.InOrder(llmtest.Reply{Status: 400, Message: "This model's maximum context length is 512 tokens"}))
	_, err := embedder(t, server, nil).Embed(t.Context(), []string{"a"})
	if !errors.Is(err, llm.ErrUnavailable) || errors.Is(err, llm.ErrSettings) || !strings.Contains(err.Error(), "next: lower embedder.window") {
		t.Errorf("error %v", err)
	}
}

func TestAnthropicHasNoEmbeddings(t *testing.T) {
	_, err := llm.NewEmbedder(llm.EmbedOptions{Endpoint: llm.Endpoint{Model: "anthropic/x", APIKey: "k"}})
	if err == nil || !strings.Contains(err.Error(), "has no embeddings; next:") {
		t.Errorf("error %v", err)
	}
}
