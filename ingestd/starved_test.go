package main

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sys/unix"

	"graphmill/commandline"
	"graphmill/pipeline/engine"
)

// settled holds a graph that had a hard time to that of an undisturbed run over
// the same corpus.
func (w *world) settled(why string) {
	w.t.Helper()
	if e := w.run("run", "--root", w.corpus); e.code != 0 {
		w.t.Fatalf("%s: the run after it: %v", why, e)
	}
	calm := newWorld(w.t)
	calm.corpus = w.corpus
	calm.ingest(0)
	if w.digest() != calm.digest() {
		w.t.Errorf("%s: the graph is another one than an undisturbed run's", why)
	}
	if e := w.run("check"); e.code != 0 {
		w.t.Errorf("%s: %v", why, e)
	}
}

// An engine that may not take more memory refuses statements, between two of a
// run as well as at its start.
func TestEngineOutOfMemory(t *testing.T) {
	inFull(t)
	host, port := external(t, "--appendonly", "yes", "--appendfsync", "always")
	w := newWorld(t)
	w.configure(fastConfig + "commit: {max_rows: 60, max_documents: 2}\n")
	w.fill(40, 1)
	w.env = []string{"FALKOR_HOST=" + host, "FALKOR_PORT=" + port, "FALKOR_PASSWORD=" + externalSecret}
	admin := redis.NewClient(&redis.Options{Addr: net.JoinHostPort(host, port), Password: externalSecret})
	defer admin.Close()
	refused := 0
	for _, more := range []int64{-1, 100 << 10, 1 << 20, 2 << 20, 4 << 20} {
		info, err := admin.InfoMap(t.Context(), "memory").Result()
		if err != nil {
			t.Fatal(err)
		}
		var used int64
		fmt.Sscan(info["Memory"]["used_memory"], &used)
		if err := admin.ConfigSet(t.Context(), "maxmemory", fmt.Sprint(used+more)).Err(); err != nil {
			t.Fatal(err)
		}
		e := w.run("run", "--root", w.corpus)
		switch {
		case e.code == commandline.ExitFailed && strings.Contains(e.stderr, "memory"):
			refused++
		case e.code != 0:
			t.Errorf("with %d bytes more: %v", more, e)
		}
	}
	if refused == 0 {
		t.Error("the engine never ran out of memory")
	}
	if err := admin.ConfigSet(t.Context(), "maxmemory", "0").Err(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d runs were refused memory", refused)
	w.settled("out of memory")
}

// A disk that fills up ends the engine; what was answered before is there when
// there is room again.
func TestFullDisk(t *testing.T) {
	inFull(t)
	for _, room := range []int64{20 << 10, 200 << 10} {
		w := newWorld(t)
		w.configure(fastConfig + "commit: {max_rows: 60, max_documents: 2}\n")
		w.fill(20, 1)
		w.ingest(0, "--include", "d00*.txt")
		free, how := w.fullDisk(room)
		w.fill(20, 2)
		e := w.run("run", "--root", w.corpus)
		if e.code != commandline.ExitFailed || !strings.Contains(e.stderr, "engine") {
			t.Errorf("with %d bytes of room (%s): %v", room, how, e)
		}
		free()
		t.Logf("the disk was full by %s", how)
		w.settled("full disk")
	}
}

// fullDisk leaves so much room to the engine of a world: on a small file system of
// its own where this process may mount one, by a limit on the size of its files
// otherwise.
func (w *world) fullDisk(room int64) (free func(), how string) {
	w.t.Helper()
	t, saved := w.t, filepath.Join(w.t.TempDir(), "saved")
	if _, err := engine.Stop(t.Context(), engine.Options{DataDir: w.data}, true); err != nil {
		t.Fatal(err)
	}
	copyFolder(t, w.data, saved)
	err := syscall.Mount("tmpfs", w.data, "tmpfs", 0, "size=64m,mode=700")
	if err == nil {
		t.Cleanup(func() {
			_, err := engine.Stop(t.Context(), engine.Options{DataDir: w.data}, true)
			if err = errors.Join(err, syscall.Unmount(w.data, syscall.MNT_DETACH)); err != nil && !errors.Is(err, syscall.EINVAL) {
				t.Error(err)
			}
		})
		copyFolder(t, saved, w.data)
		w.must("db", "start")
		filler := filepath.Join(w.data, "filler")
		fill(t, filler, room)
		return func() {
			if err := os.Remove(filler); err != nil {
				t.Fatal(err)
			}
		}, "a file system of 64 MB"
	}
	if !errors.Is(err, syscall.EPERM) && !errors.Is(err, syscall.EACCES) {
		t.Fatal(err)
	}
	w.must("db", "start")
	report, err := engine.Status(engine.Options{DataDir: w.data})
	if err != nil || !report.Running {
		t.Fatalf("%+v, %v", report, err)
	}
	size := uint64(len(appended(t, w.data))) + uint64(room)
	if err := unix.Prlimit(report.PID, unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: size, Max: size}, nil); err != nil {
		t.Fatal(err)
	}
	return func() {
		if _, err := engine.Stop(t.Context(), engine.Options{DataDir: w.data}, true); err != nil {
			t.Error(err)
		}
	}, "a limit on the size of files"
}

