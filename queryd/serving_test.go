package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"graphmill/commandline/serving/servingtest"
	"graphmill/pipeline/engine/enginetest"
)

// One engine with the graphs of [seeded] serves all of these.
func TestServing(t *testing.T) {
	f := seeded(t)
	t.Run("network", func(t *testing.T) { testNetwork(t, f) })
	t.Run("broken configuration", func(t *testing.T) { testBrokenConfiguration(t, f) })
	t.Run("network out of order", func(t *testing.T) { testNetworkOutOfOrder(t, f) })
	t.Run("missing model", func(t *testing.T) { testMissingModel(t, f) })
	t.Run("read-only login", func(t *testing.T) { testRequiredLogin(t, f) })
	if testing.Short() {
		return // further processes, and many clients, which the race detector slows down tenfold
	}
	t.Run("load", func(t *testing.T) { testLoad(t, f) })
	t.Run("scripts", func(t *testing.T) { testServingScripts(t, f) })
	t.Run("python", func(t *testing.T) { testPythonClient(t, f) })
	t.Run("inspector", func(t *testing.T) { testInspector(t, f) })
}

const testToken = "tester-0123456789abcdef"

// served is queryd as a network server.
type served struct {
	url, metrics string
	process      *os.Process
	wait         func() error

	mu  sync.Mutex
	log strings.Builder
}

func (s *served) logged() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.String()
}

// address is where it serves now.
func (s *served) address() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.url
}

var servingAt = regexp.MustCompile(`(serving MCP|metrics) at (http\S+)/(?:mcp|metrics)`)

// serveHTTP starts queryd on free ports; settings are NAME=value.
func serveHTTP(t testing.TB, f *enginetest.Fixture, settings ...string) *served {
	t.Helper()
	command := program(t, f, "serve", "--transport", "http", "--metrics-listen", "127.0.0.1:0")
	command.Env = append(append(command.Env, "GRAPHMILL_MCP_TOKEN=tester:"+testToken, "GRAPHMILL_MCP_LISTEN=127.0.0.1:0"), settings...)
	stderr, err := command.StderrPipe()
	must(t, err)
	must(t, command.Start())
	s := &served{process: command.Process}
	ready, ended := make(chan bool, 1), make(chan error, 1)
	go func() {
		lines := bufio.NewScanner(stderr)
		for lines.Scan() {
			at := servingAt.FindStringSubmatch(lines.Text())
			s.mu.Lock()
			s.log.WriteString(lines.Text() + "\n")
			if at != nil && at[1] == "metrics" {
				s.metrics = at[2]
			} else if at != nil {
				s.url = at[2]
			}
			s.mu.Unlock()
			if at != nil && at[1] == "metrics" {
				select {
				case ready <- true:
				default:
				}
			}
		}
		ended <- command.Wait()
	}()
	s.wait = sync.OnceValue(func() error {
		select {
		case err := <-ended:
			return err
		case <-time.After(30 * time.Second):
			command.Process.Kill()
			return fmt.Errorf("it did not end; its log: %s", s.logged())
		}
	})
	t.Cleanup(func() {
		command.Process.Signal(syscall.SIGTERM)
		if err := s.wait(); err != nil {
			t.Errorf("serve ended with %v: %s", err, s.logged())
		}
	})
	select {
	case <-ready:
	case <-time.After(30 * time.Second):
		t.Fatalf("it does not serve: %s", s.logged())
	}
	return s
}

// authorized sends the token with every request.
type authorized struct{}

func (authorized) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "bearer "+testToken)
	return http.DefaultTransport.RoundTrip(r)
}

func (s *served) connect(t testing.TB, version string) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: s.address() + "/mcp", HTTPClient: &http.Client{Transport: authorized{}}, MaxRetries: -1},
		&mcp.ClientSessionOptions{ProtocolVersion: version})
	must(t, err)
	t.Cleanup(func() { session.Close() })
	return session
}

