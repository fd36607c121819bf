package llm

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
)

// Client asks one model. It implements [Chat].
type Client struct {
	sender   *sender
	options  Options
	provider provider
	flights  flights
	answered atomic.Bool // at least once

	mu      sync.Mutex
	lowered map[string]int // by schema: the first of the provider's forms that the endpoint took
	quirks  quirks
}

var _ Chat = (*Client)(nil)

// New makes a client. It sends nothing: a wrong key shows with the first question.
func New(o Options) (*Client, error) {
	fill(&o.MaxTokens, 4096)
	fill(&o.MaxAnswerTokens, 4*o.MaxTokens)
	s, err := newSender(o.Endpoint)
	if err != nil {
		return nil, err
	}
	c := &Client{sender: s, options: o, lowered: map[string]int{}}
	if s.address.provider == Anthropic {
		c.provider = newAnthropic(s)
	} else {
		c.provider = newOpenAI(s)
	}
	return c, nil
}

// Fingerprint implements [Chat]. An address of one's own is part of it, hashed:
// two servers may call different models the same.
func (c *Client) Fingerprint() string {
	s := fmt.Sprintf("%s t=%g", c.sender.identity(), c.options.Temperature)
	if c.options.Seed != 0 {
		s += fmt.Sprintf(" seed=%d", c.options.Seed)
	}
	return s
}

// identity names the model and where it is.
func (s *sender) identity() string {
	id := s.provider + "/" + s.model
	if s.own || s.provider == Azure {
		sum := sha256.Sum256([]byte(s.host()))
		id += "@" + hex.EncodeToString(sum[:4])
	}
	return id
}

// Meter is what the client's calls are counted by.
func (c *Client) Meter() *Meter { return c.sender.Meter }

// Estimate is what a question takes: its tokens, about, and those of the longest
// answer.
func (c *Client) Estimate(r Request) (input, maxOutput int) {
	parts := []string{r.System, r.User}
	if r.Schema != nil {
		parts = append(parts, string(r.Schema.JSON))
	}
	return estimate(parts...), c.room(r)
}

func (c *Client) room(r Request) int {
	if r.MaxTokens > 0 {
		return r.MaxTokens
	}
	return c.options.MaxTokens
}

// Ask implements [Chat].
func (c *Client) Ask(ctx context.Context, r Request) (Answer, error) {
	schema, err := compile(r.Schema)
	if err != nil {
		return Answer{}, err
	}
	if c.sender.Cache == nil {
		return c.ask(ctx, r, schema)
	}
	key := c.key(r)
	leave, err := c.flights.enter(ctx, key)
	if err != nil {
		return Answer{}, err
	}
	defer leave()
	if text, ok := c.sender.Cache.answer(key); ok && usable(text, r, schema) == nil {
		c.sender.meter(ctx).cached(ctx, c.sender.Model, r.Purpose, 1)
		return Answer{Text: text, Cached: true}, nil
	}
	answer, err := c.ask(ctx, r, schema)
	if err == nil {
		estimated, _ := c.Estimate(r)
		c.sender.Cache.keepAnswer(key, entryInfo{Model: c.Fingerprint(), Purpose: string(r.Purpose), Usage: answer.Usage, Estimated: estimated}, answer.Text)
	}
	return answer, err
}

// key is what an answer depends on.
func (c *Client) key(r Request) string {
	var schema string
	if r.Schema != nil {
		schema = r.Schema.Name + "\n" + string(r.Schema.JSON)
	}
	return digest("chat", c.Fingerprint(), string(r.Purpose), fmt.Sprint(r.Version, c.room(r), c.options.MaxAnswerTokens), r.System, r.User, schema)
}

// ask asks, and once more with the reason when the answer cannot be used.
func (c *Client) ask(ctx context.Context, r Request, schema *checker) (Answer, error) {
	var sum Usage
	q := c.query(r)
	for ask := 1; ; ask++ {
		got, usage, err := c.askOnce(ctx, r, q)
		sum.add(usage)
		if err != nil {
			return Answer{Usage: sum}, err
		}
		text, reason := judgeAnswer(got, r, schema, q.maxTokens)
		if reason == nil {
			return Answer{Text: text, Usage: sum}, nil
		}
		c.sender.Log.Debug("an answer cannot be used", "model", c.sender.Model, "purpose", r.Purpose, "file", fileOf(ctx), "ask", ask,
			"reason", reason.Error(), "cut_off", got.cutOff, "answer", c.sender.mask(got.text))
		if ask == 2 || got.declined != "" {
			e := &UnusableError{Model: c.sender.Model, Reason: reason.Error(), Answer: got.text}
			if got.cutOff {
				e.Hint = "raise llm.max_output_tokens, or make the chunks smaller"
			}
			return Answer{Usage: sum}, e
		}
		q.turns = append(q.turns, got.text, again(reason, r.Schema, got.cutOff))
		if got.cutOff {
			q.maxTokens = max(q.maxTokens, min(2*q.maxTokens, c.options.MaxAnswerTokens))
		}
		if strings.TrimSpace(got.text) == "" { // an empty turn is refused by the providers
			q.turns = []string{r.User + "\n\n" + q.turns[2]}
		}
	}
}

