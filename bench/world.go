package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"graphmill/pipeline/engine"
	"graphmill/pipeline/falkor/conn"
)

// world is a temporary folder with ingestd and a running engine.
type world struct {
	options
	dir    string
	data   string // the data directory
	lease  *engine.Lease
	client *conn.Client
}

func newWorld(ctx context.Context, o options) (*world, error) {
	w := &world{options: o}
	var err error
	if w.corpus, err = filepath.Abs(o.corpus); err != nil {
		return nil, err
	}
	if _, err := os.Stat(w.corpus); err != nil {
		return nil, fmt.Errorf("find corpus: %w; name a folder with -corpus or BENCH_CORPUS", err)
	}
	if w.dir, err = os.MkdirTemp("", "gmb"); err != nil {
		return nil, err
	}
	w.data = filepath.Join(w.dir, "data")
	if err := w.open(ctx); err != nil {
		w.close()
		return nil, err
	}
	return w, nil
}

func (w *world) open(ctx context.Context) error {
	build := exec.CommandContext(ctx, "go", "build", "-o", w.dir+"/", "./ingestd")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("build ingestd (run this from the module's folder): %w", err)
	}
	var err error
	if w.lease, err = engine.Acquire(ctx, engine.Options{DataDir: w.data}); err != nil {
		return err
	}
	login := w.lease.Credentials()
	w.client, err = conn.Open(conn.Options{Socket: w.lease.Address(), Username: login.User, Password: login.Secret})
	return err
}

func (w *world) close() {
	var errs []error
	if w.client != nil {
		errs = append(errs, w.client.Close())
	}
	if w.lease != nil {
		errs = append(errs, w.lease.Release())
	}
	errs = append(errs, os.RemoveAll(w.dir))
	if err := errors.Join(errs...); err != nil {
		fmt.Fprintln(os.Stderr, "bench: clean up:", err)
	}
}

// drop deletes a graph.
func (w *world) drop(ctx context.Context, name string) {
	w.client.Redis().Do(ctx, "GRAPH.DELETE", name)
	w.client.Redis().Do(ctx, "GRAPH.DELETE", name+"__ontology")
	os.RemoveAll(filepath.Join(w.data, "cache", "extractions", name)) // else the next run takes over what this one extracted
}

// cost is what something took.
type cost struct {
	wall     float64 // seconds
	ours     float64 // processor seconds of ingestd, or of this process
	engine   float64 // processor seconds of the engine
	commands int     // GRAPH.QUERY and GRAPH.RO_QUERY
	peak     float64 // MB, the largest resident size of ingestd
}

func (c cost) processor() string { return fmt.Sprintf("CPU %.1f + engine %.1f s", c.ours, c.engine) }

// measure takes what do costs. do returns the processor seconds of ours, and the
// peak, where it knows them.
func (w *world) measure(ctx context.Context, do func() (cost, error)) (cost, error) {
	commands, err := w.commands(ctx)
	if err != nil {
		return cost{}, err
	}
	ticks, self, began := processorSeconds(w.lease.PID()), processorSeconds(os.Getpid()), time.Now()
	c, err := do()
	c.wall = time.Since(began).Seconds()
	if c.ours == 0 {
		c.ours = processorSeconds(os.Getpid()) - self
	}
	c.engine = processorSeconds(w.lease.PID()) - ticks
	after, statErr := w.commands(ctx)
	c.commands = after - commands
	return c, errors.Join(err, statErr)
}

// commands counts the statements that the engine was sent since it started.
func (w *world) commands(ctx context.Context) (int, error) {
	info, err := w.client.Redis().Info(ctx, "commandstats").Result()
	total := 0
	for _, text := range strings.Split(info, "\n") {
		name, rest, _ := strings.Cut(text, ":calls=")
		if name == "cmdstat_graph.QUERY" || name == "cmdstat_graph.RO_QUERY" {
			calls, _, _ := strings.Cut(rest, ",")
			n, _ := strconv.Atoi(calls)
			total += n
		}
	}
	return total, err
}

// ingest runs ingestd and returns its cost and what it printed.
func (w *world) ingest(ctx context.Context, args ...string) (cost, string, error) {
	var printed bytes.Buffer
	c, err := w.measure(ctx, func() (cost, error) {
		command := exec.CommandContext(ctx, filepath.Join(w.dir, "ingestd"), append(args, "--data-dir", w.data, "--progress", "none")...)
		command.Stdout, command.Stderr = &printed, os.Stderr
		if err := command.Start(); err != nil {
			return cost{}, err
		}
		peak := make(chan float64)
		ended := make(chan struct{})
		go func() { peak <- watchPeak(command.Process.Pid, ended) }()
		err := command.Wait()
		close(ended)
		used := command.ProcessState.SystemTime() + command.ProcessState.UserTime()
		return cost{ours: used.Seconds(), peak: <-peak}, err
	})
	if err != nil {
		err = fmt.Errorf("ingestd %s: %w", strings.Join(args, " "), err)
	}
	return c, printed.String(), err
}

// watchPeak reads a process's largest resident size, in MB, until it ended. What
// wait4 says afterwards counts this process's memory, which the child shared
// until it became ingestd.
func watchPeak(pid int, ended <-chan struct{}) float64 {
	peak := 0.0
	for {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if _, rest, found := strings.Cut(string(text), "VmHWM:"); found {
			kilobytes := 0.0
			fmt.Sscan(rest, &kilobytes)
			peak = max(peak, kilobytes/1024)
		}
		select {
		case <-ended:
			return peak
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// processorSeconds is what a process has used, user and system.
func processorSeconds(pid int) float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.ParseFloat(fields[11], 64)
	system, _ := strconv.ParseFloat(fields[12], 64)
	return (user + system) / 100 // clock ticks, 100 a second on Linux
}
