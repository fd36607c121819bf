package llm

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/sony/gobreaker/v2"
	"golang.org/x/sync/semaphore"
	"golang.org/x/time/rate"
)

// sender sends calls to one endpoint: everything that a chat model and an
// embedder have in common. Every call passes its meter, and only here.
type sender struct {
	Endpoint
	address
	slots    *semaphore.Weighted
	requests *rate.Limiter
	tokens   *rate.Limiter // nil: no limit
	breaker  *gobreaker.TwoStepCircuitBreaker[struct{}]

	mu       sync.Mutex
	resumeAt time.Time // the endpoint asked for silence until then
}

func newSender(e Endpoint) (*sender, error) {
	e = e.withDefaults()
	address, err := e.resolve()
	if err != nil {
		return nil, err
	}
	s := &sender{Endpoint: e, address: address, slots: semaphore.NewWeighted(int64(e.Concurrency)), requests: rate.NewLimiter(rate.Inf, 1)}
	if e.RequestsPerMinute > 0 {
		// A second's worth at once: the providers look at shorter spans than a minute.
		s.requests = rate.NewLimiter(rate.Limit(float64(e.RequestsPerMinute)/60), max(1, e.RequestsPerMinute/60))
	}
	if e.TokensPerMinute > 0 {
		s.tokens = rate.NewLimiter(rate.Limit(float64(e.TokensPerMinute)/60), e.TokensPerMinute)
	}
	s.breaker = gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
		Timeout:      e.BreakFor,
		ReadyToTrip:  func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= uint32(e.BreakAfter) },
		IsSuccessful: func(err error) bool { return !isOutage(err) },
		IsExcluded:   func(err error) bool { return errors.Is(err, context.Canceled) },
		OnStateChange: func(_ string, from, to gobreaker.State) {
			e.Log.Warn("calls to a model", "model", e.Model, "from", from.String(), "to", to.String())
		},
	})
	return s, nil
}

// job is one question or batch: what it may take at most, and how it is sent.
type job struct {
	purpose Purpose
	most    Usage // of one attempt
	send    func(ctx context.Context) (took, error)
}

// took is what an endpoint says a call took; nothing when it says nothing.
type took struct {
	input, output int
	reported      bool
}

// mostReported is more than any call takes.
const mostReported = 1 << 40

// tookOf reads the figures of a reply with that text. What cannot be is as good as
// not reported: a budget must not be refilled by a server that counts wrongly.
func tookOf(input, output int64, text string) took {
	if input <= 0 || input > mostReported || output < 0 || output > mostReported || output == 0 && text != "" {
		return took{}
	}
	return took{int(input), int(output), true}
}

// do sends j until an answer comes, and returns what all attempts took. It
// retries what may pass: no connection, time-outs, 408, 409, 425, 429, 5xx, and
// replies that are not whole.
func (s *sender) do(ctx context.Context, j job) (Usage, error) {
	var sum Usage
	var last error
	for attempt := 1; ; attempt++ {
		usage, err := s.attempt(ctx, j)
		sum.add(usage)
		if err == nil {
			return sum, nil
		}
		var budget *BudgetError
		if ctx.Err() != nil {
			return sum, ctx.Err()
		}
		if errors.As(err, &budget) || errors.Is(err, ErrSettings) {
			return sum, err
		}
		if errors.Is(err, gobreaker.ErrOpenState) || errors.Is(err, gobreaker.ErrTooManyRequests) {
			if last == nil {
				last = err
			}
		} else {
			last = err
		}
		wait, reason := s.next(last, err, attempt)
		if reason != nil {
			reason.Attempts = attempt
			return sum, reason
		}
		s.Log.Debug("a call to a model is sent again", "model", s.Model, "attempt", attempt, "wait", wait, "why", s.mask(err.Error()))
		if err := sleep(ctx, wait); err != nil {
			return sum, err
		}
	}
}

