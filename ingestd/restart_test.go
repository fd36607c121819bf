package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"graphmill/pipeline"
	"graphmill/pipeline/engine"
	"graphmill/pipeline/engine/enginetest"
)

// appended is what the engine's append-only files hold, all of them.
func appended(t *testing.T, data string) []byte {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(data, "engine", "appendonlydir", "*.aof"))
	if err != nil || len(names) == 0 {
		t.Fatalf("the engine has no append-only file: %v", err)
	}
	slices.Sort(names)
	var all []byte
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, text...)
	}
	return all
}

func TestSecondRunWritesNothing(t *testing.T) {
	t.Parallel()
	w := worldIn(t, enginetest.Start(t).DataDir)
	w.fill(12, 1)
	w.write("empty.md", "")
	w.write("bad.txt", "\x00\x01\x02\xff\x00binary")
	first := w.ingest(3)
	if got := statuses(first); got != "12 ingested, 1 empty, 1 failed" {
		t.Fatalf("the first run: %s", got)
	}
	digest, before := w.digest(), appended(t, w.data)
	second := w.ingest(3)
	if got := statuses(second); got != "13 unchanged, 1 failed" || second.Finalize != nil {
		t.Errorf("the second run: %s, finalize %+v", got, second.Finalize)
	}
	for i, d := range second.Documents {
		was := first.Documents[i]
		if d.Status == pipeline.Unchanged && (d.Chunks != was.Chunks || d.Entities != was.Entities || d.Relations != was.Relations || d.Plan != was.Plan) {
			t.Errorf("unchanged, and yet other figures: %+v, were %+v", d, was)
		}
	}
	after := appended(t, w.data)
	if !bytes.HasPrefix(after, before) {
		t.Fatal("the append-only file was rewritten")
	}
	// The lock is taken and given back; nothing is said to the graph.
	if grown := after[len(before):]; bytes.Contains(bytes.ToLower(grown), []byte("graph.")) {
		t.Errorf("the second run wrote:\n%s", grown)
	}
	if w.digest() != digest {
		t.Error("the second run changed the digest")
	}
}

func TestLookingWritesNothing(t *testing.T) {
	inFull(t)
	w := worldIn(t, enginetest.Start(t).DataDir)
	w.fill(6, 1)
	before := appended(t, w.data)
	looks := [][]string{
		{"plan", "--root", w.corpus}, {"digest"}, {"ontology", "show"}, {"ontology", "export"}, {"db", "status"},
		{"preview", "--root", w.corpus},
	}
	if e := w.run("status"); e.code != 2 {
		t.Errorf("the status of an empty graph: %v", e)
	}
	for _, verb := range looks {
		w.must(verb...)
	}
	if !bytes.Equal(appended(t, w.data), before) {
		t.Error("looking at an empty graph wrote something")
	}
	w.ingest(0)
	w.write("d001.txt", "Something Else stands here.")
	before = appended(t, w.data)
	for _, verb := range append(looks, []string{"status"}) {
		w.must(verb...)
	}
	if !bytes.Equal(appended(t, w.data), before) {
		t.Error("looking wrote something")
	}
}

// progressing is a run that reports its events.
type progressing struct {
	command *exec.Cmd
	events  chan pipeline.Event
	ended   chan error
	stderr  *sharedText
}

// sharedText is written and read side by side.
type sharedText struct {
	mu   sync.Mutex
	text strings.Builder
}

func (s *sharedText) WriteString(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text.WriteString(text)
}

func (s *sharedText) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

func (w *world) startRun(args ...string) *progressing {
	w.t.Helper()
	p := &progressing{
		command: w.command(append([]string{"run", "--root", w.corpus, "--progress", "json"}, args...)...),
		events:  make(chan pipeline.Event, 10_000), ended: make(chan error, 1), stderr: new(sharedText),
	}
	pipe, err := p.command.StderrPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	if err := p.command.Start(); err != nil {
		w.t.Fatal(err)
	}
	go func() {
		for lines := bufio.NewReader(pipe); ; {
			line, err := lines.ReadString('\n')
			p.stderr.WriteString(line)
			var event pipeline.Event
			if json.Unmarshal([]byte(line), &event) == nil {
				p.events <- event
			}
			if err != nil {
				break
			}
		}
		close(p.events)
		p.ended <- p.command.Wait()
	}()
	w.t.Cleanup(func() { p.command.Process.Signal(syscall.SIGKILL) })
	return p
}

// until waits for the nth event that fits; false when the run ended before.
func (p *progressing) until(n int, fits func(pipeline.Event) bool) bool {
	for event := range p.events {
		if fits(event) {
			if n--; n <= 0 {
				return true
			}
		}
	}
	return false
}

func (p *progressing) wait(t *testing.T) int {
	t.Helper()
	for range p.events {
	}
	return exitOf(t, <-p.ended)
}

// killEngine kills the data directory's server as kill -9 does.
func killEngine(t *testing.T, data string) {
	t.Helper()
	report, err := engine.Status(engine.Options{DataDir: data})
	if err != nil {
		t.Fatal(err)
	}
	if !report.Running {
		return
	}
	syscall.Kill(report.PID, syscall.SIGKILL)
	// On a busy machine it takes a while to die, and takes connections meanwhile.
	for deadline := time.Now().Add(time.Minute); alive(report.PID); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("engine %d does not die", report.PID)
		}
	}
}

