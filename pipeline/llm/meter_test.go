package llm_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"graphmill/pipeline/llm"
	"graphmill/pipeline/llm/llmtest"
)

var price = &llm.Price{Input: 1, Output: 10}

// spends is an answer that takes 100 and 50 tokens: 0.0006.
var spends = llmtest.Reply{Text: fits, Input: 100, Output: 50}

func TestABudgetIsKeptBeforeTheCall(t *testing.T) {
	for name, test := range map[string]struct {
		run, file llm.Limits
		limit     string
		ofFile    string
		calls     int // that fit
	}{
		"calls of the run":  {run: llm.Limits{Calls: 3}, limit: "max_calls", calls: 3},
		"tokens of the run": {run: llm.Limits{Tokens: 1000}, limit: "max_tokens", calls: 4}, // the last must have room for about 80 + 400
		"cost of the run":   {run: llm.Limits{Cost: 0.0055}, limit: "max_cost", calls: 3},   // and for about 0.0041
		"calls of a file":   {file: llm.Limits{Calls: 2}, limit: "max_calls", ofFile: "a.md", calls: 2},
		"cost of a file":    {file: llm.Limits{Cost: 0.0055}, limit: "max_cost", ofFile: "a.md", calls: 3},
		"the first to go":   {run: llm.Limits{Calls: 5, Cost: 1}, file: llm.Limits{Calls: 3}, limit: "max_calls", ofFile: "a.md", calls: 3},
	} {
		t.Run(name, func(t *testing.T) {
			server := llmtest.New(t, llmtest.InOrder(spends))
			meter := llm.NewMeter(test.run, test.file)
			c := client(t, server, func(o *llm.Options) { o.Meter, o.Price, o.MaxTokens = meter, price, 400 })
			ctx := llm.WithFile(t.Context(), "a.md")
			var err error
			calls := 0
			for ; err == nil && calls < 20; calls++ {
				_, err = c.Ask(ctx, question())
			}
			var budget *llm.BudgetError
			if !errors.As(err, &budget) || !errors.Is(err, llm.ErrBudget) || errors.Is(err, llm.ErrUnavailable) {
				t.Fatalf("error %v", err)
			}
			if calls-1 != test.calls || budget.Limit != test.limit || budget.File != test.ofFile || budget.Spent+budget.Next <= budget.Max {
				t.Errorf("%d calls, then %+v", calls-1, budget)
			}
			if n := server.Counts().Calls; n != test.calls {
				t.Errorf("%d calls arrived", n)
			}
		})
	}
}

func TestAnotherFileHasItsOwnBudget(t *testing.T) {
	server := llmtest.New(t, llmtest.InOrder(spends))
	meter := llm.NewMeter(llm.Limits{}, llm.Limits{Calls: 1})
	c := client(t, server, func(o *llm.Options) { o.Meter = meter })
	for _, file := range []string{"a.md", "b.md"} {
		if _, err := c.Ask(llm.WithFile(t.Context(), file), question()); err != nil {
			t.Error(err)
		}
		if _, err := c.Ask(llm.WithFile(t.Context(), file), question()); !errors.Is(err, llm.ErrBudget) {
			t.Error(err)
		}
	}
	// What belongs to no file has no file's budget.
	for range 2 {
		if _, err := c.Ask(t.Context(), question()); err != nil {
			t.Error(err)
		}
	}
}

func TestRetriesCountAgainstTheBudget(t *testing.T) {
	server := llmtest.New(t, llmtest.InOrder(llmtest.Reply{Status: 500}))
	meter := llm.NewMeter(llm.Limits{Calls: 3}, llm.Limits{})
	_, err := client(t, server, func(o *llm.Options) { o.Meter = meter }).Ask(t.Context(), question())
	if !errors.Is(err, llm.ErrBudget) || server.Counts().Calls != 3 || meter.Snapshot().Total.Calls != 3 {
		t.Errorf("%d calls, %v", server.Counts().Calls, err)
	}
}

// However many calls run side by side, a budget goes as far as it does for one
// after the other, and no further.
func TestABudgetGoesEquallyFarWithCallsSideBySide(t *testing.T) {
	for _, parallel := range []int{1, 8} {
		server := llmtest.New(t, func(llmtest.Call) llmtest.Reply {
			reply := spends
			reply.Delay = 5 * time.Millisecond
			return reply
		})
		meter := llm.NewMeter(llm.Limits{Tokens: 2000, Cost: 1}, llm.Limits{})
		c := client(t, server, func(o *llm.Options) { o.Meter, o.Price, o.MaxTokens, o.Concurrency = meter, price, 400, parallel })
		var wait sync.WaitGroup
		for range 30 {
			wait.Go(func() {
				if _, err := c.Ask(t.Context(), question()); err != nil && !errors.Is(err, llm.ErrBudget) {
					t.Error(err)
				}
			})
		}
		wait.Wait()
		total := meter.Snapshot().Total
		if total.Calls != 11 || total.Calls != server.Counts().Calls || total.InputTokens+total.OutputTokens > 2000 {
			t.Errorf("%d side by side: %+v, %d arrived", parallel, total, server.Counts().Calls)
		}
	}
}

