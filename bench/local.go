package main

import (
	"context"
	"fmt"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"graphmill/chunkers"
	"graphmill/extractors"
	"graphmill/pipeline"
	"graphmill/pipeline/falkor/store"
	"graphmill/pipeline/graph"
	"graphmill/pipeline/models"
	"graphmill/pipeline/models/local"
	"graphmill/pipeline/ontology"
)

const (
	modelsCorpus = "examples/corpus"
	modelsConfig = "examples/graphmill.yaml"
	modelsNames  = "examples/ontology.yaml"
)

// benchModels takes the example corpus through both models, and then the same
// passages and texts through the models alone, on as many workers. The difference
// is everything else.
func benchModels(ctx context.Context, w *world, t *table) error {
	const graphName = "models"
	embedder, err := models.NewHashEmbedder(benchDimension)
	if err != nil {
		return err
	}
	var s *snapshot
	var ours, alone cost
	// Twice: the first PDF of a data directory waits for its engine to compile.
	for range min(w.rounds, 2) {
		w.drop(ctx, graphName)
		c, _, err := w.ingest(ctx, "run", "--quiet", "--config", modelsConfig, "--root", modelsCorpus, "--graph", graphName)
		if err != nil {
			return err
		}
		ours = leastWork(ours, c)
		if s, err = w.takeSnapshot(ctx, graphName, embedder); err != nil {
			return err
		}
		if c, err = w.modelsAlone(ctx, s); err != nil {
			return err
		}
		alone = leastWork(alone, c)
	}
	cores := float64(runtime.NumCPU())
	besides := ours.ours + ours.engine - alone.ours
	t.add(line{
		what: "examples/corpus, MiniLM and GLiNER", ours: seconds(ours.wall), limit: seconds(alone.wall) + " (models alone)",
		ratio: times(ours.wall / alone.wall), target: "≤ 1.1 ×", met: ours.wall <= 1.1*alone.wall,
		note: fmt.Sprintf("%d chunks, peak %.0f MB", len(s.chunks), ours.peak),
	})
	t.add(line{
		what: "the same, processor time", ours: seconds(ours.ours + ours.engine), limit: seconds(alone.ours) + " (models alone)",
		ratio: times((ours.ours + ours.engine) / alone.ours), target: "≤ 1.1 ×", met: besides <= 0.1*alone.ours, note: ours.processor(),
	})
	t.add(line{
		what: "the same, share of the cores in use", ours: percent((ours.ours + ours.engine) / ours.wall / cores), limit: percent(alone.ours/alone.wall/cores) + " (models alone)",
		note: fmt.Sprintf("%.0f cores", cores),
	})
	return nil
}

// leastWork keeps the cost with the least processor time.
func leastWork(have, c cost) cost {
	if have.wall == 0 || c.ours+c.engine < have.ours+have.engine {
		return c
	}
	return have
}

// modelsAlone runs both models over what the pipeline ran them over. Loading is
// part of it.
func (w *world) modelsAlone(ctx context.Context, s *snapshot) (cost, error) {
	names, err := ontology.Load(modelsNames)
	if err != nil {
		return cost{}, err
	}
	return w.measure(ctx, func() (cost, error) {
		options := local.Options{Places: models.Places{DataDir: w.data}, Parallel: 1}
		engine, err := options.OpenEngine()
		if err != nil {
			return cost{}, err
		}
		defer engine.Close()
		if err := extractAlone(ctx, engine, options, s, names); err != nil {
			return cost{}, err
		}
		return cost{}, embedAlone(ctx, engine, options, s)
	})
}

func extractAlone(ctx context.Context, engine models.Engine, options local.Options, s *snapshot, names *graph.Ontology) error {
	dir, err := options.FindGLiNER()
	if err != nil {
		return err
	}
	model, err := models.LoadGLiNER(engine, dir, options.Session())
	if err != nil {
		return err
	}
	defer model.Close()
	gliner, err := extractors.NewGLiNER(model, extractors.GLiNEROptions{})
	if err != nil {
		return err
	}
	var all []chunkers.Chunk
	for _, c := range s.changes {
		for _, chunk := range c.Graph.Chunks {
			all = append(all, chunkers.Chunk{Text: chunk.Text, Range: graph.Range{End: len(chunk.Text)}, Header: chunk.Header, Section: -1})
		}
	}
	return inParallel(ctx, all, func(ctx context.Context, part []chunkers.Chunk) error {
		_, err := gliner.Extract(ctx, part, names)
		return err
	})
}

func embedAlone(ctx context.Context, engine models.Engine, options local.Options, s *snapshot) error {
	embedder, err := options.OpenEmbedder(engine)
	if err != nil {
		return err
	}
	defer embedder.Close()
	return inParallel(ctx, s.texts(), func(ctx context.Context, part []string) error {
		_, err := embedder.Embed(ctx, part)
		return err
	})
}

// texts are everything that the pipeline embeds, each once.
func (s *snapshot) texts() []string {
	var out []string
	add := func(kind store.VectorKind, rows cypherRows, title, text string) {
		for _, row := range rows {
			p := store.Pending{Kind: kind}
			for _, field := range row[slices.IndexFunc(row, isProperties)].Value.(cypherRow) {
				value, _ := field.Value.(string)
				switch field.Name {
				case title:
					p.Title = value
				case text:
					p.Text = value
				}
			}
			out = append(out, pipeline.EmbeddingTexts(p)...)
		}
	}
	add(store.ChunkVector, s.chunks, "context_header", "text")
	for _, rows := range s.entities {
		add(store.EntityVector, rows, "name", "description")
	}
	add(store.RelationVector, s.relations, "", "fact")
	slices.Sort(out)
	out = slices.Compact(out)
	slices.SortFunc(out, func(a, b string) int { return len(b) - len(a) })
	return out
}

// inParallel hands items to one worker a core, eight at a time.
func inParallel[T any](ctx context.Context, items []T, do func(ctx context.Context, part []T) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.NumCPU())
	for part := range slices.Chunk(items, 8) {
		group.Go(func() error { return do(ctx, part) })
	}
	return group.Wait()
}
