package commandline

import (
	"log/slog"
	"strings"

	"graphmill/configs"
	"graphmill/pipeline/llm"
	"graphmill/pipeline/models"
)

// Endpoint is where the configuration has a model, "provider/name", asked, and
// what that costs. Its meter and cache are the caller's. log may be nil.
func Endpoint(cfg *configs.Config, model string, log *slog.Logger) llm.Endpoint {
	settings := cfg.LLM
	provider, _, _ := strings.Cut(model, "/")
	at := settings.At(provider)
	e := llm.Endpoint{
		Model: model, APIKey: at.APIKey.Reveal(), BaseURL: at.BaseURL, Timeout: settings.Timeout, Attempts: settings.Retries + 1,
		Concurrency: settings.Concurrency, RequestsPerMinute: settings.RequestsPerMinute, TokensPerMinute: settings.TokensPerMinute,
		Log: log,
	}
	if price, known := cfg.Prices().Of(model); known {
		e.Price = &llm.Price{Input: price.Input, Output: price.Output}
	}
	return e
}

// RemoteEmbedder is the embedder of a configuration whose embedder.kind is
// openai. It sends nothing yet. cache may be nil.
func RemoteEmbedder(cfg *configs.Config, cache *llm.Cache, log *slog.Logger) (models.Embedder, error) {
	e := cfg.Embedder
	endpoint := Endpoint(cfg, e.RemoteModel(), log)
	endpoint.Cache = cache
	embedder, err := llm.NewEmbedder(llm.EmbedOptions{Endpoint: endpoint, Dimension: e.Dimension, SendDimensions: e.SendDimensions, BatchTexts: e.Batch, Window: e.Window})
	if err != nil {
		return nil, Usage("embedder.kind %s: %v", e.Kind, err)
	}
	return embedder, nil
}
