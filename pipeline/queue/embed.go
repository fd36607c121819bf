package queue

import (
	"context"
	"fmt"

	"graphmill/pipeline/models"
	"graphmill/pipeline/packed"
)

// EmbedBatch is how many texts one embedding task has: a fraction of a second of a
// small model on a CPU, which is long beside the way there and back.
const EmbedBatch = 16

// Embedder is an embedder whose texts are embedded by the queue's workers. It is
// the same embedder: own says which model and dimension, and is not asked for
// vectors. A worker embeds each text by itself, as own does, so that a vector does
// not depend on what was embedded with it.
func (r *Run) Embedder(own models.Embedder) models.Embedder { return &embedder{own, r} }

type embedder struct {
	models.Embedder
	run *Run
}

func (e *embedder) Embed(ctx context.Context, list []string) ([][]float32, error) {
	body, err := packed.Encode(texts{Model: e.Model(), Texts: list})
	if err != nil {
		return nil, err
	}
	answer, err := e.run.do(ctx, embedTask, "", body)
	if err != nil {
		return nil, err
	}
	if answer.Failed != nil {
		return nil, fmt.Errorf("embed on worker %s: %w", answer.Worker, answer.Failed)
	}
	if len(answer.Vectors) != len(list) {
		return nil, fmt.Errorf("worker %s returned %d vectors for %d texts", answer.Worker, len(answer.Vectors), len(list))
	}
	for _, vector := range answer.Vectors {
		if len(vector) != e.Dimension() {
			return nil, fmt.Errorf("worker %s returned a vector of %d numbers, not %d", answer.Worker, len(vector), e.Dimension())
		}
	}
	return answer.Vectors, nil
}

// Close leaves the embedder that it stands for to who opened it.
func (e *embedder) Close() error { return nil }
