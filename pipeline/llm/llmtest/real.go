package llmtest

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// RealModel is the name by which the real server knows its model.
const RealModel = "smollm2"

// StartReal starts a real, small language model for the test (SmolLM2 of 135 M
// parameters by llama.cpp's server) and returns its OpenAI-compatible base URL.
// It is skipped where `make llm` has not installed it. The model speaks the
// protocol and holds to a schema, at about ten tokens a second; what it says is
// mostly wrong. Ask for short answers.
func StartReal(t testing.TB) string {
	t.Helper()
	return startReal(t)
}

// StartRealEmbedder is StartReal for a server that gives vectors, of
// [RealDimension] numbers, and no answers.
func StartRealEmbedder(t testing.TB) string {
	t.Helper()
	return startReal(t, "--embeddings")
}

// RealDimension is the length of the real model's vectors.
const RealDimension = 576

func startReal(t testing.TB, arguments ...string) string {
	t.Helper()
	_, here, _, _ := runtime.Caller(0)
	root := filepath.Join(filepath.Dir(here), "..", "..", "..")
	deps := os.Getenv("GRAPHMILL_DEPS_DIR")
	if deps == "" {
		deps = filepath.Join(root, ".deps")
	}
	installed := filepath.Join(deps, "llm")
	if _, err := os.Stat(filepath.Join(installed, "stamp")); err != nil {
		t.Skipf("SKIPPED: no language model is installed in %s; make llm", installed)
	}
	server := exec.Command("python3", append([]string{filepath.Join(root, "scripts", "llm", "serve")}, arguments...)...)
	server.Env = append(os.Environ(), "PYTHONPATH="+installed)
	// It ends with its standard input, also when the test is killed.
	input, err := server.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	server.Stderr = &log
	if err := server.Start(); err != nil {
		t.Skipf("SKIPPED: the language model's server cannot be started: %v", err)
	}
	t.Cleanup(func() {
		input.Close()
		_ = server.Process.Kill()
		_ = server.Wait()
	})
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		if url, ok := strings.CutPrefix(lines.Text(), "listening "); ok {
			go io.Copy(io.Discard, output) //nolint:errcheck // until it ends
			return url + "/v1"
		}
	}
	_ = server.Wait()
	text := log.String()
	t.Fatalf("the language model's server ended: …%s", text[max(0, len(text)-1000):])
	return ""
}
