package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"graphmill/pipeline/engine"
	"graphmill/pipeline/engine/enginetest"
	"graphmill/pipeline/falkor/conn"
	"graphmill/pipeline/falkor/shape"
	"graphmill/pipeline/falkor/store"
	"graphmill/pipeline/llm/llmtest"
)

// faulty is a world whose ingestd was built with fault points.
type faulty struct {
	*world
	program string
	traced  map[string]traced // by journey
}

// traced is a journey that was taken undisturbed.
type traced struct {
	corpus, config string
	occasions      []occasion
	digest         string
}

// newFaulty builds the program, which takes the compiler a while the first time.
func newFaulty(t *testing.T) *faulty {
	t.Helper()
	program := filepath.Join(t.TempDir(), "ingestd")
	build := exec.Command("go", "build", "-tags", "faults", "-o", program, ".")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build ingestd with fault points: %v\n%s", err, out)
	}
	w := &faulty{newWorld(t), program, map[string]traced{}}
	server := llmtest.New(t, judgeNames(t)) // nothing but "describe" asks it
	w.env = append(w.env, "GRAPHRAG_MODEL=openai/tested", "OPENAI_BASE_URL="+server.BaseURL(), "OPENAI_API_KEY=sk-secret-of-the-test")
	w.must("db", "start")
	w.fill(9, 1)
	return w
}

// faults runs a verb in a graph with an environment of faults.
func (w *faulty) faults(graphName string, env []string, args ...string) ended {
	w.t.Helper()
	command := w.command(append(args, "--graph", graphName)...)
	command.Path, command.Err = w.program, nil
	command.Env = append(command.Env, env...)
	var stdout, stderr strings.Builder
	command.Stdout, command.Stderr = &stdout, &stderr
	err := command.Run()
	return ended{exitOf(w.t, err), stdout.String(), stderr.String()}
}

// with does something with a connection to the engine, as the writer.
func (w *faulty) with(do func(client *conn.Client)) {
	w.t.Helper()
	lease, err := engine.Acquire(w.t.Context(), enginetest.Options(w.t, w.data))
	if err != nil {
		w.t.Fatal(err)
	}
	defer lease.Release()
	client, err := conn.Open(conn.Options{Socket: lease.Address(), Username: lease.Credentials().User, Password: lease.Credentials().Secret})
	if err != nil {
		w.t.Fatal(err)
	}
	defer client.Close()
	do(client)
}

// look returns a graph's digest, and what a check finds in it.
func (w *faulty) look(graphName string) (digest string, result *store.CheckResult) {
	w.t.Helper()
	w.with(func(client *conn.Client) {
		s, err := store.Open(w.t.Context(), client, store.Options{Graph: graphName})
		if err == nil {
			digest, err = s.Digest(w.t.Context())
		}
		if err == nil {
			result, err = s.Check(w.t.Context(), store.CheckOptions{Embeddable: embeddable})
		}
		if err != nil {
			w.t.Fatal(err)
		}
	})
	return digest, result
}

// copied gives a graph a copy, with its ontology; a graph that is not there has
// none.
func (w *faulty) copied(from, to string) {
	w.t.Helper()
	w.with(func(client *conn.Client) {
		for _, pair := range [][2]string{{from, to}, {shape.OntologyGraph(from), shape.OntologyGraph(to)}} {
			if client.Redis().Exists(w.t.Context(), pair[0]).Val() == 0 {
				continue
			}
			if err := client.Redis().Do(w.t.Context(), "GRAPH.COPY", pair[0], pair[1]).Err(); err != nil {
				w.t.Fatal(err)
			}
		}
	})
}

func (w *faulty) dropped(names ...string) {
	w.t.Helper()
	w.with(func(client *conn.Client) {
		for _, name := range names {
			client.Redis().Del(w.t.Context(), name, shape.OntologyGraph(name))
		}
	})
}

// journey is a verb, from a state of graph and corpus, at every instant of which
// something happens.
type journey struct {
	name    string
	prepare func(w *faulty) // the corpus, before the base is copied
	base    bool            // the graph holds the corpus of seed 1
	args    func(w *faulty) []string
}

func runArgs(w *faulty) []string { return []string{"run", "--root", w.corpus, "--jobs", "2"} }

