package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"graphmill/pipeline/engine/enginetest"
	"graphmill/pipeline/graph"
	"graphmill/queryd/evidence"
)

// testOutcomes asks every tool that reads: there is no such graph, there is
// nothing in it, and it cannot be asked are three things, and none of them makes
// anything.
func testOutcomes(t *testing.T, f *enginetest.Fixture) {
	graphs := func() []string {
		list, err := writerConnection(t, f).Redis().Keys(t.Context(), "*").Result()
		must(t, err)
		slices.Sort(list)
		return list
	}
	before := graphs()
	handle := evidence.NewHandle(graph.FileDocumentID("engines/babbage.md"), strings.Repeat("0", 64), graph.Span{Start: 0, End: 1}, "a")
	calls := map[string]map[string]any{
		"status": nil, "get_ontology": nil, "retrieve": {"question": "Who worked with Charles Babbage?", "expand_hops": 3}, "evidence": {"handle": handle},
	}
	for _, c := range []struct {
		name    string
		args    []string
		env     []string
		failure string            // what every tool says
		told    map[string]string // what each says that does not fail
	}{
		{name: "no such graph", args: []string{"--graph", "nowhere"}, failure: `Graph "nowhere" does not exist. Hint: Ingest documents first`},
		{name: "no such tenant", args: []string{"--tenant", "nobody"}, failure: `Graph "knowledge_graph__nobody" does not exist. Hint: `},
		{name: "unreachable", env: []string{"FALKOR_HOST=127.0.0.1", "FALKOR_PORT=1"}, failure: "Could not reach the graph store"},
		{name: "empty", args: []string{"--graph", "emptied"}, told: map[string]string{
			"status": "The graph is empty", "get_ontology": "No ontology is stored", "retrieve": "The graph is empty", "evidence": "gone",
		}},
		{name: "a tenant's", args: []string{"--tenant", "acme"}, told: map[string]string{
			"status": "Graph knowledge_graph__acme: 1 documents", "retrieve": "Nothing found", "evidence": "gone",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			command := program(t, f, append([]string{"serve"}, c.args...)...)
			command.Env = append(command.Env, c.env...)
			session := dial(t, command)
			for tool, arguments := range calls {
				result := ask(t, session, tool, arguments)
				text := textOf(result)
				switch {
				case result.IsError != (c.failure != ""), !strings.Contains(text, c.failure), result.IsError && !strings.Contains(text, " Hint: "):
					t.Errorf("%s: %s", tool, text)
				case !strings.Contains(text, c.told[tool]):
					t.Errorf("%s does not say %q: %s", tool, c.told[tool], text)
				}
				noNumbers(t, tool, c.failure != "" || c.name == "empty" && (tool == "retrieve" || tool == "evidence"), result)
			}
		})
	}
	if after := graphs(); !slices.Equal(before, after) {
		t.Errorf("reading made of %q %q", before, after)
	}
}

func noNumbers(t *testing.T, tool string, want bool, result *mcp.CallToolResult) {
	t.Helper()
	if text := textOf(result); want && strings.HasPrefix(text, "[") {
		t.Errorf("%s numbers nothing: %s", tool, text)
	}
}
