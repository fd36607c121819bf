package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"graphmill/commandline"
	"graphmill/pipeline"
	"graphmill/pipeline/engine"
	"graphmill/pipeline/engine/enginetest"
)

// large makes documents that take a run some seconds.
func (w *world) large(n int) {
	w.t.Helper()
	w.fill(n, 1)
	w.configure(fastConfig + "commit: {max_rows: 10, max_documents: 1}\n")
}

func committed(e pipeline.Event) bool { return e.Kind == pipeline.Committed }

func TestSecondRunOnOneGraphNamesTheHolder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.large(40)
	first := w.startRun()
	if !first.until(1, committed) {
		t.Fatalf("the first run committed nothing: %s", first.stderr)
	}
	// Held still, it holds the graph for as long as the others try.
	first.command.Process.Signal(syscall.SIGSTOP)
	for _, verb := range [][]string{{"run", "--root", w.corpus}, {"forget", "d001.txt"}, {"finalize"}, {"reextract", "--root", w.corpus}} {
		e := w.run(append(verb, "--output", "json")...)
		if e.code != commandline.ExitHeld {
			t.Fatalf("%v: want exit %d, got %v", verb, commandline.ExitHeld, e)
		}
		contains(t, e.stderr, "`ingestd run`", fmt.Sprintf("pid %d", first.command.Process.Pid), "--wait")
		var told commandline.Failure
		if err := json.Unmarshal([]byte(e.stdout), &told); err != nil || told.ExitCode != commandline.ExitHeld || told.Error == "" {
			t.Errorf("%v prints %q: %v", verb, e.stdout, err)
		}
		// A moment to renew its lease in: on a slow machine the verbs outlast it.
		first.command.Process.Signal(syscall.SIGCONT)
		time.Sleep(10 * time.Millisecond)
		first.command.Process.Signal(syscall.SIGSTOP)
	}
	// Looking is not kept out.
	w.must("status")
	first.command.Process.Signal(syscall.SIGCONT)
	// One that waits gets its turn.
	e := w.run("run", "--root", w.corpus, "--wait", "1m")
	if e.code != 0 || !strings.Contains(e.stdout, "40 unchanged") {
		t.Errorf("the run that waited: %v", e)
	}
	contains(t, e.stderr, "waiting up to 1m0s for `ingestd run`", fmt.Sprintf("pid %d", first.command.Process.Pid))
	if code := first.wait(t); code != 0 {
		t.Errorf("the first run ended with %d: %s", code, first.stderr)
	}
}

func TestRunsOnTwoGraphsShareTheEngine(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.fill(20, 1)
	var both sync.WaitGroup
	got := make([]ended, 2)
	for i := range got {
		both.Go(func() { got[i] = w.run("run", "--root", w.corpus, "--graph", fmt.Sprint("g", i)) })
	}
	both.Wait()
	for _, e := range got {
		if e.code != 0 || !strings.Contains(e.stdout, "20 ingested") {
			t.Errorf("got %v", e)
		}
	}
	if w.digest("--graph", "g0") != w.digest("--graph", "g1") {
		t.Error("the two graphs differ")
	}
	stopped(t, w)
}

// stopped wants the engine to have been stopped by its last user.
func stopped(t *testing.T, w *world) {
	t.Helper()
	report, err := engine.Status(engine.Options{DataDir: w.data})
	if err != nil || report.Running {
		t.Errorf("the engine was left running: %+v, %v", report, err)
	}
}

func TestLockOfAKilledRunIsTakenOver(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.large(40)
	first := w.startRun()
	if !first.until(2, committed) {
		t.Fatalf("the first run committed nothing: %s", first.stderr)
	}
	first.command.Process.Signal(syscall.SIGKILL)
	first.wait(t)
	report := w.ingest(0)
	if n := report.Totals.Status[pipeline.Unchanged]; n < 2 || n == 40 {
		t.Errorf("after a killed run %s", statuses(report))
	}
	stopped(t, w)
}

func TestInterruptEndsAtADocumentBoundary(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const files = 150 // more than three runs get done before they are told
	w.large(files)
	for _, told := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		if signal.Ignored(told) {
			t.Logf("%v is ignored here, as by nohup, and so by the run", told)
			continue
		}
		run := w.startRun("--jobs", "2")
		if !run.until(3, committed) {
			t.Fatalf("the run committed nothing: %s", run.stderr)
		}
		// To the whole group, as a terminal does; the engine must not mind.
		syscall.Kill(-run.command.Process.Pid, told)
		if code := run.wait(t); code != commandline.ExitInterrupted {
			t.Fatalf("after %v: exit %d: %s", told, code, run.stderr)
		}
		contains(t, run.stderr.String(), "stopping at a document boundary", "run again")
		stopped(t, w)
	}
	report := w.ingest(0)
	if n := report.Totals.Status[pipeline.Unchanged]; n < 6 || n == files {
		t.Errorf("after interrupted runs %s", statuses(report))
	}
	calm := newWorld(t)
	calm.fill(files, 1)
	calm.ingest(0)
	if w.digest() != calm.digest() {
		t.Error("an interrupted and resumed graph is another one")
	}
}

func TestInterruptedRunReportsWhatItDid(t *testing.T) {
	inFull(t)
	t.Run("Ctrl-C", func(t *testing.T) { interruptedRunReports(t, syscall.SIGINT) })
	// timeout(1) tells the process, and then its group again.
	t.Run("timeout", func(t *testing.T) { interruptedRunReports(t, syscall.SIGTERM, syscall.SIGTERM) })
}

