package queue

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/hibiken/asynq"

	"graphmill/pipeline"
	"graphmill/pipeline/faultpoint"
	"graphmill/pipeline/packed"
)

// Hands do the work of a worker. Errors are a *pipeline.Mismatch or one of
// pipeline.IsSetup where this worker must not work for the run, else the task's.
type Hands interface {
	Extract(ctx context.Context, job *Job, task pipeline.Task) (*pipeline.Extracted, error)
	Embed(ctx context.Context, model string, texts []string) ([][]float32, error)
}

// WorkOptions say how a worker works.
type WorkOptions struct {
	Hands Hands
	// Parallel is how many tasks it is to work on at once; 0 means 1. It has one
	// more, so that it does not wait for the way there and back: Hands bound what is
	// computed.
	Parallel int
	// Drain is how long it finishes what it has when it is told to end, before it
	// hands the rest back.
	Drain time.Duration
	Log   *slog.Logger
}

// How often a worker looks for tasks when there are none, and for tasks that are
// to be tried again.
const (
	checkEvery = 50 * time.Millisecond
	retryAfter = time.Second
	// fetched is how many tasks a worker has beyond those that it works on.
	fetched = 1
)

// ErrRefused says that a worker ended because it may not work for a run.
var ErrRefused = errors.New("this worker cannot work for a run of its queue")

// Work does tasks until ctx ends, and then finishes those it has or hands them
// back. It returns an ErrRefused when it met a run that it would work for wrongly:
// its configuration stays what it is, so it would take one task after the other
// from those that may do them.
func (q *Queue) Work(ctx context.Context, o WorkOptions) error {
	base, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	w := &worker{queue: q, WorkOptions: o, name: workerName(), jobs: map[string]*Job{}, active: map[string]bool{}, refusal: make(chan error, 1)}
	server := asynq.NewServerFromRedisClient(q.redis, asynq.Config{
		Concurrency: max(1, o.Parallel) + fetched, Queues: map[string]int{q.name(): 1}, BaseContext: func() context.Context { return base },
		TaskCheckInterval: checkEvery, DelayedTaskCheckInterval: retryAfter,
		RetryDelayFunc:  func(int, error, *asynq.Task) time.Duration { return retryAfter },
		IsFailure:       func(err error) bool { return !errors.Is(err, errNotTried) && !errors.Is(err, context.Canceled) },
		ShutdownTimeout: time.Millisecond, Logger: asynqLog{o.Log}, LogLevel: asynq.DebugLevel,
	})
	if err := server.Start(asynq.HandlerFunc(w.process)); err != nil {
		return err
	}
	var refusal error
	select {
	case <-ctx.Done():
	case refusal = <-w.refusal:
	}
	server.Stop()
	w.drain(o.Drain)
	w.giveBack()
	server.Shutdown() // what is not done yet goes back into the queue
	if refusal != nil {
		return fmt.Errorf("%w: %w", ErrRefused, refusal)
	}
	return nil
}

// worker is the state of one Work.
type worker struct {
	WorkOptions
	queue *Queue
	name  string

	mu      sync.Mutex
	jobs    map[string]*Job // runs that were met
	active  map[string]bool // tasks that are worked on
	refusal chan error
	// alone is held for reading while a task is tried for the first time, and for
	// writing while one is tried again: what has killed a worker before shall not take
	// others with it, which would count against them.
	alone sync.RWMutex
}

// errNotTried is of a task that another worker shall have.
var errNotTried = errors.New("handed back")

