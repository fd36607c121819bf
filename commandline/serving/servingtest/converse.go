// Package servingtest lets test scripts talk with a program that serves tools.
package servingtest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rogpeppe/go-internal/testscript"
)

// Converse is a command of scripts: it starts a program's serve, calls tools over
// one MCP session and prints what comes back. It passes the variables on that are
// named, and those of every process.
//
//	converse [--json | --guide | --tools | --progress] FILE [FLAG of serve]...
//
// Each line of FILE is a tool and its arguments. {{handle}} stands for the first
// handle of the last reply that had any. --guide prints the server's instructions
// and --tools what it lists, with annotations; nothing of FILE is called then.
func Converse(program string, variables ...string) func(ts *testscript.TestScript, neg bool, args []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) == 0 {
			ts.Fatalf("usage: converse [--json | --guide | --tools | --progress] FILE [FLAG]...")
		}
		c := &conversation{ts: ts, show: "text"}
		if strings.HasPrefix(args[0], "--") {
			c.show, args = strings.TrimPrefix(args[0], "--"), args[1:]
		}
		c.lines, args = ts.ReadFile(args[0]), args[1:]
		command := exec.Command(find(ts, program), append([]string{"serve"}, args...)...)
		command.Dir = ts.MkAbs(".")
		for _, name := range append([]string{"PATH", "HOME", "WORK", "TMPDIR"}, variables...) {
			if value := ts.Getenv(name); value != "" {
				command.Env = append(command.Env, name+"="+value)
			}
		}
		c.run(command)
	}
}

// find is a command of the script.
func find(ts *testscript.TestScript, program string) string {
	path, err := exec.LookPath(filepath.Join(filepath.SplitList(ts.Getenv("PATH"))[0], program))
	ts.Check(err)
	return path
}

type conversation struct {
	ts          *testscript.TestScript
	show, lines string

	mu   sync.Mutex
	told []string
}

func (c *conversation) run(command *exec.Cmd) {
	var log bytes.Buffer
	command.Stderr = &log
	ctx := context.Background()
	client := mcp.NewClient(&mcp.Implementation{Name: "script", Version: "1"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, request *mcp.ProgressNotificationClientRequest) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.told = append(c.told, request.Params.Message)
		},
	})
	session, err := client.Connect(ctx, &mcp.CommandTransport{Command: command}, nil)
	if err != nil {
		c.ts.Fatalf("connect: %v: %s", err, log.String())
	}
	defer func() { c.ts.Check(session.Close()) }()
	switch c.show {
	case "guide":
		fmt.Fprint(c.ts.Stdout(), session.InitializeResult().Instructions)
		return
	case "tools":
		c.list(ctx, session)
		return
	}
	handle := ""
	for line := range strings.Lines(c.lines) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		fmt.Fprintf(c.ts.Stdout(), "> %s\n", line)
		handle = c.call(ctx, session, strings.ReplaceAll(line, "{{handle}}", handle), handle)
	}
}

func (c *conversation) list(ctx context.Context, session *mcp.ClientSession) {
	listed, err := session.ListTools(ctx, nil)
	c.ts.Check(err)
	for _, tool := range listed.Tools {
		kind := "reads"
		if tool.Annotations != nil && tool.Annotations.DestructiveHint != nil && *tool.Annotations.DestructiveHint {
			kind = "destructive"
		}
		schema, err := json.Marshal(tool.InputSchema)
		c.ts.Check(err)
		var properties struct{ Properties map[string]any }
		c.ts.Check(json.Unmarshal(schema, &properties))
		names := []string{}
		for _, name := range []string{"offset", "sample_chars", "entities", "relations", "text", "document_id", "files", "plan", "reextract"} {
			if _, ok := properties.Properties[name]; ok {
				names = append(names, name)
			}
		}
		fmt.Fprintf(c.ts.Stdout(), "%s %s(%s)\n", kind, tool.Name, strings.Join(names, ", "))
	}
}

func (c *conversation) call(ctx context.Context, session *mcp.ClientSession, line, handle string) string {
	tool, arguments, _ := strings.Cut(line, " ")
	call := &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(arguments)}
	if arguments == "" {
		call.Arguments = json.RawMessage("{}")
	}
	if c.show == "progress" {
		call.SetProgressToken(line)
	}
	result, err := session.CallTool(ctx, call)
	if err != nil {
		fmt.Fprintf(c.ts.Stdout(), "refused: %v\n", err)
		return handle
	}
	c.mu.Lock()
	for _, text := range c.told {
		fmt.Fprintf(c.ts.Stdout(), "… %s\n", text)
	}
	c.told = nil
	c.mu.Unlock()
	structured, err := json.MarshalIndent(result.StructuredContent, "", "  ")
	c.ts.Check(err)
	text := ""
	for _, content := range result.Content {
		if part, ok := content.(*mcp.TextContent); ok {
			text += part.Text
		}
	}
	switch {
	case result.IsError:
		fmt.Fprintf(c.ts.Stdout(), "error: %s\n", text)
	case c.show == "json":
		fmt.Fprintf(c.ts.Stdout(), "%s\n", structured)
	default:
		fmt.Fprint(c.ts.Stdout(), text)
	}
	if found := firstHandle.FindSubmatch(structured); found != nil {
		return string(found[1])
	}
	return handle
}

var firstHandle = regexp.MustCompile(`"handle": "([^"]*)"`)
