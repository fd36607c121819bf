package main

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"time"

	"graphmill/pipeline"
	"graphmill/pipeline/falkor/store"
	"graphmill/pipeline/models"
)

// benchScale measures what docs/scaling.md multiplies: how fast the one writer
// writes, and what a chunk with its entities, mentions, relations and vectors takes
// of the engine's memory and of the time that indexes are built in.
func benchScale(ctx context.Context, w *world, t *table) error {
	const name = "scale"
	embedder, err := models.NewHashEmbedder(benchDimension)
	if err != nil {
		return err
	}
	w.drop(ctx, name)
	empty, err := w.memory(ctx)
	if err != nil {
		return err
	}
	v := newInvented(w.size, 1)
	var written, indexed cost
	var rowsMemory, allMemory float64
	rows := 0
	var report *pipeline.FinalizeReport
	err = w.locked(ctx, name, func(s *store.Store) error {
		written, err = w.measure(ctx, func() (cost, error) {
			n, err := v.commit(ctx, s, w.size)
			rows = n
			return cost{}, err
		})
		if err != nil {
			return err
		}
		if rowsMemory, err = w.memory(ctx); err != nil {
			return err
		}
		indexed, err = w.measure(ctx, func() (cost, error) {
			report, err = pipeline.Finalize(ctx, pipeline.FinalizeOptions{Store: s, Embedder: embedder, Workers: runtime.NumCPU()})
			return cost{}, err
		})
		return err
	})
	if err != nil {
		return err
	}
	if allMemory, err = w.memory(ctx); err != nil {
		return err
	}
	chunks := float64(w.size)
	vectors := 0
	for _, n := range report.Embedded {
		vectors += n
	}
	t.add(line{
		what: fmt.Sprintf("the one writer, %d chunks", w.size), ours: fmt.Sprintf("%.0f rows/s", float64(rows)/written.wall),
		note: fmt.Sprintf("%.0f chunks/s; %d rows in %.0f s; %s", chunks/written.wall, rows, written.wall, written.processor()),
	})
	t.add(line{
		what: "the engine's memory for a chunk", ours: fmt.Sprintf("%.1f KB", (allMemory-empty)/chunks/1000),
		note: fmt.Sprintf("rows %.1f KB, %d vectors of %d numbers and all indexes %.1f KB", (rowsMemory-empty)/chunks/1000, vectors, benchDimension, (allMemory-rowsMemory)/chunks/1000),
	})
	t.add(line{
		what: "vectors and indexes", ours: seconds(indexed.wall),
		note: fmt.Sprintf("%.2f ms a vector of wall, %.2f ms of the engine; %s", 1000*indexed.wall/float64(vectors), 1000*indexed.engine/float64(vectors), indexed.processor()),
	})
	w.drop(ctx, name)
	return nil
}

// commit writes so many chunks as a first build does, and returns how many rows.
func (v *invented) commit(ctx context.Context, s *store.Store, chunks int) (rows int, err error) {
	var batch []store.Change
	size := 0
	for i := range (chunks + chunksEach - 1) / chunksEach {
		change := v.document(i)
		if n := change.Rows(); size+n > pipeline.FirstRows && len(batch) > 0 {
			if err := s.Commit(ctx, batch); err != nil {
				return rows, err
			}
			batch, size = nil, 0
		}
		batch, size, rows = append(batch, change), size+change.Rows(), rows+change.Rows()
	}
	return rows, s.Commit(ctx, batch)
}

// memory is what the engine has resident, in bytes, once it has calmed down:
// indexes are built beside statements.
func (w *world) memory(ctx context.Context) (float64, error) {
	for last := 0.0; ; time.Sleep(2 * time.Second) {
		info, err := w.client.Redis().Info(ctx, "memory").Result()
		if err != nil {
			return 0, err
		}
		_, rest, _ := strings.Cut(info, "used_memory_rss:")
		number, _, _ := strings.Cut(rest, "\r")
		now, err := strconv.ParseFloat(number, 64)
		if err != nil || now-last < 0.01*now {
			return now, err
		}
		last = now
	}
}
