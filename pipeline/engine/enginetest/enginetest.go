// Package enginetest gives tests a real local engine of their own, in a short
// directory under the system's temporary one, which ends with the test, and with
// the test's process should that die first. It fails, and does not skip, when the
// engine is not there.
package enginetest

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"graphmill/pipeline/engine"
)

// Fixture is a running engine.
type Fixture struct {
	// DataDir is what --data-dir takes: a program started with it joins this engine.
	DataDir string
	// Address is the unix socket.
	Address string
	// Writer and Reader are the two logins.
	Writer, Reader engine.Credentials

	t     testing.TB
	lease *engine.Lease
}

// DataDir makes a data directory with nothing in it. Whatever engine runs in it is
// stopped, and it is removed, when the test ends.
func DataDir(t testing.TB) string {
	t.Helper()
	// Not t.TempDir: its name grows with the test's, and a socket's path is short.
	dir, err := os.MkdirTemp("", "gm")
	if err != nil {
		t.Fatalf("make a data directory: %v", err)
	}
	watcher := watch(t, dir)
	t.Cleanup(func() {
		if _, err := engine.Stop(context.Background(), engine.Options{DataDir: dir}, true); err != nil {
			t.Errorf("stop engine: %v", err)
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Errorf("remove the data directory: %v", err)
		}
		watcher.end()
	})
	return dir
}

// Start starts an engine with nothing in it, in a directory of [DataDir].
func Start(t testing.TB) *Fixture {
	t.Helper()
	f := &Fixture{DataDir: DataDir(t), t: t}
	t.Cleanup(f.stop)
	f.Restart()
	return f
}

// Restart starts the engine again after Kill or Stop, with what is on disk.
func (f *Fixture) Restart() {
	f.t.Helper()
	if f.lease != nil {
		f.t.Fatal("restart engine: it runs; Stop or Kill it first")
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	lease, err := engine.Acquire(ctx, Options(f.t, f.DataDir))
	if err != nil {
		f.t.Fatalf("start engine: %v", err)
	}
	f.lease, f.Address, f.Writer = lease, lease.Address(), lease.Credentials()
	reader, err := engine.AcquireReader(ctx, Options(f.t, f.DataDir))
	if err != nil {
		f.t.Fatalf("join engine as reader: %v", err)
	}
	f.Reader = reader.Credentials()
	if err := reader.Release(); err != nil {
		f.t.Fatalf("release reader: %v", err)
	}
}

// PID is the server's process, 0 when it was stopped.
func (f *Fixture) PID() int {
	if f.lease == nil {
		return 0
	}
	return f.lease.PID()
}

// Stop ends the engine cleanly; Restart brings it back.
func (f *Fixture) Stop() {
	f.t.Helper()
	f.stop()
}

// Kill ends the engine as kill -9 does; Restart brings it back.
func (f *Fixture) Kill() {
	f.t.Helper()
	if f.lease == nil {
		f.t.Fatal("kill engine: it does not run")
	}
	if err := syscall.Kill(f.lease.PID(), syscall.SIGKILL); err != nil {
		f.t.Fatalf("kill engine: %v", err)
	}
	for f.lease.Check() == nil {
		time.Sleep(time.Millisecond)
	}
	f.stop()
}

func (f *Fixture) stop() {
	if f.lease == nil {
		return
	}
	if err := f.lease.Release(); err != nil {
		f.t.Errorf("stop engine: %v", err)
	}
	f.lease = nil
	// Others that use it do not keep it up: the test said stop.
	if _, err := engine.Stop(context.Background(), engine.Options{DataDir: f.DataDir}, true); err != nil {
		f.t.Errorf("stop engine: %v", err)
	}
}

// Options finds the engine's files for a test and fails it when they are missing.
func Options(t testing.TB, dataDir string) engine.Options {
	t.Helper()
	dir, err := depsDir()
	if err != nil {
		t.Fatal(err)
	}
	// A small cap: several tests' engines share a machine.
	return engine.Options{DataDir: dataDir, DepsDir: dir, MaxMemory: 2 << 30}
}

// depsDir is the checkout's .deps, or what GRAPHMILL_DEPS_DIR names.
func depsDir() (string, error) {
	if dir := os.Getenv("GRAPHMILL_DEPS_DIR"); dir != "" {
		return dir, nil
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		deps := filepath.Join(dir, ".deps")
		if _, err := os.Stat(filepath.Join(deps, "engine", "falkordb.so")); err == nil {
			return deps, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", fmt.Errorf("this test runs on the real engine, which is not here: run `make deps` in the checkout, or set GRAPHMILL_DEPS_DIR")
		}
		dir = parent
	}
}

// watcher is a process that ends the engine when the test's process dies without
// its cleanups: after a panic, a time-out, kill -9.
type watcher struct {
	command *exec.Cmd
	input   io.WriteCloser
}

func watch(t testing.TB, dir string) *watcher {
	t.Helper()
	// Its input ends when this process does. The word "done" means a clean end.
	command := exec.Command("sh", "-c", `read word; [ "$word" = done ] || {
		pid=$(sed -n 's/^{"pid":\([0-9][0-9]*\),.*/\1/p' "$1/engine/engine.pid")
		[ -n "$pid" ] && kill "$pid" && sleep 1
		rm -rf "$1"
	}`, "sh", dir)
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	input, err := command.StdinPipe()
	if err != nil {
		t.Fatalf("watch engine: %v", err)
	}
	if err := command.Start(); err != nil {
		t.Fatalf("watch engine: %v", err)
	}
	return &watcher{command, input}
}

func (w *watcher) end() {
	io.WriteString(w.input, "done\n")
	w.input.Close()
	w.command.Wait()
}
