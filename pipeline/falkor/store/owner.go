package store

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"

	"graphmill/pipeline/faultpoint"
)

// LocalOwner describes this process as a lock's owner.
func LocalOwner(verb string) (LockOwner, error) {
	host, err := os.Hostname()
	if err != nil {
		return LockOwner{}, fmt.Errorf("name lock owner: %w", err)
	}
	start, err := processStart(os.Getpid())
	if err != nil {
		return LockOwner{}, fmt.Errorf("name lock owner: %w", err)
	}
	return LockOwner{Host: host, BootID: bootID(), PID: os.Getpid(), ProcessStart: start, Verb: verb, Since: faultpoint.Now().UTC()}, nil
}

// dead reports whether the owner is a process of this machine, in this process's
// own world of pids, that is not there any more. Of owners elsewhere nothing is
// known.
func (o LockOwner) dead() bool {
	host, err := os.Hostname()
	if err != nil || o.Host != host || o.BootID == "" || o.BootID != bootID() {
		return false
	}
	start, err := processStart(o.PID)
	if errors.Is(err, os.ErrNotExist) {
		return true
	}
	return err == nil && start != o.ProcessStart
}

// bootID names this boot of the kernel and the pid namespace: two containers on
// one host may have the same name, and their pids mean different processes.
func bootID() string {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	namespace, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(boot)) + "/" + namespace
}

// processStart is the time a process started, in clock ticks since boot: field
// 22 of /proc/PID/stat, the 20th after the command's closing parenthesis. A
// zombie counts as gone.
func processStart(pid int) (string, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", err
	}
	_, rest, ok := bytes.Cut(stat[bytes.LastIndexByte(stat, ')'):], []byte(") "))
	fields := bytes.Fields(rest)
	if !ok || len(fields) < 20 {
		return "", fmt.Errorf("read start of process %d: /proc/%d/stat has an unknown form", pid, pid)
	}
	if state := fields[0][0]; state == 'Z' || state == 'X' {
		return "", os.ErrNotExist
	}
	return string(fields[19]), nil
}
