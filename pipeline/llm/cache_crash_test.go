package llm

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

const (
	crashDir  = "GRAPHMILL_TEST_CRASH_DIR"
	crashKeys = 40
)

// crashContent is what a writer keeps under a key: any of its contents proves
// itself, so a reader can tell a wrong one.
func crashContent(key string, round int) []byte {
	return bytes.Repeat([]byte(fmt.Sprintf("%s round %d;", key, round)), 200+round%50)
}

func crashKey(n int) string { return digest("crash", strconv.Itoa(n)) }

func isCrashContent(key string, content []byte) bool {
	var round int
	if n, err := fmt.Sscanf(strings.TrimPrefix(string(content[:min(len(content), 120)]), key), " round %d;", &round); n != 1 || err != nil {
		return false
	}
	return bytes.Equal(content, crashContent(key, round))
}

// TestCrashWriter is the process that is killed: it writes until then.
func TestCrashWriter(t *testing.T) {
	dir := os.Getenv(crashDir)
	if dir == "" {
		t.Skip("it is run by TestACrashLeavesNoWrongEntry")
	}
	cache, err := OpenCache(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	for round := 0; ; round++ {
		for n := range crashKeys {
			key := crashKey(n)
			cache.put(key, entryInfo{Model: "m"}, crashContent(key, round))
		}
		if round == 0 {
			fmt.Println("wrote all once")
		}
	}
}

func TestACrashLeavesNoWrongEntry(t *testing.T) {
	dir := t.TempDir()
	kills := 12
	if testing.Short() {
		kills = 4
	}
	reader, err := OpenCache(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	readAll := func() {
		for n := range crashKeys {
			key := crashKey(n)
			content, ok := reader.get(key)
			if ok && !isCrashContent(key, content) {
				t.Fatalf("key %d holds %.80q", n, content)
			}
			if ok {
				found++
			}
		}
	}
	for kill := range kills {
		// Two writers of the same keys at once, as two runs on one folder would.
		writers := []*exec.Cmd{startWriter(t, dir), startWriter(t, dir)}
		deadline := time.Now().Add(time.Duration(5+7*kill) * time.Millisecond)
		for time.Now().Before(deadline) || found == 0 {
			readAll()
		}
		for _, writer := range writers {
			if err := writer.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = writer.Wait()
		}
		readAll()
	}
	if reader.damaged.Load() > 0 {
		t.Errorf("%d entries were damaged", reader.damaged.Load())
	}
	left, _ := filepath.Glob(filepath.Join(dir, "v1", "*", tempPrefix+"*"))
	for _, path := range left {
		old := time.Now().Add(-2 * staleTemp)
		if err := os.Chtimes(path, old, old); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := reader.Prune(context.Background(), 0, 0); err != nil {
		t.Fatal(err)
	}
	if stats, err := reader.Stats(context.Background()); err != nil || stats.Unfinished != 0 || stats.Entries == 0 {
		t.Errorf("%+v, %v", stats, err)
	}
	t.Logf("%d reads of %d kills, %d unfinished files", found, kills, len(left))
}

func startWriter(t *testing.T, dir string) *exec.Cmd {
	t.Helper()
	writer := exec.Command(os.Args[0], "-test.run=^TestCrashWriter$")
	writer.Env = append(os.Environ(), crashDir+"="+dir)
	if err := writer.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = writer.Process.Kill() })
	return writer
}
