package main

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"graphmill/pipeline"
	"graphmill/pipeline/llm/llmtest"
)

// paidConfig has every file read by a language model, by one worker and one call
// at a time, so that where a budget ends is the same every time.
const paidConfig = `embedder: {kind: hash, dimension: 32}
jobs: 1
plan: {rules: [{match: "**", extractor: llm, chunk_tokens: 64}]}
llm:
  concurrency: 1
  prices: {currency: USD, date: 2026-11-01, models: {openai/tested: {input: 2, output: 8}}}
`

// paid is a world whose files are read by a model on this machine.
func paid(t *testing.T, config string) (*world, *llmtest.Server) {
	w := newWorld(t)
	w.configure(config)
	server := llmtest.New(t, namesInPassages)
	w.env = append(w.env, "GRAPHRAG_MODEL=openai/tested", "OPENAI_BASE_URL="+server.BaseURL(), "OPENAI_API_KEY=sk-secret-of-the-test")
	return w, server
}

var (
	passage    = regexp.MustCompile(`(?s)PASSAGE[^\n]*\n(.*?)\n[^\n]*PASSAGE`)
	twoWordish = regexp.MustCompile(`[A-Z][a-z]+ [A-Z][a-z]+`)
)

// namesInPassages answers as a model that finds names of two words, all of one
// type, and no relations.
func namesInPassages(call llmtest.Call) llmtest.Reply {
	if call.SchemaName == "" {
		return llmtest.Reply{Text: "The passage is from the minutes of a committee that met again and again."}
	}
	if call.SchemaName != "entities" {
		return llmtest.Reply{Text: `{"corrections": [], "relations": [], "other": []}`}
	}
	type entity struct {
		Name  string `json:"name"`
		Type  string `json:"type"`
		Quote string `json:"quote"`
	}
	entities := []entity{}
	if m := passage.FindStringSubmatch(call.User()); m != nil {
		for _, name := range twoWordish.FindAllString(m[1], -1) {
			entities = append(entities, entity{name, "Person", name})
		}
	}
	text, _ := json.Marshal(map[string]any{"entities": entities, "other": []string{}})
	return llmtest.Reply{Text: string(text)}
}

// story is about a hundred words of prose, another for every n.
func story(n int) string {
	var b strings.Builder
	for i := range 6 {
		fmt.Fprintf(&b, "In the year %d the engineer %s Baker met %s Miller, and both of them wrote down at length what the committee had found. ",
			1900+n, string(rune('A'+(n+i)%26))+"nna", string(rune('A'+(n+i+3)%26))+"lbert")
	}
	return b.String()
}

func TestWhatAModelTakesIsInTheReportAndPaidOnce(t *testing.T) {
	t.Parallel()
	w, server := paid(t, paidConfig)
	for i := range 3 {
		w.write(fmt.Sprintf("f%d.txt", i), story(i))
	}
	first := w.ingest(0)
	counts := server.Counts()
	if first.Cost == nil || counts.Calls == 0 {
		t.Fatalf("cost %+v, the server counted %+v", first.Cost, counts)
	}
	c := *first.Cost
	if c.Calls != counts.Calls || c.InputTokens != counts.InputTokens || c.OutputTokens != counts.OutputTokens || c.Cached != 0 {
		t.Errorf("the report has %+v, the server %+v", c.Cost, counts)
	}
	if want := (2*float64(counts.InputTokens) + 8*float64(counts.OutputTokens)) / 1e6; c.Money < want*0.999 || c.Money > want*1.001 || c.Currency != "USD" || c.Prices != "2026-11-01" {
		t.Errorf("%g %s by prices of %s, want %g", c.Money, c.Currency, c.Prices, want)
	}
	sum, purposes := pipeline.Cost{}, pipeline.Cost{}
	for _, d := range first.Documents {
		sum.Calls, sum.InputTokens, sum.OutputTokens = sum.Calls+d.Cost.Calls, sum.InputTokens+d.Cost.InputTokens, sum.OutputTokens+d.Cost.OutputTokens
	}
	for _, p := range c.ByPurpose {
		purposes.Calls, purposes.InputTokens, purposes.OutputTokens = purposes.Calls+p.Calls, purposes.InputTokens+p.InputTokens, purposes.OutputTokens+p.OutputTokens
	}
	for what, got := range map[string]pipeline.Cost{"files": sum, "purposes": purposes} {
		if got.Calls != c.Calls || got.InputTokens != c.InputTokens || got.OutputTokens != c.OutputTokens {
			t.Errorf("the %s have %+v, all of them %+v", what, got, c.Cost)
		}
	}

	contains(t, w.must("runs", "--output", "json"), fmt.Sprintf(`"input_tokens": %d`, c.InputTokens), `"by_purpose"`, `"model": "openai/tested"`)

	// Another graph, and answers that are kept; what was extracted is another's.
	again := w.ingest(0, "--graph", "another")
	if n := server.Counts().Calls; n != counts.Calls || again.Totals.Chunks != first.Totals.Chunks {
		t.Errorf("a second run over %d chunks sent %d calls", again.Totals.Chunks, n-counts.Calls)
	}
}

