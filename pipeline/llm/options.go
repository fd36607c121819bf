package llm

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// The providers.
const (
	OpenAI    = "openai" // and every endpoint that speaks its protocol
	Azure     = "azure"
	Anthropic = "anthropic"
	Ollama    = "ollama"
)

// Endpoint says where a model is asked and how hard. The zero value of every
// field but Model is a default.
type Endpoint struct {
	// Model is "provider/name": openai, anthropic, azure (the deployment's name)
	// or ollama. Without a provider, claude-… is Anthropic's; any other name is
	// OpenAI's, or the model of the server at BaseURL whatever its slashes.
	Model string
	// APIKey may be empty for a server at a BaseURL of one's own.
	APIKey string
	// BaseURL is the server's, with its /v1: vLLM, Ollama, llama.cpp, LiteLLM. ""
	// is the provider's. For Azure it is https://NAME.openai.azure.com.
	BaseURL string
	// APIVersion is Azure's; "" is 2024-10-21, the last one that is not a preview.
	APIVersion string

	// Timeout bounds one call; 0 is 2 minutes: 4,096 tokens of answer at the 40 a
	// second of a slow hosted model.
	Timeout time.Duration
	// Attempts is how often a question is sent at most when no answer comes; 0 is
	// 5, which rides out about 10 seconds.
	Attempts int
	// Backoff is the longest wait before the second attempt, doubled for each
	// further one up to MaxBackoff; 0 is 1 s, and 30 s.
	Backoff, MaxBackoff time.Duration
	// MaxRetryAfter is the longest wait that the server may ask for (Retry-After);
	// beyond it the call fails at once. 0 is 2 minutes.
	MaxRetryAfter time.Duration
	// Concurrency is how many calls are under way at most; 0 is 4.
	Concurrency int
	// RequestsPerMinute and TokensPerMinute are limits; 0 is none. A call counts
	// with all tokens it may take until it is known what it took.
	RequestsPerMinute, TokensPerMinute int
	// BreakAfter consecutive failures of the endpoint, no call is sent for
	// BreakFor, and then one to try; 0 is 8 failures, and 15 s.
	BreakAfter int
	BreakFor   time.Duration

	// Price is what a token costs; nil when nobody knows, which a cost limit refuses.
	Price *Price
	// Meter counts; nil is one of its own.
	Meter *Meter
	// Cache keeps answers; nil keeps none.
	Cache *Cache
	// Log takes the answers that cannot be used, at debug level, and what was
	// retried; nil is nowhere.
	Log *slog.Logger
	// HTTP sends; nil is a client of its own.
	HTTP *http.Client
}

// Options make a [Client].
type Options struct {
	Endpoint
	// MaxTokens bounds an answer whose request does not; 0 is 4,096.
	MaxTokens int
	// MaxAnswerTokens bounds the longer room that an answer which was cut off gets
	// on its second ask; 0 is four times MaxTokens.
	MaxAnswerTokens int
	// Temperature is 0 unless set: the same question should have the same answer.
	Temperature float64
	// Seed is sent where it is not 0 and the provider knows one.
	Seed int64
}

// Price is per million tokens, in the currency of the table it comes from.
type Price struct {
	Input, Output float64
}

// Of is what so many tokens cost.
func (p Price) Of(input, output int) float64 {
	return (p.Input*float64(input) + p.Output*float64(output)) / 1e6
}

func (e Endpoint) withDefaults() Endpoint {
	fill(&e.Timeout, 2*time.Minute)
	fill(&e.Attempts, 5)
	fill(&e.Backoff, time.Second)
	fill(&e.MaxBackoff, 30*time.Second)
	fill(&e.MaxRetryAfter, 2*time.Minute)
	fill(&e.Concurrency, 4)
	fill(&e.BreakAfter, 8)
	fill(&e.BreakFor, 15*time.Second)
	fill(&e.APIVersion, "2024-10-21")
	if e.Meter == nil {
		e.Meter = NewMeter(Limits{}, Limits{})
	}
	if e.Log == nil {
		e.Log = slog.New(slog.DiscardHandler)
	}
	return e
}

func fill[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// address is a model's name taken apart, and where it is.
type address struct {
	provider, model string
	base            string // ends with a slash
	own             bool   // not the provider's own address
}

// resolve takes Model and BaseURL apart.
func (e Endpoint) resolve() (address, error) {
	provider, model, err := SplitModel(e.Model, e.BaseURL)
	if err != nil {
		return address{}, err
	}
	a := address{provider: provider, model: model, base: e.BaseURL, own: e.BaseURL != ""}
	switch {
	case a.own:
	case provider == OpenAI:
		a.base = "https://api.openai.com/v1"
	case provider == Anthropic:
		a.base = "https://api.anthropic.com"
	case provider == Ollama:
		a.base, a.own = "http://127.0.0.1:11434/v1", true
	case provider == Azure:
		return a, fmt.Errorf("model %s: Azure has no common address; next: set the base URL to https://NAME.openai.azure.com", e.Model)
	}
	parsed, err := url.Parse(a.base)
	if err != nil || parsed.Host == "" || parsed.Scheme != "http" && parsed.Scheme != "https" {
		return a, fmt.Errorf("model %s: the base URL is no http or https address; next: write it as http://HOST:PORT/v1", e.Model)
	}
	if e.APIKey == "" && (!a.own || provider == Azure) {
		return a, fmt.Errorf("model %s: there is no API key; next: set %s, or the base URL of a server that needs none", e.Model, keyVariable(provider))
	}
	a.base = strings.TrimRight(a.base, "/") + "/"
	if provider == Anthropic { // its client adds v1/messages
		a.base = strings.TrimSuffix(a.base, "v1/")
	}
	return a, nil
}

func keyVariable(provider string) string {
	switch provider {
	case Anthropic:
		return "ANTHROPIC_API_KEY"
	case Azure:
		return "AZURE_API_KEY"
	}
	return "OPENAI_API_KEY"
}

// SplitModel takes "provider/name" apart as [Endpoint.Model] says.
func SplitModel(name, baseURL string) (provider, model string, err error) {
	name = strings.TrimSpace(name)
	provider, model, found := strings.Cut(name, "/")
	known := provider == OpenAI || provider == Azure || provider == Anthropic || provider == Ollama
	switch {
	case found && known && model != "":
		return provider, model, nil
	case name == "" || found && known:
		return "", "", fmt.Errorf("model %q: it has no name; next: write it as openai/NAME or anthropic/NAME", name)
	case baseURL != "":
		return OpenAI, name, nil
	case !found && strings.HasPrefix(name, "claude-"):
		return Anthropic, name, nil
	case !found:
		return OpenAI, name, nil
	}
	return "", "", fmt.Errorf("model %s: provider %q is not known (openai, azure, anthropic, ollama); next: name one of them, or set the base URL of the server that has the model", name, provider)
}
