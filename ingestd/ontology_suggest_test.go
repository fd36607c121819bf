package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"graphmill/pipeline/llm/llmtest"
	"graphmill/pipeline/ontology"
)

// suggested answers as a model that finds engineers and committees in a story.
func suggested(call llmtest.Call) llmtest.Reply {
	m := passage.FindStringSubmatch(call.User())
	if call.SchemaName != "ontology" || m == nil {
		return llmtest.Reply{Status: 400, Message: "not asked for an ontology"}
	}
	answer := map[string]any{
		"entities": []any{map[string]any{"type": "Engineer", "names": twoWordish.FindAllString(m[1], 30)}},
		"relations": []any{map[string]any{
			"quote": strings.SplitAfter(m[1], ".")[0], "source": twoWordish.FindString(m[1]), "type": "met", "target": twoWordish.FindAllString(m[1], 2)[1],
		}},
	}
	text, _ := json.Marshal(answer)
	return llmtest.Reply{Text: string(text)}
}

type suggestion struct {
	Samples  int
	Taken    int
	Files    int
	Method   string
	Model    string
	Lost     int
	Entities []struct {
		Type  struct{ Label string }
		Names int
	}
	Relations []struct {
		Type  struct{ Label string }
		Facts int
	}
	Cost        *struct{ Calls, Cached int }
	Interrupted string
	Error       string
}

// suggest runs `ontology suggest` for JSON and wants the exit code.
func (w *world) suggest(code int, args ...string) suggestion {
	w.t.Helper()
	e := w.run(append([]string{"ontology", "suggest", "--root", w.corpus, "--output", "json"}, args...)...)
	var s suggestion
	if err := json.Unmarshal([]byte(e.stdout), &s); err != nil || e.code != code {
		w.t.Fatalf("%v, wanted exit %d of %s", err, code, e)
	}
	return s
}

func suggesting(t *testing.T, files int) (*world, *llmtest.Server) {
	w, server := paid(t, paidConfig)
	server.Script(suggested)
	for i := range files {
		w.write(fmt.Sprintf("f%d.txt", i), story(i))
	}
	return w, server
}

func TestAModelProposesAnOntologyAndIsPaidOnce(t *testing.T) {
	t.Parallel()
	w, server := suggesting(t, 4)
	s := w.suggest(0)
	if s.Method != "model" || s.Model != "openai/tested" || s.Samples != 4 || s.Taken != 4 || s.Files != 4 || s.Cost == nil || s.Cost.Calls != 4 {
		t.Errorf("%+v", s)
	}
	if len(s.Entities) != 1 || s.Entities[0].Type.Label != "Engineer" || len(s.Relations) != 1 || s.Relations[0].Type.Label != "MET" || s.Relations[0].Facts != 4 {
		t.Errorf("%+v %+v", s.Entities, s.Relations)
	}

	// Kept answers cost nothing, and make the same file.
	file := filepath.Join(t.TempDir(), "o.yaml")
	contains(t, w.must("ontology", "suggest", "--root", w.corpus, "--out", file), "1 entity types and 1 relation types are in "+file, "0 calls (and 4 answers kept from before)")
	if n := server.Counts().Calls; n != 4 {
		t.Errorf("the model was asked %d times", n)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	contains(t, string(text), "# An ontology suggested from samples of 4 of 4 files under "+w.corpus+", by openai/tested (0 calls", "[Engineer, Engineer] 4, for example (")
	o, err := ontology.Load(file)
	if err != nil || len(o.Entities) != 1 || len(o.Relations) != 1 {
		t.Errorf("%v: %s", err, text)
	}
}

func TestASuggestionKeepsToItsBudgetAndGoesOn(t *testing.T) {
	t.Parallel()
	for _, limit := range []struct{ flag, value string }{{"--max-calls", "3"}, {"--max-tokens", "6500"}, {"--max-cost", "0.032"}} {
		t.Run(limit.flag, func(t *testing.T) {
			t.Parallel()
			w, server := suggesting(t, 5)
			s := w.suggest(4, limit.flag, limit.value)
			if s.Interrupted != "budget" || s.Samples == 0 || s.Samples >= 5 || s.Cost.Calls != s.Samples || server.Counts().Calls != s.Samples {
				t.Errorf("%+v", s)
			}
			contains(t, s.Error, strings.ReplaceAll(strings.TrimPrefix(limit.flag, "--"), "-", "_"), fmt.Sprintf("%d of 5 samples were looked at", s.Samples))
			// The next asks about the others only.
			again := w.suggest(0)
			if again.Samples != 5 || again.Cost.Cached != s.Samples || server.Counts().Calls != 5 {
				t.Errorf("%+v after %+v", again, s)
			}
		})
	}
}

func TestABudgetForNoCallAtAllIsAFailure(t *testing.T) {
	t.Parallel()
	w, server := suggesting(t, 2)
	e := w.run("ontology", "suggest", "--root", w.corpus, "--max-tokens", "100")
	if e.code != 4 || e.stdout != "" || server.Counts().Calls != 0 {
		t.Errorf("%s", e)
	}
	contains(t, e.stderr, "max_tokens of the run is 100", "0 of 2 samples were looked at")
}

func TestAFileSaysNoSumOfAModelWithoutAPrice(t *testing.T) {
	t.Parallel()
	w, _ := suggesting(t, 2)
	contains(t, w.must("ontology", "suggest", "--root", w.corpus), "by openai/tested (2 calls, ", " tokens; 0.0", " USD).")
	w.configure(strings.Split(paidConfig, "  prices:")[0])
	text := w.must("ontology", "suggest", "--root", w.corpus, "--chars", "500")
	if first, _, _ := strings.Cut(text, "\n"); !strings.HasSuffix(first, " tokens).") {
		t.Errorf("%s", first)
	}
}

// --local asks no model that is set.
func TestALocalSuggestionAsksNobody(t *testing.T) {
	t.Parallel()
	w, server := suggesting(t, 2)
	s := w.suggest(0, "--local", "--model-dir", "../models/gliner-minilm-en")
	if s.Method != "local" || s.Model != "" || s.Cost != nil || len(s.Entities) == 0 || server.Counts().Calls != 0 {
		t.Errorf("%+v", s)
	}
}

func TestSamplesWithoutAUsableAnswerAreSaidToBeLeftOut(t *testing.T) {
	t.Parallel()
	w, server := suggesting(t, 3)
	server.Script(func(call llmtest.Call) llmtest.Reply {
		if strings.Contains(strings.Join(call.Turns, " "), "1901") {
			return llmtest.Reply{Text: "I would rather not."}
		}
		return suggested(call)
	})
	if s := w.suggest(3); s.Lost != 1 || s.Samples != 2 {
		t.Errorf("%+v", s)
	}
	server.Script(func(llmtest.Call) llmtest.Reply { return llmtest.Reply{Text: "I would rather not."} })
	w.write("f0.txt", story(7))
	e := w.run("ontology", "suggest", "--root", w.corpus, "f0.txt")
	if e.code != 1 {
		t.Errorf("%s", e)
	}
	contains(t, e.stderr, "f0.txt is left out", "no usable answer")
}