func TestARunStopsAtItsBudgetWithWholeDocumentsAndGoesOn(t *testing.T) {
	t.Parallel()
	for _, limit := range []struct{ flag, value string }{{"--max-calls", "11"}, {"--max-tokens", "20000"}, {"--max-cost", "0.05"}} {
		t.Run(limit.flag, func(t *testing.T) {
			t.Parallel()
			w, server := paid(t, paidConfig)
			const files = 8
			for i := range files {
				w.write(fmt.Sprintf("f%d.txt", i), story(i))
			}
			runs, sent := 0, 0
			for code := 4; code == 4; runs++ {
				if runs > 60 {
					t.Fatal("it never ends")
				}
				e := w.run("run", "--root", w.corpus, limit.flag, limit.value, "--output", "json")
				var r pipeline.Report
				if err := json.Unmarshal([]byte(e.stdout), &r); err != nil || e.code != 0 && e.code != 4 {
					t.Fatal(e)
				}
				if code = e.code; code == 4 && (r.Interrupted != "budget" || r.Finalize != nil || !strings.Contains(r.Error, strings.ReplaceAll(limit.flag[2:], "-", "_"))) {
					t.Fatalf("interrupted %q by %s", r.Interrupted, r.Error)
				}
				for _, d := range r.Documents {
					if d.Status == pipeline.Failed {
						t.Errorf("%s failed: %s", d.Path, d.Reason)
					}
				}
				spent := server.Counts().Calls - sent
				sent += spent
				if limit.flag == "--max-calls" && spent > 11 {
					t.Errorf("run %d sent %d calls", runs, spent)
				}
			}
			if runs < 3 {
				t.Errorf("the limit held nothing: %d runs", runs)
			}
			// One server for both: its address is part of the model's fingerprint.
			alone := newWorld(t)
			alone.configure(paidConfig)
			alone.env = w.env
			for i := range files {
				alone.write(fmt.Sprintf("f%d.txt", i), story(i))
			}
			alone.ingest(0)
			if n := server.Counts().Calls - sent; n != sent {
				t.Errorf("%d calls in %d runs, %d in one", sent, runs, n)
			}
			if w.digest() != alone.digest() {
				t.Error("the graph is another than that of one run")
			}
		})
	}
}

func TestAFileStopsAtItsOwnBudgetAndOthersGoOn(t *testing.T) {
	t.Parallel()
	w, _ := paid(t, paidConfig)
	w.write("long.txt", strings.Repeat(story(1), 4)+story(2)+story(3)+story(4)+story(5))
	w.write("short.txt", story(6))
	r := w.ingest(3, "--file-max-calls", "9")
	if d := row(t, r, "long.txt"); d.Status != pipeline.Failed || d.Kind != "budget" || !strings.Contains(d.Reason, "max_calls") || d.Cost.Calls != 9 {
		t.Errorf("%+v", d)
	}
	if d := row(t, r, "short.txt"); d.Status != pipeline.Ingested || r.Finalize == nil {
		t.Errorf("%+v, finalize %+v", d, r.Finalize)
	}
}

func TestAKilledRunPaysOnlyWhatWasNotAnswered(t *testing.T) {
	t.Parallel()
	w, server := paid(t, strings.Replace(paidConfig, "concurrency: 1", "concurrency: 4", 1))
	for i := range 8 {
		w.write(fmt.Sprintf("f%d.txt", i), story(i))
	}
	killed, enough := make(chan struct{}), make(chan struct{})
	server.Script(func(call llmtest.Call) llmtest.Reply {
		reply := namesInPassages(call)
		if call.N == 20 {
			close(enough)
		}
		if call.N >= 20 {
			reply.Hold = killed // never answered
		}
		return reply
	})
	p := w.startRun()
	select {
	case <-enough:
	case code := <-p.ended:
		t.Fatalf("the run ended first: %v %s", code, p.stderr)
	}
	p.command.Process.Signal(syscall.SIGKILL)
	p.wait(t)
	close(killed)
	before := server.Counts()
	server.Script(namesInPassages)
	w.ingest(0)
	asked := map[string]int{}
	for _, call := range server.Calls() {
		asked[call.SchemaName+"\n"+call.User()]++
	}
	// What was under way when it was killed, four calls at most, is asked again, and
	// nothing else: an answer that has arrived may not have been kept yet.
	twice := 0
	for _, n := range asked {
		twice += n - 1
	}
	if twice > 4 || len(asked) <= before.Calls {
		t.Errorf("%d questions were asked twice; %d of %d calls after the kill", twice, server.Counts().Calls-before.Calls, server.Counts().Calls)
	}
}

