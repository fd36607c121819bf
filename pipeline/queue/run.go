package queue

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"

	"graphmill/pipeline"
	"graphmill/pipeline/packed"
)

// Run is the side of a run: it sends tasks and waits for their results. It
// implements [pipeline.Remote], and must be closed.
type Run struct {
	queue  *Queue
	client *asynq.Client
	job    Job
	record []byte // job, packed
	say    func(string)
	window *window
	stop   context.CancelFunc
	ended  sync.WaitGroup

	mu      sync.Mutex
	sent    map[string]*sent
	parked  map[string][]string // ids of tasks that earlier runs parked, by path
	count   int
	refused map[string]string // why, by worker
	err     error
	failed  chan struct{} // closed with err
}

// sent is a task that is not answered.
type sent struct {
	id, kind, path string
	body           []byte
	at             time.Time
	answer         chan *reply // of one
}

// ahead is how many tasks are under way for each that is worked on: a worker that
// finds none sleeps for a while. maxWindow bounds them, and so how many workers are
// kept busy.
const (
	ahead     = 4
	maxWindow = 1024
)

// Begin announces a run to the queue's workers. say tells the operator what is
// waited for.
func (q *Queue) Begin(ctx context.Context, job Job, say func(string)) (*Run, error) {
	var nonce [8]byte
	if _, err := rand.Read(nonce[:]); err != nil {
		return nil, err
	}
	job.ID, job.Wire, job.Tries = hex.EncodeToString(nonce[:]), wireVersion, q.Tries
	record, err := packed.Encode(job)
	if err != nil {
		return nil, err
	}
	r := &Run{
		queue: q, client: asynq.NewClientFromRedisClient(q.redis), job: job, record: record, say: say, window: newWindow(2),
		sent: map[string]*sent{}, parked: map[string][]string{}, refused: map[string]string{}, failed: make(chan struct{}),
	}
	if err := q.redis.Set(ctx, q.runKey(job.ID), record, runTTL).Err(); err != nil {
		return nil, fmt.Errorf("announce the run to queue %s: %w", q.address, err)
	}
	if err := r.sweep(ctx); err != nil {
		return nil, fmt.Errorf("clear queue %s of what dead runs left: %w", q.address, err)
	}
	watching, stop := context.WithCancel(context.WithoutCancel(ctx))
	r.stop = stop
	w := newWatch(r)
	w.look(watching)
	r.ended.Go(func() { r.receive(watching) })
	r.ended.Go(func() { w.keep(watching) })
	return r, nil
}

// Close takes back what is not answered and forgets the run. A worker that is still
// at one of its tasks is told to leave it.
func (r *Run) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), dialTimeout)
	defer cancel()
	r.stop()
	_ = r.queue.redis.RPush(ctx, r.queue.resultsKey(r.job.ID), "").Err() // wakes receive
	r.ended.Wait()
	// First the run: from here on every worker drops its tasks.
	err := r.queue.redis.Del(ctx, r.queue.runKey(r.job.ID)).Err()
	r.mu.Lock()
	left := r.sent
	r.sent = map[string]*sent{}
	r.mu.Unlock()
	for id := range left {
		r.withdraw(ctx, id)
	}
	err = errors.Join(err, r.queue.redis.Del(ctx, r.queue.resultsKey(r.job.ID)).Err())
	if err != nil {
		return fmt.Errorf("leave queue %s: %w", r.queue.address, err)
	}
	return nil
}

// Parallel implements [pipeline.Remote].
func (r *Run) Parallel() int { return maxWindow }

// Extract implements [pipeline.Remote].
func (r *Run) Extract(ctx context.Context, task pipeline.Task) (*pipeline.Extracted, error) {
	body, err := packed.Encode(task)
	if err == nil && int64(len(body)) > r.queue.MaxBytes && len(task.Kept) > 0 {
		task.Kept = nil // what is kept saves work, and is not needed
		body, err = packed.Encode(task)
	}
	if err != nil {
		return nil, err
	}
	r.unpark(ctx, task.Path)
	answer, err := r.do(ctx, documentTask, task.Path, body)
	switch {
	case err != nil:
		return nil, err
	case answer.Failed != nil:
		return &pipeline.Extracted{Seconds: answer.Seconds}, answer.Failed
	case answer.Extracted == nil:
		return nil, fmt.Errorf("worker %s answered nothing", answer.Worker)
	}
	return answer.Extracted, nil
}

