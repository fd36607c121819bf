package pipeline

import (
	"errors"
	"fmt"
	"sync"

	"graphmill/pipeline/llm"
)

// Cost is what asking language models and remote embedders took.
type Cost struct {
	Calls        int     `json:"calls"` // that were sent, retries included
	Cached       int     `json:"cached"`
	InputTokens  int     `json:"input_tokens"`
	OutputTokens int     `json:"output_tokens"`
	Money        float64 `json:"money"`
	// EstimatedInput is what InputTokens were taken for beforehand: how well that
	// does with a model shows here.
	EstimatedInput int `json:"estimated_input_tokens"`
	// Unreported calls did not say what they took: their tokens are estimates.
	// Unpriced calls are of a model without a price: Money lacks them.
	Unreported int `json:"unreported_calls,omitempty"`
	Unpriced   int `json:"unpriced_calls,omitempty"`
}

func (c *Cost) add(f llm.Figures) {
	c.Calls += f.Calls
	c.Cached += f.Cached
	c.InputTokens += f.InputTokens
	c.OutputTokens += f.OutputTokens
	c.Money += f.Cost
	c.EstimatedInput += f.EstimatedInput
	c.Unreported += f.Unreported
	c.Unpriced += f.Unpriced
}

// Bill is the cost of a run.
type Bill struct {
	Cost
	Model     string                `json:"model,omitempty"` // that strategies asked
	Currency  string                `json:"currency"`
	Prices    string                `json:"prices"` // the price table's date
	ByPurpose map[llm.Purpose]*Cost `json:"by_purpose"`
}

// NewBill sums what a meter counted; nil when it counted nothing.
func NewBill(m *llm.Meter, model, currency, prices string) *Bill {
	s := m.Snapshot()
	if len(s.Accounts) == 0 {
		return nil
	}
	b := &Bill{Model: model, Currency: currency, Prices: prices, ByPurpose: map[llm.Purpose]*Cost{}}
	b.add(s.Total)
	for purpose, figures := range s.ByPurpose() {
		b.ByPurpose[purpose] = &Cost{}
		b.ByPurpose[purpose].add(figures)
	}
	return b
}

// String is the money with its currency: "0.0123 USD"; "" of no bill.
func (b *Bill) String() string {
	if b == nil {
		return ""
	}
	return fmt.Sprintf("%.4g %s", b.Money, b.Currency)
}

// bill closes a file's account and returns what it took; nil when it took nothing.
func (o Options) bill(path string) *Cost {
	if o.Meter == nil {
		return nil
	}
	accounts := o.Meter.CloseFile(path)
	if len(accounts) == 0 {
		return nil
	}
	cost := &Cost{}
	for _, a := range accounts {
		cost.add(a.Figures)
	}
	return cost
}

// exhausted keeps the first error that said that a budget is.
type exhausted struct {
	mu  sync.Mutex
	err error
}

func (s *exhausted) because(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = err
	}
}

func (s *exhausted) why() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// unless keeps err, and returns nil, when it is of a budget; otherwise it returns it.
func (s *exhausted) unless(err error) error {
	if !errors.Is(err, llm.ErrBudget) {
		return err
	}
	s.because(err)
	return nil
}
