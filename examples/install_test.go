package examples_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The crontab and the unit call /usr/local/bin/ingestd: what is installed must find
// its engine and its models there without being told, from any folder.
func TestWhatIsInstalledRunsWhereverItIsCalledFrom(t *testing.T) {
	d := deploy(t)
	programs, err := built()
	if err != nil {
		t.Fatal(err)
	}
	prefix := filepath.Join(d.dir, "a prefix")
	deps := strings.TrimPrefix(d.env[2], "GRAPHMILL_DEPS_DIR=")
	install := func(bin string) (string, error) {
		cmd := exec.CommandContext(t.Context(), "make", "-C", "..", "install", "PREFIX="+prefix, "BIN="+bin, "DEPS="+deps)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := install(filepath.Join(d.dir, "nothing")); err == nil || !strings.Contains(out, "next: make deps build") {
		t.Errorf("without programs: %v\n%s", err, out)
	}
	for range 2 { // the second replaces the first
		if out, err := install(programs); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	elsewhere := t.TempDir()
	call := func(name string, args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), filepath.Join(prefix, "bin", name), args...)
		cmd.Dir = elsewhere
		cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + d.dir, "GRAPHMILL_DATA_DIR=" + d.dir + "/data"}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %v: %v\n%s", name, args, err, out)
		}
		return string(out)
	}
	if err := os.Remove(filepath.Join(d.docs, "3.md")); err != nil {
		t.Fatal(err)
	}
	if out := call("ingestd", "run", "--root", d.docs); !strings.Contains(out, "3 ingested") {
		t.Errorf("run says\n%s", out)
	}
	if out := call("queryd", "call", "retrieve", `{"question": "CVE-2024-10001"}`); !strings.Contains(out, "1.md") || strings.Contains(out, "Note") {
		t.Errorf("retrieve says\n%s", out)
	}
}
