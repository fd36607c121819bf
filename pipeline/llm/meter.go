package llm

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
)

// Limits bound what is spent; 0 is no limit.
type Limits struct {
	Cost   float64
	Calls  int
	Tokens int // input and output
}

// Meter counts every call that is sent, retries and second asks included, and
// holds the budgets of a run and of each of its files. It is safe for concurrent
// use; all models of a run share one.
type Meter struct {
	run, file Limits

	mu       sync.Mutex
	spent    spending
	files    map[string]*spending
	accounts map[Account]*Figures
	settled  chan struct{} // closed and replaced whenever a call ends
}

// spending is what a budget is compared with.
type spending struct {
	done, open Usage // open: what the calls under way may take at most
}

// Account is whose calls are counted together.
type Account struct {
	Model   string  // as the endpoint's Model has it
	Purpose Purpose // what for
	File    string  // whose document; "" for the run as a whole
}

// Figures are an account's.
type Figures struct {
	Usage
	// EstimatedInput is what InputTokens were taken for before the calls were sent.
	EstimatedInput int
	// Cached answers cost nothing and are in no other figure.
	Cached int
	// Unreported calls ended without the endpoint saying what they took: their
	// tokens are estimates.
	Unreported int
	// Unpriced calls are of a model whose price is not known: Cost lacks them.
	Unpriced int
}

func (f *Figures) add(g Figures) {
	f.Usage.add(g.Usage)
	f.EstimatedInput += g.EstimatedInput
	f.Cached += g.Cached
	f.Unreported += g.Unreported
	f.Unpriced += g.Unpriced
}

func (u *Usage) add(v Usage) {
	u.Calls += v.Calls
	u.InputTokens += v.InputTokens
	u.OutputTokens += v.OutputTokens
	u.Cost += v.Cost
}

func (u *Usage) subtract(v Usage) {
	u.add(Usage{-v.Calls, -v.InputTokens, -v.OutputTokens, -v.Cost})
}

// NewMeter makes a meter with the limits of the run and of each file.
func NewMeter(run, file Limits) *Meter {
	return &Meter{run: run, file: file, files: map[string]*spending{}, accounts: map[Account]*Figures{}, settled: make(chan struct{})}
}

type fileKey struct{}

// WithFile books the calls made with the context to a file, by its path.
func WithFile(ctx context.Context, path string) context.Context {
	return context.WithValue(ctx, fileKey{}, path)
}

func fileOf(ctx context.Context) string {
	path, _ := ctx.Value(fileKey{}).(string)
	return path
}

type meterKey struct{}

// WithMeter counts the calls made with the context by m instead of the
// endpoint's meter: a server has one model for many runs.
func WithMeter(ctx context.Context, m *Meter) context.Context {
	return context.WithValue(ctx, meterKey{}, m)
}

func (s *sender) meter(ctx context.Context) *Meter {
	if m, ok := ctx.Value(meterKey{}).(*Meter); ok {
		return m
	}
	return s.Meter
}

// reservation is a call under way.
type reservation struct {
	meter   *Meter
	account Account
	most    Usage
	price   *Price
}

