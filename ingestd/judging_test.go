package main

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"graphmill/pipeline/llm/llmtest"
)

const judgingConfig = `
embedder: {kind: hash, dimension: 32}
extractors:
  pattern:
    rules:
      - {name: names, pattern: '(?:Charles )?Babbage|(?:Ada )?Lovelace|(?:Deep )?Blue', type: Thing, neighbours: KNOWS}
plan: {rules: [{match: "**", extractor: pattern, resolver: llm_verified}]}
llm: {prices: {currency: USD, date: 2026-11-01, models: {openai/tested: {input: 2, output: 8}}}}
`

var fencedPair = regexp.MustCompile(`(?s)PAIR (\d+) [0-9a-f]{12}\n(.*?)\nEND PAIR`)

var fencedItem = regexp.MustCompile(`(?s)ITEM (\d+) [0-9a-f]{12}\nnames:[^\n]*\n(.*?)\nEND ITEM`)

// tellNames describes by all the sentences that it is given, in their order.
func tellNames(call llmtest.Call) llmtest.Reply {
	type item struct {
		Item        int    `json:"item"`
		Description string `json:"description"`
	}
	var items []item
	for _, m := range fencedItem.FindAllStringSubmatch(call.User(), -1) {
		n, _ := strconv.Atoi(m[1])
		items = append(items, item{n, strings.ReplaceAll(strings.TrimPrefix(m[2], "- "), "\n- ", " ")})
	}
	text, _ := json.Marshal(map[string]any{"items": items})
	return llmtest.Reply{Text: string(text)}
}

// judgeNames says yes to surnames and their bearers.
func judgeNames(t *testing.T) func(llmtest.Call) llmtest.Reply {
	return func(call llmtest.Call) llmtest.Reply {
		if call.SchemaName == "descriptions" {
			return tellNames(call)
		}
		if call.SchemaName != "verdicts" {
			t.Errorf("asked for %q", call.SchemaName)
		}
		type verdict struct {
			Pair int    `json:"pair"`
			Same string `json:"same"`
			Why  string `json:"why"`
		}
		var pairs []verdict
		for _, m := range fencedPair.FindAllStringSubmatch(call.User(), -1) {
			n, _ := strconv.Atoi(m[1])
			same := "unsure"
			if strings.Contains(m[2], "Babbage") || strings.Contains(m[2], "Lovelace") {
				same = "yes"
			}
			pairs = append(pairs, verdict{n, same, "one surname"})
		}
		text, err := json.Marshal(map[string]any{"pairs": pairs})
		if err != nil {
			t.Error(err)
		}
		return llmtest.Reply{Text: string(text)}
	}
}

// TestNamesAreJudgedOnceByAModelAtAnEndpoint runs from files to merges, over the
// network to a scripted endpoint: what it is not sure of stays two, what it said is
// not paid again, nor after the graph is built anew from the kept answers.
func TestNamesAreJudgedOnceByAModelAtAnEndpoint(t *testing.T) {
	t.Parallel()
	w, server := paid(t, judgingConfig)
	server.Script(judgeNames(t))
	w.write("a.txt", "Charles Babbage built engines. Ada Lovelace wrote.")
	w.write("b.txt", "Babbage met Lovelace. Deep Blue won, and Blue is a colour.")
	report := w.ingest(0)
	if j := report.Finalize.Judged; j == nil || j.Pairs != 3 || j.Confirmed != 2 || report.Finalize.Merged != 2 {
		t.Fatalf("%+v", report.Finalize)
	}
	if report.Cost == nil || report.Cost.Calls != server.Counts().Calls {
		t.Errorf("the report has %+v, the server %+v", report.Cost, server.Counts())
	}
	contains(t, w.must("merges", "list", "--output", "json"), `"kept": "Charles Babbage"`, `"rule": "verified"`, `"explanation": "one surname"`)
	contains(t, w.must("merges", "list", "--state", "apart"), "Deep Blue")
	digest, calls := w.digest(), server.Counts().Calls
	w.report(0, "reextract", "--root", w.corpus, "--output", "json")
	if server.Counts().Calls != calls || w.digest() != digest {
		t.Errorf("%d more calls for what was decided", server.Counts().Calls-calls)
	}
	w.ingest(0, "--graph", "another")
	if server.Counts().Calls != calls {
		t.Error("kept answers were paid again")
	}
}

// TestJudgingStopsAtTheBudget has none left for names: exit code 4, and a graph
// that can be searched and is finished by the next run.
func TestJudgingStopsAtTheBudget(t *testing.T) {
	t.Parallel()
	w, server := paid(t, judgingConfig)
	server.Script(judgeNames(t))
	w.write("a.txt", "Charles Babbage built engines. Ada Lovelace wrote.")
	w.write("b.txt", "Babbage met Lovelace.")
	report := w.ingest(4, "--max-tokens", "10")
	if server.Counts().Calls != 0 || report.Finalize == nil || !report.Finalize.Done || report.Finalize.Merged != 0 {
		t.Errorf("%d calls, %+v", server.Counts().Calls, report.Finalize)
	}
	if report = w.ingest(0); report.Finalize == nil || report.Finalize.Merged != 2 {
		t.Errorf("the next run: %+v", report.Finalize)
	}
}
