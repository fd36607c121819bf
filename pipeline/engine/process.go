package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// instance is the record of a server in engine.pid. Its number alone proves
// nothing, since the system gives numbers again: see alive.
type instance struct {
	// PID is 0 in the moment between writing the record and starting the server.
	PID int `json:"pid"`
	// Started is the process's start in clock ticks since the machine's.
	Started uint64 `json:"started"`
	Socket  string `json:"socket"`
	// LogStart is where its part of the log begins.
	LogStart int64 `json:"log_start"`
	// Pinned keeps the server up when the last user leaves.
	Pinned bool `json:"pinned,omitempty"`
	// Lock is the path of the server.lock it inherited.
	Lock string `json:"-"`
}

func (l layout) readInstance() (instance, error) {
	server := instance{Lock: l.path("server.lock")}
	text, err := os.ReadFile(l.path("engine.pid"))
	if err != nil {
		return server, err
	}
	if err := json.Unmarshal(text, &server); err != nil {
		return server, &Error{Verb: "read", Subject: l.path("engine.pid"), Reason: "it is not this program's record", Err: err}
	}
	return server, nil
}

func (l layout) writeInstance(server instance) error {
	text, err := json.Marshal(server)
	if err != nil {
		return err
	}
	if err := l.writeFile("engine.pid", append(text, '\n')); err != nil {
		return l.fileError("start", "write engine.pid", err)
	}
	return nil
}

// alive reports whether the recorded process still runs and is the server: it
// began when recorded and has the inherited lock open.
func (i instance) alive() bool {
	if i.PID <= 0 {
		return false
	}
	started, state, err := processStart(i.PID)
	return err == nil && started == i.Started && state != 'Z' && hasOpen(i.PID, i.Lock)
}

// processStart reads a process's start time and state from /proc.
func processStart(pid int) (uint64, byte, error) {
	fields, err := processStat(pid)
	if err != nil {
		return 0, 0, err
	}
	started, err := strconv.ParseUint(fields[19], 10, 64)
	return started, fields[0][0], err
}

// processTicks is the processor time that a process has used.
func processTicks(pid int) uint64 {
	fields, err := processStat(pid)
	if err != nil {
		return 0
	}
	user, _ := strconv.ParseUint(fields[11], 10, 64)
	system, _ := strconv.ParseUint(fields[12], 10, 64)
	return user + system
}

// processStat gives the fields of /proc/PID/stat from the third on: the second is
// a name in parentheses that may hold anything.
func processStat(pid int) ([]string, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil, err
	}
	end := strings.LastIndexByte(string(text), ')')
	fields := strings.Fields(string(text[end+1:]))
	if end < 0 || len(fields) < 20 {
		return nil, fmt.Errorf("read /proc/%d/stat: unknown form", pid)
	}
	return fields, nil
}

// hasOpen reports whether a process has a file open.
func hasOpen(pid int, path string) bool {
	want, err := os.Stat(path)
	if err != nil {
		return false
	}
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	names, err := os.ReadDir(dir)
	if err != nil {
		return false
	}
	for _, name := range names {
		if info, err := os.Stat(filepath.Join(dir, name.Name())); err == nil && os.SameFile(info, want) {
			return true
		}
	}
	return false
}

// serverPIDs are all processes that have server.lock open: the server, and a child
// of it that rewrites the append-only file and may outlive it.
func (l layout) serverPIDs() []int { return l.openers("server.lock") }

