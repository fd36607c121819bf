package main

import (
	"context"
	"errors"
	"strings"

	"graphmill/commandline"
	"graphmill/configs"
	"graphmill/pipeline"
	"graphmill/pipeline/faultpoint"
	"graphmill/pipeline/queue"
	"graphmill/planner"
)

// workers are the other processes that extract and embed for a verb; nil when it
// does so itself.
type workers struct {
	queue *queue.Queue
	run   *queue.Run
}

// callWorkers announces the verb to the queue of the configuration, if there is one.
// o is nil for a verb that only embeds.
func (s *session) callWorkers(ctx context.Context, verb string, o *pipeline.Options) (*workers, error) {
	if s.Config.Queue.URL == "" {
		return nil, nil
	}
	job := queue.Job{Graph: s.Config.GraphName(), Verb: verb, Started: faultpoint.Now().UTC()}
	if o != nil {
		job.Ontology = o.Ontology
		if asking := askingToExtract(o.Planner); len(asking) > 0 {
			return nil, commandline.Usage("%s asks a language model, whose budget is counted in the process that asks, so it is not sent to workers; next: run without --queue, or choose another strategy", sample(asking, 3))
		}
	}
	q, err := s.openQueue(ctx)
	if err != nil {
		return nil, err
	}
	run, err := q.Begin(ctx, job, s.Say)
	if err != nil {
		return nil, errors.Join(err, q.Close())
	}
	w := &workers{queue: q, run: run}
	if o != nil {
		o.Remote = w
	}
	return w, nil
}

// askingToExtract names what asks a language model for every document. A resolver
// that asks does so when the graph is finalized, which the run does.
func askingToExtract(p *planner.Planner) (found []string) {
	for _, name := range p.Asking() {
		if !strings.HasPrefix(name, "resolver ") {
			found = append(found, name)
		}
	}
	return found
}

// Extract implements pipeline.Remote.
func (w *workers) Extract(ctx context.Context, task pipeline.Task) (*pipeline.Extracted, error) {
	if asksToExtract(task.Assignment) { // by the plan of an earlier run
		return nil, &pipeline.RemoteError{Kind: "queue", Reason: "its plan (" + task.Assignment.String() + ") asks a language model, which workers do not; next: run without --queue"}
	}
	return w.run.Extract(ctx, task)
}

// Parallel implements pipeline.Remote.
func (w *workers) Parallel() int { return w.run.Parallel() }

// finalizer is the embedder that a verb finalizes with: the workers', or its own.
// What is asked over the network waits, computes nothing and has a budget: it is
// asked from here.
func (s *session) finalizer(ctx context.Context, w *wired, o *pipeline.FinalizeOptions) (err error) {
	if s.workers == nil || s.Config.Embedder.Kind == configs.EmbedderOpenAI {
		o.Embedder, err = w.embedder()
		return err
	}
	model, err := w.embedderModel()
	if err != nil {
		return err
	}
	o.Workers, o.Batch = s.workers.run.Parallel(), queue.EmbedBatch
	o.Embedder, err = s.workers.run.Embedder(ctx, model)
	return err
}

func (w *workers) close() error {
	if w == nil {
		return nil
	}
	return errors.Join(w.run.Close(), w.queue.Close())
}

// leaveWorkers takes back what they have not done.
func (s *session) leaveWorkers() {
	if err := s.workers.close(); err != nil {
		s.Log.Warn(err.Error()) // what is left expires, and no worker does it
	}
	s.workers = nil
}
