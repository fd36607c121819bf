package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rogpeppe/go-internal/testscript"
)

// converse is a command of scripts: it calls tools over one MCP session and
// prints what comes back.
//
//	converse [--json | --guide] FILE [FLAG of serve]...
//
// Each line of FILE is a tool and its arguments. {{handle}} stands for the first
// handle of the last reply that had any.
func converse(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: converse [--json | --guide] FILE [FLAG]...")
	}
	show := "text"
	if strings.HasPrefix(args[0], "--") {
		show, args = strings.TrimPrefix(args[0], "--"), args[1:]
	}
	path, err := exec.LookPath(filepath.Join(filepath.SplitList(ts.Getenv("PATH"))[0], "queryd"))
	ts.Check(err)
	command := exec.Command(path, append([]string{"serve"}, args[1:]...)...)
	for _, name := range []string{"PATH", "HOME", "WORK", "TMPDIR", "GRAPHMILL_DATA_DIR", "GRAPHMILL_DEPS_DIR", "GRAPHMILL_EMBEDDER_KIND", "GRAPHMILL_QUERYD_MAX_REPLY_CHARS", "FALKOR_HOST", "FALKOR_PORT"} {
		if value := ts.Getenv(name); value != "" {
			command.Env = append(command.Env, name+"="+value)
		}
	}
	var log bytes.Buffer
	command.Stderr = &log
	ctx := context.Background()
	client := mcp.NewClient(&mcp.Implementation{Name: "script", Version: "1"}, nil)
	session, err := client.Connect(ctx, &mcp.CommandTransport{Command: command}, nil)
	ts.Check(err)
	defer func() { ts.Check(session.Close()) }()
	if show == "guide" {
		fmt.Fprint(ts.Stdout(), session.InitializeResult().Instructions)
		return
	}
	handle := ""
	for line := range strings.Lines(ts.ReadFile(args[0])) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		fmt.Fprintf(ts.Stdout(), "> %s\n", line)
		tool, arguments, _ := strings.Cut(strings.ReplaceAll(line, "{{handle}}", handle), " ")
		call := &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(arguments)}
		if arguments == "" {
			call.Arguments = json.RawMessage("{}")
		}
		result, err := session.CallTool(ctx, call)
		if err != nil {
			fmt.Fprintf(ts.Stdout(), "refused: %v\n", err)
			continue
		}
		structured, err := json.MarshalIndent(result.StructuredContent, "", "  ")
		ts.Check(err)
		if found := firstHandle(structured); found != "" {
			handle = found
		}
		switch {
		case result.IsError:
			fmt.Fprintf(ts.Stdout(), "error: %s\n", textOf(result))
		case show == "json":
			fmt.Fprintf(ts.Stdout(), "%s\n", structured)
		default:
			fmt.Fprint(ts.Stdout(), textOf(result))
		}
	}
}

func firstHandle(structured []byte) string {
	const key = `"handle": "`
	_, rest, ok := strings.Cut(string(structured), key)
	if !ok {
		return ""
	}
	handle, _, _ := strings.Cut(rest, `"`)
	return handle
}