func (s *served) scrape(t testing.TB) string {
	t.Helper()
	reply, err := (&http.Client{Transport: authorized{}}).Get(s.metrics + "/metrics")
	must(t, err)
	defer reply.Body.Close()
	data, err := io.ReadAll(reply.Body)
	must(t, err)
	return string(data)
}

func testNetwork(t *testing.T, f *enginetest.Fixture) {
	audit := filepath.Join(t.TempDir(), "audit.jsonl")
	s := serveHTTP(t, f, "GRAPHMILL_MCP_AUDIT_FILE="+audit, "GRAPHMILL_MCP_AUDIT_ARGUMENTS=true")
	old, single := s.connect(t, "2025-06-18"), s.connect(t, "2026-07-28")
	first := ask(t, old, "retrieve", map[string]any{"question": "hovercrafts", "top_k": 1})
	if text := textOf(first); first.IsError || !strings.Contains(text, "hovercrafts") {
		t.Fatalf("retrieve: %s", text)
	}
	begun := ask(t, single, "status", nil)
	data, _ := begun.StructuredContent.(map[string]any)
	if data["n"] != 1.0 || data["session"] == nil {
		t.Errorf("a client whose requests stand alone begins with %v", data)
	}
	checked := ask(t, single, "check_citations", map[string]any{"draft": "Hovercrafts are full of eels [2].", "session": data["session"]})
	if found, _ := checked.StructuredContent.(map[string]any); checked.IsError || found["grounded"] != false {
		t.Errorf("it cites what the other client was told: %s", textOf(checked))
	}
	checked = ask(t, old, "check_citations", map[string]any{"draft": "There are hovercrafts [1]."})
	if found, _ := checked.StructuredContent.(map[string]any); checked.IsError || found["grounded"] != true {
		t.Errorf("it cannot cite its own: %s", textOf(checked))
	}
	if text := s.scrape(t); !strings.Contains(text, `graphmill_calls_total{outcome="ok",tool="retrieve"} 1`) {
		t.Errorf("metrics: %s", text)
	}
	records, err := os.ReadFile(audit)
	must(t, err)
	for _, want := range []string{`"who":"tester"`, `"graph":"knowledge_graph"`, `"tool":"check_citations"`, `"outcome":"ok"`, `hovercrafts`} {
		if !strings.Contains(string(records), want) {
			t.Errorf("no %s in the audit\n%s", want, records)
		}
	}
	if all := s.logged() + string(records); strings.Contains(all, testToken) {
		t.Errorf("the token is shown: %s", all)
	}
}

// A configuration that cannot be loaded is told in the instructions and by every
// call, and heals without a new start.
func testBrokenConfiguration(t *testing.T, f *enginetest.Fixture) {
	file := filepath.Join(t.TempDir(), "graphmill.yaml")
	must(t, os.WriteFile(file, []byte("queryd: {top_k: many}\n"), 0o600))
	session := dial(t, program(t, f, "serve", "--config", file))
	if guide := session.InitializeResult().Instructions; !strings.Contains(guide, "retrieve first") || !strings.Contains(guide, "top_k") {
		t.Errorf("guide: %s", guide)
	}
	if text := textOf(ask(t, session, "status", nil)); !strings.Contains(text, "configuration cannot be used") || !strings.Contains(text, "queryd.top_k") || !strings.Contains(text, "Hint: Put it right") {
		t.Errorf("before: %s", text)
	}
	must(t, os.WriteFile(file, []byte("queryd: {top_k: 3}\nmcp: {include: [statuss]}\n"), 0o600))
	time.Sleep(time.Second)
	if text := textOf(ask(t, session, "status", nil)); !strings.Contains(text, `did you mean "status"`) {
		t.Errorf("a tool that there is not: %s", text)
	}
	must(t, os.WriteFile(file, []byte("queryd: {top_k: 3}\n"), 0o600))
	time.Sleep(time.Second)
	if text := textOf(ask(t, session, "status", nil)); !strings.HasPrefix(text, "[1] Graph knowledge_graph") {
		t.Errorf("after: %s", text)
	}
	command := program(t, f, "serve", "--transport", "http", "--listen", "0.0.0.0:0")
	if out, err := command.CombinedOutput(); command.ProcessState.ExitCode() != 2 || !strings.Contains(string(out), "needs a bearer token") {
		t.Errorf("beyond loopback without a token: %v, %s", err, out)
	}
}

