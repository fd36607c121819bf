package enginetest_test

import (
	"os"
	"strconv"
	"testing"

	"github.com/redis/go-redis/v9"

	"graphmill/pipeline/engine"
	"graphmill/pipeline/engine/enginetest"
)

func connect(t *testing.T, f *enginetest.Fixture, as engine.Credentials) *redis.Client {
	client := redis.NewClient(&redis.Options{Network: "unix", Addr: f.Address, Username: as.User, Password: as.Secret, MaxRetries: -1})
	t.Cleanup(func() { client.Close() })
	return client
}

func TestFixtureKeepsItsDataOverKillAndRestart(t *testing.T) {
	f := enginetest.Start(t)
	writer := connect(t, f, f.Writer)
	if err := writer.Do(t.Context(), "GRAPH.QUERY", "g", "CREATE (:Chunk {id: 'a'})").Err(); err != nil {
		t.Fatal(err)
	}
	f.Kill()
	f.Restart()
	reader := connect(t, f, f.Reader)
	reply, err := reader.Do(t.Context(), "GRAPH.RO_QUERY", "g", "MATCH (c:Chunk) RETURN count(c)").Slice()
	if err != nil {
		t.Fatal(err)
	}
	if rows := reply[1].([]any); rows[0].([]any)[0] != int64(1) {
		t.Fatalf("after kill -9 and restart: %v, want one chunk", reply)
	}
}

func TestFixtureLeavesNothingBehind(t *testing.T) {
	var dir string
	var pid int
	t.Run("use", func(t *testing.T) {
		f := enginetest.Start(t)
		dir, pid = f.DataDir, f.PID()
	})
	if _, err := os.Stat(dir); err == nil {
		t.Errorf("%s still exists", dir)
	}
	if _, err := os.Stat("/proc/" + strconv.Itoa(pid)); err == nil {
		t.Errorf("server %d still runs", pid)
	}
}
