package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"graphmill/commandline"
	"graphmill/pipeline"
	"graphmill/pipeline/engine/enginetest"
)

func TestBadFilesFailByThemselves(t *testing.T) {
	t.Parallel()
	w := worldIn(t, enginetest.Start(t).DataDir)
	w.fill(6, 1)
	w.write("binary.txt", "\x00\x01\x02\xff\x00\x00more\x00")
	w.write("empty.txt", " \n\t")
	w.write("large.txt", strings.Repeat("Too much of it. ", 1<<10))
	w.write("picture.png", "x")
	if err := syscall.Mkfifo(filepath.Join(w.corpus, "pipe.txt"), 0o644); err != nil {
		t.Fatal(err)
	}
	outside := filepath.Join(filepath.Dir(w.corpus), "secret.txt")
	writeFile(t, outside, "Nobody Reads This.")
	if err := os.Symlink(outside, filepath.Join(w.corpus, "link.txt")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("d001.txt", filepath.Join(w.corpus, "inside.txt")); err != nil {
		t.Fatal(err)
	}
	w.configure(fastConfig + "corpus: {max_file_bytes: 10KiB}\n")
	report := w.ingest(commandline.ExitSomeFailed)
	if got := statuses(report); got != "6 ingested, 1 empty, 3 skipped, 2 failed" {
		t.Errorf("got %s", got)
	}
	for path, want := range map[string][]string{
		"binary.txt":  {"failed", "binary"},
		"large.txt":   {"failed", "too_large"},
		"empty.txt":   {"empty", ""},
		"picture.png": {"skipped", ""},
		"pipe.txt":    {"skipped", ""},
		"link.txt":    {"skipped", ""},
	} {
		d := row(t, report, path)
		if string(d.Status) != want[0] || d.Kind != want[1] || d.Reason == "" {
			t.Errorf("%s: %+v", path, d)
		}
	}
	contains(t, row(t, report, "large.txt").Reason, "corpus.max_file_bytes", "raise")
	if report.Error != "" || report.Finalize == nil || !report.Finalize.Done {
		t.Errorf("the run did not end well: %q, %+v", report.Error, report.Finalize)
	}
}

func TestDamagedPDFFailsByItself(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("compiles the PDF reader, which takes seconds")
	}
	w := newWorld(t)
	w.fill(2, 1)
	w.write("damaged.pdf", "%PDF-1.7\nnot really")
	report := w.ingest(commandline.ExitSomeFailed)
	if d := row(t, report, "damaged.pdf"); statuses(report) != "2 ingested, 1 failed" || d.Kind != "damaged" || d.Reason == "" {
		t.Errorf("%s: %+v", statuses(report), d)
	}
}

// root reads every file, so that the mode alone shows nothing: the kernel
// refuses a folder of /proc to everybody.
func TestUnreadableFileFailsByItself(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("SKIPPED: root may read every file; run as another user to test files without read permission")
	}
	w := newWorld(t)
	w.fill(3, 1)
	w.write("closed.txt", "Ada Lovelace")
	w.write("shut/in.txt", "Ada Lovelace")
	for _, name := range []string{"closed.txt", "shut"} {
		if err := os.Chmod(filepath.Join(w.corpus, name), 0); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { os.Chmod(filepath.Join(w.corpus, "shut"), 0o755) })
	report := w.ingest(commandline.ExitSomeFailed)
	if got := statuses(report); got != "3 ingested, 2 failed" {
		t.Errorf("got %s", got)
	}
	contains(t, row(t, report, "closed.txt").Reason, "permission denied")
	contains(t, row(t, report, "shut").Reason, "permission")
}

func TestFailedUpdateKeepsTheOldVersion(t *testing.T) {
	inFull(t)
	w := worldIn(t, enginetest.Start(t).DataDir)
	w.fill(4, 1)
	w.ingest(0)
	before := w.digest()
	w.write("d001.txt", "\x00\x00binary\x00")
	report := w.ingest(commandline.ExitSomeFailed)
	contains(t, row(t, report, "d001.txt").Reason, "the graph keeps the version it has")
	if w.digest() != before {
		t.Error("a failed update changed the graph")
	}
}

// A document of more chunks than its limit fails before extraction.
func TestTooManyChunksFailByTheLimitsName(t *testing.T) {
	inFull(t)
	w := worldIn(t, enginetest.Start(t).DataDir)
	w.fill(3, 1)
	w.write("long.txt", strings.Repeat("Ada Lovelace met Charles Babbage there and then. ", 300))
	w.configure(strings.Replace(fastConfig, "chunk_tokens: 64", "chunk_tokens: 64, max_chunks: 20", 1))
	report := w.ingest(commandline.ExitSomeFailed)
	d := row(t, report, "long.txt")
	contains(t, d.Reason, "max_chunks", "20")
	if d.Status != pipeline.Failed || d.Kind != "limit" || d.Plan == "" || report.Totals.Status[pipeline.Ingested] != 3 {
		t.Errorf("got %+v in %s", d, statuses(report))
	}
}

