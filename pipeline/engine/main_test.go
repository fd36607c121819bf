package engine_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"graphmill/pipeline/engine"
	"graphmill/pipeline/engine/enginetest"
)

// The test binary is also the other processes that share the engine.
func TestMain(m *testing.M) {
	switch os.Getenv("ENGINE_TEST_ROLE") {
	case "":
		os.Exit(m.Run())
	case "hold":
		os.Exit(hold(engine.Acquire))
	case "hold-reader":
		os.Exit(hold(engine.AcquireReader))
	case "linger":
		if err := engine.KeepAlive(context.Background(), engine.Options{DataDir: os.Args[len(os.Args)-1]}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

// hold uses the engine until its input ends.
func hold(acquire func(context.Context, engine.Options) (*engine.Lease, error)) int {
	lease, err := acquire(context.Background(), engine.Options{DataDir: os.Args[1], DepsDir: os.Args[2], MaxMemory: 1 << 30})
	if err != nil {
		fmt.Println("error", err)
		return 1
	}
	fmt.Println(lease.PID(), lease.Address())
	io.Copy(io.Discard, os.Stdin)
	if err := lease.Release(); err != nil {
		fmt.Println("error", err)
		return 1
	}
	return 0
}

// holder is another process that uses the engine.
type holder struct {
	t       *testing.T
	command *exec.Cmd
	input   io.WriteCloser
	output  *bufio.Reader
	ended   bool
}

func startHolder(t *testing.T, role, dataDir string, environment ...string) *holder {
	t.Helper()
	command := exec.Command(os.Args[0], dataDir, enginetest.Options(t, dataDir).DepsDir)
	command.Env = append(append(os.Environ(), "ENGINE_TEST_ROLE="+role), environment...)
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Stderr = os.Stderr
	input, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	h := &holder{t: t, command: command, input: input, output: bufio.NewReader(output)}
	t.Cleanup(func() { h.end(syscall.SIGKILL) })
	return h
}

// ready waits until it has the engine, and gives the server's process and socket.
func (h *holder) ready() (int, string) {
	h.t.Helper()
	line, err := h.output.ReadString('\n')
	if err != nil {
		h.t.Fatalf("holder said %q: %v", line, err)
	}
	pid, socket, _ := strings.Cut(strings.TrimSpace(line), " ")
	number, err := strconv.Atoi(pid)
	if err != nil {
		h.t.Fatalf("holder: %s", line)
	}
	return number, socket
}

// release ends its use properly.
func (h *holder) release() {
	h.t.Helper()
	h.input.Close()
	rest, _ := io.ReadAll(h.output)
	if err := h.command.Wait(); err != nil {
		h.t.Fatalf("holder: %v: %s", err, rest)
	}
	h.ended = true
}

// end signals the holder's process group and waits for it.
func (h *holder) end(signal syscall.Signal) {
	if h.ended {
		return
	}
	h.ended = true
	syscall.Kill(-h.command.Process.Pid, signal)
	h.command.Wait()
}

func acquire(t *testing.T, options engine.Options) *engine.Lease {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	lease, err := engine.Acquire(ctx, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { lease.Release() })
	return lease
}

func release(t *testing.T, lease *engine.Lease) {
	t.Helper()
	if err := lease.Release(); err != nil {
		t.Fatal(err)
	}
}

func status(t *testing.T, dataDir string) engine.Report {
	t.Helper()
	report, err := engine.Status(engine.Options{DataDir: dataDir})
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func client(t *testing.T, lease *engine.Lease) *redis.Client {
	credentials := lease.Credentials()
	client := redis.NewClient(&redis.Options{
		Network: "unix", Addr: lease.Address(), Username: credentials.User, Password: credentials.Secret,
		MaxRetries: -1, DialerRetries: 1,
	})
	t.Cleanup(func() { client.Close() })
	return client
}

func write(t *testing.T, lease *engine.Lease, statement string) {
	t.Helper()
	if err := client(t, lease).Do(t.Context(), "GRAPH.QUERY", "g", statement).Err(); err != nil {
		t.Fatal(err)
	}
}

func countNodes(t *testing.T, lease *engine.Lease) int64 {
	t.Helper()
	reply, err := client(t, lease).Do(t.Context(), "GRAPH.RO_QUERY", "g", "MATCH (n) RETURN count(n)").Slice()
	if err != nil {
		t.Fatal(err)
	}
	return reply[1].([]any)[0].([]any)[0].(int64)
}

// exists reports whether a process runs; one that ended and was not waited for does not.
func exists(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	// State, then six more fields, then flags. A process that is ending gives its
	// locks back before it is a zombie.
	const exiting = 0x4
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	flags, err := strconv.ParseUint(fields[6], 10, 64)
	return err == nil && fields[0] != "Z" && flags&exiting == 0
}

// eventually has no figure of its own: the test's time-out ends it.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for !holds() {
		select {
		case <-t.Context().Done():
			t.Fatalf("never: %s", what)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// mustFail wants an *engine.Error that says all of the words.
func mustFail(t *testing.T, err error, words ...string) {
	t.Helper()
	var told *engine.Error
	if !errors.As(err, &told) {
		t.Fatalf("got %v, want an *engine.Error", err)
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("error does not say %q: %v", word, err)
		}
	}
}
