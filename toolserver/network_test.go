package toolserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const ping = `{"jsonrpc":"2.0","id":3,"method":"ping"}`

func TestWhoMayCall(t *testing.T) {
	s := run(t, twoTokens, Limits{}, nil)
	for _, c := range []struct {
		name    string
		path    string
		headers []string
		status  int
		body    string
	}{
		{"no token", "/mcp", nil, 401, "Authorization: Bearer TOKEN"},
		{"another scheme", "/mcp", []string{"Authorization", "Basic " + aliceToken}, 401, ""},
		{"a wrong token", "/mcp", []string{"Authorization", "Bearer " + aliceToken + "x"}, 401, ""},
		{"two tokens", "/mcp", []string{"Authorization", "Bearer " + bobToken, "Authorization", "Bearer " + aliceToken}, 401, ""},
		{"an empty token", "/mcp", []string{"Authorization", "Bearer "}, 401, ""},
		{"no token for a stream", "/sse", nil, 401, ""},
		{"no token for another path", "/x", nil, 401, ""},
		{"the scheme in other letters", "/x", []string{"Authorization", "bEaReR " + bobToken}, 404, "MCP is at /mcp"},
		{"another name", "/x", []string{"Authorization", "Bearer " + bobToken, "Host", "evil.example"}, 403, "mcp.allowed_hosts"},
		{"a page of another name", "/x", []string{"Authorization", "Bearer " + bobToken, "Origin", "https://evil.example"}, 403, "mcp.allowed_hosts"},
		{"a page of no name", "/x", []string{"Authorization", "Bearer " + bobToken, "Origin", "null"}, 403, ""},
		{"a page of this machine", "/x", []string{"Authorization", "Bearer " + bobToken, "Origin", "http://localhost:3000"}, 404, ""},
		{"health", "/health", nil, 200, `{"status":"ok"}`},
	} {
		status, body, header := send(t, "POST", s.url+c.path, ping, c.headers...)
		if status != c.status || !strings.Contains(body, c.body) {
			t.Errorf("%s: %d %s", c.name, status, body)
		}
		if status == 401 && header.Get("WWW-Authenticate") != "Bearer" {
			t.Errorf("%s: no challenge", c.name)
		}
		if strings.Contains(body, "secret") {
			t.Errorf("%s: a token is shown: %s", c.name, body)
		}
	}
	if status, _, _ := send(t, "GET", s.metrics+"/metrics", ""); status != 401 {
		t.Errorf("metrics without a token: %d", status)
	}
}

func TestBeyondLoopbackNeedsAToken(t *testing.T) {
	service, _ := newTestService(t, Limits{})
	none, err := NewTokens("", "", slog.Default())
	if err != nil {
		t.Fatal(err)
	}
	for _, network := range []Network{{Listen: "0.0.0.0:0"}, {Listen: "[::]:0"}, {Listen: ":0"}, {Listen: "127.0.0.1:0", MetricsListen: "0.0.0.0:0"}} {
		network.Tokens = none
		if err := service.ListenAndServe(t.Context(), network); !errors.Is(err, ErrNoToken) {
			t.Errorf("%+v: %v", network, err)
		}
	}
}

func TestNamesOfAProxyMayBeListed(t *testing.T) {
	s := run(t, "", Limits{}, func(n *Network) { n.Hosts = []string{"kb.example"} })
	for name, want := range map[string]int{"kb.example": 404, "KB.example:443": 404, "127.0.0.1:1": 404, "localhost": 404, "[::1]:5": 404, "other.example": 403, "kb.example.evil": 403} {
		if status, _, _ := send(t, "POST", s.url+"/x", ping, "Host", name); status != want {
			t.Errorf("host %s: %d", name, status)
		}
	}
	if status, _, _ := send(t, "POST", s.url+"/x", ping, "Origin", "https://kb.example"); status != 404 {
		t.Errorf("a page of a listed host: %d", status)
	}
}

