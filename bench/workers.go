package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"graphmill/pipeline"
	"graphmill/pipeline/engine"
)

const (
	// targetWorkers is how much faster two workers shall be than one.
	targetWorkers = 1.7
	// pieceBytes and pieces are the documents that workers share: of one length, so
	// that none is left alone with the last one.
	pieceBytes = 5000
	pieces     = 96
)

// benchWorkers has one worker and two, of one thread each, do the same documents
// with GLiNER and MiniLM, in turns. Workers run and have their models when it
// begins.
func benchWorkers(ctx context.Context, w *world, t *table) error {
	root := filepath.Join(w.dir, "pieces")
	if err := cutPieces(modelsCorpus, root); err != nil {
		return err
	}
	url, stop, err := w.startRedis(ctx)
	if err != nil {
		return err
	}
	defer stop()
	var one, two measured
	for round := range w.rounds {
		for n, best := range map[int]*measured{1: &one, 2: &two} {
			m, err := w.runWithWorkers(ctx, n, root, url, fmt.Sprintf("workers%dx%d", n, round))
			if err != nil {
				return err
			}
			if best.wall == 0 || m.wall < best.wall {
				*best = m
			}
		}
	}
	ratio := one.wall / two.wall
	rate := func(m measured, n float64) string {
		return fmt.Sprintf("%.1f chunks/s each", float64(m.chunks)/m.wall/n)
	}
	t.add(line{
		what: fmt.Sprintf("two workers against one, one thread each, %d documents", pieces), ours: seconds(two.wall), limit: seconds(one.wall) + " (one worker)",
		ratio: times(ratio), target: "≥ 1.7 ×", met: ratio >= targetWorkers,
		note: fmt.Sprintf("%d chunks; one: %s, worker CPU %.1f s, %s; two: %s, worker CPU %.1f s, %s; both with coordinator and engine on %d cores",
			two.chunks, rate(one, 1), one.worked, one.processor(), rate(two, 2), two.worked, two.processor(), runtime.NumCPU()),
	})
	return nil
}

// measured is a run with workers.
type measured struct {
	cost
	worked float64 // processor seconds of the workers
	chunks int
}

func (w *world) runWithWorkers(ctx context.Context, n int, root, url, graphName string) (measured, error) {
	var m measured
	shared := []string{"--config", modelsConfig, "--queue", url, "--graph", "workers"}
	var pids []int
	for i := range n {
		command := exec.CommandContext(ctx, filepath.Join(w.dir, "ingestd"), append([]string{"worker", "--root", root, "--jobs", "1", "--data-dir", filepath.Join(w.dir, fmt.Sprint("worker", i))}, shared...)...)
		command.Env = append(os.Environ(), "GRAPHMILL_QUEUE_NAME=bench")
		if err := command.Start(); err != nil {
			return m, err
		}
		pids = append(pids, command.Process.Pid)
		defer func() { command.Process.Signal(syscall.SIGTERM); command.Wait() }()
	}
	defer w.drop(ctx, graphName)
	defer w.drop(ctx, graphName+"_warm")
	run := func(graphName string, more ...string) (cost, string, error) {
		args := append([]string{"run", "--config", modelsConfig, "--queue", url, "--graph", graphName, "--root", root, "--output", "json"}, more...)
		os.Setenv("GRAPHMILL_QUEUE_NAME", "bench")
		defer os.Unsetenv("GRAPHMILL_QUEUE_NAME")
		return w.ingest(ctx, args...)
	}
	// More documents than a worker can have at once, so that each gets some.
	if _, _, err := run(graphName+"_warm", "--include", "p000*.txt"); err != nil {
		return m, err
	}
	before := 0.0
	for _, pid := range pids {
		before += processorSeconds(pid)
	}
	c, printed, err := run(graphName)
	if err != nil {
		return m, err
	}
	for _, pid := range pids {
		m.worked += processorSeconds(pid)
	}
	m.worked -= before
	m.cost = c
	var report pipeline.Report
	if err := json.Unmarshal([]byte(printed), &report); err != nil {
		return m, err
	}
	m.chunks = report.Totals.Chunks
	return m, nil
}

// startRedis starts the engine's server without its module.
func (w *world) startRedis(ctx context.Context) (url string, stop func(), err error) {
	files, err := engine.Find(engine.Options{DataDir: w.data})
	if err != nil {
		return "", nil, err
	}
	socket := filepath.Join(w.dir, "queue.sock")
	command := exec.CommandContext(ctx, files.RedisServer, "--port", "0", "--unixsocket", socket, "--dir", w.dir, "--save", "")
	if err := command.Start(); err != nil {
		return "", nil, err
	}
	for range 500 {
		if _, err = os.Stat(socket); err == nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	return "redis-socket://" + socket, func() { command.Process.Kill(); command.Wait() }, err
}

// cutPieces makes documents of one length of the texts of a corpus.
func cutPieces(from, to string) error {
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	n := 0
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !slices.Contains([]string{".md", ".txt"}, filepath.Ext(path)) {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for rest := string(text); len(rest) > pieceBytes && n < pieces; n++ {
			cut := pieceBytes + strings.IndexByte(rest[pieceBytes:], '\n') + 1
			if cut <= pieceBytes {
				break
			}
			if err := os.WriteFile(filepath.Join(to, fmt.Sprintf("p%04d.txt", n)), []byte(rest[:cut]), 0o644); err != nil {
				return err
			}
			rest = rest[cut:]
		}
		return nil
	})
}
