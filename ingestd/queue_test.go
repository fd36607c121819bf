package main

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"graphmill/commandline"
	"graphmill/pipeline"
	"graphmill/pipeline/engine/enginetest"
	"graphmill/pipeline/queue"
	"graphmill/pipeline/queue/queuetest"
)

// queued is a world with a Redis.
type queued struct {
	*world
	url string
}

func newQueued(t *testing.T, w *world) *queued {
	t.Helper()
	url, _ := queuetest.Start(t, "s3cret")
	w.env = append(w.env, "GRAPHMILL_QUEUE_URL="+url, "GRAPHMILL_QUEUE_PASSWORD=s3cret")
	return &queued{w, url}
}

// process is an ingestd in the background.
type process struct {
	command *exec.Cmd
	text    *sharedText
	ended   chan int
}

func (s *sharedText) Write(text []byte) (int, error) {
	s.WriteString(string(text))
	return len(text), nil
}

func (w *world) start(command *exec.Cmd) *process {
	w.t.Helper()
	p := &process{command, new(sharedText), make(chan int, 1)}
	command.Stdout, command.Stderr = p.text, p.text
	if err := command.Start(); err != nil {
		w.t.Fatal(err)
	}
	go func() { p.ended <- exitOf(w.t, command.Wait()) }()
	w.t.Cleanup(func() { command.Process.Kill() })
	return p
}

// worker starts a worker with a data directory of its own, as on another machine.
func (q *queued) worker(graphName string, args ...string) *process {
	q.t.Helper()
	command := q.command(append([]string{"worker", "--root", q.corpus, "--graph", graphName, "--log-level", "info"}, args...)...)
	for i, arg := range command.Args {
		if arg == "--data-dir" {
			command.Args[i+1] = q.t.TempDir()
		}
	}
	return q.start(command)
}

func (q *queued) status() *queue.Status {
	q.t.Helper()
	var s queue.Status
	if err := json.Unmarshal([]byte(q.must("queue", "status", "--output", "json")), &s); err != nil {
		q.t.Fatal(err)
	}
	return &s
}

// alone is a run without the queue.
func (q *queued) alone(graphName string) string {
	q.t.Helper()
	own := *q.world
	own.env = nil
	own.ingest(0, "--graph", graphName)
	return own.digest("--graph", graphName)
}

func (p *process) end(t *testing.T, signal syscall.Signal, code int) {
	t.Helper()
	p.command.Process.Signal(signal)
	if got := <-p.ended; got != code {
		t.Errorf("want exit %d, got %d: %s", code, got, p.text)
	}
}

func TestWorkersMakeTheGraphOfARunAlone(t *testing.T) {
	t.Parallel()
	q := newQueued(t, worldIn(t, enginetest.Start(t).DataDir))
	q.fill(12, 1)
	q.write("empty.md", "")
	q.write("bad.txt", "\x00\x01\x02\xff\x00binary")
	for _, n := range []int{1, 4} {
		graphName := fmt.Sprint("workers", n)
		var all []*process
		for range n {
			all = append(all, q.worker(graphName, "--jobs", "1"))
		}
		report := q.ingest(3, "--graph", graphName)
		if got := statuses(report); got != "12 ingested, 1 empty, 1 failed" {
			t.Errorf("%d workers: %s", n, got)
		}
		if bad := row(t, report, "bad.txt"); bad.Kind != "binary" {
			t.Errorf("%+v", bad)
		}
		for _, w := range all {
			w.end(t, syscall.SIGTERM, 0)
			contains(t, w.text.String(), "working for queue "+graphName)
			if strings.Contains(w.text.String(), "s3cret") {
				t.Errorf("a worker says the password: %s", w.text)
			}
		}
	}
	own := *q.world
	own.env = nil
	own.ingest(3, "--graph", "alone")
	want := own.digest("--graph", "alone")
	for _, graphName := range []string{"workers1", "workers4"} {
		if q.digest("--graph", graphName) != want {
			t.Errorf("%s is another graph", graphName)
		}
	}
	// What is current is not sent: this ends without a worker.
	if got := statuses(q.ingest(0, "--graph", "workers4", "--exclude", "bad.txt")); got != "13 unchanged" {
		t.Errorf("the second run: %s", got)
	}
	if s := q.status(); len(s.Workers) != 0 || s.Queues[0].Pending+s.Queues[0].Active+s.Queues[0].ParkedCount != 0 || len(s.Queues[0].Runs) != 0 {
		t.Errorf("left in the queue: %+v", s)
	}
}

// The example corpus, PDFs and all, and an edit whose other chunks are kept.
func TestWorkersMakeTheGraphOfTheExamples(t *testing.T) {
	inFull(t)
	w := worldIn(t, enginetest.Start(t).DataDir)
	examples, err := filepath.Abs("../examples/corpus")
	if err != nil {
		t.Fatal(err)
	}
	w.corpus = examples
	q := newQueued(t, w)
	for range 2 {
		q.worker("queued")
	}
	q.ingest(0, "--graph", "queued")
	if q.digest("--graph", "queued") != q.alone("alone") {
		t.Error("workers make another graph")
	}
}

func TestWorkersReuseWhatIsKept(t *testing.T) {
	inFull(t)
	q := newQueued(t, worldIn(t, enginetest.Start(t).DataDir))
	q.fill(3, 1)
	var long strings.Builder
	for i := range 40 {
		fmt.Fprintf(&long, "In the year %d Ada Lovelace wrote a letter to Charles Babbage about the engine, and he answered it with care and at length.\n\n", 1000+i)
	}
	q.write("long.txt", long.String())
	q.worker("g")
	q.ingest(0, "--graph", "g")
	q.write("long.txt", strings.Replace(long.String(), "year 1020 Ada Lovelace", "year 1020 Mary Somerville", 1))
	d := row(t, q.ingest(0, "--graph", "g"), "long.txt")
	if d.Status != pipeline.Updated || d.Reused == 0 || d.Reused == d.Chunks {
		t.Errorf("%+v", d)
	}
	if q.digest("--graph", "g") != q.alone("alone") {
		t.Error("what was reused is something else")
	}
}

// A document that kills its worker each time, and what its workers had beside it.
func TestTasksOfKilledWorkersAreTakenOverAndAPoisonedOneIsParked(t *testing.T) {
	inFull(t)
	faulty := newFaulty(t)
	q := newQueued(t, faulty.world)
	q.env = append(q.env, "GRAPHMILL_QUEUE_TRIES=2")
	kill := func() *process {
		command := q.command("worker", "--root", q.corpus, "--graph", "g", "--jobs", "2")
		command.Path, command.Err = faulty.program, nil
		command.Env = append(command.Env, "GRAPHMILL_FAULT=work on d004.txt;1;kill")
		return q.start(command)
	}
	run := q.startRun("--graph", "g", "--output", "json")
	for i := range 2 { // each dies at the document, as by kill -9
		if code := <-kill().ended; code != -int(syscall.SIGKILL) {
			t.Fatalf("worker %d ended with %d", i, code)
		}
	}
	healthy := q.worker("g", "--jobs", "2")
	if code := run.wait(t); code != commandline.ExitSomeFailed {
		t.Fatalf("the run: exit %d, %s", code, run.stderr)
	}
	healthy.end(t, syscall.SIGTERM, 0)
	parked := q.status().Queues[0].Parked
	if len(parked) != 1 || parked[0].Path != "d004.txt" || !strings.Contains(parked[0].Reason, "2 workers died") {
		t.Errorf("parked: %+v", parked)
	}
	contains(t, q.must("queue", "status"), "1 parked", "parked: d004.txt of graph g: 2 workers died")
	// The run reported it, and the next one takes it up again.
	contains(t, run.stderr.String(), `"kind":"parked"`)
	q.worker("g")
	if got := statuses(q.ingest(0, "--graph", "g")); got != "1 ingested, 8 unchanged" {
		t.Errorf("the next run: %s", got)
	}
	if q.digest("--graph", "g") != q.alone("alone") {
		t.Error("another graph")
	}
	if got := q.status().Queues[0].ParkedCount; got != 0 {
		t.Errorf("%d are parked still", got)
	}
}

func TestAWorkerWithAnotherConfigurationRefuses(t *testing.T) {
	t.Parallel()
	q := newQueued(t, worldIn(t, enginetest.Start(t).DataDir))
	q.fill(3, 1)
	other := filepath.Join(t.TempDir(), "other.yaml")
	writeFile(t, other, strings.Replace(fastConfig, "max_distinct: 10", "max_distinct: 9", 1))
	run := q.startRun("--graph", "g")
	command := q.command("worker", "--root", q.corpus, "--graph", "g")
	for i, arg := range command.Args {
		if arg == "--config" {
			command.Args[i+1] = other
		}
	}
	worker := q.start(command)
	if code := <-worker.ended; code != commandline.ExitUsage {
		t.Errorf("the worker: exit %d", code)
	}
	contains(t, worker.text.String(), "this worker's plan differs from the run's", "extractors.pattern")
	if code := run.wait(t); code != commandline.ExitFailed {
		t.Errorf("the run: exit %d", code)
	}
	contains(t, run.stderr.String(), "leaves: this worker's plan differs", "no worker of queue g may work for this run")
}

