package main

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/spf13/cobra"

	"graphmill/commandline"
	"graphmill/pipeline"
	"graphmill/pipeline/graph"
	"graphmill/pipeline/ontology"
	"graphmill/pipeline/queue"
)

func (a *app) workerCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "worker --queue URL --root DIR",
		Short: "extract and embed for runs on other machines",
		Long: `worker takes documents and texts from the queue of a run, reads the documents from its own root, and sends back what
it extracted and embedded. It needs the run's configuration, models and files, and no graph: it never sees one. Where
one of these differs it refuses, says which, and ends with exit code 2; a run goes on with its other workers.

It works until it is told to end. On SIGTERM it takes nothing more, finishes what it has within queue.drain, hands the
rest back to the queue, and ends with exit code 0. Give it as many --jobs as the machine has cores.`,
		Example: "  ingestd worker --queue redis://queue.example:6379 --root /mnt/docs\n  ingestd worker --queue rediss://queue.example --root 's3://docs?region=eu-west-1' --jobs 8 --log-level info",
		Args:    cobra.NoArgs,
	}
	keys := []string{"root", "jobs", "queue.url", "extractors.gliner.model_dir", "embedder.kind", "embedder.model_dir"}
	return a.verb(cmd, keys, func(ctx context.Context, _ []string) error { return a.work(ctx) })
}

func (a *app) work(ctx context.Context) error {
	root, err := a.openRoot(ctx)
	if err != nil {
		return err
	}
	defer root.Close()
	h, err := a.newHands(root)
	if err != nil {
		return err
	}
	q, err := a.openQueue(ctx)
	if err != nil {
		return err
	}
	a.Say(fmt.Sprintf("working for queue %s at %s, %d documents at once, with the files of %s", q.Name, q.Address(), a.Config.Workers(), root.Dir()))
	err = q.Work(ctx, queue.WorkOptions{Hands: h, Parallel: a.Config.Workers(), Drain: a.Config.Queue.Drain, Log: a.Log})
	// Models are not closed: a call of one may be under way still, and the process ends.
	if err = errors.Join(err, q.Close()); errors.Is(err, queue.ErrRefused) {
		return commandline.Usage("%v", err)
	}
	return err
}

// hands are a worker's: the same strategies, parsers and models as a run's.
type hands struct {
	wired  *wired
	worker *pipeline.Worker

	mu      sync.Mutex
	digests map[*graph.Ontology]string
}

func (a *app) newHands(root pipeline.Files) (*hands, error) {
	w, err := newWired(a.Config)
	if err != nil {
		return nil, err
	}
	w.asking.log = a.Log
	plans, err := newPlanner(a.Config)
	if err != nil {
		return nil, err
	}
	return &hands{wired: w, digests: map[*graph.Ontology]string{}, worker: pipeline.NewWorker(pipeline.Worker{
		Root: root, Loader: w.loader(nil), Planner: plans, Strategies: w, FileTimeout: a.Config.Corpus.FileTimeout,
	}, a.Config.Workers())}, nil
}

// Extract implements queue.Hands.
func (h *hands) Extract(ctx context.Context, job *queue.Job, task pipeline.Task) (*pipeline.Extracted, error) {
	if job.Ontology == nil {
		return nil, errors.New("the run sent no ontology")
	}
	h.mu.Lock()
	digest, known := h.digests[job.Ontology]
	if !known {
		digest = ontology.Digest(job.Ontology)
		clear(h.digests) // runs come one after the other
		h.digests[job.Ontology] = digest
	}
	h.mu.Unlock()
	return h.worker.Extract(ctx, task, job.Ontology, digest)
}

// Embed implements queue.Hands.
func (h *hands) Embed(ctx context.Context, model string, texts []string) ([][]float32, error) {
	own, err := h.wired.embedderModel()
	if err != nil {
		return nil, pipeline.Setup(err)
	}
	if own != model {
		return nil, &pipeline.Mismatch{What: "embedder", Hint: fmt.Sprintf("give it the run's, %s, in place of %s (embedder.kind, embedder.model_dir, embedder.dimension)", model, own)}
	}
	embedder, err := h.wired.embedder()
	if err != nil {
		return nil, pipeline.Setup(err)
	}
	var vectors [][]float32
	err = h.worker.Compute(ctx, func() (err error) {
		vectors, err = embedder.Embed(ctx, texts)
		return err
	})
	return vectors, err
}