// do sends a task and waits for its answer.
func (r *Run) do(ctx context.Context, kind, path string, body []byte) (*reply, error) {
	if int64(len(body)) > r.queue.MaxBytes {
		return nil, &pipeline.RemoteError{Kind: "too_large", Reason: fmt.Sprintf("the task has %d bytes, more than queue.max_bytes (%d); raise it", len(body), r.queue.MaxBytes)}
	}
	if err := r.window.acquire(ctx); err != nil {
		return nil, err
	}
	defer r.window.release()
	s := r.add(kind, path, body)
	for {
		err := r.send(ctx, s)
		if err == nil {
			break
		}
		select {
		case <-time.After(time.Second): // the connection comes back, or the watch ends the run
		case <-r.failed:
			return nil, r.why()
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	select {
	case answer := <-s.answer:
		return answer, nil
	case <-r.failed:
		return nil, r.why()
	case <-ctx.Done():
		return nil, ctx.Err() // Close takes it back
	}
}

func (r *Run) add(kind, path string, body []byte) *sent {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.count++
	s := &sent{id: fmt.Sprintf("%s.%d", r.job.ID, r.count), kind: kind, path: path, body: body, answer: make(chan *reply, 1)}
	r.sent[s.id] = s
	return s
}

// send puts a task into the queue; one that is there already stays.
func (r *Run) send(ctx context.Context, s *sent) error {
	what, err := json.Marshal(payload{Run: r.job.ID, Graph: r.job.Graph, Path: s.path})
	if err != nil {
		return err
	}
	key := r.queue.taskKey(s.id)
	pipe := r.queue.redis.Pipeline()
	pipe.HSet(ctx, key, "body", s.body)
	pipe.Expire(ctx, key, taskTTL)
	if _, err := pipe.Exec(ctx); err != nil {
		return err
	}
	_, err = r.client.EnqueueContext(ctx, asynq.NewTask(s.kind, what), r.queue.taskOptions(s.id)...)
	if errors.Is(err, asynq.ErrTaskIDConflict) {
		err = nil
	}
	r.mu.Lock()
	s.at = time.Now()
	r.mu.Unlock()
	return err
}

// withdraw takes a task back.
func (r *Run) withdraw(ctx context.Context, id string) {
	// What cannot be taken back now is dropped by the worker that gets it.
	_ = r.queue.redis.Del(ctx, r.queue.taskKey(id)).Err()
	if r.queue.inspector.DeleteTask(r.queue.name(), id) != nil {
		_ = r.queue.inspector.CancelProcessing(id)
	}
}

// receive hands results to who waits for them.
func (r *Run) receive(ctx context.Context) {
	for ctx.Err() == nil {
		popped, err := r.queue.redis.BLPop(ctx, 5*time.Second, r.queue.resultsKey(r.job.ID)).Result()
		if err != nil {
			if !errors.Is(err, redis.Nil) && ctx.Err() == nil {
				time.Sleep(200 * time.Millisecond) // the watch decides when this has lasted too long
			}
			continue
		}
		var answer reply
		if packed.Decode([]byte(popped[1]), &answer) != nil {
			continue // its task is found lost, and sent again
		}
		r.take(ctx, &answer)
	}
}

func (r *Run) take(ctx context.Context, answer *reply) {
	if answer.Refused != "" {
		r.mu.Lock()
		_, known := r.refused[answer.Worker]
		r.refused[answer.Worker] = answer.Refused
		r.mu.Unlock()
		if !known {
			r.say(fmt.Sprintf("worker %s leaves: %s", answer.Worker, answer.Refused))
		}
		return // its task is handed back
	}
	r.mu.Lock()
	s, waiting := r.sent[answer.Task]
	delete(r.sent, answer.Task)
	r.mu.Unlock()
	if waiting { // else another worker was faster
		s.answer <- answer
		_ = r.queue.redis.Del(ctx, r.queue.taskKey(answer.Task)).Err() // else it expires
	}
}

// fail ends all waiting; the first error counts.
func (r *Run) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		r.err = pipeline.Setup(err)
		close(r.failed)
	}
}

func (r *Run) why() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}
