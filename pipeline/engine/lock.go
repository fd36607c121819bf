package engine

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// lockPoll is how often a lock that is held is tried again.
const lockPoll = 20 * time.Millisecond

// lockFile is an open file with a flock on it. Each one counts for itself, also
// within one process.
type lockFile struct{ file *os.File }

// tryLock returns nil, nil when somebody else holds the lock.
func tryLock(path string, how int) (*lockFile, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err = syscall.Flock(int(file.Fd()), how|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err == nil {
		return &lockFile{file}, nil
	}
	file.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, nil
	}
	return nil, &os.PathError{Op: "lock", Path: path, Err: err}
}

// unlock gives the lock back. Closing alone would not do: a process that is just
// being started anywhere in this one has all files open until it runs its program.
func (l *lockFile) unlock() {
	syscall.Flock(int(l.file.Fd()), syscall.LOCK_UN)
	l.file.Close()
}

// handOver leaves the lock to a child that inherited the file.
func (l *lockFile) handOver() { l.file.Close() }

// lockStart waits for the right to start, join, leave or stop the engine.
func (l layout) lockStart(ctx context.Context, progress func(string)) (*lockFile, error) {
	said := time.Now()
	for {
		lock, err := tryLock(l.path("start.lock"), syscall.LOCK_EX)
		if err != nil {
			return nil, l.fileError("lock", "open start.lock", err)
		}
		if lock != nil {
			return lock, nil
		}
		if time.Since(said) > progressEvery {
			said = time.Now()
			progress("waiting for another process that starts or stops the local engine")
		}
		if err := pause(ctx, lockPoll); err != nil {
			return nil, &Error{Verb: "wait for", Subject: l.dir, Reason: "another process was starting or stopping it" + l.holders("start.lock"), Err: err}
		}
	}
}

// lockUsers counts this process among the users; start.lock is held, and only its
// holder ever takes users.lock for itself, so that there is no waiting.
func (l layout) lockUsers() (*lockFile, error) {
	lock, err := tryLock(l.path("users.lock"), syscall.LOCK_SH)
	if err != nil {
		return nil, l.fileError("join", "open users.lock", err)
	}
	if lock == nil {
		return nil, &Error{Verb: "join", Subject: l.dir, Reason: "users.lock is held by a process that does not play by the rules" + l.holders("users.lock")}
	}
	return lock, nil
}

// hasUsers needs start.lock.
func (l layout) hasUsers() bool { return l.isHeld("users.lock") }

func (l layout) isHeld(name string) bool {
	lock, err := tryLock(l.path(name), syscall.LOCK_EX)
	if lock != nil {
		lock.unlock()
	}
	return lock == nil && err == nil
}

// holderPIDs are the processes that took a lock, where /proc tells.
func (l layout) holderPIDs(name string) []int {
	info, err := os.Stat(l.path(name))
	if err != nil {
		return nil
	}
	inode := fmt.Sprintf(":%d", info.Sys().(*syscall.Stat_t).Ino)
	file, err := os.Open("/proc/locks")
	if err != nil {
		return nil
	}
	defer file.Close()
	var pids []int
	for lines := bufio.NewScanner(file); lines.Scan(); {
		// 1: FLOCK  ADVISORY  READ 4711 fe:01:262158 0 EOF
		fields := strings.Fields(lines.Text())
		if len(fields) < 6 || fields[1] != "FLOCK" || !strings.HasSuffix(fields[5], inode) {
			continue
		}
		if pid, err := strconv.Atoi(fields[4]); err == nil && pid > 0 && !slices.Contains(pids, pid) {
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids)
	return pids
}

// holders is " (process 4711 ingestd, process 4712 queryd)" or "".
func (l layout) holders(name string) string {
	var names []string
	for _, pid := range l.holderPIDs(name) {
		names = append(names, describeProcess(pid))
	}
	if len(names) == 0 {
		return ""
	}
	return " (" + strings.Join(names, ", ") + ")"
}

func describeProcess(pid int) string {
	executable, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	if err != nil {
		return fmt.Sprintf("process %d", pid)
	}
	return fmt.Sprintf("process %d %s", pid, filepath.Base(executable))
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
