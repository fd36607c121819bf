package llm_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"graphmill/pipeline/llm"
	"graphmill/pipeline/llm/llmtest"
)

// backwards is thing with its properties in another order than that of the alphabet.
var backwards = &llm.Schema{Name: "thing", JSON: json.RawMessage(`{"type":"object","properties":{"size":{"type":"integer"},"name":{"type":"string"}},"required":["size","name"],"additionalProperties":false}`)}

// refusing answers 400 to every form but the last named.
func refusing(message string, forms ...string) func(llmtest.Call) llmtest.Reply {
	return func(c llmtest.Call) llmtest.Reply {
		for _, form := range forms {
			if c.Form == form {
				return llmtest.Reply{Status: 400, Message: message}
			}
		}
		return good
	}
}

func TestTheStrictestFormThatAnEndpointTakesIsFoundOnce(t *testing.T) {
	for name, test := range map[string]struct {
		model   string
		refuses []string
		want    string // the form that is left
		calls   int    // of the first question
	}{
		"json_schema":               {"openai/x", nil, "schema", 1},
		"json_object":               {"openai/x", []string{"schema"}, "object", 2},
		"words alone":               {"openai/x", []string{"schema", "object"}, "", 3},
		"anthropic's output format": {"anthropic/x", nil, "schema", 1},
		"a tool":                    {"anthropic/x", []string{"schema"}, "tool", 2},
		"anthropic by words alone":  {"anthropic/x", []string{"schema", "tool"}, "", 3},
	} {
		t.Run(name, func(t *testing.T) {
			server := llmtest.New(t, refusing("response_format is not supported", test.refuses...))
			c := client(t, server, func(o *llm.Options) { o.Model = test.model })
			for n := range 2 {
				r := question()
				r.Schema = backwards
				if answer, err := c.Ask(t.Context(), r); err != nil || answer.Text != fits {
					t.Fatalf("answer %+v, %v", answer, err)
				}
				if calls := server.Counts().Calls; calls != test.calls+n {
					t.Errorf("question %d: %d calls so far", n+1, calls)
				}
			}
			calls := server.Calls()
			last := calls[len(calls)-1]
			inWords := strings.Contains(last.System, `"additionalProperties":false`)
			if last.Form != test.want || inWords != (test.want == "" || test.want == "object") {
				t.Errorf("form %q, schema in words: %t", last.Form, inWords)
			}
			// To the byte: models answer in the order of the properties.
			if (last.Form == "tool" || last.Form == "schema") && string(last.Schema) != string(backwards.JSON) {
				t.Errorf("the schema arrived as %s", last.Schema)
			}
		})
	}
}

