package main

import (
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"graphmill/pipeline/engine/enginetest"
)

// program is queryd as a process of its own.
func program(t testing.TB, f *enginetest.Fixture, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	name := filepath.Join(t.TempDir(), "queryd")
	must(t, os.Symlink(self, name))
	command := exec.Command(name, args...)
	command.Env = os.Environ()
	for name, value := range environment(t, f) {
		command.Env = append(command.Env, name+"="+value)
	}
	return command
}

func dial(t testing.TB, command *exec.Cmd) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: command}, nil)
	must(t, err)
	t.Cleanup(func() { session.Close() })
	return session
}

func ask(t testing.TB, session *mcp.ClientSession, tool string, arguments map[string]any) *mcp.CallToolResult {
	t.Helper()
	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
	must(t, err)
	return result
}

func textOf(result *mcp.CallToolResult) string {
	var b strings.Builder
	for _, content := range result.Content {
		if text, ok := content.(*mcp.TextContent); ok {
			b.WriteString(text.Text)
		}
	}
	return b.String()
}

func testConversation(t *testing.T, f *enginetest.Fixture) {
	session := dial(t, program(t, f, "serve"))
	if guide := session.InitializeResult().Instructions; !strings.Contains(guide, "retrieve first") || !strings.Contains(guide, "get_ontology") {
		t.Errorf("guide: %s", guide)
	}
	listed, err := session.ListTools(t.Context(), nil)
	must(t, err)
	if len(listed.Tools) != 5 {
		t.Errorf("%d tools are listed", len(listed.Tools))
	}
	for _, tool := range listed.Tools {
		if tool.Annotations == nil || !tool.Annotations.ReadOnlyHint || *tool.Annotations.DestructiveHint {
			t.Errorf("%s is annotated %+v", tool.Name, tool.Annotations)
		}
	}
	status := ask(t, session, "status", nil)
	if text := textOf(status); status.IsError || !strings.HasPrefix(text, "[1] Graph knowledge_graph: 4 documents") {
		t.Errorf("status: %s", text)
	}
	found := ask(t, session, "retrieve", map[string]any{"question": "hovercrafts", "top_k": 1})
	if text := textOf(found); !strings.Contains(text, "[2] hovercrafts") || strings.ContainsAny(text, "\u202e\x1b") {
		t.Errorf("retrieve: %q", text)
	}
	holdsNothingInternal(t, status, found, ask(t, session, "get_ontology", map[string]any{}),
		ask(t, session, "retrieve", map[string]any{"question": "Babbage Paris C++ Node.js", "top_k": 100}))
	for _, wrong := range []struct {
		arguments map[string]any
		want      string
	}{
		{map[string]any{"question": "a", "top": 3}, `did you mean "top_k"?`},
		{map[string]any{"question": "a", "top_k": 0}, "top_k: minimum: 0 is less than 1."},
		{map[string]any{"question": "a", "paths": []string{"fact"}}, "Hint: It takes question (string, required)"},
		{map[string]any{}, "question"},
	} {
		if result := ask(t, session, "retrieve", wrong.arguments); !result.IsError || !strings.Contains(textOf(result), wrong.want) {
			t.Errorf("%v: %s", wrong.arguments, textOf(result))
		}
	}
	if _, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "retrive"}); err == nil || !strings.Contains(err.Error(), `did you mean "retrieve"`) {
		t.Errorf("unknown tool: %v", err)
	}
}

func holdsNothingInternal(t *testing.T, results ...*mcp.CallToolResult) {
	t.Helper()
	for _, result := range results {
		data, err := json.Marshal(result.StructuredContent)
		must(t, err)
		var keys func(value any)
		keys = func(value any) {
			switch v := value.(type) {
			case map[string]any:
				for key, part := range v {
					if strings.Contains(key, "vector") || key == "embedding" {
						t.Errorf("a result has the key %s", key)
					}
					keys(part)
				}
			case []any:
				for _, part := range v {
					keys(part)
				}
			}
		}
		var tree any
		must(t, json.Unmarshal(data, &tree))
		keys(tree)
		if all := string(data) + textOf(result); strings.Contains(all, "__") {
			t.Errorf("a result holds __: %s", all)
		}
		if len(data) < 10 {
			t.Errorf("no structured content: %s", data)
		}
	}
}

func testEnds(t *testing.T, f *enginetest.Fixture) {
	for _, c := range []struct {
		name string
		end  func(*exec.Cmd, io.Closer)
	}{
		{"input closed", func(_ *exec.Cmd, in io.Closer) { in.Close() }},
		{"interrupt", func(c *exec.Cmd, _ io.Closer) { c.Process.Signal(os.Interrupt) }},
		{"terminated", func(c *exec.Cmd, _ io.Closer) { c.Process.Signal(syscall.SIGTERM) }},
	} {
		command := program(t, f, "serve")
		in, err := command.StdinPipe()
		must(t, err)
		out, err := command.StdoutPipe()
		must(t, err)
		must(t, command.Start())
		_, err = io.WriteString(in, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`+"\n")
		must(t, err)
		first := make([]byte, 1)
		_, err = io.ReadFull(out, first)
		must(t, err)
		timer := time.AfterFunc(20*time.Second, func() { command.Process.Kill() })
		c.end(command, in)
		io.Copy(io.Discard, out)
		if err := command.Wait(); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		timer.Stop()
	}
}
