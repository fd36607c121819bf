package extractors_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"graphmill/chunkers"
	"graphmill/extractors"
	"graphmill/pipeline/graph"
	"graphmill/pipeline/llm"
	"graphmill/pipeline/llm/llmtest"
)

// Over the wire: the endpoint gets the labels as a list to choose from, and one
// that does not hold its model to it costs no chunk for a type that nobody
// declared.
func TestTheExtractorOverTheWire(t *testing.T) {
	const (
		good     = `{"entities": [{"name": "Ada Roe", "type": "Person", "quote": "Ada Roe founded"}, {"name": "Acme", "type": "Organization", "quote": "founded Acme"}], "other": []}`
		strange  = `{"entities": [{"name": "Ada Roe", "type": "Founder", "quote": "Ada Roe founded"}, {"name": "Acme", "type": "Organization", "quote": "founded Acme"}], "other": []}`
		relation = `{"corrections": [], "relations": [{"source": 1, "type": "FOUNDED", "target": 2, "quote": "Ada Roe founded Acme"}], "other": []}`
		odd      = `{"corrections": [], "relations": [{"source": 1, "type": "STARTED", "target": 1, "quote": "Acme"}], "other": []}`
	)
	for name, c := range map[string]struct {
		entities, relations string
		mentions, facts     int
		pruned              string
		calls               int
		failed              string
	}{
		"good answers":                    {good, relation, 2, 1, "map[] map[]", 2, ""},
		"types that are not declared":     {strange, odd, 1, 0, "map[Founder:1] map[STARTED:1]", 2, ""},
		"an answer around its JSON":       {"Here you are:\n```json\n" + good + "\n```", relation, 2, 1, "map[] map[]", 2, ""},
		"an answer that is never JSON":    {"I will not.", relation, 0, 0, "map[] map[]", 2, "cannot be used"},
		"an answer without its last list": {`{"entities": []}`, relation, 0, 0, "map[] map[]", 2, "cannot be used"},
	} {
		t.Run(name, func(t *testing.T) {
			server := llmtest.New(t, func(call llmtest.Call) llmtest.Reply {
				if call.SchemaName == "entities" {
					if !strings.Contains(string(call.Schema), `"enum":["Organization","Person"]`) || !call.Strict {
						t.Errorf("the endpoint is asked with %s", call.Schema)
					}
					return llmtest.Reply{Text: c.entities}
				}
				return llmtest.Reply{Text: c.relations}
			})
			client, err := llm.New(llm.Options{Endpoint: llm.Endpoint{Model: "openai/m", BaseURL: server.BaseURL(), APIKey: "k"}})
			if err != nil {
				t.Fatal(err)
			}
			combined, err := extractors.Combine([]extractors.Extractor{extractors.NewLLM(client)}, extractors.CombineOptions{})
			if err != nil {
				t.Fatal(err)
			}
			const text = "Ada Roe founded Acme."
			out, err := combined.Extract(t.Context(), []chunkers.Chunk{{Text: text, Range: graph.Range{End: len(text)}, Tokens: 6}}, &graph.Ontology{
				Entities:  []graph.EntityType{{Label: "Person"}, {Label: "Organization"}},
				Relations: []graph.RelationType{{Label: "FOUNDED", Patterns: []graph.Pattern{{"Person", "Organization"}}}},
			})
			if err != nil {
				t.Fatal(err)
			}
			e := out[0]
			if len(e.Mentions) != c.mentions || len(e.Relations) != c.facts || fmt.Sprint(e.Pruned.EntityTypes, e.Pruned.RelationTypes) != c.pruned {
				t.Errorf("%+v", e)
			}
			if (e.Failed == "") != (c.failed == "") || !strings.Contains(e.Failed, c.failed) {
				t.Errorf("failed with %q, want %q", e.Failed, c.failed)
			}
			if calls := server.Counts().Calls; calls != c.calls {
				t.Errorf("%d calls, want %d", calls, c.calls)
			}
			if slices.ContainsFunc(server.Calls(), func(call llmtest.Call) bool { return strings.Contains(call.System, "Ada Roe") }) {
				t.Error("the instructions hold text of the passage")
			}
		})
	}
}