func encode(t *testing.T, value any) string {
	t.Helper()
	out, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func TestStrictIsAskedForWhereTheSchemaAllowsIt(t *testing.T) {
	server := llmtest.New(t, llmtest.InOrder(good))
	c := client(t, server, nil)
	loose := question()
	loose.Schema = &llm.Schema{Name: "loose", JSON: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"},"note":{"type":"string"}},"required":["name"]}`)}
	for _, r := range []llm.Request{question(), loose} {
		if _, err := c.Ask(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	if calls := server.Calls(); !calls[0].Strict || calls[1].Strict {
		t.Errorf("strict %t and %t", calls[0].Strict, calls[1].Strict)
	}
}

func TestWhatAnEndpointDoesNotTakeIsLeftOut(t *testing.T) {
	server := llmtest.New(t, func(c llmtest.Call) llmtest.Reply {
		switch {
		case c.LimitName == "max_tokens":
			return llmtest.Reply{Status: 400, Message: "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."}
		case c.Temperature != nil:
			return llmtest.Reply{Status: 400, Message: "Unsupported value: 'temperature' does not support 0 with this model."}
		case c.Seed != nil:
			return llmtest.Reply{Status: 422, Message: "seed: extra fields not permitted"}
		}
		return good
	})
	c := client(t, server, func(o *llm.Options) { o.Seed = 7 })
	for n := range 2 {
		if answer, err := c.Ask(t.Context(), question()); err != nil || answer.Text != fits {
			t.Fatalf("answer %+v, %v", answer, err)
		}
		if calls := server.Counts().Calls; calls != 4+n {
			t.Errorf("question %d: %d calls so far", n+1, calls)
		}
	}
	if last := server.Calls()[4]; last.Form != "schema" || last.MaxTokens != 4096 {
		t.Errorf("%+v", last)
	}
}

func TestAnAnswerIsMendedWithoutAskingAgain(t *testing.T) {
	for name, text := range map[string]string{
		"as it is":           fits,
		"fenced":             "```json\n" + fits + "\n```",
		"words around":       "Sure! Here it is: " + fits + " Hope that helps {really}.",
		"thoughts before":    "<think>{\"name\":\"no\",\"size\":1}</think>\n" + fits,
		"a comma too many":   `{"name":"Ada","size":3,}`,
		"a bracket too few":  `{"size":3,"name":"Ada"`,
		"a wrong one before": `{"name":"Ada"} no: ` + fits,
	} {
		t.Run(name, func(t *testing.T) {
			server := llmtest.New(t, llmtest.InOrder(llmtest.Reply{Text: text}))
			answer, err := client(t, server, nil).Ask(t.Context(), question())
			var got, want map[string]any
			_ = json.Unmarshal([]byte(answer.Text), &got)
			_ = json.Unmarshal([]byte(fits), &want)
			if err != nil || encode(t, got) != encode(t, want) || server.Counts().Calls != 1 {
				t.Errorf("answer %+v after %d calls, %v", answer, server.Counts().Calls, err)
			}
		})
	}
}

func TestAnUnusableAnswerIsAskedForOnceMoreWithTheReason(t *testing.T) {
	for name, test := range map[string]struct {
		bad    llmtest.Reply
		reason string
	}{
		"wrong schema":     {llmtest.Reply{Text: `{"name":7}`}, "does not fit the schema"},
		"no JSON":          {llmtest.Reply{Text: "I do not know."}, "no whole JSON value"},
		"half a string":    {llmtest.Reply{Text: `{"name":"Ad`}, "no whole JSON value"},
		"cut off":          {llmtest.Reply{Text: fits, CutOff: true}, "cut off at its bound of 4096 tokens"},
		"empty":            {llmtest.Reply{}, "it is empty"},
		"the caller's own": {llmtest.Reply{Text: `{"name":"Bob","size":3}`}, "Bob is not in the text"},
	} {
		t.Run(name, func(t *testing.T) {
			server := llmtest.New(t, llmtest.InOrder(test.bad, good))
			c := client(t, server, nil)
			r := question()
			r.Check = func(text string) error {
				if strings.Contains(text, "Bob") {
					return errors.New("Bob is not in the text")
				}
				return nil
			}
			answer, err := c.Ask(t.Context(), r)
			if err != nil || answer.Text != fits || answer.Usage.Calls != 2 {
				t.Fatalf("answer %+v, %v", answer, err)
			}
			second := server.Calls()[1]
			if !strings.Contains(second.User(), test.reason) || !strings.Contains(second.User(), `"additionalProperties":false`) {
				t.Errorf("the second ask was %q", second.User())
			}
			if test.bad.Text != "" && (len(second.Turns) != 3 || second.Turns[1] != test.bad.Text) {
				t.Errorf("the turns were %q", second.Turns)
			}
			if wider := second.MaxTokens == 8192; wider != test.bad.CutOff {
				t.Errorf("the bound was %d", second.MaxTokens)
			}
		})
	}
}

func TestAnAnswerThatStaysUnusableIsInTheDebugLog(t *testing.T) {
	for name, test := range map[string]struct {
		reply llmtest.Reply
		calls int
		want  string
	}{
		"wrong twice":   {llmtest.Reply{Text: `{"name":"Zuse"}`}, 2, "does not fit the schema"},
		"cut off twice": {llmtest.Reply{Text: `{"name":"Zuse`, CutOff: true}, 2, "next: raise llm.max_output_tokens"},
		"declined":      {llmtest.Reply{Refusal: "Zuse I will not name"}, 1, "declined"},
	} {
		for _, model := range []string{"openai/x", "anthropic/x"} {
			t.Run(name+" by "+model, func(t *testing.T) {
				var log bytes.Buffer
				server := llmtest.New(t, llmtest.InOrder(test.reply))
				c := client(t, server, func(o *llm.Options) {
					o.Model = model
					o.Log = slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
				})
				answer, err := c.Ask(llm.WithFile(t.Context(), "a.md"), question())
				if !errors.Is(err, llm.ErrUnusable) || errors.Is(err, llm.ErrUnavailable) || !strings.Contains(err.Error(), test.want) {
					t.Errorf("error %v", err)
				}
				if n := server.Counts().Calls; n != test.calls || answer.Usage.Calls != test.calls {
					t.Errorf("%d calls, usage %+v", n, answer.Usage)
				}
				if !strings.Contains(log.String(), "Zuse") || !strings.Contains(log.String(), `"file":"a.md"`) {
					t.Errorf("the log holds %s", &log)
				}
			})
		}
	}
}

func TestAQuestionThatIsRefusedLosesItsChunkAlone(t *testing.T) {
	for name, test := range map[string]struct {
		reply llmtest.Reply
		calls int
		want  string
	}{
		"too long":  {llmtest.Reply{Status: 400, Message: "This model's maximum context length is 8192 tokens"}, 1, "next: make the chunks smaller"},
		"too large": {llmtest.Reply{Status: 413, Message: "payload"}, 1, "next: make the chunks smaller"},
		"filtered":  {llmtest.Reply{Status: 400, Message: "The response was filtered due to the prompt triggering our content management policy"}, 1, "content management"},
	} {
		t.Run(name, func(t *testing.T) {
			server := llmtest.New(t, llmtest.InOrder(test.reply))
			_, err := client(t, server, nil).Ask(t.Context(), question())
			if !errors.Is(err, llm.ErrUnusable) || errors.Is(err, llm.ErrUnavailable) || !strings.Contains(err.Error(), test.want) || server.Counts().Calls != test.calls {
				t.Errorf("%d calls, %v", server.Counts().Calls, err)
			}
		})
	}
	// A model that has answered before is well, whatever it has against this one.
	odd := llmtest.Reply{Status: 400, Message: "odd"}
	server := llmtest.New(t, llmtest.InOrder(good, odd, odd, odd, good))
	c := client(t, server, nil)
	for n := range 3 {
		_, err := c.Ask(t.Context(), question())
		if n == 1 && (!errors.Is(err, llm.ErrUnusable) || !strings.Contains(err.Error(), "odd")) || n != 1 && err != nil {
			t.Errorf("question %d: %v", n+1, err)
		}
	}
	if last := server.Calls()[4]; last.Form != "schema" {
		t.Errorf("the form is %q for one refusal", last.Form)
	}
}

func TestAServerThatFailsAtTheSchemaIsAskedWithout(t *testing.T) {
	server := llmtest.New(t, func(c llmtest.Call) llmtest.Reply {
		if c.Form == "schema" {
			return llmtest.Reply{Status: 500, Message: "failed to parse grammar"}
		}
		return good
	})
	if answer, err := client(t, server, nil).Ask(t.Context(), question()); err != nil || answer.Text != fits || server.Counts().Calls != 2 {
		t.Errorf("%+v after %d calls, %v", answer, server.Counts().Calls, err)
	}
}

func TestPlainTextIsTakenAsItIs(t *testing.T) {
	server := llmtest.New(t, llmtest.InOrder(llmtest.Reply{Text: " About {Ada}.\n"}))
	r := question()
	r.Schema = nil
	answer, err := client(t, server, nil).Ask(t.Context(), r)
	if err != nil || answer.Text != "About {Ada}." || server.Calls()[0].Form != "" {
		t.Errorf("answer %+v, %v", answer, err)
	}
}

func TestASchemaThatIsNoneIsRefusedBeforeTheCall(t *testing.T) {
	server := llmtest.New(t, nil)
	r := question()
	r.Schema = &llm.Schema{Name: "broken", JSON: json.RawMessage(`{"type":`)}
	if _, err := client(t, server, nil).Ask(t.Context(), r); err == nil || server.Counts().Calls != 0 {
		t.Errorf("%d calls, %v", server.Counts().Calls, err)
	}
}
