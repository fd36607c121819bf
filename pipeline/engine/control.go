package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// Report is the state of the engine in one data directory.
type Report struct {
	Running bool `json:"running"`
	// Pinned: started by [Start], stays until [Stop].
	Pinned bool   `json:"pinned"`
	PID    int    `json:"pid,omitempty"`
	Socket string `json:"socket,omitempty"`
	// Users are the processes that use it now.
	Users []int `json:"users"`
	// LingerUntil is when it will be stopped if nobody comes; nil when it is not
	// lingering.
	LingerUntil *time.Time `json:"linger_until,omitempty"`
	// Dir is the engine's directory and Log its log.
	Dir string `json:"dir"`
	Log string `json:"log"`
	// DiskBytes is what its data take on disk.
	DiskBytes int64 `json:"disk_bytes"`
}

// Start starts the engine, or takes up the one that runs, and has it stay up
// until [Stop], whoever leaves. It returns when the engine answers.
func Start(ctx context.Context, options Options) (Report, error) {
	lease, err := Acquire(ctx, options)
	if err != nil {
		return Report{}, err
	}
	err = lease.pin(ctx)
	if err := errors.Join(err, lease.Release()); err != nil {
		return Report{}, err
	}
	return Status(options)
}

func (l *Lease) pin(ctx context.Context) error {
	start, err := l.layout.lockStart(ctx, l.options.Progress)
	if err != nil {
		return err
	}
	defer start.unlock()
	l.server.Pinned = true
	return l.layout.writeInstance(l.server)
}

// Stop stops the engine, also one that a killed process left. It answers [ErrInUse]
// while processes use it, unless force is set: their next statement then fails,
// and what was answered before is kept. Nothing to stop is no error; the result
// says whether something was stopped.
func Stop(ctx context.Context, options Options, force bool) (bool, error) {
	options = options.withDefaults()
	layout, err := openLayout(options.DataDir, false)
	if errors.Is(err, ErrNoGraph) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	start, err := layout.lockStart(ctx, options.Progress)
	if err != nil {
		return false, err
	}
	defer start.unlock()
	if !layout.isHeld("server.lock") {
		return false, layout.forget()
	}
	if layout.hasUsers() && !force {
		return false, &Error{
			Verb: "stop", Subject: layout.dir, Reason: "it is in use" + layout.holders("users.lock"),
			Hint: "wait for them, or force it", Err: ErrInUse,
		}
	}
	// Whoever comes next asks anew how long it is to stay.
	os.Remove(layout.path("linger.until"))
	return true, layout.stopServer(ctx, options)
}

// Status looks without changing anything, and without waiting.
func Status(options Options) (Report, error) {
	layout, err := openLayout(options.DataDir, false)
	if errors.Is(err, ErrNoGraph) {
		return Report{Dir: options.DataDir + "/engine", Users: []int{}}, nil
	}
	if err != nil {
		return Report{}, err
	}
	report := Report{Dir: layout.dir, Log: layout.logFile(), DiskBytes: layout.diskBytes(), Users: layout.holderPIDs("users.lock")}
	if report.Users == nil {
		report.Users = []int{}
	}
	server, err := layout.readInstance()
	if errors.Is(err, os.ErrNotExist) {
		return report, nil
	}
	if err != nil {
		return report, err
	}
	if !server.alive() {
		return report, nil
	}
	report.Running, report.Pinned, report.PID, report.Socket = true, server.Pinned, server.PID, server.Socket
	if start, _ := tryLock(layout.path("start.lock"), syscall.LOCK_EX); start != nil {
		defer start.unlock()
		if layout.isLingering() {
			until, _ := layout.lingerUntil()
			report.LingerUntil = &until
		}
	}
	return report, nil
}

// diskBytes adds up the append-only files.
func (l layout) diskBytes() int64 {
	entries, _ := os.ReadDir(l.path("appendonlydir"))
	total := int64(0)
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil {
			total += info.Size()
		}
	}
	return total
}