func interruptedRunReports(t *testing.T, signals ...os.Signal) {
	w := newWorld(t)
	w.large(40)
	e := w.interruptedAt(`"event":"committed"`, signals, "run", "--root", w.corpus, "--output", "json")
	report := new(pipeline.Report)
	if err := json.Unmarshal([]byte(e.stdout), report); err != nil {
		t.Fatalf("%v in %v", err, e)
	}
	if e.code != commandline.ExitInterrupted || report.Interrupted != "interrupt" || report.Error == "" || report.Finalize != nil {
		t.Errorf("got %v", e)
	}
	stored := w.report(0, "status")
	ingested := 0
	for _, d := range report.Documents {
		if d.Status == pipeline.Ingested {
			ingested++
		}
	}
	if ingested == 0 || ingested != len(stored.Documents) {
		t.Errorf("%d reported as ingested, %d in the graph", ingested, len(stored.Documents))
	}
}

// interruptedAt runs a verb and interrupts it when it reports an event.
func (w *world) interruptedAt(event string, signals []os.Signal, args ...string) ended {
	w.t.Helper()
	var stdout bytes.Buffer
	command := w.command(append(args, "--progress", "json")...)
	command.Stdout = &stdout
	pipe, err := command.StderrPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		w.t.Fatal(err)
	}
	var stderr bytes.Buffer
	block, told := make([]byte, 4096), false
	for {
		n, err := pipe.Read(block)
		stderr.Write(block[:n])
		if !told && bytes.Contains(stderr.Bytes(), []byte(event)) {
			told = true
			for _, s := range signals {
				command.Process.Signal(s)
			}
		}
		if err != nil {
			break
		}
	}
	return ended{exitOf(w.t, command.Wait()), stdout.String(), stderr.String()}
}

// A run that cannot come to a boundary, here because its engine is stopped,
// ends on the second Ctrl-C all the same.
func TestSecondInterruptEndsAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.large(60)
	run := w.startRun()
	if !run.until(2, committed) {
		t.Fatalf("the run committed nothing: %s", run.stderr)
	}
	server, err := engine.Status(engine.Options{DataDir: w.data})
	if err != nil || !server.Running {
		t.Fatalf("no engine runs: %v", err)
	}
	syscall.Kill(server.PID, syscall.SIGSTOP)
	defer syscall.Kill(server.PID, syscall.SIGCONT)
	run.command.Process.Signal(syscall.SIGINT)
	// No event may come any more: the run waits for an engine that stands still.
	for deadline := time.Now().Add(time.Minute); !strings.Contains(run.stderr.String(), "once more"); {
		if time.Now().After(deadline) {
			t.Fatalf("the first interrupt was not answered: %s", run.stderr)
		}
		time.Sleep(5 * time.Millisecond)
	}
	run.command.Process.Signal(syscall.SIGINT)
	if code := run.wait(t); code != commandline.ExitInterrupted {
		t.Errorf("exit %d: %s", code, run.stderr)
	}
	syscall.Kill(server.PID, syscall.SIGCONT)
	if report := w.ingest(0); report.Totals.Status[pipeline.Unchanged] == 0 {
		t.Errorf("nothing was kept: %s", statuses(report))
	}
}

func TestRunTimeIsABudget(t *testing.T) {
	inFull(t)
	w := worldIn(t, enginetest.Start(t).DataDir)
	w.large(300)
	report := w.ingest(commandline.ExitBudget, "--run-time", "400ms")
	if report.Interrupted != "run_time" || !strings.Contains(report.Error, "limits.run_time") {
		t.Errorf("got %q, %q", report.Interrupted, report.Error)
	}
	// Also before anything has begun, and in verbs without a report.
	w.env = append(w.env, "GRAPHMILL_LIMITS_RUN_TIME=1ms")
	for _, verb := range [][]string{{"run", "--root", w.corpus}, {"digest"}, {"finalize"}, {"forget", "d001.txt"}} {
		if e := w.run(verb...); e.code != commandline.ExitBudget || !strings.Contains(e.stderr, "limits.run_time") {
			t.Errorf("%v: want exit %d, got %v", verb, commandline.ExitBudget, e)
		}
	}
}

func TestRunTimeAlsoBoundsWaitingForTheEngine(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	e := w.run("run", "--root", w.corpus, "--run-time", "1ms", "--output", "json")
	if e.code != commandline.ExitBudget || !strings.Contains(e.stdout, `"exit_code": 4`) {
		t.Errorf("got %v", e)
	}
	stopped(t, w)
}

func TestInterruptedFinalizeGoesOnLater(t *testing.T) {
	t.Parallel()
	w := worldIn(t, enginetest.Start(t).DataDir)
	w.fill(150, 1)
	e := w.interruptedAt(`"event":"finalize"`, []os.Signal{syscall.SIGINT}, "run", "--root", w.corpus, "--output", "json")
	report := new(pipeline.Report)
	if err := json.Unmarshal([]byte(e.stdout), report); err != nil {
		t.Fatalf("%v in %v", err, e)
	}
	if e.code == 0 {
		t.Skip("SKIPPED: the run was faster than the signal")
	}
	if e.code != commandline.ExitInterrupted || report.Interrupted != "interrupt" || report.Finalize == nil || report.Finalize.Done {
		t.Errorf("got %v", e)
	}
	contains(t, w.must("status", "--quiet"), "not finalized")
	after := w.ingest(0)
	if got := statuses(after); got != "150 unchanged" || after.Finalize == nil || !after.Finalize.Done {
		t.Errorf("the next run: %s, %+v", got, after.Finalize)
	}
	if made := after.Finalize.Embedded["chunk"]; made > after.Finalize.Counts.Chunks {
		t.Errorf("%d vectors were made for %d chunks", made, after.Finalize.Counts.Chunks)
	}
	contains(t, w.must("runs"), "interrupted", "done")
}
