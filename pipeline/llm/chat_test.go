package llm_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"graphmill/pipeline/llm"
	"graphmill/pipeline/llm/llmtest"
)

// thing is a schema as the extractors use them: closed, all required.
var thing = &llm.Schema{Name: "thing", JSON: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"},"size":{"type":"integer"}},"required":["name","size"],"additionalProperties":false}`)}

const fits = `{"name":"Ada","size":3}`

// client asks the server, fast to try again.
func client(t *testing.T, s *llmtest.Server, change func(*llm.Options)) *llm.Client {
	t.Helper()
	o := llm.Options{Endpoint: llm.Endpoint{Model: "openai/small", BaseURL: s.BaseURL(), Backoff: time.Millisecond, Timeout: 30 * time.Second}}
	if change != nil {
		change(&o)
	}
	c, err := llm.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func question() llm.Request {
	return llm.Request{Purpose: llm.Extract, Version: 1, System: "Say what it is.", User: "Ada is 3.", Schema: thing}
}

func TestAnAnswerComesBackWithWhatItTook(t *testing.T) {
	for name, change := range map[string]func(*llmtest.Server) func(*llm.Options){
		"openai": func(*llmtest.Server) func(*llm.Options) { return nil },
		"anthropic": func(s *llmtest.Server) func(*llm.Options) {
			return func(o *llm.Options) { o.Model, o.BaseURL = "anthropic/claude-x", s.URL }
		},
		"azure": func(s *llmtest.Server) func(*llm.Options) {
			return func(o *llm.Options) { o.Model, o.BaseURL, o.APIKey = "azure/deployed", s.URL, "secret" }
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := llmtest.New(t, llmtest.InOrder(llmtest.Reply{Text: fits, Input: 21, Output: 9}))
			c := client(t, server, change(server))
			answer, err := c.Ask(t.Context(), question())
			if err != nil {
				t.Fatal(err)
			}
			want := llm.Usage{Calls: 1, InputTokens: 21, OutputTokens: 9}
			if answer.Text != fits || answer.Usage != want || answer.Cached {
				t.Errorf("answer %+v", answer)
			}
			if got := c.Meter().Snapshot().Total; got.Usage != want || got.Unreported != 0 {
				t.Errorf("meter %+v", got)
			}
			call := server.Calls()[0]
			if call.System != "Say what it is." || call.User() != "Ada is 3." || call.Form != "schema" || call.MaxTokens != 4096 {
				t.Errorf("the server saw %+v", call)
			}
		})
	}
}

func TestNothingIsAskedOfAnEndpointThatRefusesTheKey(t *testing.T) {
	server := llmtest.New(t, llmtest.InOrder(llmtest.Reply{Status: 401, Message: "bad key sk-abcdef"}))
	_, err := client(t, server, func(o *llm.Options) { o.APIKey = "sk-abcdef" }).Ask(t.Context(), question())
	if !errors.Is(err, llm.ErrUnavailable) || !errors.Is(err, llm.ErrSettings) || !strings.Contains(err.Error(), "check OPENAI_API_KEY") {
		t.Errorf("error %v", err)
	}
	if strings.Contains(err.Error(), "abcdef") {
		t.Errorf("the key is in %v", err)
	}
	if n := server.Counts().Calls; n != 1 {
		t.Errorf("%d calls", n)
	}
}
