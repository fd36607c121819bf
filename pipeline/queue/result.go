package queue

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"graphmill/pipeline"
	"graphmill/pipeline/packed"
)

func isMissing(err error) bool { return errors.Is(err, redis.Nil) }

// enter waits until the task may be worked on: beside others, or alone when it was
// tried before.
func (w *worker) enter(ctx context.Context, id string) (leave func(), err error) {
	tried, err := w.queue.redis.HGet(ctx, w.queue.taskKey(id), "tries").Int()
	if err != nil && !isMissing(err) {
		return nil, err
	}
	if tried > 0 {
		w.alone.Lock()
		leave = w.alone.Unlock
	} else {
		w.alone.RLock()
		leave = w.alone.RUnlock
	}
	if ctx.Err() != nil { // handed back meanwhile
		leave()
		return nil, ctx.Err()
	}
	return leave, nil
}

// begin notes in the task that this worker tries it: whoever dies has been counted.
// body is nil when the run has taken the task back.
func (w *worker) begin(ctx context.Context, id string) (body []byte, tries int, last string, err error) {
	key := w.queue.taskKey(id)
	body, err = w.queue.redis.HGet(ctx, key, "body").Bytes()
	if isMissing(err) {
		return nil, 0, "", nil
	}
	if err != nil {
		return nil, 0, "", err
	}
	pipe := w.queue.redis.Pipeline()
	before := pipe.HGet(ctx, key, "worker")
	count := pipe.HIncrBy(ctx, key, "tries", 1)
	pipe.HSet(ctx, key, "worker", w.name)
	pipe.Expire(ctx, key, taskTTL)
	if _, err := pipe.Exec(ctx); err != nil && !isMissing(err) {
		return nil, 0, "", err
	}
	w.mu.Lock()
	w.active[id] = true
	w.mu.Unlock()
	return body, int(count.Val()), before.Val(), count.Err()
}

func (w *worker) end(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.active, id)
}

// tryBack leaves a task alone that the run has taken back meanwhile.
var tryBack = redis.NewScript(`if redis.call("EXISTS", KEYS[1]) == 1 then redis.call("HINCRBY", KEYS[1], "tries", -1) end return 1`)

// untry takes the count of a try back, of a task that this worker did not fail. It
// does so once.
func (w *worker) untry(id string) {
	w.mu.Lock()
	counted := w.active[id]
	delete(w.active, id)
	w.mu.Unlock()
	if !counted {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), dialTimeout)
	defer cancel()
	if err := tryBack.Run(ctx, w.queue.redis, []string{w.queue.taskKey(id)}).Err(); err != nil {
		w.Log.Warn("a task that is handed back counts as tried", "task", id, "error", err)
	}
}

// drain waits until everything is done, or time is over.
func (w *worker) drain(longest time.Duration) {
	for end := time.Now().Add(longest); time.Now().Before(end) && len(w.working()) > 0; {
		time.Sleep(10 * time.Millisecond)
	}
}

// giveBack takes back the tries of what is not done; the next worker must not find
// them counted.
func (w *worker) giveBack() {
	for _, id := range w.working() {
		w.untry(id)
	}
}

func (w *worker) working() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Collect(maps.Keys(w.active))
}

// reply sends a result, or says why it is not sent.
func (w *worker) reply(ctx context.Context, job *Job, id string, answer *reply) error {
	answer.Task, answer.Worker = id, w.name
	return w.push(ctx, job, answer)
}

func (w *worker) push(ctx context.Context, job *Job, answer *reply) error {
	data, err := packed.Encode(answer)
	if err == nil && int64(len(data)) > w.queue.MaxBytes {
		data, err = packed.Encode(&reply{Task: answer.Task, Worker: answer.Worker, Seconds: answer.Seconds, Failed: &pipeline.RemoteError{
			Kind: "too_large", Reason: fmt.Sprintf("what was extracted has %d bytes, more than queue.max_bytes of the worker (%d); raise it, or split the file", len(data), w.queue.MaxBytes),
		}})
	}
	if err != nil {
		return err
	}
	key := w.queue.resultsKey(job.ID)
	pipe := w.queue.redis.TxPipeline()
	pipe.RPush(ctx, key, data)
	pipe.Expire(ctx, key, resultsTTL)
	_, err = pipe.Exec(ctx)
	return err
}

// asynqLog gives what asynq says to our log. It speaks of itself a lot: what it
// takes for information is our debugging.
type asynqLog struct{ log *slog.Logger }

func (l asynqLog) Debug(args ...any) {}
func (l asynqLog) Info(args ...any)  { l.log.Debug(fmt.Sprint(args...), "from", "asynq") }
func (l asynqLog) Warn(args ...any)  { l.log.Debug(fmt.Sprint(args...), "from", "asynq") }
func (l asynqLog) Error(args ...any) { l.log.Warn(fmt.Sprint(args...), "from", "asynq") }
func (l asynqLog) Fatal(args ...any) { l.log.Error(fmt.Sprint(args...), "from", "asynq") }
