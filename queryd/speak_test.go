package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"graphmill/pipeline/engine/enginetest"
)

// testServingScripts runs the conversations with a server, over HTTP and lines.
func testServingScripts(t *testing.T, f *enginetest.Fixture) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/serving",
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"serve": serveScript, "http": httpScript, "stop": stopScript},
		Setup: func(env *testscript.Env) error {
			for name, value := range environment(t, f) {
				env.Setenv(name, value)
			}
			env.Setenv("HOME", filepath.Join(env.WorkDir, "home"))
			env.Values[speakingKey] = &speaking{names: map[string]string{}}
			return nil
		},
	})
}

const speakingKey = "speaking"

// speaking is what a script has going: a server, and the names that it gave.
type speaking struct {
	url     string
	command *exec.Cmd
	log     bytes.Buffer
	done    chan error
	names   map[string]string // placeholder → what the server said
}

// serveScript starts a network server: serve [NAME=value]... [FLAG]...
func serveScript(ts *testscript.TestScript, _ bool, args []string) {
	s := ts.Value(speakingKey).(*speaking)
	path := filepath.Join(filepath.SplitList(ts.Getenv("PATH"))[0], "queryd")
	s.command = exec.Command(path, "serve", "--transport", "http", "--listen", "127.0.0.1:0")
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "GRAPHMILL_DATA_DIR", "GRAPHMILL_DEPS_DIR", "GRAPHMILL_EMBEDDER_KIND"} {
		s.command.Env = append(s.command.Env, name+"="+ts.Getenv(name))
	}
	for _, argument := range args {
		if strings.HasPrefix(argument, "--") {
			s.command.Args = append(s.command.Args, argument)
		} else {
			s.command.Env = append(s.command.Env, argument)
		}
	}
	s.command.Dir = ts.MkAbs(".")
	stderr, err := s.command.StderrPipe()
	ts.Check(err)
	ts.Check(s.command.Start())
	ready, command := make(chan string, 1), s.command
	s.done = make(chan error, 1)
	go func() {
		lines := bufio.NewScanner(stderr)
		for lines.Scan() {
			s.log.WriteString(lines.Text() + "\n")
			if at := servingAt.FindStringSubmatch(lines.Text()); at != nil {
				ready <- at[2]
			}
		}
		close(ready)
		s.done <- command.Wait()
	}()
	ts.Defer(func() { s.stop() })
	if s.url = <-ready; s.url == "" {
		ts.Fatalf("it does not serve: %s", s.log.String())
	}
}

func (s *speaking) stop() error {
	if s.command == nil {
		return nil
	}
	_ = s.command.Process.Signal(syscall.SIGTERM)
	s.command = nil
	select {
	case err := <-s.done:
		return err
	case <-time.After(30 * time.Second):
		return fmt.Errorf("the server does not end")
	}
}

// stopScript ends the server by SIGTERM and prints its log.
func stopScript(ts *testscript.TestScript, _ bool, _ []string) {
	s := ts.Value(speakingKey).(*speaking)
	ts.Check(s.stop())
	fmt.Fprint(ts.Stdout(), s.log.String())
}

var (
	givenName = regexp.MustCompile(`Mcp-Session-Id: (\w+)|"session":"(\w+)"`)
)

// httpScript sends a request and prints the reply, with the names that the server
// gave as {{connection}} and {{session}}: http METHOD PATH [-d BODY] [Header: value]...
func httpScript(ts *testscript.TestScript, _ bool, args []string) {
	s := ts.Value(speakingKey).(*speaking)
	body, headers := "", args[2:]
	if len(headers) > 1 && headers[0] == "-d" {
		body, headers = headers[1], headers[2:]
		if strings.HasPrefix(body, "@") {
			body = ts.ReadFile(body[1:])
		}
	}
	fill := func(text string) string {
		for name, value := range s.names {
			text = strings.ReplaceAll(text, name, value)
		}
		return text
	}
	request, err := http.NewRequest(args[0], s.url+args[1], strings.NewReader(fill(body)))
	ts.Check(err)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	for _, header := range headers {
		name, value, _ := strings.Cut(fill(header), ": ")
		if name == "Host" {
			request.Host = value
		}
		request.Header.Set(name, value)
	}
	reply, err := http.DefaultClient.Do(request)
	ts.Check(err)
	defer reply.Body.Close()
	data, err := io.ReadAll(reply.Body)
	ts.Check(err)
	var head bytes.Buffer
	for _, name := range []string{"WWW-Authenticate", "Retry-After", "Mcp-Session-Id"} {
		if value := reply.Header.Get(name); value != "" {
			fmt.Fprintf(&head, "%s: %s\n", name, value)
		}
	}
	text := fmt.Sprintf("%d\n%s%s\n", reply.StatusCode, head.String(), bytes.TrimSpace(data))
	for _, given := range givenName.FindAllStringSubmatch(text, -1) {
		if given[1] != "" {
			s.names["{{connection}}"] = given[1]
		} else {
			s.names["{{session}}"] = given[2]
		}
	}
	for name, value := range s.names {
		text = strings.ReplaceAll(text, value, name)
	}
	fmt.Fprint(ts.Stdout(), text)
}
