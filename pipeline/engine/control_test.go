package engine_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"graphmill/pipeline/engine"
	"graphmill/pipeline/engine/enginetest"
)

func TestStartKeepsTheEngineUpUntilStop(t *testing.T) {
	t.Parallel()
	dir := enginetest.DataDir(t)
	options := enginetest.Options(t, dir)
	if report := status(t, dir); report.Running {
		t.Errorf("before: %+v", report)
	}
	if stopped, err := engine.Stop(t.Context(), options, false); stopped || err != nil {
		t.Errorf("stop of nothing: %v, %v", stopped, err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) > 0 {
		t.Errorf("looking made %v", entries)
	}
	started, err := engine.Start(t.Context(), options)
	if err != nil || !started.Running || !started.Pinned || len(started.Users) != 0 {
		t.Fatalf("start: %+v, %v", started, err)
	}
	lease := acquire(t, options)
	if lease.PID() != started.PID {
		t.Errorf("server %d, want %d", lease.PID(), started.PID)
	}
	write(t, lease, "CREATE (:A)")
	_, err = engine.Stop(t.Context(), options, false)
	if !errors.Is(err, engine.ErrInUse) {
		t.Errorf("stop while in use: %v, want ErrInUse", err)
	}
	release(t, lease)
	if report := status(t, dir); !report.Running || report.DiskBytes == 0 {
		t.Errorf("after the last user left: %+v", report)
	}
	again, err := engine.Start(t.Context(), options)
	if err != nil || again.PID != started.PID {
		t.Errorf("second start: %+v, %v", again, err)
	}
	if stopped, err := engine.Stop(t.Context(), options, false); !stopped || err != nil {
		t.Errorf("stop: %v, %v", stopped, err)
	}
	if exists(started.PID) || status(t, dir).Running {
		t.Error("it still runs")
	}
	// The wish was for that server, not for all that come.
	lease = acquire(t, options)
	release(t, lease)
	if exists(lease.PID()) {
		t.Error("a later server stayed up")
	}
}

func TestStopByForceEndsAnEngineInUse(t *testing.T) {
	t.Parallel()
	options := enginetest.Options(t, enginetest.DataDir(t))
	lease := acquire(t, options)
	if stopped, err := engine.Stop(t.Context(), options, true); !stopped || err != nil {
		t.Fatalf("stop: %v, %v", stopped, err)
	}
	if exists(lease.PID()) || lease.Check() == nil {
		t.Error("it still runs")
	}
	release(t, lease)
}

// lingering are options whose engine stays up after its last use.
func lingering(t *testing.T, d time.Duration) engine.Options {
	t.Setenv("ENGINE_TEST_ROLE", "linger") // inherited by the process that waits
	options := enginetest.Options(t, enginetest.DataDir(t))
	options.Linger, options.LingerCommand = d, []string{os.Args[0], options.DataDir}
	return options
}

func TestLingerStopsTheEngineAWhileAfterItsLastUse(t *testing.T) {
	options := lingering(t, 200*time.Millisecond)
	lease := acquire(t, options)
	release(t, lease)
	eventually(t, "the engine is stopped", func() bool { return !exists(lease.PID()) })
	eventually(t, "the record is gone", func() bool {
		_, err := os.Stat(filepath.Join(options.DataDir, "engine", "engine.pid"))
		return err != nil
	})
	again := acquire(t, options)
	if again.PID() == lease.PID() {
		t.Error("the old server is still there")
	}
	release(t, again)
	eventually(t, "the engine is stopped again", func() bool { return !exists(again.PID()) })
}

func TestALingeringEngineIsJoinedAndOneProcessWaits(t *testing.T) {
	options := lingering(t, time.Hour)
	lease := acquire(t, options)
	release(t, lease)
	report := status(t, options.DataDir)
	if !report.Running || report.LingerUntil == nil || time.Until(*report.LingerUntil) < time.Minute {
		t.Fatalf("after the last use: %+v", report)
	}
	waiting, err := engine.Openers(options.DataDir, "linger.lock")
	if err != nil || len(waiting) != 1 {
		t.Fatalf("waiting: %v, %v; want one process", waiting, err)
	}
	// Another user, also one that asks for no lingering, does not cut it short.
	other := options
	other.Linger = 0
	for _, o := range []engine.Options{options, other} {
		next := acquire(t, o)
		release(t, next)
		if next.PID() != lease.PID() || !exists(lease.PID()) {
			t.Fatalf("server %d, want %d still running", next.PID(), lease.PID())
		}
	}
	if now, _ := engine.Openers(options.DataDir, "linger.lock"); len(now) != 1 || now[0] != waiting[0] {
		t.Errorf("waiting: %v, want still only %v", now, waiting)
	}
	if stopped, err := engine.Stop(t.Context(), options, false); !stopped || err != nil {
		t.Errorf("stop: %v, %v", stopped, err)
	}
	eventually(t, "the waiting process ends when there is nothing to wait for", func() bool { return !exists(waiting[0]) })
}

func TestAWaitingProcessThatWasKilledIsNoObstacle(t *testing.T) {
	options := lingering(t, time.Hour)
	lease := acquire(t, options)
	release(t, lease)
	waiting, err := engine.Openers(options.DataDir, "linger.lock")
	if err != nil || len(waiting) != 1 {
		t.Fatalf("waiting: %v, %v", waiting, err)
	}
	process, err := os.FindProcess(waiting[0])
	if err != nil {
		t.Fatal(err)
	}
	process.Kill()
	// Its last thread has the lock, not its first, which is a zombie before.
	eventually(t, "it is dead and was waited for", func() bool {
		_, err := os.Stat(fmt.Sprintf("/proc/%d", waiting[0]))
		return err != nil
	})
	options.Linger = 0
	next := acquire(t, options)
	release(t, next)
	if exists(next.PID()) {
		t.Error("the last one out left the server running")
	}
}
