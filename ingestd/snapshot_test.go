package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"graphmill/commandline"
	"graphmill/pipeline/engine/enginetest"
)

// A snapshot of a local engine's graph goes to another machine's engine, and to a
// server, and back.
func TestASnapshotMovesAGraph(t *testing.T) {
	inFull(t)
	w := worldIn(t, enginetest.Start(t).DataDir)
	w.fill(9, 1)
	w.ingest(0)
	digest := w.digest()
	file := filepath.Join(t.TempDir(), "graph.snapshot")
	var made struct {
		Digest       string
		Nodes, Edges int
		Bytes        int64
	}
	if err := json.Unmarshal([]byte(w.must("snapshot", "create", file, "--output", "json")), &made); err != nil || made.Digest != digest || made.Nodes == 0 || made.Edges == 0 || made.Bytes == 0 {
		t.Fatalf("%+v, %v", made, err)
	}
	if others, _ := filepath.Glob(filepath.Join(filepath.Dir(file), ".*")); len(others) != 0 {
		t.Errorf("left over: %v", others)
	}
	elsewhere := newWorld(t)
	contains(t, elsewhere.must("snapshot", "restore", file), digest)
	if elsewhere.digest() != digest {
		t.Error("restored on another machine it has another digest")
	}
	contains(t, elsewhere.must("check"), "no broken invariant")
	elsewhere.corpus = w.corpus
	if got := statuses(elsewhere.ingest(0)); got != "9 unchanged" {
		t.Errorf("a run over the same files: %s", got)
	}
	host, port := external(t, "--appendonly", "yes", "--appendfsync", "always")
	server := newWorld(t)
	server.corpus = w.corpus
	server.env = []string{"FALKOR_HOST=" + host, "FALKOR_PORT=" + port, "FALKOR_PASSWORD=" + externalSecret}
	server.must("snapshot", "restore", file)
	if server.digest() != digest {
		t.Error("restored on a server it has another digest")
	}
	// And back, over what the other has become.
	w.fill(4, 2)
	server.ingest(0)
	server.must("snapshot", "create", file)
	e := elsewhere.run("snapshot", "restore", file)
	if e.code != commandline.ExitUsage || !strings.Contains(e.stderr, "--replace") {
		t.Errorf("over a graph that holds something: %v", e)
	}
	elsewhere.must("snapshot", "restore", file, "--replace")
	if elsewhere.digest() != server.digest() || elsewhere.digest() == digest {
		t.Error("replaced, it is not the server's graph")
	}
}

func TestSnapshotsThatCannotBeAreRefused(t *testing.T) {
	inFull(t)
	w := worldIn(t, enginetest.Start(t).DataDir)
	w.fill(2, 1)
	file := filepath.Join(t.TempDir(), "graph.snapshot")
	refused := func(words string, args ...string) {
		t.Helper()
		if e := w.run(args...); e.code != commandline.ExitUsage || !strings.Contains(e.stderr, words) {
			t.Errorf("%v: %v", args, e)
		}
	}
	refused("holds nothing yet", "snapshot", "create", file)
	refused("no such file", "snapshot", "restore", file)
	w.ingest(0)
	digest := w.digest()
	refused("there is no folder", "snapshot", "create", filepath.Join(file, "nowhere"))
	refused("is no file", "snapshot", "create", filepath.Dir(file))
	w.must("snapshot", "create", file)
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, file, newerFormat(t, data))
	refused("use a newer ingestd", "snapshot", "restore", file, "--replace")
	writeFile(t, file, string(data[:len(data)-20]))
	refused("no whole snapshot", "snapshot", "restore", file, "--replace")
	if w.digest() != digest {
		t.Error("a damaged snapshot changed the graph")
	}
}

// newerFormat is a snapshot as a later version may write it.
func newerFormat(t *testing.T, data []byte) string {
	t.Helper()
	packed, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(packed)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	again := gzip.NewWriter(&out)
	_, err = again.Write(bytes.Replace(text, []byte(`"graphmill_snapshot":1,`), []byte(`"graphmill_snapshot":2,`), 1))
	if err = errors.Join(err, again.Close()); err != nil || !bytes.Contains(text, []byte(`"graphmill_snapshot":1,`)) {
		t.Fatal(err)
	}
	return out.String()
}
