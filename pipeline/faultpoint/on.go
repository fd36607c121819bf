//go:build faults

// Package faultpoint names the instants at which a process may die.
package faultpoint

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// The environment of a program with fault points:
//
//	GRAPHMILL_FAULT_TRACE=FILE         each instant is a line of FILE
//	GRAPHMILL_FAULT=NAME;N;ACTION      what happens when NAME is reached for the Nth time:
//	                                   kill    this process, as kill -9 does
//	                                   kill=P  process P so
//	                                   term    this process is told to end
//	                                   clock=D the time of day moves by D
//	GRAPHMILL_FAULT_CLOCK=D            the time of day is moved by D from the start
var fault = sync.OnceValue(func() plan {
	p := plan{trace: os.Getenv("GRAPHMILL_FAULT_TRACE")}
	parts := strings.Split(os.Getenv("GRAPHMILL_FAULT"), ";")
	if len(parts) == 3 {
		p.name, p.action = parts[0], parts[2]
		p.nth, _ = strconv.Atoi(parts[1])
	}
	if d, err := time.ParseDuration(os.Getenv("GRAPHMILL_FAULT_CLOCK")); err == nil {
		moved.Store(int64(d))
	}
	return p
})

type plan struct {
	trace, name, action string
	nth                 int
}

var (
	mu    sync.Mutex
	count int
	moved atomic.Int64
)

// Reach is called at an instant. Of what, the first word counts: the rest names a
// document.
func Reach(when string, what string) {
	p := fault()
	first, _, _ := strings.Cut(what, " ")
	name := when + " " + first
	mu.Lock()
	defer mu.Unlock()
	if p.trace != "" {
		if file, err := os.OpenFile(p.trace, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err == nil {
			fmt.Fprintln(file, name)
			file.Close()
		}
	}
	if name != p.name {
		return
	}
	if count++; count == p.nth {
		act(p.action)
	}
}

func act(action string) {
	what, value, _ := strings.Cut(action, "=")
	switch what {
	case "kill":
		pid := os.Getpid()
		if value != "" {
			pid, _ = strconv.Atoi(value)
		}
		syscall.Kill(pid, syscall.SIGKILL)
		for pid == os.Getpid() {
			time.Sleep(time.Second) // until it comes
		}
	case "term":
		syscall.Kill(os.Getpid(), syscall.SIGTERM)
	case "clock":
		if d, err := time.ParseDuration(value); err == nil {
			moved.Store(int64(d))
		}
	}
}

// Now is the time of day, moved.
func Now() time.Time {
	fault()
	// Without its monotonic part, which no clock that is set moves.
	return time.Now().Add(time.Duration(moved.Load())).Round(0)
}