// reserve takes what a call may need at most out of the budgets, or says which
// does not have it: then a [BudgetError]. Where only calls under way stand
// against it, it waits for them: what they really take is usually far less, and
// how far a budget goes must not depend on how many calls run side by side.
func (m *Meter) reserve(ctx context.Context, model string, purpose Purpose, most Usage, price *Price) (*reservation, error) {
	r := &reservation{m, Account{model, purpose, fileOf(ctx)}, most, price}
	if price != nil {
		r.most.Cost = price.Of(most.InputTokens, most.OutputTokens)
	} else if m.run.Cost > 0 || m.file.Cost > 0 {
		return nil, &unpricedError{model}
	}
	for {
		m.mu.Lock()
		wait, err := m.book(r)
		m.mu.Unlock()
		if wait == nil {
			return r, err
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// book books r, or returns what to wait for, or why it never fits.
func (m *Meter) book(r *reservation) (<-chan struct{}, error) {
	file := m.files[r.account.File]
	if file == nil {
		file = &spending{}
		if r.account.File != "" {
			m.files[r.account.File] = file
		}
	}
	budgets := []struct {
		name   string
		limits Limits
		on     *spending
	}{{"", m.run, &m.spent}, {r.account.File, m.file, file}}
	full := false
	for i, b := range budgets {
		if i == 1 && b.name == "" {
			continue
		}
		open, err := b.limits.check(b.name, *b.on, r.most)
		if err != nil {
			return nil, err
		}
		full = full || open
	}
	if full {
		return m.settled, nil
	}
	m.spent.open.add(r.most)
	file.open.add(r.most)
	return nil, nil
}

// check reports that only open calls stand in the way, or that none has to.
func (l Limits) check(file string, s spending, next Usage) (open bool, err error) {
	for _, c := range []struct {
		name                  string
		max, done, open, next float64
	}{
		{"max_cost", l.Cost, s.done.Cost, s.open.Cost, next.Cost},
		{"max_calls", float64(l.Calls), float64(s.done.Calls), float64(s.open.Calls), float64(next.Calls)},
		{"max_tokens", float64(l.Tokens), float64(s.done.tokens()), float64(s.open.tokens()), float64(next.tokens())},
	} {
		// A price's rounding must not stand between a budget and its last call.
		const rounding = 1e-9
		switch {
		case c.max <= 0 || c.done+c.open+c.next <= c.max+rounding:
		case c.done+c.next > c.max+rounding || c.open <= 0:
			return false, &BudgetError{Limit: c.name, File: file, Max: c.max, Spent: c.done + c.open, Next: c.next}
		default:
			open = true
		}
	}
	return open, nil
}

func (u Usage) tokens() int { return u.InputTokens + u.OutputTokens }

// settle books what the call really took; reported says that the endpoint said it.
func (r *reservation) settle(input, output int, reported bool) Usage {
	took := Figures{Usage: Usage{Calls: 1, InputTokens: input, OutputTokens: output}}
	if input > 0 { // a refused call reads nothing
		took.EstimatedInput = r.most.InputTokens
	}
	if r.price != nil {
		took.Cost = r.price.Of(input, output)
	} else {
		took.Unpriced = 1
	}
	if !reported {
		took.Unreported = 1
	}
	r.end(took)
	return took.Usage
}

// cancel gives back a reservation whose call was never sent.
func (r *reservation) cancel() { r.end(Figures{}) }

func (r *reservation) end(took Figures) {
	m := r.meter
	m.mu.Lock()
	defer m.mu.Unlock()
	places := []*spending{&m.spent}
	if file := m.files[r.account.File]; file != nil {
		places = append(places, file)
	}
	for _, s := range places {
		s.open.subtract(r.most)
		if s.open.Calls == 0 {
			s.open = Usage{} // no rounding is left behind
		}
		s.done.add(took.Usage)
	}
	m.count(r.account, took)
	close(m.settled)
	m.settled = make(chan struct{})
}

func (m *Meter) count(a Account, f Figures) {
	if f == (Figures{}) {
		return
	}
	if m.accounts[a] == nil {
		m.accounts[a] = &Figures{}
	}
	m.accounts[a].add(f)
}

// cached counts an answer that was not paid for.
func (m *Meter) cached(ctx context.Context, model string, purpose Purpose, n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.count(Account{model, purpose, fileOf(ctx)}, Figures{Cached: n})
}

// unpricedError is a cost limit with a model whose price nobody knows.
type unpricedError struct{ model string }

func (e *unpricedError) Error() string {
	return fmt.Sprintf("model %s: its price is not known, so a limit on cost cannot be held; next: give it in llm.prices (0 for a model of your own), or limit calls or tokens instead", e.model)
}

func (e *unpricedError) Is(target error) bool { return target == ErrSettings }

// Snapshot is what a meter has counted.
type Snapshot struct {
	Total Figures
	// Accounts are sorted by file, purpose and model.
	Accounts []AccountFigures
}

// AccountFigures is one line of a [Snapshot].
type AccountFigures struct {
	Account
	Figures
}

// Snapshot returns what was counted so far, calls under way aside.
func (m *Meter) Snapshot() Snapshot {
	m.mu.Lock()
	defer m.mu.Unlock()
	var s Snapshot
	for account, figures := range m.accounts {
		s.Accounts = append(s.Accounts, AccountFigures{account, *figures})
		s.Total.add(*figures)
	}
	slices.SortFunc(s.Accounts, func(a, b AccountFigures) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Purpose, b.Purpose), cmp.Compare(a.Model, b.Model))
	})
	return s
}

// ByPurpose sums the accounts of each purpose.
func (s Snapshot) ByPurpose() map[Purpose]Figures {
	return sumBy(s, func(a Account) Purpose { return a.Purpose })
}

// ByFile sums the accounts of each file; "" has what belongs to none.
func (s Snapshot) ByFile() map[string]Figures {
	return sumBy(s, func(a Account) string { return a.File })
}

func sumBy[K comparable](s Snapshot, key func(Account) K) map[K]Figures {
	sums := map[K]Figures{}
	for _, a := range s.Accounts {
		sum := sums[key(a.Account)]
		sum.add(a.Figures)
		sums[key(a.Account)] = sum
	}
	return sums
}

// CloseFile returns a file's figures and keeps them only in the run's from then
// on, so that a meter does not grow with the corpus. The file's budget starts
// anew with a later call. Call it when none of the file's is under way.
func (m *Meter) CloseFile(path string) []AccountFigures {
	m.mu.Lock()
	defer m.mu.Unlock()
	if path == "" {
		return nil
	}
	var out []AccountFigures
	for account, figures := range maps.Clone(m.accounts) {
		if account.File != path {
			continue
		}
		out = append(out, AccountFigures{account, *figures})
		delete(m.accounts, account)
		m.count(Account{account.Model, account.Purpose, ""}, *figures)
	}
	delete(m.files, path)
	slices.SortFunc(out, func(a, b AccountFigures) int {
		return cmp.Or(cmp.Compare(a.Purpose, b.Purpose), cmp.Compare(a.Model, b.Model))
	})
	return out
}
