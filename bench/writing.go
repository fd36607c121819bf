package main

import (
	"context"
	"fmt"

	"graphmill/pipeline"
	"graphmill/pipeline/falkor/store"
	"graphmill/pipeline/models"
)

// benchWriting commits the documents of a finished graph again, as a first build
// does, in turns with the bare client, which sends the same rows. Vectors and
// indexes are not part of it.
func benchWriting(ctx context.Context, w *world, t *table) error {
	if _, err := w.ingestByRule(ctx, "ours", w.corpus); err != nil {
		return err
	}
	embedder, err := models.NewHashEmbedder(benchDimension)
	if err != nil {
		return err
	}
	s, err := w.takeSnapshot(ctx, "ours", embedder)
	if err != nil {
		return err
	}
	var ours, limit cost
	for range w.rounds {
		c, err := w.measure(ctx, func() (cost, error) { return cost{}, w.commitAll(ctx, s.changes) })
		if err != nil {
			return err
		}
		ours = least(ours, c)
		r, _, err := w.bareClient(ctx, s, 0)
		if err != nil {
			return err
		}
		limit = least(limit, r)
	}
	rate := func(c cost) string { return fmt.Sprintf("%.0f rows/s", float64(s.rows())/c.wall) }
	ratio := limit.wall / ours.wall
	t.add(line{
		what: "writing chunks, entities, mentions, relations", ours: rate(ours), limit: rate(limit), ratio: percent(ratio), target: "≥ 70 %", met: ratio >= 0.7,
		note: ours.processor() + "; bare client: " + limit.processor(),
	})
	return nil
}

// commitAll commits changes into a fresh graph, in transactions as the pipeline
// makes them in a first build.
func (w *world) commitAll(ctx context.Context, changes []store.Change) error {
	const name = "written"
	w.drop(ctx, name)
	return w.locked(ctx, name, func(s *store.Store) error {
		var batch []store.Change
		rows := 0
		for i, c := range changes {
			batch, rows = append(batch, c), rows+c.Rows()
			last := i+1 == len(changes)
			if last || rows+changes[i+1].Rows() > pipeline.FirstRows || len(batch) == pipeline.FirstDocuments {
				if err := s.Commit(ctx, batch); err != nil {
					return err
				}
				batch, rows = nil, 0
			}
		}
		return nil
	})
}