// process does one task. What it returns tells asynq whether the task is done, to
// be tried again, or parked.
func (w *worker) process(ctx context.Context, t *asynq.Task) error {
	id, _ := asynq.GetTaskID(ctx)
	p, err := readPayload(t.Payload())
	if err != nil {
		return fmt.Errorf("%w: %w", asynq.RevokeTask, err)
	}
	job, err := w.job(ctx, p.Run)
	if err != nil {
		return err
	}
	if job == nil {
		return fmt.Errorf("%w: its run has ended", asynq.RevokeTask)
	}
	leave, err := w.enter(ctx, id)
	if err != nil {
		return err
	}
	defer leave()
	body, tries, last, err := w.begin(ctx, id)
	if err != nil {
		return err
	}
	if body == nil {
		return fmt.Errorf("%w: its run has taken it back", asynq.RevokeTask)
	}
	defer w.end(id)
	if tries > job.Tries {
		return w.park(ctx, job, id, fmt.Sprintf("%d workers died while they worked on it, the last was %s", tries-1, last))
	}
	faultpoint.Reach("work on", p.Path)
	answer, err := w.answer(ctx, job, t.Type(), body)
	var refused *pipeline.Mismatch
	switch {
	case ctx.Err() != nil:
		w.untry(id)
		return ctx.Err() // the run has ended, or another worker has it
	case errors.As(err, &refused), err != nil && pipeline.IsSetup(err):
		return w.refuse(ctx, job, id, err)
	case err != nil:
		failed := pipeline.AsRemote(err)
		if failed.Unexplained() && tries < job.Tries {
			w.Log.Warn("a task failed and is tried again", "path", p.Path, "try", tries, "error", err)
			return err
		}
		if failed.Unexplained() {
			return w.park(ctx, job, id, fmt.Sprintf("it failed on workers %d times, last on %s: %v", tries, w.name, err))
		}
		answer.Failed = failed
	}
	w.Log.Info("done", "path", p.Path, "graph", p.Graph, "seconds", answer.Seconds)
	return w.reply(ctx, job, id, answer)
}

// job is the run that a task is of; nil when it has ended.
func (w *worker) job(ctx context.Context, run string) (*Job, error) {
	w.mu.Lock()
	job := w.jobs[run]
	w.mu.Unlock()
	if job != nil {
		alive, err := w.queue.redis.Exists(ctx, w.queue.runKey(run)).Result()
		if err != nil || alive > 0 {
			return job, err
		}
		w.mu.Lock()
		delete(w.jobs, run)
		w.mu.Unlock()
		return nil, nil
	}
	data, err := w.queue.redis.Get(ctx, w.queue.runKey(run)).Bytes()
	if isMissing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	job = &Job{}
	if err := packed.Decode(data, job); err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.jobs[run] = job
	return job, nil
}

// answer does the work. A panic is the task's error.
func (w *worker) answer(ctx context.Context, job *Job, kind string, body []byte) (answer *reply, err error) {
	answer = &reply{}
	started := time.Now()
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("internal error: %v", p)
		}
		answer.Seconds = time.Since(started).Seconds()
	}()
	if job.Wire != wireVersion {
		return answer, &pipeline.Mismatch{What: "program", Hint: "run the same version of ingestd on all machines"}
	}
	switch kind {
	case documentTask:
		var task pipeline.Task
		if err = packed.Decode(body, &task); err == nil {
			answer.Extracted, err = w.Hands.Extract(ctx, job, task)
		}
	case embedTask:
		var list texts
		if err = packed.Decode(body, &list); err == nil {
			answer.Vectors, err = w.Hands.Embed(ctx, list.Model, list.Texts)
		}
	default:
		err = &pipeline.Mismatch{What: "program", Hint: "run the same version of ingestd on all machines"}
	}
	if err != nil {
		answer.Extracted = nil
	}
	return answer, err
}

// refuse tells the run why this worker ends, and hands the task back.
func (w *worker) refuse(ctx context.Context, job *Job, id string, why error) error {
	select {
	case w.refusal <- fmt.Errorf("run of graph %s: %w", job.Graph, why):
		w.Log.Error("this worker cannot work for a run and ends", "graph", job.Graph, "error", why)
	default: // it ends already
	}
	err := w.push(ctx, job, &reply{Task: id, Worker: w.name, Refused: why.Error()})
	w.untry(id)
	return errors.Join(fmt.Errorf("%w: %w", errNotTried, why), err)
}

// Parked is the kind of failure of a document that no worker gets done.
const Parked = "parked"

// park tells the run that a document is given up, and keeps the task where `queue
// status` finds it.
func (w *worker) park(ctx context.Context, job *Job, id, why string) error {
	w.Log.Error("a task is parked", "task", id, "reason", why)
	err := w.reply(ctx, job, id, &reply{Failed: &pipeline.RemoteError{Kind: Parked, Reason: why + "; it is parked (`ingestd queue status`), and the next run tries it again"}})
	if err != nil {
		return err
	}
	return fmt.Errorf("%s: %w", why, asynq.SkipRetry)
}