// attempt sends once, when everything that limits calls agrees.
func (s *sender) attempt(ctx context.Context, j job) (Usage, error) {
	if err := s.slots.Acquire(ctx, 1); err != nil {
		return Usage{}, err
	}
	defer s.slots.Release(1)
	r, err := s.meter(ctx).reserve(ctx, s.Model, j.purpose, j.most, s.Price)
	if err != nil {
		return Usage{}, err
	}
	if err := s.pace(ctx, j.most.tokens()); err != nil {
		r.cancel()
		return Usage{}, err
	}
	done, err := s.breaker.Allow()
	if err != nil {
		r.cancel()
		return Usage{}, err
	}
	call, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	t, err := j.send(call)
	if err != nil && call.Err() != nil && ctx.Err() == nil {
		err = &fault{what: fmt.Sprintf("no whole reply within %s", s.Timeout)}
	}
	done(err)
	usage := s.settle(r, j, t, err)
	s.giveBack(j.most.tokens() - usage.tokens())
	if f := faultOf(err); f != nil && f.asked && f.retryAfter <= s.MaxRetryAfter {
		s.silence(f.retryAfter)
	}
	return usage, err
}

// settle books what an attempt took. A refusal by status costs nothing; a call
// that broke off may have been worked on, so its input is counted.
func (s *sender) settle(r *reservation, j job, t took, err error) Usage {
	switch f := faultOf(err); {
	case t.reported:
		return r.settle(t.input, t.output, true)
	case err == nil:
		return r.settle(t.input, t.output, false)
	case f != nil && f.status >= 300:
		return r.settle(0, 0, true)
	}
	return r.settle(j.most.InputTokens, 0, false)
}

// pace waits for the endpoint's silence to end and for the rate limits.
func (s *sender) pace(ctx context.Context, tokens int) error {
	s.mu.Lock()
	until := time.Until(s.resumeAt)
	s.mu.Unlock()
	if err := sleep(ctx, until); err != nil {
		return err
	}
	if err := wait(ctx, s.requests, 1); err != nil || s.tokens == nil {
		return err
	}
	// A call larger than a minute's worth waits for a whole one.
	return wait(ctx, s.tokens, min(tokens, s.tokens.Burst()))
}

// wait is rate.Limiter.Wait, which fails at once, with an error of its own, when
// the context would end first: a deadline is an error of the context here.
func wait(ctx context.Context, limiter *rate.Limiter, n int) error {
	reservation := limiter.ReserveN(time.Now(), n)
	if err := sleep(ctx, reservation.Delay()); err != nil {
		reservation.Cancel()
		return err
	}
	return nil
}

// giveBack returns tokens that a call was let through for and did not take:
// answers are mostly far shorter than they may be.
func (s *sender) giveBack(unused int) {
	if s.tokens != nil && unused > 0 {
		s.tokens.AllowN(time.Now(), -min(unused, s.tokens.Burst()))
	}
}