// alive reports whether a process runs: there is one, and it is no zombie.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(stat), ") ")
	return err == nil && !strings.HasPrefix(rest, "Z")
}

// keys are all keys of the data directory's engine.
func keys(t *testing.T, data string) []string {
	t.Helper()
	lease, err := engine.Acquire(t.Context(), enginetest.Options(t, data))
	if err != nil {
		t.Fatal(err)
	}
	defer lease.Release()
	client := redis.NewClient(&redis.Options{
		Network: "unix", Addr: lease.Address(), Username: lease.Credentials().User, Password: lease.Credentials().Secret,
	})
	defer client.Close()
	found, err := client.Keys(t.Context(), "*").Result()
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(found)
	return found
}

// moments are when a run is killed.
var moments = []struct {
	name string
	wait func(p *progressing, random *rand.Rand)
}{
	{"soon", func(_ *progressing, random *rand.Rand) {
		time.Sleep(time.Duration(random.IntN(150)) * time.Millisecond)
	}},
	{"while committing", func(p *progressing, random *rand.Rand) {
		p.until(1+random.IntN(5), func(e pipeline.Event) bool { return e.Kind == pipeline.Committed })
		time.Sleep(time.Duration(random.IntN(8000)) * time.Microsecond)
	}},
	{"in finalize", func(p *progressing, random *rand.Rand) {
		p.until(1+random.IntN(8), func(e pipeline.Event) bool { return e.Kind == pipeline.FinalizeStep })
		time.Sleep(time.Duration(random.IntN(20_000)) * time.Microsecond)
	}},
	{"any time", func(_ *progressing, random *rand.Rand) {
		time.Sleep(time.Duration(random.IntN(900)) * time.Millisecond)
	}},
}

var victims = []string{"ingestd", "engine", "both"}

// killing kills runs until enough says so, changing the corpus before each so
// that there is always something to do, and holds the graph that a last run
// makes to that of an undisturbed one.
func killing(t *testing.T, files int, seed uint64, enough func(kills int) bool) {
	w := newWorld(t)
	w.configure(fastConfig + "commit: {max_rows: 60, max_documents: 2}\n")
	random := rand.New(rand.NewPCG(seed, seed))
	kills, finished := 0, 0
	for ; !enough(kills); kills++ {
		w.fill(files/2, uint64(kills)+100)
		if kills == 0 {
			w.fill(files, 1)
		}
		moment, victim := moments[kills%len(moments)], victims[random.IntN(len(victims))]
		p := w.startRun("--jobs", fmt.Sprint(1+random.IntN(4)))
		moment.wait(p, random)
		if victim != "ingestd" {
			killEngine(t, w.data)
		}
		if victim != "engine" {
			p.command.Process.Signal(syscall.SIGKILL)
		}
		switch code := p.wait(t); {
		case code == 0:
			finished++
		case victim == "engine" && code != 1:
			t.Errorf("kill %d: the engine was killed %s, and the run ended with %d: %s", kills, moment.name, code, p.stderr)
		case victim == "engine" && !strings.Contains(p.stderr.String(), "run again") && !strings.Contains(p.stderr.String(), "ingestd db"):
			t.Errorf("kill %d: the engine was killed %s, and nothing says what to do: %s", kills, moment.name, p.stderr)
		}
	}
	t.Logf("%d kills, %d runs had finished before", kills, finished)
	w.fill(files, 1)
	w.ingest(0)
	calm := newWorld(t)
	calm.fill(files, 1)
	report := calm.ingest(0)
	if w.digest() != calm.digest() {
		t.Errorf("after %d kills the graph is another one", kills)
	}
	counts := w.report(0, "finalize").Finalize.Counts
	if fmt.Sprint(counts) != fmt.Sprint(report.Finalize.Counts) {
		t.Errorf("counts %+v, undisturbed %+v", counts, report.Finalize.Counts)
	}
	if got, want := keys(t, w.data), keys(t, calm.data); !slices.Equal(got, want) {
		t.Errorf("left over: %v, undisturbed %v", got, want)
	}
	if got := statuses(w.ingest(0)); got != fmt.Sprintf("%d unchanged", files) {
		t.Errorf("the run after all: %s", got)
	}
}

func TestKilledRunsEndInTheUndisturbedGraph(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("kills runs for some seconds")
	}
	killing(t, 12, 7, func(kills int) bool { return kills >= 8 })
}

func TestSoakKilledRuns(t *testing.T) {
	long := soakTime(t)
	for seed, until := uint64(1), time.Now().Add(long); time.Now().Before(until); seed++ {
		killing(t, 30, seed, func(kills int) bool { return kills >= 200 || time.Now().After(until) })
	}
}

// soakTime is how long a soak test may take: GRAPHMILL_SOAK, as `make soak` sets
// it.
func soakTime(t *testing.T) time.Duration {
	t.Helper()
	text := os.Getenv("GRAPHMILL_SOAK")
	if text == "" {
		t.Skip("set GRAPHMILL_SOAK to a duration, or use make soak")
	}
	long, err := time.ParseDuration(text)
	if err != nil {
		t.Fatalf("GRAPHMILL_SOAK: %v", err)
	}
	return long
}
