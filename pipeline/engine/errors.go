package engine

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
)

var (
	// ErrNoGraph: a reader met a data directory in which nothing was ingested yet.
	ErrNoGraph = errors.New("no graph yet")
	// ErrInUse: the engine was to be stopped while processes use it.
	ErrInUse = errors.New("engine in use")
	// ErrMissing: the engine's programs are not on this machine.
	ErrMissing = errors.New("engine not installed")
)

// Error is what went wrong with the local engine, for an operator.
type Error struct {
	// Verb is what was being done: "start", "join", "stop", "find".
	Verb string
	// Subject is the directory or file it was done to.
	Subject string
	// Reason is what happened.
	Reason string
	// Hint says what to do next; may be empty.
	Hint string
	// Log holds the last lines of the server's log; may be empty.
	Log string
	Err error
}

// Error is "verb local engine in subject: reason; hint", then the log's tail on
// lines of its own.
func (e *Error) Error() string {
	text := fmt.Sprintf("%s local engine in %s: %s", e.Verb, e.Subject, e.Reason)
	if e.Err != nil && !strings.Contains(e.Reason, e.Err.Error()) {
		text += ": " + e.Err.Error()
	}
	if e.Hint != "" {
		text += "; " + e.Hint
	}
	if e.Log != "" {
		text += "\nlast lines of its log:\n" + e.Log
	}
	return text
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// fileError explains an error of the file system.
func (l layout) fileError(verb, reason string, err error) error {
	hint := ""
	switch {
	case errors.Is(err, os.ErrPermission), errors.Is(err, syscall.EROFS):
		hint = "make the directory writable for this user, or choose another with --data-dir (GRAPHMILL_DATA_DIR)"
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		hint = "free some space, or choose another directory with --data-dir (GRAPHMILL_DATA_DIR)"
	case errors.Is(err, syscall.ENOTDIR), errors.Is(err, os.ErrExist):
		hint = "something that is no directory stands there; move it, or choose another directory with --data-dir (GRAPHMILL_DATA_DIR)"
	}
	return &Error{Verb: verb, Subject: l.dir, Reason: reason, Hint: hint, Err: err}
}

// diedError explains a server that ended by itself, out of its log.
func (l layout) diedError(verb string, server instance) error {
	log := l.logTail(server.LogStart)
	return &Error{
		Verb: verb, Subject: l.dir, Reason: "the server ended by itself", Hint: hintFromLog(log, l),
		Log: log,
	}
}

const diskFull = "free some space on the disk of the data directory and run again: what was reported as done is kept"

// hintFromLog knows the ends that were met. The most specific comes first.
func hintFromLog(log string, l layout) string {
	for _, known := range []struct{ sign, hint string }{
		{"libgomp.so.1", "install libgomp1 (apt-get install libgomp1)"},
		{"libssl.so.3", "install libssl3 (apt-get install libssl3; libssl3t64 from Debian 13 and Ubuntu 24.04 on)"},
		{"libcrypto.so.3", "install libssl3 (apt-get install libssl3; libssl3t64 from Debian 13 and Ubuntu 24.04 on)"},
		{"GLIBC_", "this system's C library is too old: Debian 12, Ubuntu 22.04 or newer is needed; or set FALKOR_HOST to a server"},
		{"No space left on device", diskFull},
		{"Short write while writing to the AOF file", diskFull},
		{"Read-only file system", "the data directory's disk is mounted read-only"},
		{"Bad file format reading the append only file", "the append-only file is damaged: restore " + l.dir + " from a backup, or move it away and ingest again"},
		{"Unexpected end of file reading the append only file", "the append-only file is damaged: restore " + l.dir + " from a backup, or move it away and ingest again"},
		{"Can't load module", "run `make deps` to fetch the engine again; engine.redis_server and engine.module must belong together"},
		{"Out Of Memory", "give the engine more memory (engine.max_memory) or the machine"},
		{"crashed by signal", "this is a crash of the engine itself: run again, nothing that was reported as done is lost; keep " + l.logFile() + " for a report"},
	} {
		if strings.Contains(log, known.sign) {
			return known.hint
		}
	}
	return "see " + l.logFile() + "; a server that was killed from outside loses nothing that was reported as done: run again"
}