func (c *Client) query(r Request) query {
	return query{model: c.sender.model, system: r.System, turns: []string{r.User}, schema: r.Schema,
		maxTokens: c.room(r), temperature: c.options.Temperature, seed: c.options.Seed}
}

// askOnce asks in the strictest form that the endpoint takes, and finds out
// which that is: a refusal of the request itself is tried again in the next one.
func (c *Client) askOnce(ctx context.Context, r Request, q query) (reply, Usage, error) {
	var sum Usage
	var first *CallError
	forms := c.provider.forms()
	c.mu.Lock()
	level := 0
	if r.Schema != nil {
		level = c.lowered[r.Schema.Name]
	}
	q.quirks = c.quirks
	c.mu.Unlock()
	for {
		q.form = forms[level]
		got, usage, err := c.call(ctx, r, q)
		sum.add(usage)
		if err == nil {
			c.answered.Store(true)
			c.remember(r, level, q.quirks)
			return got, sum, nil
		}
		var refused *CallError
		if !errors.As(err, &refused) || !isRefusal(refused) {
			return got, sum, err
		}
		if first == nil {
			first = refused
		}
		switch {
		case aboutTheText(refused):
			return got, sum, c.refusedText(refused)
		case q.quirks.learn(refused.Reason):
		case r.Schema != nil && level+1 < len(forms):
			level++
		case c.answered.Load():
			// The model is well: it is this question that it does not take.
			return got, sum, c.refusedText(first)
		default:
			return got, sum, first
		}
		c.sender.Log.Debug("a request is refused and sent in another form", "model", c.sender.Model, "form", q.form, "why", c.sender.mask(refused.Reason))
	}
}

// isRefusal reports that an endpoint refused the request itself.
func isRefusal(e *CallError) bool {
	switch e.Status {
	case http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusNotImplemented, http.StatusRequestEntityTooLarge:
		return true
	}
	f := faultOf(e)
	return f != nil && f.status >= 500 && f.ofForm()
}

// aboutTheText reports that a refusal is about what was asked, not how: another
// question can be answered.
func aboutTheText(e *CallError) bool {
	reason := strings.ToLower(e.Reason)
	for _, sign := range []string{"content_filter", "content management policy", "content policy", "flagged"} {
		if strings.Contains(reason, sign) {
			return true
		}
	}
	return tooLong(e)
}

// tooLong reports that a text does not fit the model's window.
func tooLong(e *CallError) bool {
	reason := strings.ToLower(e.Reason)
	for _, sign := range []string{"context_length", "context length", "context size", "prompt is too long", "exceed_context", "maximum context", "too many tokens", "too large to process", "maximum input length"} {
		if strings.Contains(reason, sign) {
			return true
		}
	}
	return e.Status == http.StatusRequestEntityTooLarge
}

func (c *Client) refusedText(e *CallError) *UnusableError {
	u := &UnusableError{Model: c.sender.Model, Reason: "there is none, the question was refused: " + e.Reason}
	if tooLong(e) {
		u.Hint = "make the chunks smaller, or take a model with a larger window"
	}
	return u
}

// learn takes from a refusal what to leave out; false when nothing new is in it.
func (q *quirks) learn(reason string) bool {
	for _, known := range []struct {
		sign string
		flag *bool
	}{{"max_tokens", &q.otherLimit}, {"max_completion_tokens", &q.otherLimit}, {"temperature", &q.noTemperature}, {"seed", &q.noSeed}} {
		if !*known.flag && strings.Contains(reason, known.sign) {
			*known.flag = true
			return true
		}
	}
	return false
}

func (c *Client) remember(r Request, level int, learnt quirks) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.Schema != nil {
		c.lowered[r.Schema.Name] = level
	}
	c.quirks.otherLimit = c.quirks.otherLimit || learnt.otherLimit
	c.quirks.noTemperature = c.quirks.noTemperature || learnt.noTemperature
	c.quirks.noSeed = c.quirks.noSeed || learnt.noSeed
}

// call sends q until it is answered.
func (c *Client) call(ctx context.Context, r Request, q query) (reply, Usage, error) {
	parts := append([]string{q.system}, q.turns...)
	if r.Schema != nil {
		if q.form == formPlain || q.form == formObject {
			q.system = strings.TrimSpace(q.system + "\n\n" + inWords(r.Schema))
		}
		parts = append(parts, string(r.Schema.JSON))
	}
	input := estimate(parts...)
	var got reply
	usage, err := c.sender.do(ctx, job{
		purpose: r.Purpose,
		most:    Usage{Calls: 1, InputTokens: input, OutputTokens: q.maxTokens},
		send: func(ctx context.Context) (took, error) {
			var err error
			got, err = c.provider.chat(ctx, q)
			t := got.took
			if err == nil && !t.reported {
				t.input, t.output = input, EstimateTokens(got.text)
			}
			return t, err
		},
	})
	return got, usage, err
}
