package toolserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/url"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/time/rate"
)

// serve is every HTTP request's way in: what is dear or dangerous comes after
// what is cheap to refuse.
func (n *network) serve(w http.ResponseWriter, r *http.Request) {
	out := &response{ResponseWriter: w}
	defer n.finish(out)
	n.boundBody(out, r)
	if r.URL.Path == "/health" {
		n.health(out, r)
		return
	}
	r, ok := n.admitted(out, r)
	if !ok {
		return
	}
	if r.Method == http.MethodPost {
		n.answers.due.Add(1)
		defer n.answers.due.Add(-1)
	}
	switch r.URL.Path {
	case "/mcp", "/mcp/":
		n.serveMCP.ServeHTTP(out, r)
	case "/sse", "/sse/":
		n.serveSSE(out, r)
	default:
		refuse(out, http.StatusNotFound, nil, "There is nothing at this path. Hint: MCP is at /mcp, and at /sse for clients that need it.")
	}
}

func (n *network) serveMetrics(w http.ResponseWriter, r *http.Request) {
	out := &response{ResponseWriter: w}
	defer n.finish(out)
	n.boundBody(out, r)
	if r.URL.Path != "/metrics" {
		refuse(out, http.StatusNotFound, nil, "There is nothing at this path. Hint: metrics are at /metrics.")
		return
	}
	if _, ok := n.allowed(out, r); ok {
		n.metrics.handler().ServeHTTP(out, r)
	}
}

// finish gives what is still buffered its time, counts, and contains a panic.
func (n *network) finish(out *response) {
	if p := recover(); p != nil {
		n.options.Log.Error("a request panicked", "panic", Mask(fmt.Sprint(p), n.options.Secrets()), "stack", string(debug.Stack()))
		if out.status == 0 {
			refuse(out, http.StatusInternalServerError, nil, "The server failed for a reason of its own. Hint: Its log says more.")
		}
	}
	out.extend()
	n.metrics.answered(out.status)
}

