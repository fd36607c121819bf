package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"

	"graphmill/pipeline/falkor/store"
	"graphmill/pipeline/models"
)

// What check shall keep to, for 100,000 chunks.
const targetCheck = 10.0 // seconds

// benchCheck checks a generated graph of so many chunks, as many entities, three
// mentions a chunk and a relation each, by ingestd as an operator does.
func benchCheck(ctx context.Context, w *world, t *table) error {
	const name = "checked"
	embedder, err := models.NewHashEmbedder(benchDimension)
	if err != nil {
		return err
	}
	if err := w.generateGraph(ctx, name, w.size, embedder); err != nil {
		return err
	}
	if err := w.locked(ctx, name, func(s *store.Store) error { return s.SaveOntology(ctx, inventedOntology()) }); err != nil {
		return err
	}
	var best cost
	var found store.CheckResult
	for range w.rounds {
		c, err := w.measure(ctx, func() (cost, error) {
			command := exec.CommandContext(ctx, filepath.Join(w.dir, "ingestd"), "check", "--graph", name, "--output", "json", "--data-dir", w.data)
			printed, err := command.Output()
			if err != nil {
				return cost{}, fmt.Errorf("ingestd check: %w: %.2000s", err, printed)
			}
			used := command.ProcessState.SystemTime() + command.ProcessState.UserTime()
			return cost{ours: used.Seconds()}, json.Unmarshal(printed, &found)
		})
		if err != nil {
			return err
		}
		best = least(best, c)
	}
	scaled := best.wall * 100_000 / float64(w.size)
	t.add(line{
		what: fmt.Sprintf("check of %d chunks", found.Checked.Chunks), ours: fmt.Sprintf("%.1f s", best.wall), target: "≤ 10 s for 100,000", met: scaled <= targetCheck,
		note: fmt.Sprintf("%d entities, %d mentions, %d relations; %s", found.Checked.Entities, found.Checked.Mentions, found.Checked.Relations, best.processor()),
	})
	return nil
}
