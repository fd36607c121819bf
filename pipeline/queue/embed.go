package queue

import (
	"context"
	"fmt"

	"graphmill/pipeline/models"
	"graphmill/pipeline/packed"
)

// EmbedBatch is how many texts one embedding task has: a tenth of a second of a small
// model on a CPU, which is long beside the way there and back, and short to wait for
// at the end of a page.
const EmbedBatch = 8

// Embedder is the embedder of that name, at the queue's workers: this process loads
// no model. A worker embeds each text by itself, so that a vector does not depend on
// what was embedded with it. It waits for a worker that says how long vectors are.
func (r *Run) Embedder(ctx context.Context, model string) (models.Embedder, error) {
	e := &embedder{run: r, model: model}
	probe, err := e.ask(ctx, []string{"graph"})
	if err != nil {
		return nil, err
	}
	e.dimension = len(probe[0])
	return e, nil
}

type embedder struct {
	run       *Run
	model     string
	dimension int
}

func (e *embedder) Model() string  { return e.model }
func (e *embedder) Dimension() int { return e.dimension }
func (e *embedder) Close() error   { return nil }

func (e *embedder) Embed(ctx context.Context, list []string) ([][]float32, error) {
	vectors, err := e.ask(ctx, list)
	for _, vector := range vectors {
		if err == nil && len(vector) != e.dimension {
			err = fmt.Errorf("a worker returned a vector of %d numbers, not %d", len(vector), e.dimension)
		}
	}
	return vectors, err
}

func (e *embedder) ask(ctx context.Context, list []string) ([][]float32, error) {
	body, err := packed.Encode(texts{Model: e.model, Texts: list})
	if err != nil {
		return nil, err
	}
	answer, err := e.run.do(ctx, embedTask, "", body)
	switch {
	case err != nil:
		return nil, err
	case answer.Failed != nil:
		return nil, fmt.Errorf("embed on worker %s: %w", answer.Worker, answer.Failed)
	case len(answer.Vectors) != len(list):
		return nil, fmt.Errorf("worker %s returned %d vectors for %d texts", answer.Worker, len(answer.Vectors), len(list))
	}
	return answer.Vectors, nil
}