func TestWaitingForABudgetCanBeCancelled(t *testing.T) {
	hold := make(chan struct{})
	arrived := make(chan struct{}, 2)
	server := llmtest.New(t, func(llmtest.Call) llmtest.Reply {
		arrived <- struct{}{}
		return llmtest.Reply{Text: fits, Hold: hold}
	})
	meter := llm.NewMeter(llm.Limits{Tokens: 700}, llm.Limits{})
	c := client(t, server, func(o *llm.Options) { o.Meter, o.MaxTokens = meter, 400 })
	first := make(chan error)
	go func() {
		_, err := c.Ask(t.Context(), question())
		first <- err
	}()
	<-arrived
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := c.Ask(ctx, question()); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
	close(hold)
	if err := <-first; err != nil {
		t.Error(err)
	}
}

func TestACostLimitNeedsAPrice(t *testing.T) {
	server := llmtest.New(t, llmtest.InOrder(spends))
	meter := llm.NewMeter(llm.Limits{Cost: 1}, llm.Limits{})
	_, err := client(t, server, func(o *llm.Options) { o.Meter = meter }).Ask(t.Context(), question())
	if !errors.Is(err, llm.ErrSettings) || !strings.Contains(err.Error(), "next: give it in llm.prices") || server.Counts().Calls != 0 {
		t.Errorf("%d calls, %v", server.Counts().Calls, err)
	}
	c := client(t, server, nil)
	if _, err := c.Ask(t.Context(), question()); err != nil || c.Meter().Snapshot().Total.Unpriced != 1 {
		t.Errorf("%+v, %v", c.Meter().Snapshot().Total, err)
	}
}

func TestFiguresAreKeptByModelPurposeAndFile(t *testing.T) {
	server := llmtest.New(t, llmtest.InOrder(spends))
	meter := llm.NewMeter(llm.Limits{}, llm.Limits{})
	one := client(t, server, func(o *llm.Options) { o.Meter, o.Price = meter, price })
	other := client(t, server, func(o *llm.Options) { o.Meter, o.Model = meter, "openai/other" })
	ask := func(c *llm.Client, file string, purpose llm.Purpose) {
		r := question()
		r.Purpose = purpose
		if _, err := c.Ask(llm.WithFile(t.Context(), file), r); err != nil {
			t.Fatal(err)
		}
	}
	ask(one, "b.md", llm.Extract)
	ask(one, "a.md", llm.Verify)
	ask(one, "a.md", llm.Extract)
	ask(other, "a.md", llm.Extract)
	ask(one, "", llm.Suggest)

	snapshot := meter.Snapshot()
	if n := len(snapshot.Accounts); n != 5 || snapshot.Total.Calls != 5 || snapshot.Total.Unpriced != 1 || math.Abs(snapshot.Total.Cost-4*0.0006) > 1e-12 {
		t.Errorf("%d accounts, total %+v", n, snapshot.Total)
	}
	if got := snapshot.ByPurpose()[llm.Extract].Calls; got != 3 {
		t.Errorf("%d calls to extract", got)
	}
	if got := snapshot.ByFile()["a.md"]; got.Calls != 3 || got.InputTokens != 300 {
		t.Errorf("a.md: %+v", got)
	}
	closed := meter.CloseFile("a.md")
	if len(closed) != 3 || closed[0].Purpose != llm.Extract || closed[0].File != "a.md" {
		t.Errorf("closed %+v", closed)
	}
	after := meter.Snapshot()
	if after.Total.Calls != 5 || after.ByFile()["a.md"].Calls != 0 || after.ByPurpose()[llm.Extract].Calls != 3 {
		t.Errorf("after closing: %+v", after)
	}
}

// A server that counts wrongly, or means harm, gives no budget back.
func TestABudgetIsNotRefilledByWhatAnEndpointReports(t *testing.T) {
	for name, reply := range map[string]llmtest.Reply{
		"a negative output":           {Text: fits, Input: 100, Output: -1_000_000},
		"a negative input":            {Text: fits, Input: -1_000_000, Output: 50},
		"a sum beyond what ints hold": {Text: fits, Input: math.MaxInt64, Output: math.MaxInt64},
	} {
		for _, model := range []string{"openai/m", "anthropic/m"} {
			server := llmtest.New(t, llmtest.InOrder(reply))
			c := client(t, server, func(o *llm.Options) {
				o.Meter, o.Price, o.MaxTokens, o.Model = llm.NewMeter(llm.Limits{Tokens: 2000}, llm.Limits{}), price, 400, model
			})
			calls, err := 0, error(nil)
			for ; err == nil && calls < 200; calls++ {
				_, err = c.Ask(t.Context(), question())
			}
			if total := c.Meter().Snapshot().Total; !errors.Is(err, llm.ErrBudget) || total.Unreported != total.Calls || total.InputTokens <= 0 || total.OutputTokens <= 0 || total.Cost <= 0 {
				t.Errorf("%s of %s: after %d calls %v, %+v", name, model, calls, err, total)
			}
		}
	}
}

func TestWhatAnEndpointDoesNotReportIsEstimated(t *testing.T) {
	text := `{"name":"Ada Lovelace and Charles Babbage","size":3}`
	for _, model := range []string{"openai/x", "anthropic/x"} {
		server := llmtest.New(t, llmtest.InOrder(llmtest.Reply{Text: text, NoUsage: true}))
		c := client(t, server, func(o *llm.Options) { o.Model = model })
		if _, err := c.Ask(t.Context(), question()); err != nil {
			t.Fatal(err)
		}
		total := c.Meter().Snapshot().Total
		if total.Unreported != 1 || total.InputTokens < 40 || total.InputTokens > 200 || total.OutputTokens < 10 || total.OutputTokens > 25 {
			t.Errorf("%s: %+v", model, total)
		}
	}
}