// A setting that is wrong for every file ends the run, once, before any file.
func TestMissingModelEndsTheRun(t *testing.T) {
	inFull(t)
	w := newWorld(t)
	w.fill(4, 1)
	w.configure("embedder: {kind: hash}\n")
	for _, args := range [][]string{
		{"run", "--root", w.corpus, "--model-dir", "/no/such/model"},
		{"plan", "--root", w.corpus, "--model-dir", "/no/such/model"},
		{"run", "--root", w.corpus, "--embedder", "onnx", "--embedder-dir", "/no/such/model"},
	} {
		e := w.run(append(args, "--output", "json")...)
		if e.code != commandline.ExitFailed {
			t.Errorf("%v: want exit 1, got %v", args, e)
		}
		contains(t, e.stderr, "/no/such/model")
		contains(t, e.stdout, `"error"`)
		if strings.Contains(e.stdout, `"failed"`) {
			t.Errorf("%v fails file by file: %v", args, e)
		}
	}
	if status := w.report(0, "status"); len(status.Documents) != 0 {
		t.Errorf("documents were written: %+v", status)
	}
}

// So does a type that no file's entities could have.
func TestTypesThatCannotBeLabelsEndTheRun(t *testing.T) {
	w := newWorld(t)
	w.fill(2, 1)
	for _, bad := range []string{"type: 'a`b'", "type: Chunk", "type: __Entity__", "type: ' x'", "type: Thing, neighbours: 'A\"B'", "type: Thing, types: [{type: Document, digit: true}]"} {
		w.configure("embedder: {kind: hash}\nextractors: {pattern: {rules: [{name: bad, pattern: 'Ada', " + bad + "}]}}\n")
		e := w.run("run", "--root", w.corpus)
		if e.code != commandline.ExitUsage || !strings.Contains(e.stderr, `pattern "bad"`) || !strings.Contains(e.stderr, "label") {
			t.Errorf("%s: %v", bad, e)
		}
	}
}

func TestAnotherEmbedderIsRefusedBeforeWork(t *testing.T) {
	inFull(t)
	w := worldIn(t, enginetest.Start(t).DataDir)
	w.fill(4, 1)
	w.ingest(0)
	before := w.digest()
	w.configure(strings.Replace(fastConfig, "dimension: 32", "dimension: 48", 1))
	w.write("new.txt", "Ada Lovelace met Mary Somerville.")
	e := w.run("run", "--root", w.corpus)
	if e.code != commandline.ExitUsage {
		t.Fatalf("got %v", e)
	}
	contains(t, e.stderr, "--reembed", "embedder.kind")
	if w.digest() != before {
		t.Error("a refused run wrote something")
	}
	// Forgetting is not kept waiting for the right embedder.
	e = w.run("forget", "d001.txt", "--output", "json")
	if e.code != 0 {
		t.Errorf("forget: %v", e)
	}
	contains(t, e.stdout, `"forgotten"`, "ingestd finalize")
	report := w.ingest(0, "--reembed")
	if report.Finalize == nil || report.Finalize.Embedded["chunk"] != report.Finalize.Counts.Chunks {
		t.Errorf("--reembed: %+v", report.Finalize)
	}
	if got := statuses(report); got != "2 ingested, 3 unchanged" {
		t.Errorf("got %s", got)
	}
}

func TestFailureIsJSONWhenJSONIsAskedFor(t *testing.T) {
	inFull(t)
	w := newWorld(t)
	writeFile(t, filepath.Join(filepath.Dir(w.config), "bad.yaml"), "jobbs: 3\n")
	for _, c := range []struct {
		code int
		args []string
	}{
		{commandline.ExitUsage, []string{"run"}},
		{commandline.ExitUsage, []string{"run", "--root", "/"}},
		{commandline.ExitUsage, []string{"run", "--root", w.corpus, "--jobs", "-4"}},
		{commandline.ExitUsage, []string{"run", "--no-such-flag"}},
		{commandline.ExitUsage, []string{"forget"}},
		{commandline.ExitUsage, []string{"finalize"}},
		{commandline.ExitUsage, []string{"ontology", "set", "/no/such/file.yaml"}},
		{commandline.ExitUsage, []string{"reextract", "--root", w.corpus, "nothing.md"}},
		{commandline.ExitUsage, []string{"ontology", "export", "/no/such/folder/file.yaml"}},
		{commandline.ExitFailed, []string{"queue", "status", "--queue", "redis-socket:///no/such.sock"}},
	} {
		for _, asked := range [][]string{{"--output", "json"}, {"--output=json"}} {
			e := w.run(append(c.args, asked...)...)
			var told commandline.Failure
			if err := json.Unmarshal([]byte(e.stdout), &told); err != nil || e.code != c.code || told.ExitCode != c.code || told.Error == "" {
				t.Errorf("%v: want exit %d and JSON, got %v: %v", c.args, c.code, e, err)
			}
			if !strings.HasPrefix(e.stderr, "ingestd: ") {
				t.Errorf("%v says %q on stderr", c.args, e.stderr)
			}
		}
		if e := w.run(c.args...); e.stdout != "" || e.code != c.code {
			t.Errorf("%v without JSON: %v", c.args, e)
		}
	}
}