func (s *sender) silence(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if until := time.Now().Add(d); until.After(s.resumeAt) {
		s.resumeAt = until
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// next decides what follows a failed attempt: a wait, or the end. last is the
// last failure of a call that was sent, err that of the attempt.
func (s *sender) next(last, err error, attempt int) (time.Duration, *CallError) {
	out := s.describe(last)
	f := faultOf(err)
	switch {
	case f != nil && f.asked && f.retryAfter > s.MaxRetryAfter:
		out.Hint = fmt.Sprintf("the endpoint asks to wait %s, longer than the %s that are waited; run again then", f.retryAfter.Round(time.Second), s.MaxRetryAfter)
		return 0, out
	case attempt >= s.Attempts, f != nil && !f.passing():
		return 0, out
	}
	longest := min(s.Backoff<<min(attempt-1, 20), s.MaxBackoff)
	if longest <= 0 {
		longest = s.MaxBackoff
	}
	// Full jitter: clients that failed together do not come back together. What the
	// endpoint asked for comes on top, in pace.
	return time.Duration(rand.Int64N(int64(longest) + 1)), nil
}

// passing reports that the same call may be answered later.
func (f *fault) passing() bool {
	switch f.status {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly:
		return true
	case http.StatusTooManyRequests:
		return !f.noQuota()
	}
	return f.status < 300 || f.status >= 500 && f.status != http.StatusNotImplemented && !f.ofForm()
}

// ofForm reports that a server of one's own failed at the schema: some say 500.
func (f *fault) ofForm() bool {
	for _, sign := range []string{"grammar", "json_schema", "response_format"} {
		if strings.Contains(strings.ToLower(f.message), sign) {
			return true
		}
	}
	return false
}

// noQuota tells an account without money from one that is asked too fast: both
// are 429.
func (f *fault) noQuota() bool {
	return strings.Contains(f.message, "insufficient_quota") || strings.Contains(f.message, "billing")
}

// isOutage reports that an error says something about the endpoint's health.
func isOutage(err error) bool {
	if err == nil || errors.Is(err, context.Canceled) {
		return false
	}
	f := faultOf(err)
	return f == nil || f.status < 300 || f.status >= 500
}

// describe words a failure with what to do about it.
func (s *sender) describe(err error) *CallError {
	e := &CallError{Model: s.Model, Reason: s.mask(plain(err)), Err: err}
	f := faultOf(err)
	if f == nil {
		e.Hint = fmt.Sprintf("look whether %s answers, then run again", s.host())
		if errors.Is(err, gobreaker.ErrOpenState) || errors.Is(err, gobreaker.ErrTooManyRequests) {
			e.Reason = "earlier calls failed one after the other, so none is sent for a while"
		}
		return e
	}
	e.Status = f.status
	switch status := f.status; {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		e.Settings, e.Hint = true, "check "+keyVariable(s.provider)+", and that its account may use the model"
	case status == http.StatusNotFound:
		e.Settings, e.Hint = true, fmt.Sprintf("check the model's name and the base URL (%s)", s.host())
	case status == http.StatusTooManyRequests && f.noQuota():
		e.Settings, e.Hint = true, "the account has no quota left; look at the provider's billing page"
	case status == http.StatusTooManyRequests:
		e.Hint = "lower llm.concurrency, or set llm.requests_per_minute and llm.tokens_per_minute to what the provider allows"
	case status == http.StatusRequestEntityTooLarge:
		e.Hint = "make the chunks smaller"
	case status >= 300 && status < 400:
		e.Settings, e.Hint = true, fmt.Sprintf("it is a redirection, which is not followed; set the base URL to where it leads (now %s)", s.host())
	case status >= 400 && !f.passing():
		e.Settings, e.Hint = true, "the endpoint refuses the request itself; check the model's name and settings"
	case strings.Contains(f.what, "web page"), strings.Contains(f.what, "not JSON"):
		e.Hint = fmt.Sprintf("is %s the base URL of an API? most end with /v1", s.host())
	case strings.HasPrefix(f.what, "no whole reply"):
		e.Hint = "raise llm.timeout, or make the chunks smaller"
	default:
		e.Hint = fmt.Sprintf("look whether %s is well, then run again", s.host())
	}
	return e
}

// plain takes the wrapping of the HTTP client off: it repeats the address.
func plain(err error) string {
	var wrapped *url.Error
	if f := faultOf(err); f != nil {
		return f.Error()
	} else if errors.As(err, &wrapped) {
		return wrapped.Err.Error()
	}
	return err.Error()
}

// host names the endpoint without what a URL may hold of secrets.
func (s *sender) host() string {
	rest := s.base[strings.Index(s.base, "://")+3:]
	if at := strings.LastIndex(rest, "@"); at >= 0 {
		rest = rest[at+1:]
	}
	path, _, _ := strings.Cut(rest, "?")
	return strings.TrimRight(path, "/")
}

// mask takes the key out of what an endpoint sent back.
func (s *sender) mask(text string) string {
	if len(s.APIKey) >= 6 {
		text = strings.ReplaceAll(text, s.APIKey, "[key]")
	}
	return text
}
