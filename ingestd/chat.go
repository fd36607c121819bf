package main

import (
	"errors"
	"slices"
	"strings"
	"sync"

	"graphmill/commandline"
	"graphmill/configs"
	"graphmill/pipeline/llm"
	"graphmill/planner"
	"graphmill/planner/catalogue"
)

// asking holds the one language model of a run. It has a lock of its own, so
// that a strategy may be made while another waits for local models.
type asking struct {
	mu   sync.Mutex
	chat llm.Chat
}

// chat returns the language model of the configuration: one a process, made when
// a strategy first needs it. Safe to call with or without w.mu held.
func (w *wired) chat() (llm.Chat, error) {
	w.asking.mu.Lock()
	defer w.asking.mu.Unlock()
	if w.asking.chat != nil {
		return w.asking.chat, nil
	}
	if err := checkModelSettings(w.cfg); err != nil {
		return nil, err
	}
	return nil, errors.New("this version cannot ask a language model yet")
}

// checkModelSettings says what a call would find missing.
func checkModelSettings(cfg *configs.Config) error {
	if cfg.LLM.Model == "" {
		return commandline.Usage("no language model is set: set llm.model (--model, GRAPHRAG_MODEL), such as openai/gpt-4.1-mini")
	}
	return checkProvider(cfg, providerOf(cfg))
}

// providerOf is where the configured model is asked.
func providerOf(cfg *configs.Config) string {
	provider, _ := cfg.LLM.Provider()
	return provider
}

// checkProvider wants a key where the provider's own server is asked. Servers of
// one's own may do without.
func checkProvider(cfg *configs.Config, provider string) error {
	settings, env := cfg.LLM.OpenAI, "OPENAI_API_KEY"
	if provider == configs.ProviderAnthropic {
		settings, env = cfg.LLM.Anthropic, "ANTHROPIC_API_KEY"
	}
	if settings.APIKey == "" && settings.BaseURL == "" {
		return commandline.Usage("no key for %s: set %s, llm.%[1]s.api_key or llm.%[1]s.api_key_file; or llm.%[1]s.base_url for a server that needs none", provider, env)
	}
	return nil
}

// checkAsking refuses a plan that needs a language model which is not there,
// before the first file is read.
func checkAsking(cfg *configs.Config, p *planner.Planner) error {
	needed := p.Asking()
	if len(needed) == 0 {
		return nil
	}
	if err := checkModelSettings(cfg); err != nil {
		return commandline.Usage("%s: %v; or choose another strategy", sample(needed, 3), err)
	}
	return nil
}

// chatFingerprint names the language model of an assignment that asks one; ""
// for any other.
func (w *wired) chatFingerprint(a planner.Assignment) (string, error) {
	asking := func(kind catalogue.Kind, names ...string) bool {
		return slices.ContainsFunc(strategies(), func(s catalogue.Strategy) bool {
			return s.Kind == kind && s.Cost.ModelCallsPerChunk > 0 && slices.Contains(names, s.Name)
		})
	}
	if !asking(catalogue.Chunker, a.Chunker) && !asking(catalogue.Extractor, a.Extractors...) && !asking(catalogue.Resolver, a.Resolver) {
		return "", nil
	}
	chat, err := w.chat()
	if err != nil {
		return "", err
	}
	return chat.Fingerprint(), nil
}

// joinIDs joins what names models, without those that are not asked.
func joinIDs(ids ...string) string {
	var named []string
	for _, id := range ids {
		if id != "" {
			named = append(named, id)
		}
	}
	return strings.Join(named, " ")
}
