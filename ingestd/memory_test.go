package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
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

// Compiling the PDF engine takes 400 MB, which the run itself does not.
func TestTheFirstPDFIsCompiledForInAnotherProcess(t *testing.T) {
	inFull(t)
	w := newWorld(t)
	w.write("a.pdf", pagesOf(1, []byte("BT /F1 9 Tf 40 700 Td (Ada Lovelace met Charles Babbage.) Tj ET\n"), 1))
	if megabytes := w.peakMemory(nil, 0, "run", "--root", w.corpus, "--quiet"); megabytes > 200 {
		t.Errorf("%d MB", megabytes)
	}
	compiled, err := filepath.Glob(filepath.Join(w.data, "cache", "pdf", "*", "*"))
	if err != nil || len(compiled) == 0 {
		t.Errorf("nothing is kept of it (%v)", err)
	}
}

// mixedFiles and mixedMegabytes are what an ordinary large folder may be and cost.
const (
	mixedFiles     = 20_000
	mixedMegabytes = 300
)

func TestSoakMixedFilesStayWithinTheirMemory(t *testing.T) {
	soakTime(t)
	w := newWorld(t)
	w.fillMixed(mixedFiles)
	for _, pass := range []string{"first", "second"} {
		began := time.Now()
		megabytes := w.peakMemory(nil, 0, "run", "--root", w.corpus, "--quiet")
		t.Logf("%d files, %s run: %d MB at most, %.1f s", mixedFiles, pass, megabytes, time.Since(began).Seconds())
		if megabytes > mixedMegabytes {
			t.Errorf("%s run: %d MB, want %d at most", pass, megabytes, mixedMegabytes)
		}
	}
	// A run that left files out would be small as well.
	var status struct{ Documents []struct{} }
	if err := json.Unmarshal([]byte(w.must("status", "--output", "json")), &status); err != nil || len(status.Documents) != mixedFiles {
		t.Errorf("%d documents (%v), want %d", len(status.Documents), err, mixedFiles)
	}
}

// fillMixed writes files of every kind, from a line to some pages.
func (w *world) fillMixed(files int) {
	w.t.Helper()
	for i := range files {
		random := rand.New(rand.NewPCG(7, uint64(i)))
		title, first, second := name(random), prose(random), prose(random)
		if i%100 == 0 {
			second = strings.Repeat(second+"\n\n", 40)
		}
		dir := fmt.Sprintf("d%02d/f%05d", i%100, i)
		switch i % 10 {
		case 0, 1, 2:
			w.write(dir+".md", "# "+title+"\n\n"+first+"\n\n| a | b |\n|---|---|\n| "+title+" | 2 |\n\n## "+name(random)+"\n\n"+second)
		case 3, 4:
			w.write(dir+".rst", title+"\n"+strings.Repeat("=", len(title))+"\n\n"+first+"\n\n.. note:: "+second)
		case 5:
			w.write(dir+".html", "<title>"+title+"</title><nav>menu</nav><article><h1>"+title+"</h1><p>"+first+"<p>"+second+"</article>")
		case 6:
			line := "BT /F1 9 Tf 40 700 Td (" + first + ") Tj ET\n"
			w.write(dir+".pdf", pagesOf(1+i%3, []byte(line), 1))
		default:
			w.write(dir+".txt", first+"\n\n"+second)
		}
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
