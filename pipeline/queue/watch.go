package queue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
)

// watch looks after a run's tasks once a second: it says that the run is alive,
// who works, takes over what dead workers had, and sends again what Redis lost.
type watch struct {
	*Run
	beats   map[string]beat // of active tasks
	alone   int             // looks in a row without a worker that may work
	told    string
	reached time.Time
	looks   int
}

// beat is the lease of a task as it was first seen. Its worker moves it on every
// 5 s.
type beat struct {
	lease float64
	seen  time.Time
}

const (
	lookEvery = time.Second
	// stillness is how long a worker may not move a lease on before its task is
	// another's: four beats. asynq's own recovery compares clocks of two machines,
	// and so waits for 60 to 120 s; here only the run's own clock counts. A worker
	// that was only slow gives a second result, which nobody takes.
	stillness = 20 * time.Second
	// lostAfter is how long a task may be found nowhere.
	lostAfter = 10
	// unreachable is how long Redis may be away.
	unreachable = time.Minute
)

func newWatch(r *Run) *watch {
	return &watch{Run: r, beats: map[string]beat{}, reached: time.Now()}
}

func (w *watch) keep(ctx context.Context) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			w.look(ctx)
		case <-ctx.Done():
			return
		}
	}
}

func (w *watch) look(ctx context.Context) {
	w.looks++
	err := w.queue.redis.Set(ctx, w.queue.runKey(w.job.ID), w.record, runTTL).Err()
	if err == nil {
		err = errors.Join(w.workers(), w.takeOver(ctx))
	}
	if err == nil && w.looks%lostAfter == 0 {
		err = w.findLost(ctx)
	}
	switch {
	case err == nil:
		w.reached = time.Now()
	case ctx.Err() == nil && time.Since(w.reached) > unreachable:
		w.fail(fmt.Errorf("queue %s cannot be reached for %s: %w; next: look after Redis and run again", w.queue.address, unreachable, err))
	}
}

// workers sizes the window by who is there, and says so when it changes.
func (w *watch) workers() error {
	servers, err := w.queue.inspector.Servers()
	if err != nil {
		return err
	}
	w.mu.Lock()
	alive, slots := 0, 0
	var refusal string
	for _, s := range servers {
		if _, ours := s.Queues[w.queue.name()]; ours && s.Status == "active" && w.refused[nameOf(s.Host, s.PID)] == "" {
			alive, slots = alive+1, slots+max(1, s.Concurrency-fetched)
		}
	}
	for name, why := range w.refused {
		refusal = "worker " + name + ": " + why
	}
	w.mu.Unlock()
	w.window.resize(min(maxWindow, max(2, ahead*slots)))
	if alive > 0 {
		w.alone = 0
	} else if w.alone++; refusal != "" && w.alone > 3 {
		w.fail(fmt.Errorf("no worker of queue %s may work for this run; %s", w.queue.Name, refusal))
	}
	w.tell(alive, slots)
	return nil
}

func (w *watch) tell(alive, slots int) {
	text := fmt.Sprintf("queue %s at %s: %d workers, %d documents at once", w.queue.Name, w.queue.address, alive, slots)
	if alive == 0 {
		text = fmt.Sprintf("queue %s at %s: no worker is there; waiting for `ingestd worker --queue %s --root DIR` with this configuration", w.queue.Name, w.queue.address, w.queue.address)
	}
	if text != w.told {
		w.told = text
		w.say(text)
	}
}

// handBack gives an active task to the next worker, as asynq's own Requeue does.
var handBack = redis.NewScript(`
if redis.call("LREM", KEYS[1], 0, ARGV[1]) == 0 then return 0 end
redis.call("ZREM", KEYS[2], ARGV[1])
redis.call("RPUSH", KEYS[3], ARGV[1])
redis.call("HSET", KEYS[4], "state", "pending")
return 1`)

// takeOver hands back the tasks whose workers have stopped to move their leases on.
func (w *watch) takeOver(ctx context.Context) error {
	prefix := "asynq:{" + w.queue.name() + "}:"
	leases, err := w.queue.redis.ZRangeWithScores(ctx, prefix+"lease", 0, -1).Result()
	if err != nil {
		return err
	}
	now := time.Now()
	beats := make(map[string]beat, len(leases))
	for _, z := range leases {
		id, _ := z.Member.(string)
		have, known := w.beats[id]
		if !known || have.lease != z.Score {
			have = beat{z.Score, now}
		}
		if now.Sub(have.seen) > stillness {
			keys := []string{prefix + "active", prefix + "lease", prefix + "pending", prefix + "t:" + id}
			if err := handBack.Run(ctx, w.queue.redis, keys, id).Err(); err != nil {
				return err
			}
			continue
		}
		beats[id] = have
	}
	w.beats = beats
	return nil
}

// findLost sends again what is neither in the queue nor answered.
func (w *watch) findLost(ctx context.Context) error {
	w.mu.Lock()
	var waiting []*sent
	for _, s := range w.sent {
		if !s.at.IsZero() && time.Since(s.at) > lostAfter*lookEvery {
			waiting = append(waiting, s)
		}
	}
	w.mu.Unlock()
	for part := range slices.Chunk(waiting, 100) {
		pipe := w.queue.redis.Pipeline()
		there := make([]*redis.IntCmd, len(part))
		for i, s := range part {
			there[i] = pipe.Exists(ctx, "asynq:{"+w.queue.name()+"}:t:"+s.id, w.queue.taskKey(s.id))
		}
		if _, err := pipe.Exec(ctx); err != nil {
			return err
		}
		for i, s := range part {
			if there[i].Val() < 2 {
				if err := w.send(ctx, s); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
