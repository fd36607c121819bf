package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"graphmill/pipeline"
	"graphmill/pipeline/engine/enginetest"
)

// fastConfig extracts by a pattern and embeds by hashing: no model is loaded.
const fastConfig = `embedder: {kind: hash, dimension: 32}
plan:
  rules:
    - {match: "**", extractor: pattern, chunk_tokens: 64}
extractors:
  pattern:
    rules:
      - {name: names, pattern: '[A-Z][a-z]+(?: [A-Z][a-z]+)+', type: Thing, neighbours: CO_OCCURS, max_distinct: 10}
`

// world is a folder of documents, a configuration and a data directory.
type world struct {
	t            *testing.T
	corpus, data string
	config       string
	env          []string // beyond a bare one
}

func newWorld(t *testing.T) *world {
	t.Helper()
	return worldIn(t, enginetest.DataDir(t))
}

// worldIn is a world that shares a data directory, and so an engine.
func worldIn(t *testing.T, data string) *world {
	t.Helper()
	dir := t.TempDir()
	w := &world{t: t, corpus: filepath.Join(dir, "corpus"), data: data, config: filepath.Join(dir, "graphmill.yaml")}
	if err := os.MkdirAll(w.corpus, 0o755); err != nil {
		t.Fatal(err)
	}
	w.configure(fastConfig)
	return w
}

func (w *world) configure(text string) {
	w.t.Helper()
	if err := os.WriteFile(w.config, []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

// write puts a file under the corpus.
func (w *world) write(name, text string) {
	w.t.Helper()
	writeFile(w.t, filepath.Join(w.corpus, name), text)
}

func writeFile(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (w *world) remove(name string) {
	w.t.Helper()
	if err := os.Remove(filepath.Join(w.corpus, name)); err != nil {
		w.t.Fatal(err)
	}
}

// command prepares `ingestd VERB …` with the world's configuration.
func (w *world) command(args ...string) *exec.Cmd {
	w.t.Helper()
	command := exec.Command("ingestd", append(args, "--config", w.config, "--data-dir", w.data)...)
	command.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + w.t.TempDir(), "GRAPHMILL_DEPS_DIR=" + depsDir(w.t), "GORACE=" + os.Getenv("GORACE")}, w.env...)
	// In a group of its own, so that a signal can be sent as a terminal does.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return command
}

// outcome is what a command ended with.
type ended struct {
	code           int
	stdout, stderr string
}

func (e ended) String() string {
	return fmt.Sprintf("exit %d\nstdout:\n%s\nstderr:\n%s", e.code, e.stdout, e.stderr)
}

func (w *world) run(args ...string) ended {
	w.t.Helper()
	var stdout, stderr bytes.Buffer
	command := w.command(args...)
	command.Stdout, command.Stderr = &stdout, &stderr
	err := command.Run()
	return ended{exitOf(w.t, err), stdout.String(), stderr.String()}
}

func exitOf(t *testing.T, err error) int {
	t.Helper()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		if status := exit.Sys().(syscall.WaitStatus); status.Signaled() {
			return -int(status.Signal())
		}
		return exit.ExitCode()
	}
	t.Fatal(err)
	return 0
}

// ingest runs `ingestd run` over the corpus, wants the exit code and returns
// its report.
func (w *world) ingest(code int, args ...string) *pipeline.Report {
	w.t.Helper()
	return w.report(code, append([]string{"run", "--root", w.corpus}, args...)...)
}

// report runs a verb with --output json, wants the exit code and decodes what it
// printed.
func (w *world) report(code int, args ...string) *pipeline.Report {
	w.t.Helper()
	e := w.run(append(args, "--output", "json")...)
	if e.code != code {
		w.t.Fatalf("ingestd %v: want exit %d, got %v", args, code, e)
	}
	report := new(pipeline.Report)
	if err := json.Unmarshal([]byte(e.stdout), report); err != nil {
		w.t.Fatalf("ingestd %v: %v in %v", args, err, e)
	}
	return report
}

// must runs a verb that has to succeed and returns its standard output.
func (w *world) must(args ...string) string {
	w.t.Helper()
	e := w.run(args...)
	if e.code != 0 {
		w.t.Fatalf("ingestd %v: %v", args, e)
	}
	return e.stdout
}

func (w *world) digest(args ...string) string {
	w.t.Helper()
	digest := strings.TrimSpace(w.must(append([]string{"digest"}, args...)...))
	if len(digest) != 64 {
		w.t.Fatalf("the digest is %q", digest)
	}
	return digest
}

// statuses counts a report's documents by status.
func statuses(r *pipeline.Report) string {
	var parts []string
	for _, status := range pipeline.Statuses() {
		if n := r.Totals.Status[status]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, status))
		}
	}
	return strings.Join(parts, ", ")
}

func row(t *testing.T, r *pipeline.Report, path string) pipeline.DocumentReport {
	t.Helper()
	for _, d := range r.Documents {
		if d.Path == path {
			return d
		}
	}
	t.Fatalf("the report has no row for %s: %+v", path, r.Documents)
	return pipeline.DocumentReport{}
}

// contains wants every word in text.
func contains(t *testing.T, text string, words ...string) {
	t.Helper()
	for _, word := range words {
		if !strings.Contains(text, word) {
			t.Errorf("%q is not in:\n%s", word, text)
		}
	}
}

// fill writes n documents that share names, the same for the same seed.
func (w *world) fill(n int, seed uint64) {
	w.t.Helper()
	for i := range n {
		random := rand.New(rand.NewPCG(seed, uint64(i)))
		if i%3 == 0 {
			w.write(fmt.Sprintf("notes/n%03d.md", i), "# "+name(random)+"\n\n"+prose(random)+"\n\n## "+name(random)+"\n\n"+prose(random))
		} else {
			w.write(fmt.Sprintf("d%03d.txt", i), prose(random)+"\n\n"+prose(random))
		}
	}
}

// name is one of 400 made-up names.
func name(random *rand.Rand) string {
	return string("ABCDEFGHIJKLMNOPQRST"[random.IntN(20)]) + "ada " + string("ABCDEFGHIJKLMNOPQRST"[random.IntN(20)]) + "ovelace"
}

func prose(random *rand.Rand) string {
	verbs := []string{"met", "wrote to", "worked with", "left", "knew", "never saw"}
	var b strings.Builder
	for range 3 + random.IntN(6) {
		fmt.Fprintf(&b, "In that year %s %s the friends of %s, and nobody was surprised. ", name(random), verbs[random.IntN(len(verbs))], name(random))
	}
	return strings.TrimSpace(b.String())
}

// eventually waits for a condition, and gives up when it is plain that it will
// not come.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !holds(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
	}
}

// inFull runs a test beside others, and leaves it out of short runs: under the
// race detector a verb takes seconds to begin.
func inFull(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("starts many processes")
	}
	t.Parallel()
}

func depsDir(t testing.TB) string {
	t.Helper()
	if dir := os.Getenv("GRAPHMILL_DEPS_DIR"); dir != "" {
		return dir
	}
	dir, err := filepath.Abs("../.deps")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}