func TestRequestsAreBounded(t *testing.T) {
	s := run(t, twoTokens, Limits{BodyBytes: 1000, PerMinute: 12, HeaderTime: 200 * time.Millisecond}, nil)
	alice := []string{"Authorization", "Bearer " + aliceToken}
	if status, body, _ := send(t, "POST", s.url+"/mcp", `"`+strings.Repeat("x", 1000)+`"`, alice...); status != 413 || !strings.Contains(body, "larger than 1000 bytes") {
		t.Errorf("a long message: %d %s", status, body)
	}
	if status, body, _ := send(t, "POST", s.url+"/mcp", `{"jsonrpc"`, alice...); status != 400 || !strings.Contains(body, "not JSON") {
		t.Errorf("half a message: %d %s", status, body)
	}
	if status, body, _ := send(t, "POST", s.url+"/mcp", `{"jsonrpc":"2.0","id":99999999999999999999,"method":"ping"}`, alice...); status != 400 || !strings.Contains(body, `"id":99999999999999999999,"error"`) {
		t.Errorf("an id that would come back as another: %d %s", status, body)
	}
	for range 3 { // a quarter of 12 at once
		if status, body, _ := send(t, "POST", s.url+"/x", ping, alice...); status != 404 {
			t.Errorf("within the rate: %d %s", status, body)
		}
	}
	status, body, header := send(t, "POST", s.url+"/x", ping, alice...)
	if status != 429 || !strings.Contains(body, `"id":3`) || !strings.Contains(body, "Retry in 5 s") || header.Get("Retry-After") != "5" {
		t.Errorf("beyond the rate: %d %s", status, body)
	}
	if status, _, _ := send(t, "POST", s.url+"/x", ping, "Authorization", "Bearer "+bobToken); status != 404 {
		t.Errorf("another token is held to the first one's rate: %d", status)
	}
	for name, text := range map[string]string{
		"a head that does not end": "POST /mcp HTTP/1.1\r\nHost: localhost\r\n",
		"a body that does not end": "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + bobToken + "\r\nContent-Length: 100\r\n\r\n{",
		"a body without a token":   "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{",
		"a body in pieces":         "POST /x HTTP/1.1\r\nHost: evil.example\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n",
		"a body of a stream":       "GET /sse HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + bobToken + "\r\nContent-Length: 100\r\n\r\n{",
		"a body of a deletion":     "DELETE /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + bobToken + "\r\nContent-Length: 100\r\n\r\n{",
	} {
		connection, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(connection, text)
		_ = connection.SetReadDeadline(time.Now().Add(5 * time.Second))
		reply, err := io.ReadAll(connection)
		if err != nil || bytes.Contains(reply, []byte("200 OK")) {
			t.Errorf("%s: %q, %v", name, reply, err)
		}
		connection.Close()
	}
	connection, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	fmt.Fprint(connection, "POST /health HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{")
	_ = connection.SetReadDeadline(time.Now().Add(5 * time.Second))
	if reply, err := io.ReadAll(connection); err != nil || !bytes.Contains(reply, []byte(`{"status":"ok"}`)) {
		t.Errorf("health with a body that does not end: %q, %v", reply, err)
	}
}

func TestEachMessageOfABatchCounts(t *testing.T) {
	s := run(t, twoTokens, Limits{PerMinute: 12}, nil)
	batch := func(size int) string { return "[" + strings.Repeat(ping+",", size-1) + ping + "]" }
	for _, c := range []struct {
		body   string
		status int
		text   string
	}{
		{batch(2), 200, `"id":3`},
		{batch(2), 429, "Retry in 5 s"},
		{batch(1), 200, `"id":3`},
		{batch(1), 429, "Retry in"},
		{batch(4), 413, "more than 3 messages"},
	} {
		if status, body, _ := send(t, "POST", s.url+"/mcp", c.body, "Authorization", "Bearer "+aliceToken); status != c.status || !strings.Contains(body, c.text) {
			t.Errorf("%s: %d %s", c.body, status, body)
		}
	}
}

func TestTokensAreReadAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens")
	put := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("# who may call\ncarol:" + aliceToken + "\n")
	tokens, err := NewTokens(bobToken, path, slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err != nil {
		t.Fatal(err)
	}
	check := func(when, token, want string) {
		t.Helper()
		tokens.looked = time.Time{}
		if name, ok := tokens.holder(token); name != want || ok != (want != "") {
			t.Errorf("%s: %q is %q, %v", when, token, name, ok)
		}
	}
	check("at first", aliceToken, "carol")
	check("at first", bobToken, "token-1")
	put("dave:another-token-of-dave\ncarol:renewed-token-of-carol\n")
	check("after a change", aliceToken, "")
	check("after a change", "renewed-token-of-carol", "carol")
	check("after a change", "another-token-of-dave", "dave")
	put("short")
	check("a wrong file changes nothing", "another-token-of-dave", "dave")
	for text, want := range map[string]string{"a:short": "shorter than 16", "ok:" + aliceToken + ",ok:" + bobToken: "two tokens", "b:<<<<<<<<<<<<<<<<<<<<": "characters", "!:" + aliceToken: "name"} {
		if got, err := NewTokens(text, "", nil); err == nil && got.distinct(nil) == nil || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestCallsAtOnceAreBoundedAndQueued(t *testing.T) {
	s := run(t, "", Limits{CallsAtOnce: 1, Queue: 1, QueueWait: time.Minute}, nil)
	session := s.connect(t, overHTTP, "")
	release := hold(t, "at once")
	results := make(chan string, 3)
	for _, then := range []load{{working: 1}, {working: 1, waiting: 1}, {}} {
		go func() {
			_, result := ask(t, session, "sleep", map[string]any{"text": "at once"})
			text := "ok"
			if result.IsError {
				text = textOf(result)
			}
			results <- text
		}()
		if then != (load{}) {
			eventually(t, "in its place", func() bool { return s.gate.load() == then })
		}
	}
	var busy, ok int
	for range 3 {
		switch text := <-results; {
		case text == "ok":
			ok++
		case strings.Contains(text, "The server is busy") && strings.Contains(text, "Retry in 1 s"):
			busy++
			release()
		default:
			t.Error(text)
		}
	}
	if ok != 2 || busy != 1 {
		t.Errorf("%d answered, %d busy", ok, busy)
	}
}

// The store cannot be interrupted: whoever leaves is let go, and the place stays
// taken until the work is done.
func TestACancelledCallHoldsItsPlace(t *testing.T) {
	for _, over := range []string{overHTTP, overSSE, overStateless} {
		s := run(t, "", Limits{CallsAtOnce: 1, Queue: 1, QueueWait: 50 * time.Millisecond}, nil)
		session := s.connect(t, over, "")
		release := hold(t, over)
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			eventually(t, over+": working", func() bool { return s.gate.load().working == 1 })
			cancel()
		}()
		if _, err := session.CallTool(ctx, callOf("sleep", map[string]any{"text": over})); err == nil {
			t.Errorf("%s: the call was not cancelled", over)
		}
		eventually(t, over+": abandoned", func() bool { return s.gate.load().abandoned == 1 })
		if _, result := ask(t, session, "cite", nil); !result.IsError {
			t.Errorf("%s: another call was let in beside it", over)
		}
		release()
		eventually(t, over+": done", func() bool { return s.gate.load() == load{} })
		if _, result := ask(t, session, "cite", nil); result.IsError {
			t.Errorf("%s: its place was not given back: %s", over, textOf(result))
		}
		if !strings.Contains(s.audit.String(), `"outcome":"cancelled"`) {
			t.Errorf("%s: audit: %s", over, s.audit)
		}
	}
}

func TestACallHasItsTime(t *testing.T) {
	s := run(t, "", Limits{CallTime: 100 * time.Millisecond}, nil)
	session := s.connect(t, overHTTP, "")
	if _, result := ask(t, session, "sleep", map[string]any{"ms": 400}); !result.IsError || !strings.Contains(textOf(result), "longer than 100ms") {
		t.Errorf("%s", textOf(result))
	}
	_, metrics, _ := send(t, "GET", s.metrics+"/metrics", "")
	for _, want := range []string{`graphmill_call_errors_total{kind="timeout"} 1`, `graphmill_calls_total{outcome="error",tool="sleep"} 1`, "graphmill_calls_abandoned 1", `graphmill_sessions{transport="http"} 1`, "graphmill_calls_waiting 0"} {
		if !strings.Contains(metrics, want) {
			t.Errorf("no %s in\n%s", want, metrics)
		}
	}
}

func TestStoppingLetsCallsEnd(t *testing.T) {
	s := run(t, "", Limits{}, nil)
	session := s.connect(t, overHTTP, "")
	result := make(chan bool, 1)
	go func() {
		_, r := ask(t, session, "sleep", map[string]any{"ms": 500})
		result <- r.IsError
	}()
	eventually(t, "working", func() bool { return s.gate.load().working == 1 })
	stopped := make(chan error, 1)
	go func() { stopped <- s.stop() }()
	eventually(t, "draining", func() bool { return s.gate.load().draining })
	if status, body, _ := send(t, "POST", s.url+"/mcp", ping); status != 503 || !strings.Contains(body, "stopping") {
		t.Errorf("a new request: %d %s", status, body)
	}
	if status, body, _ := send(t, "GET", s.url+"/health", ""); status != 503 {
		t.Errorf("health: %d %s", status, body)
	}
	if failed := <-result; failed {
		t.Error("the call under way was not answered")
	}
	select {
	case err := <-stopped:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Error("it does not stop")
	}
}

func TestStoppingIsBounded(t *testing.T) {
	s := run(t, "", Limits{DrainTime: 100 * time.Millisecond}, nil)
	session := s.connect(t, overHTTP, "")
	go session.CallTool(context.Background(), callOf("sleep", map[string]any{"ms": 3000}))
	eventually(t, "working", func() bool { return s.gate.load().working == 1 })
	start := time.Now()
	if err := s.stop(); err != nil || time.Since(start) > 2500*time.Millisecond {
		t.Errorf("stopped after %s: %v", time.Since(start), err)
	}
}

func eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if is() {
			return
		}
	}
	t.Errorf("never: %s", what)
}