func TestAWorkerWithOtherFilesSaysSo(t *testing.T) {
	t.Parallel()
	q := newQueued(t, worldIn(t, enginetest.Start(t).DataDir))
	q.write("same.txt", "Ada Lovelace met Charles Babbage.")
	q.write("other.txt", "Ada Lovelace met Mary Somerville.")
	q.write("gone.txt", "Ada Lovelace met nobody at all.")
	elsewhere := t.TempDir()
	writeFile(t, filepath.Join(elsewhere, "same.txt"), "Ada Lovelace met Charles Babbage.")
	writeFile(t, filepath.Join(elsewhere, "other.txt"), "Ada Lovelace met Mary Shelley....")
	q.start(q.command("worker", "--root", elsewhere, "--graph", "g"))
	report := q.ingest(3, "--graph", "g")
	if d := row(t, report, "other.txt"); d.Kind != "changed" || !strings.Contains(d.Reason, elsewhere) {
		t.Errorf("%+v", d)
	}
	if d := row(t, report, "gone.txt"); d.Kind != "vanished" || !strings.Contains(d.Reason, elsewhere) {
		t.Errorf("%+v", d)
	}
	if d := row(t, report, "same.txt"); d.Status != pipeline.Ingested {
		t.Errorf("%+v", d)
	}
}

func TestARunWithoutWorkersWaitsHoldsTheGraphAndLeavesNothing(t *testing.T) {
	t.Parallel()
	q := newQueued(t, worldIn(t, enginetest.Start(t).DataDir))
	q.fill(3, 1)
	run := q.startRun("--graph", "g")
	eventually(t, "the run says that no worker is there, and its documents wait", func() bool {
		s := q.status()
		return strings.Contains(run.stderr.String(), "no worker is there") && len(s.Queues) == 1 && s.Queues[0].Pending > 0 && len(s.Queues[0].Runs) == 1
	})
	if e := q.run("run", "--root", q.corpus, "--graph", "g"); e.code != commandline.ExitHeld {
		t.Errorf("a second run: %v", e)
	}
	run.command.Process.Signal(syscall.SIGINT)
	if code := run.wait(t); code != commandline.ExitInterrupted {
		t.Errorf("exit %d: %s", code, run.stderr)
	}
	if s := q.status(); s.Queues[0].Pending != 0 || len(s.Queues[0].Runs) != 0 {
		t.Errorf("left in the queue: %+v", s)
	}
}

func TestLanguageModelsAreNotSentToWorkers(t *testing.T) {
	t.Parallel()
	q := newQueued(t, worldIn(t, enginetest.Start(t).DataDir))
	q.fill(1, 1)
	q.configure("embedder: {kind: hash}\nllm: {model: openai/m, openai: {api_key: k}}\nplan: {rules: [{match: '**', extractor: llm}]}\n")
	e := q.run("run", "--root", q.corpus)
	if e.code != commandline.ExitUsage {
		t.Errorf("%v", e)
	}
	contains(t, e.stderr, "extractor llm", "without --queue")
}

func TestAQueueThatIsNotThereIsSaidWithoutItsPassword(t *testing.T) {
	t.Parallel()
	w := worldIn(t, enginetest.Start(t).DataDir)
	w.fill(1, 1)
	e := w.run("run", "--root", w.corpus, "--queue", "redis-socket://:s3cret@/nowhere.sock")
	if e.code != commandline.ExitFailed || strings.Contains(e.stderr, "s3cret") {
		t.Errorf("%v", e)
	}
	contains(t, e.stderr, "connect to queue redis-socket:///nowhere.sock", "next:")
	for _, verb := range [][]string{{"worker", "--root", w.corpus}, {"queue", "status"}} {
		e := w.run(append(verb, "--queue", "redis-socket:///nowhere.sock")...)
		if e.code != commandline.ExitFailed || !strings.HasPrefix(e.stderr, "ingestd: connect to queue") {
			t.Errorf("%v: %v", verb, e) // the error alone, without lines of libraries
		}
	}
	e = w.run("doctor", "--queue", "redis-socket:///nowhere.sock", "--output", "json")
	if e.code != commandline.ExitFailed {
		t.Errorf("%v", e)
	}
	contains(t, e.stdout, "connect to queue redis-socket:///nowhere.sock")
}