var journeys = []journey{
	{name: "first", args: runArgs},
	{name: "update", base: true, prepare: func(w *faulty) {
		w.fill(4, 2)
		w.write("new.txt", "Zada Zovelace met Aada Aovelace.")
		w.write("d005.txt", "")
	}, args: runArgs},
	{name: "forget", base: true, args: func(*faulty) []string { return []string{"forget", "d001.txt", "notes/**"} }},
	{name: "reembed", base: true, prepare: func(w *faulty) {
		w.configure(strings.Replace(fastConfig, "dimension: 32", "dimension: 48", 1))
	}, args: func(*faulty) []string { return []string{"finalize", "--reembed"} }},
	{name: "ontology", base: true, prepare: func(w *faulty) {
		writeFile(w.t, filepath.Join(filepath.Dir(w.config), "more.yaml"), "entities: [{label: Thing}, {label: Gadget}]\n")
	}, args: func(w *faulty) []string {
		return []string{"ontology", "set", filepath.Join(filepath.Dir(w.config), "more.yaml")}
	}},
	// Names are taken for one thing's that were two.
	{name: "merge", base: true, prepare: func(w *faulty) {
		w.configure(strings.Replace(fastConfig, "extractor: pattern,", "extractor: pattern, resolver: similar,", 1))
		w.write("m1.txt", "Acme Systems Inc met Ada Lovelace Jones. Northern Mills Ltd paid.")
		w.write("m2.txt", "Acme Systems left. Zada Zovelace met Northern Mills.")
	}, args: runArgs},
	// A model joins names and describes what it joined; then some of it is said
	// otherwise.
	{name: "describe", prepare: func(w *faulty) {
		w.configure(judgingConfig)
		w.write("a.txt", "Charles Babbage built engines. Ada Lovelace wrote.")
		w.write("b.txt", "Babbage met Lovelace.")
		w.must("run", "--root", w.corpus, "--graph", "base-describe")
		w.write("b.txt", "Babbage met Lovelace. Blue is a colour, and Babbage was rich.")
		w.write("c.txt", "Babbage is a mathematician who met everybody, Deep Blue too, and Lovelace was there.")
	}, args: runArgs},
	{name: "restore", base: true, prepare: func(w *faulty) {
		w.fill(3, 5)
		w.must("run", "--root", w.corpus, "--graph", "saved")
		w.must("snapshot", "create", w.corpus+".snapshot", "--graph", "saved")
	}, args: func(w *faulty) []string { return []string{"snapshot", "restore", w.corpus + ".snapshot", "--replace"} }},
}

// occasion is an instant of a journey.
type occasion struct {
	name string
	nth  int
}

// trace takes the journey undisturbed, once, and keeps its base: its instants are
// in order, the nth of a name as often as it was reached.
func (w *faulty) trace(j journey) traced {
	w.t.Helper()
	if known, ok := w.traced[j.name]; ok {
		w.corpus = known.corpus
		w.configure(known.config)
		return known
	}
	w.corpus = filepath.Join(filepath.Dir(w.config), "corpus-"+j.name)
	w.configure(fastConfig)
	w.fill(9, 1)
	if j.base {
		w.must("run", "--root", w.corpus, "--graph", "base-"+j.name)
	}
	if j.prepare != nil {
		j.prepare(w)
	}
	config, err := os.ReadFile(w.config)
	if err != nil {
		w.t.Fatal(err)
	}
	out := traced{corpus: w.corpus, config: string(config)}
	graphName := "calm-" + j.name
	w.copied("base-"+j.name, graphName)
	file := filepath.Join(w.t.TempDir(), "trace")
	if e := w.faults(graphName, []string{"GRAPHMILL_FAULT_TRACE=" + file}, j.args(w)...); e.code != 0 {
		w.t.Fatalf("%s: %v", j.name, e)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		w.t.Fatal(err)
	}
	count := map[string]int{}
	for name := range strings.Lines(string(text)) {
		name = strings.TrimSpace(name)
		count[name]++
		out.occasions = append(out.occasions, occasion{name, count[name]})
	}
	out.digest, _ = w.look(graphName)
	w.dropped(graphName, "saved")
	w.traced[j.name] = out
	return out
}

// strike takes the journey with something happening on an occasion, finishes it,
// and holds the graph to the undisturbed one's.
func (w *faulty) strike(j journey, at occasion, action string, want string, codes ...int) {
	w.t.Helper()
	what := fmt.Sprintf("%s, %s (%d): %s", j.name, at.name, at.nth, action)
	graphName := "struck"
	w.copied("base-"+j.name, graphName)
	defer w.dropped(graphName)
	if action == "engine" {
		w.must("db", "start") // one that stays between verbs
		report, err := engine.Status(engine.Options{DataDir: w.data})
		if err != nil || !report.Running {
			w.t.Fatalf("%s: there is no engine: %v", what, err)
		}
		action = fmt.Sprintf("kill=%d", report.PID)
	}
	e := w.faults(graphName, []string{fmt.Sprintf("GRAPHMILL_FAULT=%s;%d;%s", at.name, at.nth, action)}, j.args(w)...)
	if !slices.Contains(codes, e.code) {
		w.t.Errorf("%s: ended with %d, expected %v: %v", what, e.code, codes, e)
	}
	if e := w.run(append(j.args(w), "--graph", graphName)...); e.code != 0 && !(j.name == "forget" && e.code == 3) {
		w.t.Errorf("%s: and again: %v", what, e)
	}
	got, result := w.look(graphName)
	if got != want && j.name == "forget" {
		// All were forgotten, and what was left to do is the next finalize's.
		w.must("finalize", "--graph", graphName)
		got, result = w.look(graphName)
	}
	if got != want {
		w.t.Errorf("%s: the graph is another one", what)
	}
	if !result.Clean || result.Waiting > 0 {
		w.t.Errorf("%s: %+v", what, result)
	}
}

