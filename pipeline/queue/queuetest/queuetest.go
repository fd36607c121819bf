// Package queuetest gives tests a real Redis of their own: the server that is the
// engine's as well, without its module, on a unix socket. It fails, and does not
// skip, when the server is not there.
package queuetest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"graphmill/pipeline/engine"
	"graphmill/pipeline/engine/enginetest"
)

// Start starts a Redis, which ends with the test, and returns a client of it and
// its address as queue.url has it. password may be "".
func Start(t testing.TB, password string) (url string, client *redis.Client) {
	t.Helper()
	// Not t.TempDir: its name grows with the test's, and a socket's path is short.
	dir, err := os.MkdirTemp("", "gmq")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	files, err := engine.Find(enginetest.Options(t, dir))
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(dir, "s")
	args := []string{"--port", "0", "--unixsocket", socket, "--dir", dir, "--save", "", "--appendonly", "no"}
	if password != "" {
		args = append(args, "--requirepass", password)
	}
	command := exec.Command(files.RedisServer, args...)
	// It ends with the test's process also when that dies without cleaning up.
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var said bytes.Buffer
	command.Stdout, command.Stderr = &said, &said
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	client = redis.NewClient(&redis.Options{Network: "unix", Addr: socket, Password: password})
	t.Cleanup(func() {
		client.Close()
		command.Process.Kill()
		command.Wait()
	})
	for deadline := time.Now().Add(time.Minute); client.Ping(t.Context()).Err() != nil; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			command.Process.Kill()
			command.Wait()
			t.Fatalf("the Redis of the test does not answer: %s", said.String())
		}
	}
	return "redis-socket://" + socket, client
}
