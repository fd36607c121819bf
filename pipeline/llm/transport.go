package llm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// maxBody is the longest reply that is read. The largest regular one is a batch
// of vectors: 128 of 3,072 numbers in base64 are 2 MB, written out 9.
const maxBody = 32 << 20

// fault is a reply that is no answer.
type fault struct {
	status     int
	what       string // what came instead
	message    string // the provider's own words, shortened
	retryAfter time.Duration
	asked      bool // Retry-After was there
}

func (f *fault) Error() string {
	s := f.what
	if f.message != "" {
		s += ": " + f.message
	}
	return s
}

// transport hands the providers' clients whole JSON or a [fault], so that what a
// broken endpoint sends is told apart in one place whatever the protocol.
type transport struct {
	next http.RoundTripper
}

func (t transport) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := t.next.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxBody+1))
	if err != nil {
		return nil, &fault{status: response.StatusCode, what: "the reply broke off", message: err.Error()}
	}
	if f := judge(response, body); f != nil {
		return nil, f
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	response.ContentLength = int64(len(body))
	// Some servers send JSON as text/plain, which the clients would refuse.
	response.Header.Set("Content-Type", "application/json")
	return response, nil
}

func judge(response *http.Response, body []byte) *fault {
	f := &fault{status: response.StatusCode}
	f.retryAfter, f.asked = retryAfter(response.Header, time.Now())
	trimmed := bytes.TrimSpace(body)
	switch {
	case response.StatusCode >= 300:
		f.what = strings.TrimSpace(fmt.Sprintf("HTTP %d %s", response.StatusCode, http.StatusText(response.StatusCode)))
		f.message = providerMessage(trimmed)
	case len(body) > maxBody:
		f.what = fmt.Sprintf("the reply has more than %d MB", maxBody>>20)
	case len(trimmed) == 0:
		f.what = "the reply is empty"
	case trimmed[0] != '{':
		f.what, f.message = "the reply is "+kindOf(response, trimmed)+", not JSON", excerpt(string(trimmed))
	case !json.Valid(trimmed) && (bytes.Contains(trimmed, []byte("NaN")) || bytes.Contains(trimmed, []byte("Infinity"))):
		f.what = "the reply holds NaN or Infinity, which JSON has not"
	case !json.Valid(trimmed):
		f.what = "the reply is half a JSON document, or a damaged one"
	default:
		// Some gateways put an error in a reply that says 200.
		var wrapped struct {
			Error json.RawMessage `json:"error"`
		}
		if json.Unmarshal(trimmed, &wrapped) != nil || len(wrapped.Error) == 0 || string(wrapped.Error) == "null" {
			return nil
		}
		f.what, f.message = "the reply is an error with status 200", providerMessage(trimmed)
	}
	return f
}

func kindOf(response *http.Response, body []byte) string {
	if body[0] == '<' || strings.Contains(response.Header.Get("Content-Type"), "html") {
		return "a web page"
	}
	return "text"
}

// providerMessage finds the message in an error's body: {"error": {"message"}},
// {"error": "…"}, {"message"}, {"detail"}, or the text itself.
func providerMessage(body []byte) string {
	var reply struct {
		Error   json.RawMessage `json:"error"`
		Message string          `json:"message"`
		Detail  json.RawMessage `json:"detail"`
	}
	if json.Unmarshal(body, &reply) != nil {
		if len(body) > 0 && body[0] == '<' {
			return "a web page"
		}
		return excerpt(string(body))
	}
	var inner struct {
		Message string `json:"message"`
		Type    string `json:"type"`
		Code    any    `json:"code"`
	}
	var text string
	switch {
	case json.Unmarshal(reply.Error, &inner) == nil && inner.Message+inner.Type != "":
		if code, ok := inner.Code.(string); ok && code != inner.Type {
			inner.Type = strings.TrimSpace(inner.Type + " " + code)
		}
		if inner.Type != "" {
			return excerpt(inner.Message + " (" + inner.Type + ")")
		}
		return excerpt(inner.Message)
	case json.Unmarshal(reply.Error, &text) == nil && text != "":
		return excerpt(text)
	case reply.Message != "":
		return excerpt(reply.Message)
	}
	return excerpt(string(body))
}

// excerpt is one line of at most 300 characters.
func excerpt(s string) string {
	runes := []rune(strings.Join(strings.Fields(strings.ToValidUTF8(s, "\uFFFD")), " "))
	if len(runes) > 300 {
		return string(runes[:299]) + "…"
	}
	return string(runes)
}

// retryAfter reads Retry-After-Ms and Retry-After: seconds or a date.
func retryAfter(header http.Header, now time.Time) (time.Duration, bool) {
	if ms, err := strconv.ParseFloat(header.Get("Retry-After-Ms"), 64); err == nil && ms >= 0 {
		return duration(ms / 1000), true
	}
	value := strings.TrimSpace(header.Get("Retry-After"))
	if seconds, err := strconv.ParseFloat(value, 64); err == nil && seconds >= 0 {
		return duration(seconds), true
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(0, at.Sub(now)), true
	}
	return 0, false
}

// duration does not overflow: a server may ask for any number of seconds.
func duration(seconds float64) time.Duration {
	return time.Duration(math.Min(seconds, 1e6) * float64(time.Second))
}

// httpClient is the client that the providers' clients send with. Redirects are
// not followed, which would take the key elsewhere: to [judge] they are faults.
func (e Endpoint) httpClient() *http.Client {
	var client http.Client
	if e.HTTP != nil {
		client = *e.HTTP
	}
	next := client.Transport
	if next == nil {
		own := http.DefaultTransport.(*http.Transport).Clone()
		own.MaxIdleConnsPerHost = e.Concurrency
		next = own
	}
	client.Transport = transport{next}
	return &client
}

// faultOf finds the fault that a provider's client wrapped.
func faultOf(err error) *fault {
	var f *fault
	if errors.As(err, &f) {
		return f
	}
	return nil
}