// Over the network too, where a file that cannot be read leaves unknown whom to
// serve: until then nobody gets more than the reason, and nobody beyond this
// machine gets that without a token.
func testNetworkOutOfOrder(t *testing.T, f *enginetest.Fixture) {
	file := filepath.Join(t.TempDir(), "graphmill.yaml")
	must(t, os.WriteFile(file, []byte("mcp: {max_calls: many, max_queue: [\n"), 0o600))
	s := serveHTTP(t, f, "GRAPHMILL_CONFIG="+file)
	session := s.connect(t, "2025-06-18")
	if guide := session.InitializeResult().Instructions; !strings.Contains(guide, "configuration cannot be used") {
		t.Errorf("guide: %s", guide)
	}
	if result := ask(t, session, "status", nil); !result.IsError || !strings.Contains(textOf(result), "graphmill.yaml") || !strings.Contains(textOf(result), "Hint: Put it right") {
		t.Errorf("before: %s", textOf(result))
	}
	if reply, err := http.Get(s.address() + "/health"); err != nil || reply.StatusCode != 200 {
		t.Errorf("health: %v, %v", reply, err)
	}
	if reply, err := http.Post(s.address()+"/mcp", "application/json", strings.NewReader("{}")); err != nil || reply.StatusCode != 401 {
		t.Errorf("without a token: %v, %v", reply, err)
	}
	must(t, os.WriteFile(file, []byte("mcp: {max_calls: many}\n"), 0o600))
	time.Sleep(3 * time.Second / 2)
	if text := textOf(ask(t, session, "status", nil)); !strings.Contains(text, "mcp.max_calls") {
		t.Errorf("wrong in another way: %s", text)
	}
	before := s.address()
	must(t, os.WriteFile(file, []byte("mcp: {max_calls: 3}\n"), 0o600))
	for range 300 { // it serves anew, on another free port
		if s.address() != before {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	if text := textOf(ask(t, s.connect(t, "2025-06-18"), "status", nil)); !strings.HasPrefix(text, "[1] Graph knowledge_graph") {
		t.Errorf("after: %s", text)
	}

	must(t, os.WriteFile(file, []byte("mcp: {"), 0o600))
	open := serveHTTP(t, f, "GRAPHMILL_CONFIG="+file, "GRAPHMILL_MCP_TOKEN=", "GRAPHMILL_MCP_LISTEN=0.0.0.0:0")
	if !strings.HasPrefix(open.address(), "http://127.0.0.1:") {
		t.Errorf("without a token it listens at %s", open.address())
	}
	halfway := serveHTTP(t, f, "GRAPHMILL_MCP_TLS_CERT=missing.pem", "GRAPHMILL_MCP_LISTEN=0.0.0.0:0")
	if !strings.HasPrefix(halfway.address(), "http://127.0.0.1:") {
		t.Errorf("without a key to its certificate it listens at %s", halfway.address())
	}
	if text := textOf(ask(t, halfway.connect(t, "2025-06-18"), "status", nil)); !strings.Contains(text, "mcp.tls_cert: is given without mcp.tls_key") {
		t.Errorf("without a key: %s", text)
	}
}

// A model that is missing is told of, keeps nothing else from working, and is
// used once it is there.
func testMissingModel(t *testing.T, f *enginetest.Fixture) {
	place := filepath.Join(t.TempDir(), "model")
	s := serveHTTP(t, f, "GRAPHMILL_EMBEDDER_KIND=onnx", "GRAPHMILL_EMBEDDER_MODEL_DIR="+place)
	session := s.connect(t, "2025-06-18")
	if text := textOf(ask(t, session, "status", nil)); !strings.Contains(text, "Graph knowledge_graph") {
		t.Errorf("status: %s", text)
	}
	question := map[string]any{"question": "Who worked with Charles Babbage?", "top_k": 1}
	if text := textOf(ask(t, session, "retrieve", question)); !strings.Contains(text, "no such folder") || !strings.Contains(text, "Charles Babbage (Person)") {
		t.Errorf("without the model: %s", text)
	}
	if guide := s.connect(t, "2025-06-18").InitializeResult().Instructions; !strings.Contains(guide, "no such folder") {
		t.Errorf("guide: %s", guide)
	}
	if reply, err := http.Get(s.url + "/health"); err != nil || reply.StatusCode != 200 {
		t.Errorf("health: %v, %v", reply, err)
	} else if body, err := io.ReadAll(reply.Body); err != nil || !strings.Contains(string(body), "degraded") {
		t.Errorf("health: %s, %v", body, err)
	}
	models, err := filepath.Abs("../models/minilm")
	must(t, err)
	must(t, os.Symlink(models, place))
	text := ""
	for range 50 { // an attempt that began before may still be going on
		if text = textOf(ask(t, session, "retrieve", question)); !strings.Contains(text, "no such folder") {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	if !strings.Contains(text, "hash-384@1") || !strings.Contains(text, "model@") {
		t.Errorf("with a model that is not the graph's: %s", text)
	}
}

func testRequiredLogin(t *testing.T, f *enginetest.Fixture) {
	server := []string{"FALKOR_HOST=127.0.0.1", "FALKOR_PORT=" + overTCP(t, f)}
	for _, c := range []struct {
		name, user, secret string
		code               int
		want               string
	}{
		{"one that only reads", f.Reader.User, f.Reader.Secret, 0, "[1] Graph knowledge_graph"},
		{"one that writes", f.Writer.User, f.Writer.Secret, 2, "which queryd.require_read_only_login forbids. Hint: Name one that only reads"},
	} {
		command := program(t, f, "call", "status", "--require-read-only-login")
		command.Env = append(command.Env, append(server, "FALKOR_USERNAME="+c.user, "FALKOR_PASSWORD="+c.secret)...)
		out, _ := command.CombinedOutput()
		if command.ProcessState.ExitCode() != c.code || !strings.Contains(string(out), c.want) || strings.Contains(string(out), c.secret) {
			t.Errorf("%s: exit %d, %s", c.name, command.ProcessState.ExitCode(), out)
		}
	}
	s := serveHTTP(t, f, append(server, "FALKOR_USERNAME="+f.Writer.User, "FALKOR_PASSWORD="+f.Writer.Secret, "GRAPHMILL_QUERYD_REQUIRE_READ_ONLY_LOGIN=true")...)
	if result := ask(t, s.connect(t, "2025-06-18"), "status", nil); !result.IsError || !strings.Contains(textOf(result), "forbids") {
		t.Errorf("a call with a login that writes: %s", textOf(result))
	}
	if guide := s.connect(t, "2025-06-18").InitializeResult().Instructions; !strings.Contains(guide, "may also write") {
		t.Errorf("guide: %s", guide)
	}
	out, err := program(t, f, "call", "status", "--require-read-only-login").CombinedOutput()
	if err != nil {
		t.Errorf("the local engine's reader is refused: %s", out)
	}
}

type step struct {
	Step    string   `json:"step"`
	Version string   `json:"version"`
	Names   []string `json:"names"`
	Guide   bool     `json:"guide"`
	Error   bool     `json:"error"`
	Text    string   `json:"text"`
	N       any      `json:"n"`
	Keys    []string `json:"keys"`
}

var allTools = []string{"status", "get_ontology", "retrieve", "check_citations", "evidence"}

func testPythonClient(t *testing.T, f *enginetest.Fixture) {
	packages := servingtest.Clients(t, environment(t, f)["GRAPHMILL_DEPS_DIR"], "python", "python3")
	s := serveHTTP(t, f)
	queryd := program(t, f, "serve")
	for _, c := range []struct {
		version   string
		arguments []string
	}{
		{"2026-07-28", append([]string{"stdio"}, queryd.Args...)},
		{"2026-07-28", []string{"http", s.url + "/mcp", testToken, "auto"}},
		{"2025-11-25", []string{"http", s.url + "/mcp", testToken, "legacy"}},
		{"2025-11-25", []string{"sse", s.url + "/sse", testToken, "legacy"}},
	} {
		name := strings.Join(c.arguments[:1], "") + " " + c.version
		command := exec.Command("python3", append([]string{"../scripts/clients/converse.py"}, c.arguments...)...)
		command.Env = append(queryd.Env, "PYTHONPATH="+packages)
		out, err := command.Output()
		if err != nil {
			t.Errorf("%s: %v\n%s\n%s", name, err, out, stderrOf(err))
			continue
		}
		called := map[string]bool{}
		for line := range strings.Lines(string(out)) {
			var found step
			must(t, json.Unmarshal([]byte(line), &found))
			called[found.Step] = true
			switch {
			case found.Step == "tools" && (found.Version != c.version || len(found.Names) != len(allTools) || !found.Guide):
				t.Errorf("%s: %s", name, line)
			case found.Step == "retrieve" && strings.Contains(found.Text, "question"): // the one without a question
				if !found.Error || !slices.Contains(found.Keys, "kind") {
					t.Errorf("%s: %s", name, line)
				}
			case found.Error:
				t.Errorf("%s: %s", name, line)
			case found.Step == "get_ontology" && found.N != 2.0:
				t.Errorf("%s: the numbers do not run on: %s", name, line)
			}
		}
		for _, tool := range allTools {
			if !called[tool] {
				t.Errorf("%s: %s was not called", name, tool)
			}
		}
	}
}

func stderrOf(err error) string {
	if exit, ok := err.(*exec.ExitError); ok {
		return string(exit.Stderr)
	}
	return ""
}

func testInspector(t *testing.T, f *enginetest.Fixture) {
	inspector := filepath.Join(servingtest.Clients(t, environment(t, f)["GRAPHMILL_DEPS_DIR"], "inspector", "node"), "node_modules", ".bin", "mcp-inspector")
	s := serveHTTP(t, f)
	queryd := program(t, f, "serve")
	stdio := queryd.Args
	network := []string{s.url + "/mcp", "--transport", "http", "--header", "Authorization: Bearer " + testToken}
	for _, c := range []struct {
		server []string
		method []string
		want   string
	}{
		{stdio, []string{"tools/list"}, "check_citations"},
		{network, []string{"tools/list"}, "check_citations"},
		{network, []string{"tools/call", "--tool-name", "status"}, "Graph knowledge_graph"},
		{network, []string{"tools/call", "--tool-name", "get_ontology"}, "WORKED_WITH"},
		{network, []string{"tools/call", "--tool-name", "retrieve", "--tool-arg", "question=hovercrafts", "top_k=1"}, "hovercrafts"},
		{network, []string{"tools/call", "--tool-name", "check_citations", "--tool-arg", "draft=There is one [1]."}, `"grounded": false`},
		{stdio, []string{"tools/call", "--tool-name", "evidence", "--tool-arg", "handle=wrong"}, "no handle"},
	} {
		arguments := append([]string{"--cli"}, c.server...)
		command := exec.Command(inspector, append(append(arguments, "--method"), c.method...)...)
		command.Env = append(queryd.Env, "HOME="+t.TempDir(), "NO_COLOR=1")
		out, err := command.CombinedOutput()
		if !strings.Contains(string(out), c.want) {
			t.Errorf("%v on %s: %v\n%.2000s", c.method, c.server[0], err, out)
		}
	}
}
