package main

import (
	"log/slog"
	"slices"
	"strings"
	"sync"

	"graphmill/commandline"
	"graphmill/configs"
	"graphmill/pipeline"
	"graphmill/pipeline/llm"
	"graphmill/pipeline/models"
	"graphmill/planner"
	"graphmill/planner/catalogue"
)

// asking holds the language model of a run and its kept answers. It has a lock
// of its own, so that a strategy may be made while another waits for local models.
type asking struct {
	mu     sync.Mutex
	client *llm.Client
	cache  *llm.Cache
	log    *slog.Logger // nil: nowhere
	// instead is asked in place of the client, by a plan.
	instead llm.Chat
}

// chat returns the language model of the configuration: one a process, made when
// a strategy first needs it. It may be called with or without w.mu held.
func (w *wired) chat() (llm.Chat, error) {
	if w.asking.instead != nil {
		return w.asking.instead, nil
	}
	client, err := w.client()
	if err != nil {
		return nil, err
	}
	return client, nil
}

func (w *wired) client() (*llm.Client, error) {
	w.asking.mu.Lock()
	defer w.asking.mu.Unlock()
	if w.asking.client != nil {
		return w.asking.client, nil
	}
	settings := w.cfg.LLM
	if settings.Model == "" {
		return nil, commandline.Usage("no language model is set: set llm.model (--model, GRAPHRAG_MODEL), such as openai/gpt-4.1-mini")
	}
	endpoint := commandline.Endpoint(w.cfg, settings.Model, w.asking.log)
	var err error
	if endpoint.Cache, err = w.kept(); err != nil {
		return nil, err
	}
	w.asking.client, err = llm.New(llm.Options{Endpoint: endpoint, MaxTokens: settings.MaxOutputTokens, Temperature: settings.Temperature})
	if err != nil {
		return nil, commandline.Usage("%v", err)
	}
	return w.asking.client, nil
}

// kept is the cache of answers; nil when the configuration wants none. w.asking.mu
// is held.
func (w *wired) kept() (*llm.Cache, error) {
	if !w.cfg.LLM.Cache || w.asking.cache != nil {
		return w.asking.cache, nil
	}
	var err error
	w.asking.cache, err = llm.OpenCache(w.cfg.LLMCacheDir(), w.asking.log)
	return w.asking.cache, err
}

// newMeter counts the calls of one run and holds its budgets.
func newMeter(cfg *configs.Config) *llm.Meter {
	l := cfg.Limits
	return llm.NewMeter(llm.Limits{Cost: l.MaxCost, Calls: l.MaxCalls, Tokens: l.MaxTokens},
		llm.Limits{Cost: l.FileMaxCost, Calls: l.FileMaxCalls, Tokens: l.FileMaxTokens})
}

// bill is what a run's meter has counted; nil when nothing was asked.
func bill(cfg *configs.Config, m *llm.Meter) *pipeline.Bill {
	prices := cfg.Prices()
	return pipeline.NewBill(m, cfg.LLM.Model, prices.Currency, prices.Date)
}

// remoteEmbedder is an embedder that is asked over the network.
func (w *wired) remoteEmbedder() (models.Embedder, error) {
	w.asking.mu.Lock()
	defer w.asking.mu.Unlock()
	cache, err := w.kept()
	if err != nil {
		return nil, err
	}
	return commandline.RemoteEmbedder(w.cfg, cache, w.asking.log)
}

// checkAsking refuses a plan that needs a language model which is not there,
// before the first file is read.
func checkAsking(cfg *configs.Config, p *planner.Planner) error {
	needed := p.Asking()
	if len(needed) == 0 {
		return nil
	}
	w := wired{cfg: cfg}
	if _, err := w.client(); err != nil {
		return commandline.Usage("%s: %v; or choose another strategy", sample(needed, 3), err)
	}
	return nil
}

// chatFingerprint names the language model of an assignment that asks one; ""
// for any other.
func (w *wired) chatFingerprint(a planner.Assignment) (string, error) {
	if !asksToExtract(a) && !asks(catalogue.Resolver, a.Resolver) {
		return "", nil
	}
	chat, err := w.chat()
	if err != nil {
		return "", err
	}
	return chat.Fingerprint(), nil
}

// asksToExtract says whether a language model is asked while a document of the
// assignment is extracted.
func asksToExtract(a planner.Assignment) bool {
	return asks(catalogue.Chunker, a.Chunker) || asks(catalogue.Extractor, a.Extractors...)
}

func asks(kind catalogue.Kind, names ...string) bool {
	return slices.ContainsFunc(strategies(), func(s catalogue.Strategy) bool {
		return s.Kind == kind && s.Cost.ModelCallsPerChunk > 0 && slices.Contains(names, s.Name)
	})
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
