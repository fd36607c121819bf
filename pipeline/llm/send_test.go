package llm_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"graphmill/pipeline/llm"
	"graphmill/pipeline/llm/llmtest"
)

var good = llmtest.Reply{Text: fits}

func TestWhatPassesIsAskedAgain(t *testing.T) {
	for name, bad := range map[string]llmtest.Reply{
		"429 without a time":     {Status: 429},
		"429 with seconds":       {Status: 429, RetryAfter: "0.01"},
		"429 with a date":        {Status: 429, RetryAfter: "Mon, 01 Jan 2001 00:00:00 GMT"},
		"500":                    {Status: 500, Body: "<html>oops</html>", ContentType: "text/html"},
		"503":                    {Status: 503},
		"529 overloaded":         {Status: 529, Message: "Overloaded"},
		"408":                    {Status: 408},
		"reset":                  {Reset: true},
		"cut in the body":        {Text: fits, Half: true},
		"half a document":        {Body: `{"choices":[{"mess`},
		"a web page":             {Body: "<!doctype html><p>log in</p>", ContentType: "text/html"},
		"empty":                  {ContentType: "application/json"},
		"no choices":             {Body: `{"id":"x","choices":[]}`},
		"an error that says 200": {Body: `{"error":{"message":"upstream is gone"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			server := llmtest.New(t, llmtest.InOrder(bad, bad, good))
			c := client(t, server, nil)
			answer, err := c.Ask(t.Context(), question())
			if err != nil || answer.Text != fits {
				t.Fatalf("answer %+v, %v", answer, err)
			}
			if calls, total := server.Counts().Calls, c.Meter().Snapshot().Total; calls != 3 || total.Calls != 3 || answer.Usage.Calls != 3 {
				t.Errorf("%d calls arrived, %d were metered, %d are the answer's", calls, total.Calls, answer.Usage.Calls)
			}
		})
	}
}

func TestAWrongContentTypeIsNoFault(t *testing.T) {
	server := llmtest.New(t, llmtest.InOrder(llmtest.Reply{Text: fits, ContentType: "text/plain"}))
	if answer, err := client(t, server, nil).Ask(t.Context(), question()); err != nil || answer.Text != fits || server.Counts().Calls != 1 {
		t.Errorf("answer %+v, %v", answer, err)
	}
}

func TestAttemptsEndAndSayWhatToDo(t *testing.T) {
	for name, test := range map[string]struct {
		reply llmtest.Reply
		want  string
	}{
		"too many":   {llmtest.Reply{Status: 429}, "HTTP 429 Too Many Requests: too many requests (error) (3 attempts); next: lower llm.concurrency"},
		"broken":     {llmtest.Reply{Status: 500, Message: "kaput"}, "HTTP 500 Internal Server Error: kaput (error) (3 attempts); next: look whether 127.0.0.1"},
		"a web page": {llmtest.Reply{Body: "<html>hi</html>"}, "the reply is a web page, not JSON: <html>hi</html> (3 attempts); next: is 127.0.0.1"},
		"reset":      {llmtest.Reply{Reset: true}, "EOF (3 attempts); next: look whether 127.0.0.1"},
	} {
		t.Run(name, func(t *testing.T) {
			server := llmtest.New(t, llmtest.InOrder(test.reply))
			_, err := client(t, server, func(o *llm.Options) { o.Attempts = 3 }).Ask(t.Context(), question())
			if !errors.Is(err, llm.ErrUnavailable) || errors.Is(err, llm.ErrSettings) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v", err)
			}
			if n := server.Counts().Calls; n != 3 {
				t.Errorf("%d calls", n)
			}
		})
	}
}

func TestWhatCannotPassEndsAtOnce(t *testing.T) {
	for name, test := range map[string]struct {
		reply llmtest.Reply
		calls int
		want  string
	}{
		"no such model": {llmtest.Reply{Status: 404, Message: "The model does not exist"}, 1, "check the model's name and the base URL"},
		"forbidden":     {llmtest.Reply{Status: 403}, 1, "check OPENAI_API_KEY"},
		"no money":      {llmtest.Reply{Status: 429, Body: `{"error":{"message":"You exceeded your quota","code":"insufficient_quota"}}`}, 1, "billing"},
		"moved":         {llmtest.Reply{Status: 307, Location: "/v2"}, 1, "redirection"},
		"gone":          {llmtest.Reply{Status: 410}, 1, "refuses the request"},
		"bad request":   {llmtest.Reply{Status: 400, Message: "no"}, 3, "refuses the request"}, // in all its forms
	} {
		t.Run(name, func(t *testing.T) {
			server := llmtest.New(t, llmtest.InOrder(test.reply))
			_, err := client(t, server, nil).Ask(t.Context(), question())
			if !errors.Is(err, llm.ErrUnavailable) || !errors.Is(err, llm.ErrSettings) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v", err)
			}
			if n := server.Counts().Calls; n != test.calls {
				t.Errorf("%d calls", n)
			}
		})
	}
}

func TestRetryAfterIsObeyedByAllCalls(t *testing.T) {
	var mu sync.Mutex
	var refusedAt time.Time
	var early int
	server := llmtest.New(t, func(c llmtest.Call) llmtest.Reply {
		mu.Lock()
		defer mu.Unlock()
		if c.N == 1 {
			refusedAt = time.Now()
			return llmtest.Reply{Status: 429, RetryAfter: "1"}
		}
		if time.Since(refusedAt) < 990*time.Millisecond {
			early++
		}
		return good
	})
	c := client(t, server, func(o *llm.Options) { o.Concurrency = 1 })
	var wait sync.WaitGroup
	for range 3 {
		wait.Go(func() {
			if _, err := c.Ask(t.Context(), question()); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if early > 0 {
		t.Errorf("%d calls came within the second that the server asked to wait", early)
	}
}

func TestALongRetryAfterEndsTheCall(t *testing.T) {
	for _, value := range []string{"3600", "1e300", "Fri, 31 Dec 2999 23:59:59 GMT"} {
		server := llmtest.New(t, llmtest.InOrder(llmtest.Reply{Status: 429, RetryAfter: value}))
		_, err := client(t, server, nil).Ask(t.Context(), question())
		if !errors.Is(err, llm.ErrUnavailable) || !strings.Contains(err.Error(), "longer than the 2m0s that are waited") || server.Counts().Calls != 1 {
			t.Errorf("Retry-After %s: %d calls, %v", value, server.Counts().Calls, err)
		}
	}
}

func TestASlowReplyTimesOut(t *testing.T) {
	drip := llmtest.Reply{Text: fits, Drip: 50 * time.Millisecond}
	server := llmtest.New(t, llmtest.InOrder(drip, good))
	c := client(t, server, func(o *llm.Options) { o.Timeout = 3 * time.Second })
	if answer, err := c.Ask(t.Context(), question()); err != nil || answer.Text != fits {
		t.Fatalf("answer %+v, %v", answer, err)
	}
	// What broke off was worked on perhaps: its input is counted, as an estimate.
	if total := c.Meter().Snapshot().Total; total.Calls != 2 || total.Unreported != 1 || total.InputTokens <= server.Counts().InputTokens {
		t.Errorf("meter %+v", total)
	}
	server.Script(llmtest.InOrder(drip))
	_, err := client(t, server, func(o *llm.Options) { o.Timeout, o.Attempts = 200*time.Millisecond, 2 }).Ask(t.Context(), question())
	if !errors.Is(err, llm.ErrUnavailable) || !strings.Contains(err.Error(), "no whole reply within 200ms (2 attempts); next: raise") {
		t.Errorf("error %v", err)
	}
}

func TestACallIsCancelledWhereverItIs(t *testing.T) {
	hold := make(chan struct{})
	defer close(hold)
	for name, test := range map[string]struct {
		reply  llmtest.Reply
		change func(*llm.Options)
	}{
		"under way":               {reply: llmtest.Reply{Hold: hold}},
		"between attempts":        {reply: llmtest.Reply{Status: 500}, change: func(o *llm.Options) { o.Backoff, o.MaxBackoff = time.Hour, time.Hour }},
		"in the server's silence": {reply: llmtest.Reply{Status: 429, RetryAfter: "60"}},
	} {
		t.Run(name, func(t *testing.T) {
			arrived := make(chan struct{}, 10)
			server := llmtest.New(t, func(llmtest.Call) llmtest.Reply {
				arrived <- struct{}{}
				return test.reply
			})
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				<-arrived
				cancel()
			}()
			c := client(t, server, test.change)
			_, err := c.Ask(ctx, question())
			if !errors.Is(err, context.Canceled) || errors.Is(err, llm.ErrUnavailable) {
				t.Errorf("error %v", err)
			}
			if n := server.Counts().Calls; n != 1 {
				t.Errorf("%d calls", n)
			}
		})
	}
}

func TestCallsSideBySideAreBounded(t *testing.T) {
	release := make(chan struct{})
	arrived := make(chan struct{}, 20)
	server := llmtest.New(t, func(llmtest.Call) llmtest.Reply {
		arrived <- struct{}{}
		return llmtest.Reply{Text: fits, Hold: release}
	})
	c := client(t, server, func(o *llm.Options) { o.Concurrency = 3 })
	var wait sync.WaitGroup
	for range 9 {
		wait.Go(func() {
			if _, err := c.Ask(t.Context(), question()); err != nil {
				t.Error(err)
			}
		})
	}
	for range 3 {
		<-arrived
	}
	close(release)
	wait.Wait()
	if got := server.Counts(); got.Parallel != 3 || got.Calls != 9 {
		t.Errorf("%+v", got)
	}
}

func TestRequestsAMinuteAreKept(t *testing.T) {
	server := llmtest.New(t, llmtest.InOrder(good))
	c := client(t, server, func(o *llm.Options) { o.RequestsPerMinute = 600 }) // ten at once, then one a tenth of a second
	start := time.Now()
	for range 13 {
		if _, err := c.Ask(t.Context(), question()); err != nil {
			t.Fatal(err)
		}
	}
	if took := time.Since(start); took < 290*time.Millisecond {
		t.Errorf("13 calls took %s", took)
	}
}

func TestTokensAMinuteAreKept(t *testing.T) {
	server := llmtest.New(t, llmtest.InOrder(llmtest.Reply{Text: fits, Input: 100, Output: 100}))
	c := client(t, server, func(o *llm.Options) { o.TokensPerMinute, o.MaxTokens = 6000, 5000 }) // a hundred a second
	start := time.Now()
	for range 2 {
		if _, err := c.Ask(t.Context(), question()); err != nil {
			t.Fatal(err)
		}
	}
	// What the first may take but did not is there for the second.
	if took := time.Since(start); took > 40*time.Second {
		t.Errorf("two calls took %s", took)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	for range 30 {
		if _, err := c.Ask(ctx, question()); errors.Is(err, context.DeadlineExceeded) {
			return
		}
	}
	t.Error("30 calls of 200 tokens went through in 0.3 s at 6,000 a minute")
}

func TestAnEndpointThatFailsIsLeftAloneForAWhile(t *testing.T) {
	server := llmtest.New(t, llmtest.InOrder(llmtest.Reply{Status: 502}))
	c := client(t, server, func(o *llm.Options) { o.BreakAfter, o.BreakFor, o.Attempts = 4, time.Hour, 2 })
	for range 5 {
		if _, err := c.Ask(t.Context(), question()); !errors.Is(err, llm.ErrUnavailable) {
			t.Fatalf("error %v", err)
		}
	}
	if n := server.Counts().Calls; n != 4 {
		t.Fatalf("%d calls, 4 were to break the circuit", n)
	}
	_, err := c.Ask(t.Context(), question())
	if err == nil || !strings.Contains(err.Error(), "none is sent for a while") {
		t.Errorf("error %v", err)
	}
	if total := c.Meter().Snapshot().Total; total.Calls != 4 {
		t.Errorf("%d calls were metered", total.Calls)
	}
}

func TestAnEndpointThatIsWellAgainIsAskedAgain(t *testing.T) {
	server := llmtest.New(t, llmtest.InOrder(llmtest.Reply{Status: 502}, llmtest.Reply{Status: 502}, good))
	c := client(t, server, func(o *llm.Options) { o.BreakAfter, o.BreakFor, o.Attempts = 2, 50*time.Millisecond, 1 })
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if answer, err := c.Ask(t.Context(), question()); err == nil && answer.Text == fits {
			return
		}
	}
	t.Errorf("it was asked %d times in a minute", server.Counts().Calls)
}

func TestNoRefusalOpensTheCircuit(t *testing.T) {
	server := llmtest.New(t, llmtest.InOrder(llmtest.Reply{Status: http.StatusTooManyRequests}))
	c := client(t, server, func(o *llm.Options) { o.BreakAfter, o.Attempts = 2, 6 })
	if _, err := c.Ask(t.Context(), question()); err == nil || server.Counts().Calls != 6 {
		t.Errorf("%d calls, %v", server.Counts().Calls, err)
	}
}

func TestAddressesAreReadAsTheirProvidersWriteThem(t *testing.T) {
	for _, test := range []struct {
		model, base, key, want string
	}{
		{"openai/gpt", "", "k", ""},
		{"openai/gpt", "", "", "set OPENAI_API_KEY"},
		{"anthropic/claude-x", "", "", "set ANTHROPIC_API_KEY"},
		{"claude-x", "", "", "set ANTHROPIC_API_KEY"},
		{"azure/mine", "", "k", "https://NAME.openai.azure.com"},
		{"azure/mine", "https://x.openai.azure.com", "", "set AZURE_API_KEY"},
		{"ollama/llama3", "", "", ""},
		{"meta/llama", "", "k", "is not known"},
		{"meta/llama", "http://gpu:8000/v1", "", ""},
		{"openai/", "", "k", "has no name"},
		{"", "", "k", "has no name"},
		{"gpt", "gpu:8000", "", "http://HOST:PORT/v1"},
	} {
		_, err := llm.New(llm.Options{Endpoint: llm.Endpoint{Model: test.model, BaseURL: test.base, APIKey: test.key}})
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "; next: ")) {
			t.Errorf("%+v: %v", test, err)
		}
	}
}

func TestAzureIsAskedAtItsDeployment(t *testing.T) {
	server := llmtest.New(t, llmtest.InOrder(good))
	c := client(t, server, func(o *llm.Options) { o.Model, o.BaseURL, o.APIKey = "azure/mine", server.URL, "secret" })
	if _, err := c.Ask(t.Context(), question()); err != nil {
		t.Fatal(err)
	}
	call := server.Calls()[0]
	// OpenAI's own models take only the newer name of the bound.
	if call.LimitName != "max_completion_tokens" {
		t.Errorf("the bound is called %s", call.LimitName)
	}
	if call.Path != "/openai/deployments/mine/chat/completions" || call.Query != "api-version=2024-10-21" || call.Header.Get("Api-Key") != "secret" || call.Header.Get("Authorization") != "" {
		t.Errorf("%s?%s %v", call.Path, call.Query, call.Header)
	}
}

func TestAServerOfOnesOwnHearsTheOlderNameOfTheBound(t *testing.T) {
	server := llmtest.New(t, llmtest.InOrder(good))
	if _, err := client(t, server, nil).Ask(t.Context(), question()); err != nil || server.Calls()[0].LimitName != "max_tokens" {
		t.Errorf("it is called %s, %v", server.Calls()[0].LimitName, err)
	}
}

func TestTheEnvironmentIsNotRead(t *testing.T) {
	server := llmtest.New(t, llmtest.InOrder(good))
	for _, name := range []string{"OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_ORG_ID", "ANTHROPIC_AUTH_TOKEN"} {
		t.Setenv(name, "from-the-environment")
	}
	for _, model := range []string{"openai/x", "anthropic/x"} {
		if _, err := client(t, server, func(o *llm.Options) { o.Model = model }).Ask(t.Context(), question()); err != nil {
			t.Fatal(err)
		}
	}
	for _, call := range server.Calls() {
		for name, values := range call.Header {
			if strings.Contains(strings.Join(values, " "), "from-the-environment") {
				t.Errorf("%s holds what stands in the environment", name)
			}
		}
	}
}
