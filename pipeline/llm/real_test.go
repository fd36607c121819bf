package llm_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"graphmill/pipeline/llm"
	"graphmill/pipeline/llm/llmtest"
)

// What the fault server claims of the protocol, held against a real one.
func TestARealModelIsAskedAndMetered(t *testing.T) {
	if testing.Short() {
		t.Skip("a real model takes half a minute")
	}
	base := llmtest.StartReal(t)
	meter := llm.NewMeter(llm.Limits{}, llm.Limits{})
	c, err := llm.New(llm.Options{
		Endpoint:  llm.Endpoint{Model: "openai/" + llmtest.RealModel, BaseURL: base, Timeout: 5 * time.Minute, Meter: meter, Cache: cacheIn(t, t.TempDir()), Price: price},
		MaxTokens: 60,
	})
	if err != nil {
		t.Fatal(err)
	}
	person := &llm.Schema{Name: "person", JSON: json.RawMessage(
		`{"type":"object","properties":{"name":{"type":"string","maxLength":30},"born":{"type":"integer"}},"required":["name","born"],"additionalProperties":false}`)}
	structured := llm.Request{Purpose: llm.Extract, Version: 1, System: "You read one sentence and name the person in it.",
		User: "Ada Lovelace was born in London in 1815.", Schema: person}

	t.Run("json_schema", func(t *testing.T) {
		answer, err := c.Ask(t.Context(), structured)
		if err != nil {
			t.Fatal(err)
		}
		var got struct {
			Name string
			Born int
		}
		if err := json.Unmarshal([]byte(answer.Text), &got); err != nil {
			t.Errorf("%q: %v", answer.Text, err)
		}
		input, _ := c.Estimate(structured)
		t.Logf("%s, %+v, estimated %d", answer.Text, answer.Usage, input)
		if u := answer.Usage; u.Calls < 1 || u.InputTokens < 20 || u.OutputTokens < 5 || u.Cost <= 0 {
			t.Errorf("%+v", u)
		}
		again, err := c.Ask(t.Context(), structured)
		if err != nil || !again.Cached || again.Text != answer.Text {
			t.Errorf("%+v, %v", again, err)
		}
	})
	t.Run("plain text", func(t *testing.T) {
		r := llm.Request{Purpose: llm.Situate, Version: 1, User: "Say hello.", MaxTokens: 40}
		answer, err := c.Ask(t.Context(), r)
		// Small models do not always end.
		if err != nil && !errors.Is(err, llm.ErrUnusable) {
			t.Error(err)
		}
		t.Logf("%q, %+v, %v", answer.Text, answer.Usage, err)
	})
	t.Run("cut off", func(t *testing.T) {
		c, err := llm.New(llm.Options{
			Endpoint:  llm.Endpoint{Model: "openai/" + llmtest.RealModel, BaseURL: base, Timeout: 5 * time.Minute, Meter: meter},
			MaxTokens: 3, MaxAnswerTokens: 4,
		})
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Ask(t.Context(), structured)
		var unusable *llm.UnusableError
		if !errors.As(err, &unusable) || unusable.Hint == "" {
			t.Errorf("error %v", err)
		}
	})
	t.Run("an unknown address", func(t *testing.T) {
		c, err := llm.New(llm.Options{Endpoint: llm.Endpoint{Model: "openai/x", BaseURL: base + "/nowhere", Meter: meter}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Ask(t.Context(), structured); !errors.Is(err, llm.ErrSettings) {
			t.Errorf("error %v", err)
		}
	})
	total := meter.Snapshot().Total
	t.Logf("%+v", total)
	if total.Unreported != 0 || total.Cached != 1 {
		t.Errorf("%+v", total)
	}
}

func TestARealModelGivesVectors(t *testing.T) {
	if testing.Short() {
		t.Skip("a real model takes some seconds")
	}
	e, err := llm.NewEmbedder(llm.EmbedOptions{
		Endpoint: llm.Endpoint{Model: "openai/" + llmtest.RealModel, BaseURL: llmtest.StartRealEmbedder(t), Timeout: 5 * time.Minute}, Dimension: llmtest.RealDimension,
	})
	if err != nil {
		t.Fatal(err)
	}
	vectors, err := e.Embed(t.Context(), []string{"A dog sleeps.", "Bonds fell by a tenth.", "A dog sleeps."})
	if err != nil {
		t.Fatal(err)
	}
	if !near(vectors[0], vectors[2]) || near(vectors[0], vectors[1]) {
		t.Error("vectors are not their texts'")
	}
	if total := e.Meter().Snapshot().Total; total.Calls != 1 || total.Unreported != 0 || total.InputTokens < 8 {
		t.Errorf("%+v", total)
	}
}
