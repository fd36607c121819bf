package configs

import (
	"errors"
	"net/url"
	"path/filepath"
	"strings"
	"time"
)

// LLM is the language model that strategies may ask. Without a Model nothing is
// asked and nothing leaves the machine.
type LLM struct {
	Model     string   `key:"model"` // "provider/name"; "" for none. See Provider
	OpenAI    Provider `key:"openai"`
	Anthropic Provider `key:"anthropic"`
	Azure     Provider `key:"azure"`
	Ollama    Server   `key:"ollama"`

	Temperature     float64       `key:"temperature"`
	MaxOutputTokens int           `key:"max_output_tokens"` // of one answer
	Timeout         time.Duration `key:"timeout"`           // of one call
	Retries         int           `key:"retries"`           // after the first try
	Concurrency     int           `key:"concurrency"`       // calls side by side

	RequestsPerMinute int `key:"requests_per_minute"` // 0 = no limit
	TokensPerMinute   int `key:"tokens_per_minute"`   // 0 = no limit

	Cache    bool   `key:"cache"`
	CacheDir string `key:"cache_dir"` // "" = <data_dir>/cache/llm; see Config.LLMCacheDir

	// PricesYAML goes before the built-in table; Config.Prices reads both.
	PricesYAML []byte `key:"prices"`
}

// Provider is where models are asked, and as whom.
type Provider struct {
	APIKey     Secret `key:"api_key"` // the content of APIKeyFile when that was given
	APIKeyFile string `key:"api_key_file"`
	BaseURL    string `key:"base_url"` // "" = the provider's own
}

// Server is where models are asked by anybody.
type Server struct {
	BaseURL string `key:"base_url"` // "" = this machine
}

// Providers of Config.LLM.Model. Everything that speaks OpenAI's protocol is
// OpenAI with a base URL of its own.
const (
	ProviderOpenAI    = "openai"
	ProviderAnthropic = "anthropic"
	ProviderAzure     = "azure"
	ProviderOllama    = "ollama"
)

// Provider splits Model: "openai", "gpt-4.1-mini".
func (l LLM) Provider() (provider, name string) {
	provider, name, _ = strings.Cut(l.Model, "/")
	return provider, name
}

// At is what a provider's settings are.
func (l LLM) At(provider string) Provider {
	switch provider {
	case ProviderAnthropic:
		return l.Anthropic
	case ProviderAzure:
		return l.Azure
	case ProviderOllama:
		return Provider{BaseURL: l.Ollama.BaseURL}
	}
	return l.OpenAI
}

const (
	ruleModel   = "PROVIDER/NAME, with one of openai, anthropic, azure, ollama, such as openai/gpt-4.1-mini; for any other server with OpenAI's protocol openai/NAME with llm.openai.base_url"
	ruleBaseURL = "an http:// or https:// URL without user, password or parameters, such as http://localhost:11434/v1"
)

func checkModel(v string) error {
	provider, name, found := strings.Cut(v, "/")
	if !found || name == "" {
		return errors.New("names no provider")
	}
	switch provider {
	case ProviderOpenAI, ProviderAnthropic, ProviderAzure, ProviderOllama:
		return nil
	}
	return errors.New("is of no provider that is known here")
}

// checkBaseURL refuses what could hold a key: the URL is printed.
func checkBaseURL(v string) error {
	u, err := url.Parse(v)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return errors.New("is no such URL")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return errors.New("holds more than an address")
	}
	return nil
}

// RemoteModel is the embedder's model with its provider, "openai/NAME" where it
// names none.
func (e Embedder) RemoteModel() string {
	if checkModel(e.Model) == nil {
		return e.Model
	}
	return ProviderOpenAI + "/" + e.Model
}

// LLMCacheDir is the folder of kept answers.
func (c *Config) LLMCacheDir() string {
	if c.LLM.CacheDir != "" {
		return c.LLM.CacheDir
	}
	return filepath.Join(c.DataDir, "cache", "llm")
}

// finishLLM checks what the settings of models say together.
func (l *loader) finishLLM(cfg *Config) {
	if _, err := readPrices(cfg.LLM.PricesYAML); err != nil {
		l.problem(cfg.origins["llm.prices"], "llm.prices", "%v", err)
	}
	if cfg.Embedder.Kind == EmbedderOpenAI {
		if cfg.Embedder.Model == "" {
			l.problem(cfg.origins["embedder.kind"], "embedder.kind", "openai needs the model's name; set embedder.model, such as text-embedding-3-small")
		}
	} else if cfg.IsSet("embedder.model") && cfg.Embedder.Model != "" {
		l.warn("embedder.model (%s) has no effect without embedder.kind openai", cfg.Origin("embedder.model"))
	}
	prices := cfg.Prices()
	if _, known := prices.Of(cfg.LLM.Model); cfg.LLM.Model != "" && !known && (cfg.Limits.MaxCost > 0 || cfg.Limits.FileMaxCost > 0) {
		l.problem(cfg.origins["llm.model"], "llm.model", "%q has no price, so that limits.max_cost cannot be held; give it one in llm.prices, or use limits.max_tokens", cfg.LLM.Model)
	}
}