func (n *network) health(w http.ResponseWriter, r *http.Request) {
	status, code := "ok", http.StatusOK
	switch {
	case n.gate.load().draining:
		status, code = "stopping", http.StatusServiceUnavailable
	case n.Degraded() != "":
		status = "degraded"
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	fmt.Fprintf(w, "{\"status\":%q}\n", status)
}

// allowed checks where a request comes from and whose it is.
func (n *network) allowed(w http.ResponseWriter, r *http.Request) (*http.Request, bool) {
	if text := n.misnamed(r); text != "" {
		refuse(w, http.StatusForbidden, nil, text)
		return nil, false
	}
	if !n.Tokens.Any() {
		return r, true
	}
	given := r.Header.Values("Authorization")
	scheme, secret, _ := strings.Cut(strings.TrimSpace(strings.Join(given, ",")), " ")
	owner, ok := n.Tokens.holder(strings.TrimSpace(secret))
	if !strings.EqualFold(scheme, "bearer") || !ok {
		w.Header().Set("WWW-Authenticate", "Bearer")
		refuse(w, http.StatusUnauthorized, nil, "A bearer token is needed, and this is none of those the server knows. Hint: Send Authorization: Bearer TOKEN.")
		return nil, false
	}
	return r.WithContext(context.WithValue(r.Context(), ownerKey{}, owner)), true
}

// admitted is allowed for requests that cost something: they are bounded in size
// and number, and refused when the server stops.
func (n *network) admitted(w http.ResponseWriter, r *http.Request) (*http.Request, bool) {
	r, ok := n.allowed(w, r)
	if !ok {
		return nil, false
	}
	body, ok := n.readBody(w, r)
	if !ok {
		return nil, false
	}
	id, most := idOf(body), n.burst()
	if !exact(id) {
		refuse(w, http.StatusBadRequest, id, "A number as the id of a message must be an integer of 64 bits. Hint: Send a smaller one, or a string.")
		return nil, false
	}
	messages := messagesIn(body, most)
	if messages > most {
		refuse(w, http.StatusRequestEntityTooLarge, nil, fmt.Sprintf("The batch holds more than %d messages. Hint: Send fewer at once.", most))
		return nil, false
	}
	if wait := n.overRate(ownerOf(r.Context()), messages); wait > 0 {
		seconds := int(math.Ceil(wait.Seconds()))
		w.Header().Set("Retry-After", strconv.Itoa(seconds))
		refuse(w, http.StatusTooManyRequests, id, fmt.Sprintf("The server is busy: this client sends more than %d requests a minute. Hint: Retry in %d s.", n.limits.PerMinute, seconds))
		return nil, false
	}
	if n.gate.load().draining {
		w.Header().Set("Retry-After", "5")
		refuse(w, http.StatusServiceUnavailable, id, "The server is stopping. Hint: Connect again and repeat the call.")
		return nil, false
	}
	return r, true
}

// misnamed says what is wrong with the names in a request, "" for nothing. A page
// in a browser can reach a server on loopback by a name of its own that it lets
// point there; Host and Origin then show that name.
func (n *network) misnamed(r *http.Request) string {
	local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	known := func(host string) bool {
		return slices.Contains(n.Hosts, host) || isLoopback(local) && isLoopbackName(host)
	}
	host := hostOf(r.Host)
	if !known(host) && (isLoopback(local) || len(n.Hosts) > 0) {
		return fmt.Sprintf("The server is not called %.100q. Hint: Use its own name, or list this one in mcp.allowed_hosts.", host)
	}
	for _, origin := range r.Header.Values("Origin") {
		from, err := url.Parse(origin)
		if err != nil || from.Host == "" || !known(hostOf(from.Host)) && (isLoopback(local) || hostOf(from.Host) != host) {
			return fmt.Sprintf("Pages of %.100q may not call this server. Hint: List its host in mcp.allowed_hosts.", origin)
		}
	}
	return ""
}

func hostOf(hostPort string) string {
	if host, _, err := net.SplitHostPort(hostPort); err == nil {
		hostPort = host
	}
	return strings.ToLower(strings.TrimSuffix(strings.Trim(hostPort, "[]"), "."))
}

func isLoopbackName(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// boundBody gives the body of a request its time, whether anything reads it or
// not: before it answers a request that was refused, net/http reads what is left.
func (n *network) boundBody(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength != 0 {
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(n.limits.HeaderTime)) // no connection that cannot
	}
}

// readBody takes the message in, within its size and time, and returns it. A body
// where none belongs is taken in too: while one is due, net/http does not
// notice that the client of a stream has left.
func (n *network) readBody(w http.ResponseWriter, r *http.Request) (body []byte, ok bool) {
	if r.ContentLength == 0 {
		return nil, true
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, n.limits.BodyBytes))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		refuse(w, http.StatusRequestEntityTooLarge, nil, fmt.Sprintf("The message is larger than %d bytes. Hint: Send a smaller one, or raise mcp.max_body_bytes.", n.limits.BodyBytes))
		return nil, false
	case err != nil:
		refuse(w, http.StatusRequestTimeout, nil, fmt.Sprintf("The message did not arrive within %s. Hint: Send it again.", n.limits.HeaderTime))
		return nil, false
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	if r.Method != http.MethodPost {
		r.Body = http.NoBody
		return nil, true
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if len(body) > 0 && !json.Valid(body) {
		refuse(w, http.StatusBadRequest, nil, "The body is not JSON. Hint: Send one JSON-RPC message.")
		return nil, false
	}
	return body, true
}

// messagesIn counts the messages of a batch, which old versions of the protocol
// know, up to one more than most. What is no batch is one.
func messagesIn(body []byte, most int) int {
	if !bytes.HasPrefix(bytes.TrimSpace(body), []byte("[")) {
		return 1
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	_, _ = decoder.Token() // the bracket; it is valid JSON
	count := 0
	for count <= most && decoder.More() {
		var message json.RawMessage
		_ = decoder.Decode(&message)
		count++
	}
	return max(count, 1)
}

// burst is how many requests a token may send at once: a quarter of a minute's.
func (n *network) burst() int { return max(n.limits.PerMinute/4, 1) }

// overRate returns how long a token must wait before it sends so many requests
// more, 0 for not at all. They are no more than a burst.
func (n *network) overRate(owner string, requests int) time.Duration {
	n.mu.Lock()
	limiter := n.limiters[owner]
	if limiter == nil {
		limiter = rate.NewLimiter(rate.Limit(float64(n.limits.PerMinute)/60), n.burst())
		n.limiters[owner] = limiter
	}
	n.mu.Unlock()
	next := limiter.ReserveN(time.Now(), requests)
	wait := next.Delay()
	if wait > 0 {
		next.Cancel()
	}
	return wait
}

// refuse answers with a JSON-RPC error, which clients understand whatever the
// status.
func refuse(w http.ResponseWriter, status int, id json.RawMessage, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	code := int64(codeRefused)
	if status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable {
		code = codeBusy
	}
	_, _ = w.Write(append(rpcError(id, code, text), '\n')) // who is gone needs no answer
}

// response notes the status and gives every write a deadline: a client that does
// not read must not hold what writes to it.
type response struct {
	http.ResponseWriter
	status int
}

const writeTime = 30 * time.Second

func (w *response) extend() {
	_ = http.NewResponseController(w.ResponseWriter).SetWriteDeadline(time.Now().Add(writeTime)) // no connection that cannot
}

func (w *response) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *response) Write(data []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	w.extend()
	return w.ResponseWriter.Write(data)
}

// Flush implements http.Flusher, which streams need.
func (w *response) Flush() {
	w.extend()
	_ = http.NewResponseController(w.ResponseWriter).Flush() // the next write tells
}

// Unwrap lets http.ResponseController reach the connection.
func (w *response) Unwrap() http.ResponseWriter { return w.ResponseWriter }
