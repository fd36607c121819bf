package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/sync/errgroup"
)

const (
	// clientCount asks at once.
	clientCount = 32
	// clientTime is for how long they do.
	clientTime = 15 * time.Second
	// starvedBelow is the share of the mean under which a client counts as starved.
	starvedBelow = 0.5
)

func (w *world) buildQueryd(ctx context.Context) error {
	build := exec.CommandContext(ctx, "go", "build", "-o", w.dir+"/", "./queryd")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("build queryd: %w", err)
	}
	return nil
}

// queryd is a command that serves a graph, with limits that let a benchmark
// through.
func (w *world) queryd(a asked, args ...string) *exec.Cmd {
	command := exec.Command(filepath.Join(w.dir, "queryd"), append([]string{"serve", "--data-dir", w.data, "--graph", a.graph}, args...)...)
	command.Env = append(os.Environ(), "GRAPHMILL_MCP_MAX_REQUESTS_PER_MINUTE=10000000", "GRAPHMILL_MCP_QUEUE_TIMEOUT=1m", "GRAPHMILL_MCP_AUDIT_FILE="+os.DevNull)
	return command
}

func call(ctx context.Context, session *mcp.ClientSession, tool string, arguments map[string]any) (time.Duration, string, error) {
	began := time.Now()
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: arguments})
	took := time.Since(began)
	if err != nil {
		return 0, "", err
	}
	var text strings.Builder
	for _, content := range result.Content {
		if part, ok := content.(*mcp.TextContent); ok {
			text.WriteString(part.Text)
		}
	}
	if result.IsError || strings.Contains(text.String(), "Not every search worked") {
		return 0, "", fmt.Errorf("%s: %s", tool, text.String())
	}
	return took, text.String(), nil
}

// askServer measures queryd: its first answer, one client, many clients, memory.
func (w *world) askServer(ctx context.Context, t *table, a asked) error {
	if err := w.firstAnswer(ctx, t, a); err != nil {
		return err
	}
	command := w.queryd(a, "--transport", "http", "--listen", "127.0.0.1:0")
	printed, err := command.StderrPipe()
	if err != nil {
		return err
	}
	if err := command.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	peak := make(chan float64, 1)
	go func() { peak <- watchPeak(command.Process.Pid, ended) }()
	err = w.askOverNetwork(ctx, t, a, command.Process.Pid, printed)
	command.Process.Signal(syscall.SIGTERM)
	go io.Copy(io.Discard, printed)
	err = errors.Join(err, command.Wait())
	close(ended)
	memory := <-peak
	t.add(line{
		what: "memory of queryd, " + a.name, ours: fmt.Sprintf("%.0f MB", memory), limit: fmt.Sprintf("%.0f MB", peerMem), ratio: times(peerMem / memory),
		target: "≤ 300 MB", met: memory <= targetMemory, note: fmt.Sprintf("model loaded, the most under %d clients", clientCount),
	})
	return err
}

// firstAnswer starts queryd over stdio, once to warm the file cache and then to
// measure.
func (w *world) firstAnswer(ctx context.Context, t *table, a asked) error {
	var took durations
	for round := range w.rounds + 1 {
		began := time.Now()
		client := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, nil)
		session, err := client.Connect(ctx, &mcp.CommandTransport{Command: w.queryd(a)}, nil)
		if err != nil {
			return err
		}
		_, _, err = call(ctx, session, "retrieve", map[string]any{"question": a.questions[0]})
		if round > 0 {
			took = append(took, time.Since(began))
		}
		if err = errors.Join(err, session.Close()); err != nil {
			return err
		}
	}
	first := took.at(0)
	l := line{what: "first answer after process start, " + a.name, ours: milliseconds(first), target: "≤ 500 ms", met: first <= targetFirst, note: "file cache warm, model loaded on the way"}
	if a.name == "corpus" {
		l.limit, l.ratio = milliseconds(peerFirst), times(peerFirst/first)
	}
	t.add(l)
	return nil
}

// address reads where queryd listens.
func address(printed io.Reader) (string, error) {
	lines := bufio.NewScanner(printed)
	for lines.Scan() {
		if _, url, found := strings.Cut(lines.Text(), "serving MCP at "); found {
			return strings.TrimSpace(url), nil
		}
	}
	return "", errors.Join(errors.New("queryd ended before it served"), lines.Err())
}

