package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"graphmill/commandline"
	"graphmill/pipeline/engine"
	"graphmill/pipeline/falkor/shape"
	"graphmill/pipeline/models"
	"graphmill/queryd/retrieve"
	"graphmill/toolserver"
)

func (a *app) doctorCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "show the effective configuration and check store, login, graph and models",
		Long: `doctor prints the effective configuration, secrets masked, with the place each value came from, and checks that the
graph store answers, that the login can only read, that the graph is there and finalized, and that the embedding model is
the graph's. It changes nothing and ends with 1 when something would keep a tool from working.`,
		Args: cobra.NoArgs,
	}
	return a.Verb(cmd, append(servingKeys(), modelKeys...), func(ctx context.Context, _ []string) error {
		d, err := a.examine(ctx)
		if err != nil {
			return err
		}
		return a.Show(d)
	})
}

func (a *app) examine(ctx context.Context) (*commandline.Diagnosis, error) {
	d := a.Diagnose()
	b := a.newBackend(ctx)
	_, err := b.Tools(nil)
	d.Add("tools", "all that mcp.include names are there", err)
	a.serving().Check(d)
	meta := a.checkStore(ctx, d, b)
	a.checkModel(ctx, d, b, meta)
	for i := range d.Checks {
		d.Checks[i].Detail = toolserver.Mask(d.Checks[i].Detail, b.Secrets())
	}
	return d, b.Close()
}

func (a *app) checkStore(ctx context.Context, d *commandline.Diagnosis, b *backend) (meta shape.Meta) {
	if !a.Config.Falkor.External() {
		found, err := engine.Find(b.engineOptions())
		d.Add("engine files", found.RedisServer+", "+found.Module, err)
	}
	c, err := b.store.Get(ctx, ctx)
	if err == nil {
		err = c.client.Ping(ctx)
	}
	if err != nil {
		d.Add("graph store", "", b.explain(err))
		return meta
	}
	d.Add("graph store", "answers at "+c.client.Address(), nil)
	commands, err := writingCommands(ctx, c.client, b.Graph())
	switch {
	case err != nil:
		d.Add("read-only login", "", err)
	case len(commands) > 0:
		d.Warn("read-only login", "the login may also send %s; give queryd one of its own (falkor.reader.username, falkor.reader.password): %s", strings.Join(commands, ", "), readerRule(b.Graph()))
	default:
		d.Add("read-only login", "writing is refused", nil)
	}
	return a.checkGraph(ctx, d, b, c)
}

func (a *app) checkGraph(ctx context.Context, d *commandline.Diagnosis, b *backend, c *connection) shape.Meta {
	meta, err := c.reader.Meta(ctx, b.Graph())
	exists := meta.Exists
	if err == nil && !exists {
		exists, err = c.reader.Exists(ctx, b.Graph())
	}
	switch {
	case err != nil:
		d.Add("graph", "", err)
		return meta
	case !exists:
		d.Add("graph", "", fmt.Errorf("%s does not exist; `ingestd run --root DIR` makes it, or set --graph", b.Graph()))
		return meta
	case !meta.Exists:
		d.Warn("graph", "%s was written by another program; it is searched without an index of names, and its counts are made when they are asked for", b.Graph())
		return meta
	case meta.Schema > shape.Schema:
		d.Add("graph", "", fmt.Errorf("%s has schema version %d, this program knows up to %d; use a newer queryd", b.Graph(), meta.Schema, shape.Schema))
	case meta.FinalizePending:
		d.Warn("graph", "%s changed since its last finalize; if no run is going on, `ingestd finalize` completes it", b.Graph())
	case meta.Counts.Documents == 0:
		d.Warn("graph", "%s is empty; `ingestd run --root DIR` fills it", b.Graph())
	default:
		d.Add("graph", fmt.Sprintf("%s: %d documents, %d chunks, %d entities, %d relations", b.Graph(), meta.Counts.Documents, meta.Counts.Chunks, meta.Counts.Entities, meta.Counts.Relations), nil)
	}
	indexes, err := c.reader.Indexes(ctx, b.Graph())
	checkIndexes(d, indexes, err)
	return meta
}

func checkIndexes(d *commandline.Diagnosis, indexes []shape.Index, err error) {
	if err != nil {
		d.Add("indexes", "", err)
		return
	}
	var missing, building []string
	for _, want := range []struct{ label, property, kind string }{
		{"Chunk", "id", "RANGE"}, {"Chunk", "text", "FULLTEXT"}, {"Chunk", "embedding", "VECTOR"},
		{"__Entity__", "name_key", "RANGE"}, {"__Entity__", "name", "FULLTEXT"}, {"__Entity__", "embedding", "VECTOR"},
		{"RELATES", "embedding", "VECTOR"},
	} {
		found := false
		for _, index := range indexes {
			found = found || index.Label == want.label && index.Has(want.property, want.kind)
		}
		if !found {
			missing = append(missing, strings.ToLower(want.kind)+" on "+want.label+"."+want.property)
		}
	}
	for _, index := range indexes {
		if !index.Operational {
			building = append(building, fmt.Sprintf("%s (%d of %d)", index.Label, index.Done, index.Total))
		}
	}
	switch {
	case len(missing) > 0:
		d.Warn("indexes", "missing: %s; `ingestd finalize` makes them", strings.Join(missing, ", "))
	case len(building) > 0:
		d.Warn("indexes", "being built: %s; hits may be missing meanwhile", strings.Join(building, ", "))
	default:
		d.Add("indexes", "complete", nil)
	}
}

func (a *app) checkModel(ctx context.Context, d *commandline.Diagnosis, b *backend, meta shape.Meta) {
	embedder, err := b.Embedder(ctx)
	if err == nil {
		_, err = embedder.Embed(ctx, []string{"a question"})
	}
	if err != nil {
		d.Add("embedding model", "", err)
		return
	}
	detail := fmt.Sprintf("%s, %d dimensions", embedder.Model(), embedder.Dimension())
	switch {
	case meta.EmbeddingModel == "":
		d.Add("embedding model", detail, nil)
	case meta.Dimension != embedder.Dimension(), meta.Exists && meta.EmbeddingModel != embedder.Model(),
		!meta.Exists && !models.SameModel(meta.EmbeddingModel, embedder.Model()):
		d.Add("embedding model", "", &retrieve.OtherModel{
			Graph: meta.EmbeddingModel, GraphDimension: meta.Dimension, Question: embedder.Model(), QuestionDimension: embedder.Dimension(), Foreign: !meta.Exists,
		})
	default:
		d.Add("embedding model", detail+", as the graph's", nil)
	}
}
