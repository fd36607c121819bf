// Package llmtest is a model's endpoint on loopback whose answers and faults a
// test scripts. It speaks OpenAI's chat completions and embeddings, Azure's
// addresses for them, and Anthropic's messages, and counts what it was asked. It
// is no model of a model: what tests see of protocols here is held against a
// real server in pipeline/llm.
package llmtest

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// Call is one request as the server understood it.
type Call struct {
	N        int    // of all calls, from 1
	Protocol string // "openai", "anthropic", "embeddings"
	Path     string
	Query    string // the address's
	Header   http.Header
	Model    string
	System   string
	Turns    []string // user, assistant, user …
	// Form is how JSON is asked for: "schema", "object", "tool" or "".
	Form        string
	SchemaName  string
	Schema      json.RawMessage
	Strict      bool
	MaxTokens   int
	LimitName   string // max_tokens or max_completion_tokens
	Temperature *float64
	Seed        *int64
	Inputs      []string // of embeddings
	Dimensions  int      // 0: not sent
	Body        json.RawMessage
}

// User is the last turn.
func (c Call) User() string {
	if len(c.Turns) == 0 {
		return ""
	}
	return c.Turns[len(c.Turns)-1]
}

// Reply is what the server does. The zero value answers with an empty text.
type Reply struct {
	Text     string
	CutOff   bool   // it ended at the bound on its tokens
	Refusal  string // the model declines
	NoUsage  bool   // the reply does not say what it took
	Input    int    // tokens; 0: counted by the server, see [Tokens]
	Output   int
	Vectors  [][]float64 // of embeddings; nil: [Vector] of each input
	Reversed bool        // embeddings come in another order than asked

	// The faults. Each takes the place of a regular reply.
	Status      int           // of HTTP, with an error's body
	RetryAfter  string        // header
	Message     string        // in the error's body
	Body        string        // instead of any other body
	ContentType string        // instead of application/json
	Location    string        // header
	Reset       bool          // the connection is cut before a reply
	Half        bool          // it is cut in the middle of the body
	Delay       time.Duration // before the reply
	Drip        time.Duration // between the body's bytes
	Hold        chan struct{} // the reply waits until it is closed
}

// Counts are what the server did.
type Counts struct {
	Calls        int // requests that arrived
	Answered     int // with a regular reply
	InputTokens  int // of the regular replies
	OutputTokens int
	Inputs       int // texts to embed, of the regular replies
	Parallel     int // calls under way at the same time, at most
}

// Server answers on loopback until the test ends.
type Server struct {
	URL string // without /v1

	mu     sync.Mutex
	script func(Call) Reply
	calls  []Call
	counts Counts
	open   int
}

// New starts a server that answers by script, which is called for one request at
// a time. nil answers "ok".
func New(t testing.TB, script func(Call) Reply) *Server {
	t.Helper()
	s := &Server{}
	s.Script(script)
	server := httptest.NewUnstartedServer(http.HandlerFunc(s.serve))
	server.Config.ErrorLog = nil
	server.Start()
	s.URL = server.URL
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return s
}

// BaseURL is what the programs take as OPENAI_BASE_URL.
func (s *Server) BaseURL() string { return s.URL + "/v1" }

// Script changes what the server does from the next call on.
func (s *Server) Script(script func(Call) Reply) {
	if script == nil {
		script = func(Call) Reply { return Reply{Text: "ok"} }
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script = script
}

// Calls returns what arrived so far.
func (s *Server) Calls() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Call(nil), s.calls...)
}

// Counts returns what was counted so far.
func (s *Server) Counts() Counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts
}

// InOrder scripts the calls one by one; the last reply is repeated.
func InOrder(replies ...Reply) func(Call) Reply {
	next := 0
	return func(Call) Reply {
		reply := replies[min(next, len(replies)-1)]
		next++
		return reply
	}
}

// Tokens is how this server counts: a token every four characters, begun ones
// included.
func Tokens(text string) int { return (len([]rune(text)) + 3) / 4 }

func (s *Server) serve(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return
	}
	call := read(request, body)
	s.mu.Lock()
	s.counts.Calls++
	call.N = s.counts.Calls
	s.calls = append(s.calls, call)
	s.open++
	s.counts.Parallel = max(s.counts.Parallel, s.open)
	reply := s.script(call)
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.open--
		s.mu.Unlock()
	}()
	if !pause(request, reply) {
		return
	}
	s.send(w, request, call, reply)
}

func pause(request *http.Request, reply Reply) bool {
	if reply.Hold != nil {
		select {
		case <-reply.Hold:
		case <-request.Context().Done():
			return false
		}
	}
	select {
	case <-time.After(reply.Delay):
		return true
	case <-request.Context().Done():
		return false
	}
}

func (s *Server) send(w http.ResponseWriter, request *http.Request, call Call, reply Reply) {
	if reply.Reset {
		panic(http.ErrAbortHandler)
	}
	status, contentType, body := http.StatusOK, "application/json", ""
	switch {
	case reply.Body != "" || reply.ContentType != "" && reply.Text == "":
		body = reply.Body
	case reply.Status == 0 || reply.Status == http.StatusOK:
		var input, output int
		body, input, output = regular(call, reply)
		if !reply.Half {
			s.count(call, input, output)
		}
	default:
		body = refusal(call, reply)
	}
	if reply.Status != 0 {
		status = reply.Status
	}
	if reply.ContentType != "" {
		contentType = reply.ContentType
	}
	if reply.RetryAfter != "" {
		w.Header().Set("Retry-After", reply.RetryAfter)
	}
	if reply.Location != "" {
		w.Header().Set("Location", reply.Location)
	}
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(status)
	write(w, request, body, reply)
}

func write(w http.ResponseWriter, request *http.Request, body string, reply Reply) {
	flusher, _ := w.(http.Flusher)
	switch {
	case reply.Half:
		io.WriteString(w, body[:len(body)/2])
		flusher.Flush()
		panic(http.ErrAbortHandler)
	case reply.Drip > 0:
		for i := range len(body) {
			io.WriteString(w, body[i:i+1])
			flusher.Flush()
			select {
			case <-time.After(reply.Drip):
			case <-request.Context().Done():
				return
			}
		}
	default:
		io.WriteString(w, body)
	}
}

func (s *Server) count(call Call, input, output int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts.Answered++
	s.counts.InputTokens += input
	s.counts.OutputTokens += output
	s.counts.Inputs += len(call.Inputs)
}

// refusal is an error's body in the protocol's shape.
func refusal(call Call, reply Reply) string {
	message := reply.Message
	if message == "" {
		message = strings.ToLower(http.StatusText(reply.Status))
	}
	inner := map[string]any{"message": message, "type": "error"}
	outer := map[string]any{"error": inner}
	if call.Protocol == "anthropic" {
		outer["type"] = "error"
	}
	return encode(outer)
}

func encode(value any) string {
	out, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return string(out)
}
