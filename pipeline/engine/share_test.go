package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"graphmill/pipeline/engine"
	"graphmill/pipeline/engine/enginetest"
)

func TestTheFirstUserStartsTheEngineAndTheLastOneStopsIt(t *testing.T) {
	t.Parallel()
	// A path as people have them: the server's arguments must survive it.
	options := enginetest.Options(t, filepath.Join(enginetest.DataDir(t), "my data é"))
	t.Cleanup(func() { engine.Stop(context.Background(), options, true) })
	first := acquire(t, options)
	second := acquire(t, options)
	if first.PID() != second.PID() {
		t.Fatalf("two servers: %d and %d", first.PID(), second.PID())
	}
	write(t, first, "CREATE (:A)")
	release(t, first)
	if err := second.Check(); err != nil {
		t.Fatalf("the first to leave stopped it: %v", err)
	}
	release(t, second)
	release(t, second) // twice is once
	if exists(second.PID()) {
		t.Error("the last one out left the server running")
	}
	if _, err := os.Lstat(second.Address()); err == nil {
		t.Error("the last one out left the socket")
	}
	if n := countNodes(t, acquire(t, options)); n != 1 {
		t.Errorf("after a stop and a start: %d nodes, want 1", n)
	}
}

func TestProcessesStartingAtOnceStartOneServer(t *testing.T) {
	t.Parallel()
	dir := enginetest.DataDir(t)
	var holders []*holder
	for range 6 {
		holders = append(holders, startHolder(t, "hold", dir))
	}
	servers := map[int]bool{}
	for _, h := range holders {
		pid, _ := h.ready()
		servers[pid] = true
	}
	if len(servers) != 1 {
		t.Fatalf("%d servers: %v", len(servers), servers)
	}
	report := status(t, dir)
	var want []int
	for _, h := range holders {
		want = append(want, h.command.Process.Pid)
	}
	slices.Sort(want)
	if !report.Running || !servers[report.PID] || !slices.Equal(report.Users, want) {
		t.Errorf("status %+v, want users %v of server %v", report, want, servers)
	}
	for _, h := range holders {
		h.input.Close() // all at once
	}
	for _, h := range holders {
		h.release()
	}
	if exists(report.PID) {
		t.Error("the server outlived its users")
	}
}

func TestAnEngineThatAKilledProcessLeftIsJoined(t *testing.T) {
	t.Parallel()
	for _, signal := range []syscall.Signal{syscall.SIGKILL, syscall.SIGINT} {
		t.Run(signal.String(), func(t *testing.T) {
			dir := enginetest.DataDir(t)
			h := startHolder(t, "hold", dir)
			left, _ := h.ready()
			// To the whole process group, as a terminal sends Ctrl-C.
			h.end(signal)
			lease := acquire(t, enginetest.Options(t, dir))
			if lease.PID() != left {
				t.Errorf("server %d, want the one that was left, %d", lease.PID(), left)
			}
			release(t, lease)
			if exists(left) {
				t.Error("the last one out left the server running")
			}
		})
	}
}

func TestAKilledServerComesBackWithItsData(t *testing.T) {
	t.Parallel()
	options := enginetest.Options(t, enginetest.DataDir(t))
	lease := acquire(t, options)
	write(t, lease, "UNWIND range(1, 100) AS i CREATE (:A {i: i})")
	if err := lease.Check(); err != nil {
		t.Errorf("check of a running engine: %v", err)
	}
	syscall.Kill(lease.PID(), syscall.SIGKILL)
	eventually(t, "check notices", func() bool { return lease.Check() != nil })
	mustFail(t, lease.Check(), "ended by itself", "engine.log", "run again")
	// The one that lost it still counts as a user; it is no obstacle.
	again := acquire(t, options)
	if n := countNodes(t, again); n != 100 {
		t.Errorf("%d nodes, want 100", n)
	}
	release(t, lease)
	if again.Check() != nil {
		t.Error("leaving with an old lease stopped the new server under a user")
	}
}