func (w *world) askOverNetwork(ctx context.Context, t *table, a asked, pid int, printed io.Reader) error {
	url, err := address(printed)
	if err != nil {
		return err
	}
	go io.Copy(io.Discard, printed)
	var sessions []*mcp.ClientSession
	for range clientCount {
		client := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, nil)
		session, err := client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: url}, nil)
		if err != nil {
			return err
		}
		defer session.Close()
		sessions = append(sessions, session)
	}
	if err := w.askAlone(ctx, t, a, sessions[0]); err != nil {
		return err
	}
	return w.askTogether(ctx, t, a, pid, sessions)
}

// askAlone is one client that asks one question after the other.
func (w *world) askAlone(ctx context.Context, t *table, a asked, session *mcp.ClientSession) error {
	var retrieved, status durations
	var characters []int
	for _, question := range a.questions {
		took, text, err := call(ctx, session, "retrieve", map[string]any{"question": question})
		if err != nil {
			return err
		}
		retrieved, characters = append(retrieved, took), append(characters, len([]rune(text)))
		if took, _, err = call(ctx, session, "status", nil); err != nil {
			return err
		}
		status = append(status, took)
	}
	slices.Sort(characters)
	p50 := retrieved.at(0.5)
	t.add(line{
		what: "retrieve over HTTP, " + a.name + ", p50", ours: milliseconds(p50), target: "≤ 40 ms", met: p50 <= targetP50,
		note: fmt.Sprintf("p95 %s; %d characters of text, the peer's %d", milliseconds(retrieved.at(0.95)), characters[len(characters)/2], peerCharacters),
	})
	answered := status.at(0.5)
	t.add(line{what: "status over HTTP, " + a.name + ", p50", ours: milliseconds(answered), target: "≤ 5 ms", met: answered <= targetStatus, note: "p95 " + milliseconds(status.at(0.95))})
	return nil
}

// askTogether is all clients at once, each its next question as soon as the last
// one is answered.
func (w *world) askTogether(ctx context.Context, t *table, a asked, pid int, sessions []*mcp.ClientSession) error {
	server, engine, self := processorSeconds(pid), processorSeconds(w.lease.PID()), processorSeconds(os.Getpid())
	began := time.Now()
	took := make([]durations, len(sessions))
	var group errgroup.Group
	for i, session := range sessions {
		group.Go(func() error {
			for n := i; time.Since(began) < clientTime; n++ {
				d, _, err := call(ctx, session, "retrieve", map[string]any{"question": a.questions[n%len(a.questions)]})
				if err != nil {
					return err
				}
				took[i] = append(took[i], d)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	wall := time.Since(began).Seconds()
	server, engine, self = processorSeconds(pid)-server, processorSeconds(w.lease.PID())-engine, processorSeconds(os.Getpid())-self
	var all durations
	fewest := len(took[0])
	for _, d := range took {
		all, fewest = append(all, d...), min(fewest, len(d))
	}
	cores := float64(runtime.NumCPU())
	mean := float64(len(all)) / float64(len(sessions))
	p50, p99 := all.at(0.5), all.at(0.99)
	t.add(line{
		what: fmt.Sprintf("%d clients at once, %s", len(sessions), a.name), ours: fmt.Sprintf("%.0f answers/s", float64(len(all))/wall),
		note: fmt.Sprintf("p50 %s, p99 %s; cores in use: queryd %s, engine %s, these clients %s", milliseconds(p50), milliseconds(p99),
			percent(server/wall/cores), percent(engine/wall/cores), percent(self/wall/cores)),
	})
	each := 1000 / float64(len(all))
	t.add(line{what: "the same, processor time of an answer", ours: milliseconds((server + engine) * each), note: fmt.Sprintf("queryd %s, engine %s", milliseconds(server*each), milliseconds(engine*each))})
	t.add(line{what: "the same, p99 over p50", ours: times(p99 / p50), target: "≤ 20 ×", met: p99 <= targetSpread*p50})
	t.add(line{
		what: "the same, the client with the fewest answers", ours: fmt.Sprint(fewest), limit: fmt.Sprintf("%.0f (mean)", mean), ratio: times(float64(fewest) / mean),
		target: "≥ 0.5 ×", met: float64(fewest) >= starvedBelow*mean,
	})
	return nil
}