func (l layout) openers(name string) []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var pids []int
	for _, entry := range entries {
		if pid, err := strconv.Atoi(entry.Name()); err == nil && pid != os.Getpid() && hasOpen(pid, l.path(name)) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// findServer looks for a running server; start.lock is held. Either it gives the
// server's lock, which is then free, or the server. What it can prove to be the
// rest of a dead server it ends; it never touches another process.
func (l layout) findServer(ctx context.Context, options Options) (*lockFile, instance, error) {
	deadline := time.Now().Add(options.StartTimeout)
	for {
		free, err := tryLock(l.path("server.lock"), syscall.LOCK_EX)
		if err != nil {
			return nil, instance{}, l.fileError("start", "open server.lock", err)
		}
		if free != nil {
			return free, instance{}, nil
		}
		server, err := l.readInstance()
		if err == nil && server.alive() {
			return nil, server, nil
		}
		adopted, ok := l.adopt(server)
		if ok {
			return nil, adopted, l.writeInstance(adopted)
		}
		// A record with a number is of a server that is dead: what holds its lock is
		// a child it left. Without one, a server may only just be starting.
		if server.PID != 0 || time.Until(deadline) < options.StartTimeout/2 {
			l.killServers(syscall.SIGKILL)
		}
		if time.Now().After(deadline) {
			return nil, instance{}, &Error{
				Verb: "join", Subject: l.dir, Reason: "a server holds server.lock and cannot be identified" + l.holders("server.lock"),
				Hint: "it may run in another container: use it from there, or end it there",
			}
		}
		if err := pause(ctx, lockPoll); err != nil {
			return nil, instance{}, &Error{Verb: "join", Subject: l.dir, Reason: "waiting for the rest of an earlier server", Err: err}
		}
	}
}

// adopt takes up a server that listens and whose record was never finished, or was
// lost.
func (l layout) adopt(server instance) (instance, bool) {
	if server.Socket == "" {
		server.Socket, _ = l.socketPath()
	}
	pids := l.serverPIDs()
	if len(pids) != 1 || !accepts(server.Socket) {
		return instance{}, false
	}
	started, _, err := processStart(pids[0])
	if err != nil {
		return instance{}, false
	}
	server.PID, server.Started = pids[0], started
	return server, server.alive()
}

// startServer starts the server in a session of its own, so that Ctrl-C at a
// terminal does not reach it, with server.lock as an inherited descriptor.
//
// The result has a number when a process was started, also with an error.
//
// Dying here before the second record leaves a server that holds server.lock and
// whose socket stands in the first record: findServer adopts it.
func (l layout) startServer(options Options, lock *lockFile) (instance, error) {
	binaries, err := Find(options)
	if err != nil {
		return instance{}, err
	}
	if err := l.preflight(); err != nil {
		return instance{}, err
	}
	socket, err := l.socketPath()
	if err != nil {
		return instance{}, err
	}
	if err := os.MkdirAll(l.path("tmp"), 0o700); err != nil {
		return instance{}, l.fileError("start", "make tmp", err)
	}
	// Nobody holds server.lock, so that a socket standing there is a dead one's.
	if err := os.Remove(socket); err != nil && !errors.Is(err, os.ErrNotExist) {
		return instance{}, l.fileError("start", "remove a dead server's socket", err)
	}
	log, logStart, err := l.openLog()
	if err != nil {
		return instance{}, l.fileError("start", "open engine.log", err)
	}
	defer log.Close()
	server := instance{Socket: socket, LogStart: logStart, Lock: lock.file.Name()}
	if err := l.writeInstance(server); err != nil {
		return instance{}, err
	}
	command := exec.Command(binaries.RedisServer, append(l.arguments(options, binaries, socket), options.serverArguments...)...)
	command.Stdout, command.Stderr = log, log
	command.Dir = l.dir
	command.Env = serverEnvironment()
	command.ExtraFiles = []*os.File{lock.file}
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := command.Start(); err != nil {
		return instance{}, &Error{
			Verb: "start", Subject: l.dir, Reason: "run " + binaries.RedisServer,
			Hint: "run `make deps` to fetch it again", Err: err,
		}
	}
	// Only to take its exit from the system should it end before this process.
	go command.Wait()
	server.PID = command.Process.Pid
	if server.Started, _, err = processStart(server.PID); err != nil {
		return server, l.diedError("start", server)
	}
	return server, l.writeInstance(server)
}

// serverEnvironment keeps keys and passwords of this process out of the server's.
func serverEnvironment() []string {
	var kept []string
	for _, name := range []string{"PATH", "HOME", "LANG", "LC_ALL", "TZ", "LD_LIBRARY_PATH", "OMP_NUM_THREADS", "MALLOC_CONF"} {
		if value, set := os.LookupEnv(name); set {
			kept = append(kept, name+"="+value)
		}
	}
	return kept
}

// killServers signals whatever holds server.lock open and nothing else. The handle
// is opened before the check, so that the number cannot be another's meanwhile.
func (l layout) killServers(signal syscall.Signal) int {
	signalled := 0
	for _, pid := range l.serverPIDs() {
		process, err := os.FindProcess(pid)
		if err != nil {
			continue
		}
		if hasOpen(pid, l.path("server.lock")) && process.Signal(signal) == nil {
			signalled++
		}
		process.Release()
	}
	return signalled
}

// stopServer asks the server to end, waits until it has, and removes its record;
// start.lock is held. Every answered write is on disk already (appendfsync
// always), so that killing one that hangs loses nothing.
func (l layout) stopServer(ctx context.Context, options Options) error {
	began, asked := time.Now(), syscall.Signal(0)
	for {
		free, err := tryLock(l.path("server.lock"), syscall.LOCK_EX)
		if err != nil {
			return l.fileError("stop", "open server.lock", err)
		}
		if free != nil {
			defer free.unlock()
			return l.forget()
		}
		want := syscall.SIGTERM
		if time.Since(began) > options.StopTimeout {
			want = syscall.SIGKILL
		}
		if asked != want {
			if asked = want; l.killServers(want) == 0 && want == syscall.SIGKILL {
				return &Error{
					Verb: "stop", Subject: l.dir, Reason: "the server cannot be identified" + l.holders("server.lock"),
					Hint: "it may run in another container: stop it there",
				}
			}
		}
		if err := pause(ctx, lockPoll); err != nil {
			return &Error{Verb: "stop", Subject: l.dir, Reason: "waiting for the server to end", Err: err}
		}
	}
}

// forget removes a dead server's record and socket.
func (l layout) forget() error {
	server, err := l.readInstance()
	if err == nil && server.Socket != "" {
		err = os.Remove(server.Socket)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return l.fileError("stop", "remove the dead server's socket", err)
	}
	if err := os.Remove(l.path("engine.pid")); err != nil && !errors.Is(err, os.ErrNotExist) {
		return l.fileError("stop", "remove engine.pid", err)
	}
	return nil
}
