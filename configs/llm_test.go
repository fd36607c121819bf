package configs

import (
	"fmt"
	"strings"
	"testing"
)

func TestModelsByThePeersNames(t *testing.T) {
	cfg := load(t, Source{Env: home("GRAPHRAG_MODEL=openai/gpt-4.1-mini", "OPENAI_API_KEY=sk-1", "ANTHROPIC_API_KEY=sk-2", "OPENAI_BASE_URL=http://localhost:1/v1",
		"GRAPHRAG_EMBED_MODEL=openai/text-embedding-3-large", "GRAPHRAG_EMBED_DIM=256", "GRAPHRAG_EMBED_SEND_DIMENSIONS=true")})
	if provider, name := cfg.LLM.Provider(); provider != ProviderOpenAI || name != "gpt-4.1-mini" || cfg.Origin("llm.model") != "environment GRAPHRAG_MODEL" {
		t.Errorf("%s %s from %s", provider, name, cfg.Origin("llm.model"))
	}
	if cfg.LLM.OpenAI.APIKey.Reveal() != "sk-1" || cfg.LLM.Anthropic.APIKey.Reveal() != "sk-2" || cfg.LLM.OpenAI.BaseURL != "http://localhost:1/v1" {
		t.Error("keys or base URL are lost")
	}
	want := Embedder{Kind: EmbedderOpenAI, Model: "text-embedding-3-large", Dimension: 256, SendDimensions: true, Batch: 128}
	if cfg.Embedder != want || len(cfg.Warnings) > 0 {
		t.Errorf("%+v, %q", cfg.Embedder, cfg.Warnings)
	}
	for _, s := range cfg.Effective() {
		if strings.Contains(s.Value, "sk-") {
			t.Errorf("%s shows %q", s.Key, s.Value)
		}
	}
	if text := fmt.Sprintf("%v %+v %#v", cfg.LLM, cfg.LLM, cfg.LLM); strings.Contains(text, "sk-") {
		t.Errorf("a key is printed: %s", text)
	}
}

// A shell may have these set for other programs; text goes nowhere unless a
// provider is named.
func TestNothingIsSentToAModelThatIsNamedWithoutItsProvider(t *testing.T) {
	for _, env := range [][]string{
		{"GRAPHRAG_MODEL=gpt-4.1", "OPENAI_API_KEY=k"},
		{"GRAPHRAG_EMBED_MODEL=text-embedding-3-small", "OPENAI_API_KEY=k"},
		{"GRAPHRAG_EMBED_MODEL=openai/text-embedding-3-small", "GRAPHMILL_EMBEDDER_KIND=onnx"},
	} {
		cfg := load(t, Source{Env: home(env...)})
		if cfg.LLM.Model != "" || cfg.Embedder.Kind != EmbedderONNX || len(cfg.Warnings) != 1 || !strings.Contains(cfg.Warnings[0], "no effect") {
			t.Errorf("%q: model %q, embedder %s, warnings %q", env, cfg.LLM.Model, cfg.Embedder.Kind, cfg.Warnings)
		}
	}
	if cfg := load(t, Source{Env: home("GRAPHRAG_EMBED_MODEL=text-embedding-3-small", "GRAPHMILL_EMBEDDER_KIND=openai")}); cfg.Embedder.Model != "text-embedding-3-small" {
		t.Errorf("embedder.kind names the provider, the model is %q", cfg.Embedder.Model)
	}
}

func TestPrices(t *testing.T) {
	prices := load(t, Source{Env: home()}).Prices()
	if prices.Currency != "USD" || prices.Date == "" || prices.Source == "" {
		t.Errorf("the built-in table is of %q, %q, %q", prices.Currency, prices.Date, prices.Source)
	}
	if p, ok := prices.Of("openai/gpt-4o-2024-08-06"); !ok || p != (Price{Input: 2.5, Output: 10}) {
		t.Errorf("a dated name: %v %v", p, ok)
	}
	if _, ok := prices.Of("openai/gpt-4o-mine"); ok {
		t.Error("an unknown model has a price")
	}
	if got := (Price{Input: 2, Output: 8}).Cost(500_000, 250_000); got != 3 {
		t.Errorf("cost %v", got)
	}
	own := load(t, Source{File: write(t, "llm: {prices: {date: 2026-11-01, models: {openai/mine: {input: 1}, openai/gpt-4o: {input: 3, output: 4}}}}\n"), Env: home()}).Prices()
	for model, want := range map[string]Price{"openai/mine": {Input: 1}, "openai/gpt-4o": {Input: 3, Output: 4}, "openai/gpt-4o-mini": {Input: 0.15, Output: 0.6}} {
		if p, ok := own.Of(model); !ok || p != want {
			t.Errorf("%s: %v %v", model, p, ok)
		}
	}
	if own.Date != "2026-11-01" || !strings.Contains(own.Source, "llm.prices") {
		t.Errorf("%s, %s", own.Date, own.Source)
	}
	euros := load(t, Source{File: write(t, "llm: {prices: {currency: EUR, models: {openai/mine: {input: 1}}}}\n"), Env: home()}).Prices()
	if _, ok := euros.Of("openai/gpt-4o"); ok || euros.Currency != "EUR" {
		t.Error("prices in dollars are taken for euros")
	}
}
