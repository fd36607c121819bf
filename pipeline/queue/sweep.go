package queue

import (
	"context"
	"errors"

	"github.com/hibiken/asynq"
)

const sweepPage = 500

// listing is one of the inspector's lists.
type listing func(queue string, options ...asynq.ListOption) ([]*asynq.TaskInfo, error)

// all goes through a list to its end; a queue that is not there yet has none.
func (q *Queue) all(list listing) (found []*asynq.TaskInfo, err error) {
	for page := 1; ; page++ {
		tasks, err := list(q.name(), asynq.PageSize(sweepPage), asynq.Page(page))
		if errors.Is(err, asynq.ErrQueueNotFound) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		found = append(found, tasks...)
		if len(tasks) < sweepPage {
			return found, nil
		}
	}
}

// sweep removes the tasks of runs that are dead, and notes what earlier runs of
// this graph have parked.
func (r *Run) sweep(ctx context.Context) error {
	q := r.queue
	alive := map[string]bool{}
	for _, list := range []listing{q.inspector.ListPendingTasks, q.inspector.ListRetryTasks} {
		tasks, err := q.all(list)
		if err != nil {
			return err
		}
		for _, task := range tasks {
			p, err := readPayload(task.Payload)
			if _, known := alive[p.Run]; !known && err == nil {
				n, err := q.redis.Exists(ctx, q.runKey(p.Run)).Result()
				if err != nil {
					return err
				}
				alive[p.Run] = n > 0
			}
			if err != nil || !alive[p.Run] {
				r.withdraw(ctx, task.ID)
			}
		}
	}
	tasks, err := q.all(q.inspector.ListArchivedTasks)
	if err != nil {
		return err
	}
	for _, task := range tasks {
		if p, err := readPayload(task.Payload); err == nil && p.Graph == r.job.Graph {
			r.parked[p.Path] = append(r.parked[p.Path], task.ID)
		}
	}
	return nil
}

// unpark forgets that a document was parked: it is tried again.
func (r *Run) unpark(ctx context.Context, path string) {
	r.mu.Lock()
	ids := r.parked[path]
	delete(r.parked, path)
	r.mu.Unlock()
	for _, id := range ids {
		r.withdraw(ctx, id)
	}
}
