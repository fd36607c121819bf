package queue

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/hibiken/asynq"

	"graphmill/pipeline/packed"
)

// Status is what stands in a Redis and who works on it.
type Status struct {
	Redis   string        `json:"redis"`
	Queues  []QueueStatus `json:"queues"`
	Workers []AliveWorker `json:"workers"`
}

// QueueStatus is one queue.
type QueueStatus struct {
	Name    string       `json:"name"`
	Pending int          `json:"pending"` // wait for a worker
	Active  int          `json:"active"`
	Retry   int          `json:"retry"` // failed, and about to be tried again
	Runs    []AliveRun   `json:"runs"`
	Parked  []ParkedTask `json:"parked"`
	// ParkedCount counts all; Parked lists the latest 100.
	ParkedCount int `json:"parked_count"`
	Workers     int `json:"workers_alive"`
}

// AliveRun is a run that waits for results.
type AliveRun struct {
	ID      string    `json:"id"`
	Graph   string    `json:"graph"`
	Verb    string    `json:"verb"`
	Started time.Time `json:"started"`
}

// ParkedTask is a document that no worker got done.
type ParkedTask struct {
	Path   string    `json:"path"`
	Graph  string    `json:"graph"`
	Reason string    `json:"reason"`
	At     time.Time `json:"at"`
}

// AliveWorker is a worker that was heard of within the last 10 s.
type AliveWorker struct {
	Name     string    `json:"name"` // host:process
	Queues   []string  `json:"queues"`
	Parallel int       `json:"parallel"`
	Active   int       `json:"active"`
	Started  time.Time `json:"started"`
}

const maxParked = 100

// Status looks at all queues of the Redis.
func (q *Queue) Status(ctx context.Context) (*Status, error) {
	s := &Status{Redis: q.address, Queues: []QueueStatus{}, Workers: []AliveWorker{}}
	names, err := q.inspector.Queues()
	if err != nil {
		return nil, err
	}
	if s.Workers, err = q.aliveWorkers(); err != nil {
		return nil, err
	}
	// A worker makes its queue known only with its first task.
	for _, w := range s.Workers {
		for _, name := range w.Queues {
			names = append(names, queuePrefix+name)
		}
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		own, ours := strings.CutPrefix(name, queuePrefix)
		if !ours {
			continue
		}
		one, err := q.named(own).status(ctx)
		if err != nil {
			return nil, err
		}
		for _, w := range s.Workers {
			if slices.Contains(w.Queues, own) {
				one.Workers++
			}
		}
		s.Queues = append(s.Queues, one)
	}
	return s, nil
}

// named is another queue on the same connection.
func (q *Queue) named(name string) *Queue {
	other := *q
	other.Name = name
	return &other
}

func (q *Queue) aliveWorkers() ([]AliveWorker, error) {
	servers, err := q.inspector.Servers()
	if err != nil {
		return nil, err
	}
	alive := []AliveWorker{}
	for _, s := range servers {
		w := AliveWorker{Name: nameOf(s.Host, s.PID), Parallel: max(1, s.Concurrency-fetched), Active: len(s.ActiveWorkers), Started: s.Started}
		for name := range s.Queues {
			if own, ours := strings.CutPrefix(name, queuePrefix); ours {
				w.Queues = append(w.Queues, own)
			}
		}
		if len(w.Queues) > 0 && s.Status == "active" {
			slices.Sort(w.Queues)
			alive = append(alive, w)
		}
	}
	slices.SortFunc(alive, func(a, b AliveWorker) int { return cmp.Compare(a.Name, b.Name) })
	return alive, nil
}

func (q *Queue) status(ctx context.Context) (QueueStatus, error) {
	s := QueueStatus{Name: q.Name, Runs: []AliveRun{}, Parked: []ParkedTask{}}
	info, err := q.inspector.GetQueueInfo(q.name())
	if err != nil && !isUnknown(err) {
		return s, err
	}
	if err == nil {
		s.Pending, s.Active, s.Retry, s.ParkedCount = info.Pending, info.Active, info.Retry, info.Archived
	}
	if s.Runs, err = q.aliveRuns(ctx); err != nil || s.ParkedCount == 0 {
		return s, err
	}
	tasks, err := q.inspector.ListArchivedTasks(q.name(), asynq.PageSize(maxParked))
	if err != nil {
		return s, err
	}
	for _, task := range tasks {
		p, _ := readPayload(task.Payload)
		s.Parked = append(s.Parked, ParkedTask{
			Path: p.Path, Graph: p.Graph, Reason: strings.TrimSuffix(task.LastErr, ": "+asynq.SkipRetry.Error()), At: task.LastFailedAt.UTC(),
		})
	}
	return s, nil
}

// isUnknown: a queue is only known once it had a task.
func isUnknown(err error) bool {
	return errors.Is(err, asynq.ErrQueueNotFound) || strings.Contains(err.Error(), "NOT_FOUND")
}

func (q *Queue) aliveRuns(ctx context.Context) ([]AliveRun, error) {
	runs := []AliveRun{}
	keys := q.redis.Scan(ctx, 0, globEscaped(q.runKey(""))+"*", 1000).Iterator()
	for keys.Next(ctx) {
		data, err := q.redis.Get(ctx, keys.Val()).Bytes()
		if isMissing(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		var job Job
		if packed.Decode(data, &job) == nil {
			runs = append(runs, AliveRun{ID: job.ID, Graph: job.Graph, Verb: job.Verb, Started: job.Started})
		}
	}
	slices.SortFunc(runs, func(a, b AliveRun) int { return cmp.Compare(a.ID, b.ID) })
	return runs, keys.Err()
}

var globEscaped = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace
