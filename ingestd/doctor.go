package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"graphmill/commandline"
	"graphmill/configs"
	"graphmill/pipeline/llm"
	"graphmill/pipeline/models"
	"graphmill/pipeline/ontology"
)

func (a *app) doctorCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "show the effective configuration and check engine, models, disk and permissions",
		Long: `doctor prints the effective configuration, secrets masked, with the place each value came from, and checks the engine,
the models, their versions, the disk and permissions. It ends with 1 when something would stop a run.`,
		Args: cobra.NoArgs,
	}
	return a.verb(cmd, ingestKeys, func(ctx context.Context, _ []string) error {
		return a.Show(a.examine(ctx))
	})
}

func (a *app) examine(ctx context.Context) *commandline.Diagnosis {
	d := a.Diagnose()
	a.checkDataDir(d)
	a.checkStore(ctx, d)
	a.checkInputs(ctx, d)
	a.checkModels(ctx, d)
	a.checkProvider(ctx, d)
	a.checkQueue(ctx, d)
	a.serving().Check(d)
	return d
}

// lowDisk is below what a run over some thousand documents may need.
const lowDisk = 2 << 30

func (a *app) checkDataDir(d *commandline.Diagnosis) {
	dir := a.Config.DataDir
	if err := os.MkdirAll(dir, 0o700); err != nil {
		d.Add("data directory", "", fmt.Errorf("%w; set data_dir to a folder that can be written", err))
		return
	}
	probe, err := os.CreateTemp(dir, ".doctor-*")
	if err == nil {
		err = errors.Join(probe.Close(), os.Remove(probe.Name()))
	}
	d.Add("data directory", dir+" can be written", err)
	if info, err := os.Stat(dir); err == nil && info.Mode().Perm()&0o077 != 0 {
		d.Warn("data directory", "others may enter %s (mode %o); chmod 700 keeps the engine's files to you", dir, info.Mode().Perm())
	}
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		d.Add("disk", "", err)
		return
	}
	free := fs.Bavail * uint64(fs.Bsize)
	detail := fmt.Sprintf("%.1f GiB free in %s", float64(free)/(1<<30), dir)
	if free < lowDisk {
		d.Warn("disk", "%s", detail+"; a run may need more")
		return
	}
	d.Add("disk", detail, nil)
}

func (a *app) checkStore(ctx context.Context, d *commandline.Diagnosis) {
	s, err := a.connect(ctx)
	if err != nil {
		d.Add("graph store", "", err)
		return
	}
	defer s.close()
	versions, err := s.client.Versions(ctx)
	d.Add("graph store", fmt.Sprintf("%s: Redis %s, FalkorDB %s", s.client.Address(), versions.Redis, versions.FalkorDB), err)
	durability, err := s.store.Durability(ctx)
	switch {
	case err != nil:
		d.Add("durability", "", err)
	case durability.Confirmed:
		d.Add("durability", durability.Reason, nil)
	default:
		d.Warn("durability", "%s", durability.Reason)
	}
	meta, err := s.store.Meta(ctx)
	detail := fmt.Sprintf("%s holds %d documents", a.Config.GraphName(), meta.Counts.Documents)
	if !meta.Exists {
		detail = a.Config.GraphName() + " holds nothing yet"
	}
	d.Add("graph", detail, err)
	if meta.FinalizePending {
		d.Warn("graph", "%s", "not finalized; run `ingestd finalize`")
	}
}

func (a *app) checkQueue(ctx context.Context, d *commandline.Diagnosis) {
	if a.Config.Queue.URL == "" {
		return
	}
	q, err := a.openQueue(ctx)
	if err != nil {
		d.Add("queue", "", err)
		return
	}
	defer q.Close()
	status, err := q.Status(ctx)
	if err != nil {
		d.Add("queue", "", err)
		return
	}
	workers := 0
	for _, one := range status.Queues {
		if one.Name == a.Config.QueueName() {
			workers = one.Workers
		}
	}
	if workers == 0 {
		d.Warn("queue", "%s: no worker takes documents of %s; start `ingestd worker`", q.Address(), a.Config.QueueName())
		return
	}
	d.Add("queue", fmt.Sprintf("%s: workers of %s: %d", q.Address(), a.Config.QueueName(), workers), nil)
}

func (a *app) checkModels(ctx context.Context, d *commandline.Diagnosis) {
	w, err := newWired(a.Config)
	if err != nil {
		d.Add("patterns", "", err)
		return
	}
	defer w.close()
	detail := ""
	if choosesGLiNER(a.Config.Plan) {
		w.mu.Lock()
		_, err = w.loadGLiNER()
		w.mu.Unlock()
		if err == nil {
			detail = fmt.Sprintf("%s on %s", w.gliner.Identity, w.engine.Name())
		}
		d.Add("extraction model", detail, err)
	} else {
		d.Add("extraction model", "none; no rule chooses gliner", nil)
	}
	embedder, err := w.embedder()
	if a.Config.Embedder.Kind == configs.EmbedderOpenAI {
		// A kept vector would say nothing about the server.
		embedder, err = commandline.RemoteEmbedder(a.Config, nil, a.Log)
	}
	if err == nil {
		detail = fmt.Sprintf("%s, %d dimensions", embedder.Model(), embedder.Dimension())
		_, err = embedder.Embed(ctx, []string{"a sentence to embed"})
	}
	d.Add("embedding model", detail, err)
	if w.engine != nil {
		d.Add("model engine", fmt.Sprintf("%s %s", w.engine.Name(), models.RuntimeVersion), nil)
	}
}

// checkProvider asks the language model of the configuration for one word: that
// costs next to nothing and tests address, key and name at once.
func (a *app) checkProvider(ctx context.Context, d *commandline.Diagnosis) {
	if a.Config.LLM.Model == "" {
		d.Add("language model", "none; llm.model is not set", nil)
		return
	}
	client, err := llm.New(llm.Options{Endpoint: commandline.Endpoint(a.Config, a.Config.LLM.Model, a.Log)})
	if err != nil {
		d.Add("language model", "", err)
		return
	}
	answer, err := client.Ask(ctx, llm.Request{Purpose: "check", System: "Answer with the one word ok.", User: "ok?", MaxTokens: 16})
	d.Add("language model", fmt.Sprintf("%s answers; %d + %d tokens were paid for that", client.Fingerprint(), answer.Usage.InputTokens, answer.Usage.OutputTokens), err)
	prices := a.Config.Prices()
	price, known := prices.Of(a.Config.LLM.Model)
	if !known {
		d.Warn("price", "%s has none in the table of %s; give it one in llm.prices to see money and to limit it", a.Config.LLM.Model, prices.Date)
		return
	}
	d.Add("price", fmt.Sprintf("%g and %g %s a million tokens in and out, on %s", price.Input, price.Output, prices.Currency, prices.Date), nil)
}

// choosesGLiNER reports whether some file may be extracted by GLiNER. Files that
// no rule names are.
func choosesGLiNER(plan configs.Plan) bool {
	if !slices.Contains(plan.Limits.Extractors, "gliner") {
		return false
	}
	for _, rule := range plan.Rules {
		if len(rule.Extractors) == 0 || slices.Contains(rule.Extractors, "gliner") {
			return true
		}
		if rule.Match == "**" || rule.Match == "**/*" {
			return false
		}
	}
	return true
}

func (a *app) checkInputs(ctx context.Context, d *commandline.Diagnosis) {
	if a.Config.Root != "" {
		root, err := a.openRoot(ctx)
		if err == nil {
			err = root.Close()
		}
		d.Add("files root", a.Config.Root, err)
	}
	if a.Config.Ontology != "" {
		o, err := ontology.Load(a.Config.Ontology)
		detail := ""
		if err == nil {
			detail = fmt.Sprintf("%s: %d entity types, %d relation types", filepath.Base(a.Config.Ontology), len(o.Entities), len(o.Relations))
		}
		d.Add("ontology", detail, err)
	}
	_, err := newPlanner(a.Config)
	detail := fmt.Sprintf("%d rules", len(a.Config.Plan.Rules))
	if len(a.Config.Plan.Rules) == 0 {
		detail = "none; each format has its own"
	}
	d.Add("plan rules", detail, err)
}