// everyFault strikes on the occasions that are chosen among a journey's.
func (w *faulty) everyFault(action string, codes []int, choose func(journey, occasion) bool) {
	w.t.Helper()
	for _, j := range journeys {
		known := w.trace(j)
		if len(known.occasions) == 0 {
			w.t.Errorf("%s has no instants", j.name)
		}
		struck := 0
		for _, at := range known.occasions {
			if choose(j, at) {
				w.strike(j, at, action, known.digest, codes...)
				struck++
			}
		}
		w.t.Logf("%s: %d instants, %d of them struck (%s)", j.name, len(known.occasions), struck, action)
	}
}

// once chooses each name once among all journeys.
func once() func(journey, occasion) bool {
	seen := map[string]bool{}
	return func(_ journey, at occasion) bool {
		before := seen[at.name]
		seen[at.name] = true
		return !before
	}
}

var killed = -int(syscall.SIGKILL)

// TestFaults kills ingestd once at each instant that has a name, and lets other
// things happen at some of them. What is then finished is held to what an
// undisturbed verb leaves, and checked.
func TestFaults(t *testing.T) {
	inFull(t)
	w := newFaulty(t)
	during := func(name string, do func(w *faulty)) {
		t.Run(name, func(t *testing.T) {
			here := *w.world
			here.t = t
			do(&faulty{&here, w.program, w.traced})
		})
	}
	during("ingestd killed", func(w *faulty) {
		w.everyFault("kill", []int{killed}, once())
	})
	during("engine killed", func(w *faulty) {
		some := once()
		w.everyFault("engine", []int{0, 1}, func(j journey, at occasion) bool {
			word := strings.Fields(at.name)[1]
			return slices.Contains([]string{"commit", "store", "finalize", "swap", "ontology", "describe"}, word) && some(j, at)
		})
		w.must("db", "start")
	})
	// SIGTERM ends a verb at once or at the next document boundary.
	during("told to end", func(w *faulty) {
		some := once()
		w.everyFault("term", []int{0, 130}, func(j journey, at occasion) bool {
			return slices.Contains([]string{"after lock", "after commit", "after store", "after remove", "before swap"}, at.name) && some(j, at)
		})
	})
	during("clock set back", func(w *faulty) { w.setBack() })
}

// setBack sets the clock back in the middle of verbs, which changes neither the
// graph nor how long the ledger says that they took.
func (w *faulty) setBack() {
	t := w.t
	some := once()
	w.everyFault("clock=-50h", []int{0}, func(j journey, at occasion) bool {
		return slices.Contains([]string{"after lock", "before commit", "after change"}, at.name) && some(j, at)
	})
	w.corpus = filepath.Join(filepath.Dir(w.config), "corpus-back")
	w.configure(fastConfig)
	w.fill(3, 1)
	w.faults("back", []string{"GRAPHMILL_FAULT=before commit;1;clock=-50h"}, runArgs(w)...)
	w.fill(3, 2)
	// This holder seems to come from the future, and is dead.
	if e := w.faults("back", []string{"GRAPHMILL_FAULT_CLOCK=90h", "GRAPHMILL_FAULT=after commit;1;kill"}, runArgs(w)...); e.code != killed {
		t.Errorf("%v", e)
	}
	w.must(append(runArgs(w), "--graph", "back")...)
	var ledger struct{ Runs []runLine }
	if err := json.Unmarshal([]byte(w.must("runs", "--graph", "back", "--output", "json")), &ledger); err != nil || len(ledger.Runs) < 2 {
		t.Fatalf("%+v, %v", ledger, err)
	}
	for _, run := range ledger.Runs {
		if run.Seconds < 0 || run.Seconds > 600 {
			t.Errorf("a run took %v seconds: %+v", run.Seconds, run)
		}
	}
}

// TestSoakFaults strikes at every instant of every journey, in every way, for as
// long as it is told to, and from then on by chance.
func TestSoakFaults(t *testing.T) {
	until := time.Now().Add(soakTime(t))
	w := newFaulty(t)
	ways := []struct {
		action string
		codes  []int
	}{{"kill", []int{killed}}, {"engine", []int{0, 1}}, {"term", []int{0, 130}}, {"clock=-50h", []int{0}}}
	for round := 0; time.Now().Before(until); round++ {
		for _, way := range ways {
			seen := map[string]bool{}
			random := rand.New(rand.NewPCG(uint64(round), 11))
			w.everyFault(way.action, way.codes, func(j journey, at occasion) bool {
				first := !seen[j.name+at.name]
				seen[j.name+at.name] = true
				return time.Now().Before(until) && (first && round == 0 || random.IntN(8) == 0)
			})
		}
	}
}