// linger sees to it that a process stops the engine later: one that waits already,
// or a new one. start.lock is held, and this process still counts as a user.
func (l layout) linger(options Options) error {
	until := time.Now().Add(options.Linger).UTC().Format(time.RFC3339Nano)
	if err := l.writeFile("linger.until", []byte(until+"\n")); err != nil {
		return l.fileError("keep up", "write linger.until", err)
	}
	lock, err := tryLock(l.path("linger.lock"), syscall.LOCK_EX)
	if err != nil {
		return l.fileError("keep up", "open linger.lock", err)
	}
	if lock == nil {
		return nil
	}
	command := exec.Command(options.LingerCommand[0], options.LingerCommand[1:]...)
	command.Dir = l.dir
	command.ExtraFiles = []*os.File{lock.file}
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := command.Start(); err != nil {
		lock.unlock()
		return &Error{Verb: "keep up", Subject: l.dir, Reason: "run " + options.LingerCommand[0], Hint: "the engine is stopped now instead", Err: err}
	}
	lock.handOver()
	go command.Wait()
	return nil
}

// lingerUntil is the zero time when nobody asked.
func (l layout) lingerUntil() (time.Time, error) {
	text, err := os.ReadFile(l.path("linger.until"))
	if errors.Is(err, os.ErrNotExist) {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, err
	}
	return time.Parse(time.RFC3339Nano, strings.TrimSpace(string(text)))
}

// isLingering reports whether a process waits to stop the engine, and its time is
// not over. It needs start.lock.
func (l layout) isLingering() bool {
	until, err := l.lingerUntil()
	return err == nil && time.Now().Before(until) && l.isHeld("linger.lock")
}

// lingerPoll is how often the waiting process looks whether it is still needed.
const lingerPoll = 2 * time.Second

// KeepAlive is what LingerCommand runs: it waits until the engine was not used for
// the time that the last user asked for, and stops it. Killing it at any moment is
// harmless: the engine is then stopped by its next user, or by [Stop].
//
// The process inherits linger.lock, which tells the others that it is there.
func KeepAlive(ctx context.Context, options Options) error {
	options = options.withDefaults()
	layout, err := openLayout(options.DataDir, false)
	if err != nil {
		return err
	}
	for {
		until, err := layout.lingerUntil()
		if err != nil {
			return layout.fileError("keep up", "read linger.until", err)
		}
		if err := pause(ctx, min(time.Until(until), lingerPoll)); err != nil {
			return fmt.Errorf("keep local engine up: %w", err)
		}
		if over, err := layout.lingerOver(ctx, options); over || err != nil {
			return err
		}
	}
}

// lingerOver stops the engine when the time is over and nobody uses it. A user that
// is there then will see to the engine itself when it leaves.
func (l layout) lingerOver(ctx context.Context, options Options) (bool, error) {
	start, err := l.lockStart(ctx, options.Progress)
	if err != nil {
		return true, err
	}
	defer start.unlock()
	server, err := l.readInstance()
	if errors.Is(err, os.ErrNotExist) || err == nil && !server.alive() {
		return true, closeInherited(l.path("linger.lock"))
	}
	if err != nil {
		return true, err
	}
	until, err := l.lingerUntil()
	if err == nil && time.Now().Before(until) {
		return false, nil
	}
	if !server.Pinned && !l.hasUsers() {
		err = l.stopServer(ctx, options)
	}
	return true, errors.Join(err, closeInherited(l.path("linger.lock")))
}

// closeInherited gives linger.lock back while start.lock is still held, so that
// nobody counts on a process that is about to end.
func closeInherited(path string) error {
	const inherited = 3
	want, err := os.Stat(path)
	if err != nil {
		return err
	}
	file := os.NewFile(inherited, path)
	if info, err := file.Stat(); err == nil && os.SameFile(info, want) {
		return file.Close()
	}
	return nil
}