// record is engine.pid.
func record(t *testing.T, dataDir string, change func(map[string]any)) {
	t.Helper()
	path := filepath.Join(dataDir, "engine", "engine.pid")
	content := map[string]any{}
	if text, err := os.ReadFile(path); err == nil {
		if err := json.Unmarshal(text, &content); err != nil {
			t.Fatal(err)
		}
	}
	change(content)
	text, _ := json.Marshal(content)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

func startSleep(t *testing.T, inherited ...*os.File) *exec.Cmd {
	t.Helper()
	sleep := exec.Command("sleep", "600")
	sleep.ExtraFiles = inherited
	if err := sleep.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sleep.Process.Kill(); sleep.Wait() })
	return sleep
}

func startTicks(t *testing.T, pid int) int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	var ticks int64
	fmt.Sscan(fields[19], &ticks)
	return ticks
}

func TestAForeignProcessInTheRecordIsLeftAlone(t *testing.T) {
	t.Parallel()
	dir := enginetest.DataDir(t)
	options := enginetest.Options(t, dir)
	lease := acquire(t, options)
	write(t, lease, "CREATE (:A)")
	address := lease.Address()
	release(t, lease)

	// All that a dead server leaves, its number meanwhile given to another.
	foreign := startSleep(t)
	if err := os.WriteFile(address, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	record(t, dir, func(r map[string]any) {
		r["pid"], r["started"], r["socket"] = foreign.Process.Pid, startTicks(t, foreign.Process.Pid), address
	})
	if report := status(t, dir); report.Running {
		t.Errorf("status takes the foreign process for the engine: %+v", report)
	}
	if stopped, err := engine.Stop(t.Context(), options, true); stopped || err != nil {
		t.Errorf("stop: %v, %v; want nothing to stop", stopped, err)
	}
	record(t, dir, func(r map[string]any) {
		r["pid"], r["started"], r["socket"] = foreign.Process.Pid, startTicks(t, foreign.Process.Pid), address
	})
	again := acquire(t, options)
	if again.PID() == foreign.Process.Pid || countNodes(t, again) != 1 {
		t.Errorf("joined the foreign process")
	}
	release(t, again)
	if !exists(foreign.Process.Pid) {
		t.Error("the foreign process was killed")
	}
}

func TestAServerWithoutAFinishedRecordIsTakenUp(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(t *testing.T, dir string){
		"its starter died before it wrote the number": func(t *testing.T, dir string) {
			record(t, dir, func(r map[string]any) { r["pid"], r["started"] = 0, 0 })
		},
		"the record was lost": func(t *testing.T, dir string) {
			os.Remove(filepath.Join(dir, "engine", "engine.pid"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := enginetest.DataDir(t)
			h := startHolder(t, "hold", dir)
			pid, _ := h.ready()
			h.end(syscall.SIGKILL)
			spoil(t, dir)
			lease := acquire(t, enginetest.Options(t, dir))
			if lease.PID() != pid {
				t.Errorf("server %d, want %d", lease.PID(), pid)
			}
			release(t, lease)
			if exists(pid) {
				t.Error("it was not stopped")
			}
		})
	}
}

func TestAChildThatADeadServerLeftIsEnded(t *testing.T) {
	t.Parallel()
	dir := enginetest.DataDir(t)
	lock, err := engine.HoldServerLock(dir)
	if err != nil {
		t.Fatal(err)
	}
	// As a child that rewrites the append-only file does, it has the lock open.
	child := startSleep(t, lock)
	lock.Close()
	dead := startSleep(t)
	dead.Process.Kill()
	dead.Wait()
	record(t, dir, func(r map[string]any) { r["pid"], r["started"], r["socket"] = dead.Process.Pid, 1, dir+"/none" })
	lease := acquire(t, enginetest.Options(t, dir))
	if exists(child.Process.Pid) {
		t.Error("the dead server's child still runs")
	}
	release(t, lease)
}

func TestADeepDataDirectoryGetsAShortSocket(t *testing.T) {
	dir := filepath.Join(enginetest.DataDir(t), strings.Repeat("deep-directory/", 10))
	options := enginetest.Options(t, dir)
	t.Cleanup(func() { engine.Stop(context.Background(), options, true) })
	runtime := enginetest.DataDir(t)
	t.Setenv("XDG_RUNTIME_DIR", runtime)
	lease := acquire(t, options)
	if len(lease.Address()) > 106 || !strings.HasPrefix(lease.Address(), runtime) {
		t.Errorf("socket %s", lease.Address())
	}
	if info, err := os.Stat(filepath.Dir(lease.Address())); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("socket's directory: %v, %v", info, err)
	}
	// cron has no such variable; it joins all the same.
	h := startHolder(t, "hold", dir, "XDG_RUNTIME_DIR=")
	if pid, socket := h.ready(); pid != lease.PID() || socket != lease.Address() {
		t.Errorf("the other joined %d at %s", pid, socket)
	}
	release(t, lease)
	h.release()

	t.Setenv("XDG_RUNTIME_DIR", "")
	lease = acquire(t, options)
	if want := fmt.Sprintf("/tmp/graphmill-%d/", os.Geteuid()); !strings.HasPrefix(lease.Address(), want) {
		t.Errorf("socket %s, want it in %s", lease.Address(), want)
	}
	release(t, lease)
}

func TestADirectoryOfSomebodyElseIsRefused(t *testing.T) {
	t.Parallel()
	foreign := "/usr"
	if os.Geteuid() == 0 {
		foreign = filepath.Join(t.TempDir(), "theirs")
		if err := os.Mkdir(foreign, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(foreign, 65534, 65534); err != nil {
			t.Skipf("cannot give a directory away here: %v", err)
		}
	}
	if err := engine.MakePrivate(foreign); err == nil || !strings.Contains(err.Error(), "belongs to user") {
		t.Errorf("somebody else's directory: %v", err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(t.TempDir(), link); err != nil {
		t.Fatal(err)
	}
	if err := engine.MakePrivate(link); err == nil {
		t.Error("a link was accepted")
	}
	open := filepath.Join(t.TempDir(), "open")
	if err := os.Mkdir(open, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := engine.MakePrivate(open); err != nil {
		t.Error(err)
	}
	if info, _ := os.Stat(open); info.Mode().Perm() != 0o700 {
		t.Errorf("mode %v, want 0700", info.Mode())
	}
}

// loadsSlowly is an engine with enough in its file, and slow enough, to be met loading.
func loadsSlowly(t *testing.T) engine.Options {
	options := enginetest.Options(t, enginetest.DataDir(t))
	lease := acquire(t, options)
	pipe := client(t, lease).Pipeline()
	for i := range 8 * 1024 { // a second or two of loading
		pipe.Set(t.Context(), fmt.Sprint("key", i), "x", 0)
	}
	if _, err := pipe.Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
	write(t, lease, "CREATE (:A)")
	release(t, lease)
	return engine.ServerArguments(options, "--key-load-delay", "150", "--loading-process-events-interval-bytes", "1024")
}

func TestALoadingEngineIsWaitedFor(t *testing.T) {
	t.Parallel()
	options := loadsSlowly(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan *engine.Lease, 2)
	for range 2 { // the one that starts it, and one that joins
		go func() {
			lease, err := engine.Acquire(ctx, options)
			if err != nil {
				t.Error(err)
			}
			done <- lease
		}()
	}
	defer cancel()
	for range 2 {
		lease := <-done
		if lease == nil {
			t.FailNow()
		}
		if n := countNodes(t, lease); n != 1 {
			t.Errorf("%d nodes, want 1: it was not waited for", n)
		}
		defer lease.Release()
	}
}

func TestGivingUpWhileItLoadsLeavesNoServer(t *testing.T) {
	t.Parallel()
	options := loadsSlowly(t)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for !status(t, options.DataDir).Running {
			time.Sleep(time.Millisecond)
		}
		cancel()
	}()
	_, err := engine.Acquire(ctx, options)
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v, want the context's error", err)
	}
	if report := status(t, options.DataDir); report.Running {
		t.Errorf("still running: %+v", report)
	}
}

func TestAServerThatDoesNothingIsGivenUp(t *testing.T) {
	t.Parallel()
	dir := enginetest.DataDir(t)
	options := enginetest.Options(t, dir)
	lease := acquire(t, options)
	if err := syscall.Kill(lease.PID(), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	options.StartTimeout = 50 * time.Millisecond
	_, err := engine.Acquire(t.Context(), options)
	mustFail(t, err, "no sign of work", "engine.start_timeout")
	if !exists(lease.PID()) {
		t.Error("it was stopped although it is in use")
	}
	syscall.Kill(lease.PID(), syscall.SIGCONT)
	options.StartTimeout = 0
	again := acquire(t, options)
	if again.PID() != lease.PID() {
		t.Error("joined another server")
	}
}
