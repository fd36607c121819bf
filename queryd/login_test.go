package main

import (
	"io"
	"net"
	"strings"
	"testing"

	"graphmill/pipeline/engine"
	"graphmill/pipeline/engine/enginetest"
)

// overTCP makes the engine's unix socket look like a server elsewhere.
func overTCP(t testing.TB, f *enginetest.Fixture) (port string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			outer, err := listener.Accept()
			if err != nil {
				return
			}
			inner, err := net.Dial("unix", f.Address)
			if err != nil {
				outer.Close()
				continue
			}
			go func() { io.Copy(inner, outer); inner.Close() }()
			go func() { io.Copy(outer, inner); outer.Close() }()
		}
	}()
	_, port, err = net.SplitHostPort(listener.Addr().String())
	must(t, err)
	return port
}

func testLogins(t *testing.T, f *enginetest.Fixture) {
	port := overTCP(t, f)
	server := []string{"FALKOR_HOST=127.0.0.1", "FALKOR_PORT=" + port}
	login := func(prefix string, c engine.Credentials) []string {
		return []string{prefix + "USERNAME=" + c.User, prefix + "PASSWORD=" + c.Secret}
	}
	for _, c := range []struct {
		name        string
		environment []string
		arguments   []string
		want        []string
		not         []string
	}{
		{"the reader's login", append(login("GRAPHMILL_READER_", f.Reader), login("FALKOR_", f.Writer)...),
			[]string{"call", "status"}, []string{"[1] Graph knowledge_graph"}, []string{"may also write"}},
		{"the writer's login", login("FALKOR_", f.Writer),
			[]string{"call", "status"}, []string{"[1] Graph knowledge_graph", "may also write (GRAPH.QUERY, GRAPH.DELETE, EXPIRE)", "ACL SETUSER"}, nil},
		{"a wrong password", login("FALKOR_", engine.Credentials{User: "reader", Secret: "wrong-password"}),
			[]string{"call", "status"}, []string{"Could not reach the graph store", "FALKOR_PASSWORD"}, []string{"wrong-password"}},
		{"doctor", login("GRAPHMILL_READER_", f.Reader),
			[]string{"doctor"}, []string{"writing is refused", "********", "environment GRAPHMILL_READER_PASSWORD"}, []string{f.Reader.Secret}},
		{"doctor as the writer", login("FALKOR_", f.Writer),
			[]string{"doctor"}, []string{"may also send GRAPH.QUERY"}, []string{f.Writer.Secret}},
	} {
		command := program(t, f, c.arguments...)
		command.Env = append(append(command.Env, server...), c.environment...)
		out, _ := command.CombinedOutput()
		for _, want := range c.want {
			if !strings.Contains(string(out), want) {
				t.Errorf("%s: no %q in\n%s", c.name, want, out)
			}
		}
		for _, not := range c.not {
			if strings.Contains(string(out), not) {
				t.Errorf("%s: %q in\n%s", c.name, not, out)
			}
		}
	}
	command := program(t, f, "call", "status")
	command.Env = append(command.Env, "FALKOR_HOST=127.0.0.1", "FALKOR_PORT=1")
	if out, _ := command.CombinedOutput(); !strings.Contains(string(out), "Could not reach the graph store") || !strings.Contains(string(out), "Hint:") {
		t.Errorf("no server there: %s", out)
	}
}