func TestAModelThatIsNotSetIsWrongUsageAtStart(t *testing.T) {
	t.Parallel()
	w, server := paid(t, paidConfig)
	w.write("a.txt", story(1))
	w.env = nil
	e := w.run("run", "--root", w.corpus)
	if e.code != 2 {
		t.Fatal(e)
	}
	contains(t, e.stderr, "extractor llm", "llm.model", "GRAPHRAG_MODEL")
	w.env = []string{"GRAPHRAG_MODEL=openai/gpt-4.1-mini"}
	e = w.run("run", "--root", w.corpus)
	if e.code != 2 {
		t.Fatal(e)
	}
	contains(t, e.stderr, "OPENAI_API_KEY")
	if n := server.Counts().Calls; n != 0 {
		t.Errorf("%d calls", n)
	}
}

func TestKeysAreNowhereInWhatIsPrinted(t *testing.T) {
	t.Parallel()
	w, server := paid(t, paidConfig)
	w.write("a.txt", story(1))
	server.Script(func(call llmtest.Call) llmtest.Reply {
		return llmtest.Reply{Status: 401, Message: "no such key: " + call.Header.Get("Authorization")}
	})
	for _, args := range [][]string{{"run", "--root", w.corpus}, {"run", "--root", w.corpus, "--log-level", "debug", "--output", "json"}, {"doctor", "--root", w.corpus}} {
		e := w.run(args...)
		if e.code == 0 || strings.Contains(e.stdout+e.stderr, "secret-of-the-test") {
			t.Errorf("%v: %v", args, e)
		}
	}
	if !slices.ContainsFunc(server.Calls(), func(c llmtest.Call) bool {
		return strings.Contains(c.Header.Get("Authorization"), "secret-of-the-test")
	}) {
		t.Error("the server never got the key")
	}
}

func TestVectorsOfAServer(t *testing.T) {
	t.Parallel()
	config := strings.Replace(fastConfig, "embedder: {kind: hash, dimension: 32}", "embedder: {kind: openai, model: text-embedding-3-small, dimension: 16, batch: 4}", 1)
	w, server := paid(t, config+"llm: {concurrency: 1}\n")
	for i := range 6 {
		w.write(fmt.Sprintf("f%d.txt", i), story(i))
	}
	e := w.run("run", "--root", w.corpus, "--max-calls", "3", "--output", "json")
	var r pipeline.Report
	if err := json.Unmarshal([]byte(e.stdout), &r); err != nil || e.code != 4 || r.Interrupted != "budget" || server.Counts().Calls != 3 {
		t.Fatalf("%d calls: %v", server.Counts().Calls, e)
	}
	done := w.report(0, "finalize")
	counts := server.Counts()
	if done.Cost == nil || done.Cost.Calls != counts.Calls-3 || done.Cost.ByPurpose["embed"] == nil || !done.Finalize.Done {
		t.Errorf("%+v, the server %+v", done.Cost, counts)
	}
	// A vector of a text is asked for once, whichever run asked.
	texts := map[string]int{}
	for _, call := range server.Calls() {
		if call.Dimensions != 16 {
			t.Fatalf("%d dimensions were asked for", call.Dimensions)
		}
		for _, text := range call.Inputs {
			if texts[text]++; texts[text] > 1 {
				t.Errorf("asked twice: %q", text)
			}
		}
	}
	if d := w.run("doctor", "--root", w.corpus); d.code != 0 || !strings.Contains(d.stdout, "16 dimensions") || !strings.Contains(d.stdout, "price") {
		t.Error(d)
	}
	if server.Counts().Calls != counts.Calls+2 {
		t.Errorf("doctor sent %d calls, a text to embed and a question are two", server.Counts().Calls-counts.Calls)
	}
}

// What ingestd embeds with a server's model, queryd asks for with the same.
func TestQuerydAsksTheServerThatMadeTheVectors(t *testing.T) {
	inFull(t)
	queryd := filepath.Join(t.TempDir(), "queryd")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", queryd, "graphmill/queryd").CombinedOutput(); err != nil {
		t.Fatalf("build queryd: %v: %s", err, out)
	}
	w, server := paid(t, strings.Replace(fastConfig, "embedder: {kind: hash, dimension: 32}", "embedder: {kind: openai, model: text-embedding-3-small, dimension: 16}", 1))
	w.write("a.txt", story(1))
	w.ingest(0)
	before := server.Counts().Inputs
	command := exec.Command(queryd, "call", "retrieve", `{"question": "Whom did Bnna Baker meet?"}`, "--config", w.config, "--data-dir", w.data)
	command.Env = w.command().Env
	out, err := command.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "Baker") {
		t.Fatalf("%v: %s", err, out)
	}
	calls := server.Calls()
	if last := calls[len(calls)-1]; server.Counts().Inputs != before+1 || last.Inputs[0] != "Whom did Bnna Baker meet?" || last.Dimensions != 16 {
		t.Errorf("the question was not embedded by the server: %+v", last.Inputs)
	}
}