// copyFolder copies what a folder holds, modes included.
func copyFolder(t *testing.T, from, to string) {
	t.Helper()
	if err := os.MkdirAll(to, 0o700); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("cp", "-a", from+"/.", to).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// fill takes all of a file system but room.
func fill(t *testing.T, name string, room int64) {
	t.Helper()
	var disk syscall.Statfs_t
	if err := syscall.Statfs(filepath.Dir(name), &disk); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, make([]byte, int64(disk.Bavail)*disk.Bsize-room), 0o600); err != nil {
		t.Fatal(err)
	}
}

// cutter is a proxy in front of a server that cuts its connections in the middle
// of replies.
type cutter struct {
	listener net.Listener
	server   string
	cuts     atomic.Int64
	random   *rand.Rand
	calm     atomic.Bool // nothing is cut any more
}

func newCutter(t *testing.T, server string, seed uint64) *cutter {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	c := &cutter{listener: listener, server: server, random: rand.New(rand.NewPCG(seed, 3))}
	go c.serve()
	return c
}

func (c *cutter) serve() {
	for {
		in, err := c.listener.Accept()
		if err != nil {
			return
		}
		budget := int64(200 + c.random.IntN(60_000))
		go func() {
			defer in.Close()
			out, err := net.Dial("tcp", c.server)
			if err != nil {
				return
			}
			defer out.Close()
			go io.Copy(out, in)
			if c.calm.Load() {
				io.Copy(in, out)
			} else if n, _ := io.CopyN(in, out, budget); n == budget {
				c.cuts.Add(1)
			}
		}()
	}
}

// A statement whose answer never came is done or is not; the run after it finds
// out.
func TestConnectionsCutInTheMiddleOfReplies(t *testing.T) {
	inFull(t)
	host, port := external(t, "--appendonly", "yes", "--appendfsync", "always")
	c := newCutter(t, net.JoinHostPort(host, port), 1)
	w := newWorld(t)
	w.configure(fastConfig + "commit: {max_rows: 60, max_documents: 2}\n")
	host, port, _ = net.SplitHostPort(c.listener.Addr().String())
	w.env = []string{"FALKOR_HOST=" + host, "FALKOR_PORT=" + port, "FALKOR_PASSWORD=" + externalSecret}
	cuttingRuns(w, c, func(runs int) bool { return runs >= 8 })
}

func TestSoakCutConnections(t *testing.T) {
	until := time.Now().Add(soakTime(t))
	host, port := external(t, "--appendonly", "yes", "--appendfsync", "always")
	for seed := uint64(2); time.Now().Before(until); seed++ {
		c := newCutter(t, net.JoinHostPort(host, port), seed)
		w := newWorld(t)
		w.configure(fastConfig + fmt.Sprintf("graph: g%d\ncommit: {max_rows: 60, max_documents: 2}\n", seed))
		clientHost, clientPort, _ := net.SplitHostPort(c.listener.Addr().String())
		w.env = []string{"FALKOR_HOST=" + clientHost, "FALKOR_PORT=" + clientPort, "FALKOR_PASSWORD=" + externalSecret}
		cuttingRuns(w, c, func(runs int) bool { return runs >= 60 || time.Now().After(until) })
	}
}

func cuttingRuns(w *world, c *cutter, enough func(int) bool) {
	failed := 0
	for runs := 0; !enough(runs); runs++ {
		w.fill(12, uint64(runs%3))
		e := w.run("run", "--root", w.corpus, "--wait", "1m")
		if e.code != 0 && e.code != commandline.ExitFailed && e.code != commandline.ExitHeld {
			w.t.Errorf("run %d: %v", runs, e)
		}
		if e.code != 0 {
			failed++
		}
	}
	w.t.Logf("%d connections were cut, %d runs failed", c.cuts.Load(), failed)
	if c.cuts.Load() == 0 || failed == 0 {
		w.t.Error("nothing was cut")
	}
	c.calm.Store(true)
	w.settled("connections cut")
}
