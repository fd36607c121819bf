package engine_test

import (
	"context"
	"syscall"
	"testing"

	"github.com/redis/go-redis/v9"

	"graphmill/pipeline/engine"
	"graphmill/pipeline/engine/enginetest"
)

// The server replays its append-only file as the default user, and refuses what
// that user may not do, a transaction as a whole: its rights decide whether what
// was reported as done is still there.
func TestTransactionsSurviveEveryRestart(t *testing.T) {
	t.Parallel()
	options := enginetest.Options(t, enginetest.DataDir(t))
	lease := acquire(t, options)
	transact := func(lease *engine.Lease) {
		_, err := client(t, lease).TxPipelined(context.Background(), func(p redis.Pipeliner) error {
			p.Do(t.Context(), "GRAPH.QUERY", "g", "CREATE (:A)")
			p.Do(t.Context(), "GRAPH.QUERY", "g", "CREATE (:B)")
			p.Set(t.Context(), "key", "value", 0)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	transact(lease)
	syscall.Kill(lease.PID(), syscall.SIGKILL)
	eventually(t, "check notices", func() bool { return lease.Check() != nil })
	again := acquire(t, options)
	release(t, lease)
	if n := countNodes(t, again); n != 2 {
		t.Errorf("after kill -9 %d nodes, want 2", n)
	}
	transact(again)
	release(t, again)
	last := acquire(t, options)
	if n := countNodes(t, last); n != 4 {
		t.Errorf("after a clean stop %d nodes, want 4", n)
	}
	if value := client(t, last).Get(t.Context(), "key").Val(); value != "value" {
		t.Errorf("the key holds %q", value)
	}
	release(t, last)
}
