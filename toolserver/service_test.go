package toolserver

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// claim is one numbered thing that a session was told, or was asked for.
type claim struct {
	N     int    `json:"n,omitempty"`
	Text  string `json:"text,omitempty"`
	Known bool   `json:"known"`
	Notice
}

// claimResult is claim as a Result.
type claimResult struct{ claim }

// Text implements Result.
func (c *claimResult) Text(limit int) string {
	text := fmt.Sprintf("[%d] %s", c.N, c.claim.Text)
	return text[:min(limit, len(text))]
}

type claimArguments struct {
	Text string `json:"text"`
	N    int    `json:"n"`
	MS   int    `json:"ms"`
}

// notebook keeps what one session was told.
type notebook struct {
	mu     sync.Mutex
	claims map[int]string
	last   int
}

// claimSet offers three tools over a notebook of its own: tell numbers a text,
// cite says whether the session was told a number, sleep works for a while and
// cannot be interrupted.
func claimSet(t testing.TB, options Options) *Set {
	t.Helper()
	n := &notebook{claims: map[int]string{}}
	options.Drop = func(numbers []int) {
		n.mu.Lock()
		defer n.mu.Unlock()
		for _, number := range numbers {
			delete(n.claims, number)
		}
	}
	input := &jsonschema.Schema{
		Type: "object", AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}},
		Properties: map[string]*jsonschema.Schema{"text": {Type: "string"}, "n": {Type: "integer"}, "ms": {Type: "integer"}},
	}
	var tools []*Tool
	for name, handler := range map[string]func(context.Context, claimArguments) (*claimResult, error){
		"tell": func(_ context.Context, in claimArguments) (*claimResult, error) {
			time.Sleep(time.Duration(in.MS) * time.Millisecond)
			n.mu.Lock()
			defer n.mu.Unlock()
			n.last++
			n.claims[n.last] = in.Text
			return &claimResult{claim{N: n.last, Text: in.Text}}, nil
		},
		"cite": func(_ context.Context, in claimArguments) (*claimResult, error) {
			n.mu.Lock()
			defer n.mu.Unlock()
			text, known := n.claims[in.N]
			return &claimResult{claim{Text: text, Known: known}}, nil
		},
		"sleep": func(_ context.Context, in claimArguments) (*claimResult, error) {
			if held, ok := holds.Load(in.Text); ok {
				<-held.(chan struct{})
			}
			time.Sleep(time.Duration(in.MS) * time.Millisecond)
			return &claimResult{}, nil
		},
	} {
		tool, err := NewTool(Spec{Name: name, Input: input}, handler)
		if err != nil {
			t.Fatal(err)
		}
		tools = append(tools, tool)
	}
	slices.SortFunc(tools, func(a, b *Tool) int { return strings.Compare(a.Name, b.Name) })
	set, err := NewSet(tools, options)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// holds keeps calls of the tool sleep, by their text, until a test lets them go.
var holds sync.Map

// hold makes calls of sleep with the text wait until release, or the test's end.
func hold(t *testing.T, text string) (release func()) {
	held := make(chan struct{})
	holds.Store(text, held)
	release = sync.OnceFunc(func() { close(held) })
	t.Cleanup(release)
	return release
}

// running is a service on loopback.
type running struct {
	*Service
	url, metrics string
	audit        *lockedBuffer
	stop         func() error
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

const (
	aliceToken = "alice-secret-0123456789"
	bobToken   = "bob-secret-9876543210-x"
	twoTokens  = "alice:" + aliceToken + ", bob:" + bobToken
)

func newTestService(t testing.TB, limits Limits) (*Service, *lockedBuffer) {
	audit := &lockedBuffer{}
	open := func() (*Set, error) { return claimSet(t, Options{}), nil }
	return NewService(About{Name: "test", Version: "1", Instructions: "A guide."}, claimSet(t, Options{}), open,
		ServiceOptions{Limits: limits, Audit: slog.NewJSONHandler(audit, nil), Graph: func() string { return "g" }}), audit
}

func run(t testing.TB, tokens string, limits Limits, change func(*Network)) *running {
	t.Helper()
	service, audit := newTestService(t, limits)
	known, err := NewTokens(tokens, "", slog.Default())
	if err != nil {
		t.Fatal(err)
	}
	ready := make(chan [2]string, 1)
	network := Network{Listen: "127.0.0.1:0", MetricsListen: "127.0.0.1:0", Tokens: known, Ready: func(a, m string) { ready <- [2]string{a, m} }}
	if change != nil {
		change(&network)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- service.ListenAndServe(ctx, network) }()
	stop := sync.OnceValue(func() error { cancel(); return <-ended })
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Errorf("serving ended with %v", err)
		}
	})
	select {
	case addresses := <-ready:
		return &running{service, "http://" + addresses[0], "http://" + addresses[1], audit, stop}
	case err := <-ended:
		t.Fatal(err)
		return nil
	}
}

// bearer sends a token with every request.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	if b != "" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "bEARER "+string(b))
	}
	return http.DefaultTransport.RoundTrip(r)
}

// connect makes a client of one of the kinds that the server knows.
func (s *running) connect(t testing.TB, over, token string) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: over, Version: "1"}, nil)
	web := &http.Client{Transport: bearer(token)}
	var transport mcp.Transport = &mcp.StreamableClientTransport{Endpoint: s.url + "/mcp", HTTPClient: web, MaxRetries: -1}
	options := &mcp.ClientSessionOptions{}
	switch over {
	case overSSE:
		transport = &mcp.SSEClientTransport{Endpoint: s.url + "/sse", HTTPClient: web}
	case overHTTP:
		options.ProtocolVersion = "2025-11-25"
	case overStateless:
		options.ProtocolVersion = "2026-07-28"
	}
	session, err := client.Connect(t.Context(), transport, options)
	if err != nil {
		t.Fatalf("connect over %s: %v", over, err)
	}
	t.Cleanup(func() { session.Close() })
	return session
}

// ask calls a tool; the reply's structured part is decoded.
func ask(t testing.TB, session *mcp.ClientSession, tool string, arguments map[string]any) (map[string]any, *mcp.CallToolResult) {
	t.Helper()
	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	out, _ := result.StructuredContent.(map[string]any)
	return out, result
}

// send is one HTTP request; the body of the reply is returned.
func send(t testing.TB, method, url, body string, headers ...string) (int, string, http.Header) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i] == "Host" {
			request.Host = headers[i+1]
		} else {
			request.Header.Add(headers[i], headers[i+1])
		}
	}
	reply, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Body.Close()
	data, err := io.ReadAll(reply.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply.StatusCode, string(data), reply.Header
}

// singleCall is a call of a client of 2026-07-28, for what the SDK's client would
// not send.
func (s *running) singleCall(t testing.TB, token, tool string, arguments map[string]any) (string, bool) {
	t.Helper()
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": map[string]any{
		"name": tool, "arguments": arguments,
		"_meta": map[string]any{"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": map[string]any{}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := send(t, http.MethodPost, s.url+"/mcp", string(body), "Authorization", "Bearer "+token,
		"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", tool)
	return text, strings.Contains(text, `"isError":true`)
}
