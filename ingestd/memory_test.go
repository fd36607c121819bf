package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"
)

// Memory must not grow with the corpus, but for a line of the report and what
// the store has of each document: some hundred bytes a file.
func TestSoakMemoryIsFlat(t *testing.T) {
	soakTime(t)
	peak := map[int]int{}
	for _, files := range []int{1000, 5000} {
		w := newWorld(t)
		w.fill(files, 1)
		for _, pass := range []string{"first", "second"} {
			began := time.Now()
			megabytes := w.peakMemory(nil, 0, "run", "--root", w.corpus, "--quiet", "--jobs", "4")
			t.Logf("%d files, %s run: %d MB at most, %.1f s", files, pass, megabytes, time.Since(began).Seconds())
			peak[files] = max(peak[files], megabytes)
		}
	}
	// The bound is wide: the collector's pace is part of the figure.
	if peak[5000] > peak[1000]+60 {
		t.Errorf("%d MB for 5,000 files, %d MB for 1,000", peak[5000], peak[1000])
	}
}

// peakMemory runs a verb that ends with an exit code and returns its largest
// resident size in megabytes. It is asked while the verb runs: what wait4 says
// afterwards counts this process's own memory, which the child shared until it
// became ingestd.
func (w *world) peakMemory(stdout io.Writer, code int, args ...string) int {
	w.t.Helper()
	command := w.command(args...)
	command.Stdout = stdout
	if err := command.Start(); err != nil {
		w.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	for peak := 0; ; {
		select {
		case err := <-ended:
			if exitOf(w.t, err) != code {
				w.t.Fatalf("ingestd %v: %v", args, err)
			}
			return peak / 1024
		case <-time.After(50 * time.Millisecond):
		}
		status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", command.Process.Pid))
		if _, rest, found := strings.Cut(string(status), "VmHWM:"); found {
			fmt.Sscan(rest, &peak)
		}
	}
}
