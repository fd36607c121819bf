package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"graphmill/configs"
	"graphmill/pipeline/models"
	"graphmill/pipeline/ontology"
)

// finding is one thing that doctor looked at.
type finding struct {
	Check  string `json:"check"`
	Result string `json:"result"` // "ok", "warning", "failed"
	Detail string `json:"detail"`
}

// doctorResult is what doctor prints.
type doctorResult struct {
	Version  string            `json:"version"`
	Settings []configs.Setting `json:"settings"`
	Checks   []finding         `json:"checks"`
	Warnings []string          `json:"warnings,omitempty"`
}

func (d *doctorResult) add(check, detail string, err error) {
	f := finding{Check: check, Result: "ok", Detail: detail}
	if err != nil {
		f.Result, f.Detail = "failed", err.Error()
	}
	d.Checks = append(d.Checks, f)
}

func (d *doctorResult) warn(check, detail string) {
	d.Checks = append(d.Checks, finding{Check: check, Result: "warning", Detail: detail})
}

func (d *doctorResult) failed() bool {
	for _, f := range d.Checks {
		if f.Result == "failed" {
			return true
		}
	}
	return false
}

func (a *app) doctorCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "show the effective configuration and check engine, models, disk and permissions",
		Long: `doctor prints the effective configuration, secrets masked, with the place each value came from, and checks the engine,
the models, their versions, the disk and permissions. It ends with 1 when something would stop a run.`,
		Args: cobra.NoArgs,
	}
	return a.verb(cmd, ingestKeys, func(ctx context.Context, _ []string) error {
		result := a.examine(ctx)
		if err := a.out.value(result, result.print); err != nil {
			return err
		}
		if result.failed() {
			return &exitError{code: exitFailed}
		}
		return nil
	})
}

func (a *app) examine(ctx context.Context) *doctorResult {
	d := &doctorResult{Version: version(), Settings: a.cfg.Effective(), Warnings: a.cfg.Warnings}
	a.checkDataDir(d)
	a.checkStore(ctx, d)
	a.checkInputs(d)
	a.checkModels(ctx, d)
	return d
}

// lowDisk is below what a run over some thousand documents may need.
const lowDisk = 2 << 30

func (a *app) checkDataDir(d *doctorResult) {
	dir := a.cfg.DataDir
	if err := os.MkdirAll(dir, 0o700); err != nil {
		d.add("data directory", "", fmt.Errorf("%w; set data_dir to a folder that can be written", err))
		return
	}
	probe, err := os.CreateTemp(dir, ".doctor-*")
	if err == nil {
		err = errors.Join(probe.Close(), os.Remove(probe.Name()))
	}
	d.add("data directory", dir+" can be written", err)
	if info, err := os.Stat(dir); err == nil && info.Mode().Perm()&0o077 != 0 {
		d.warn("data directory", fmt.Sprintf("others may enter %s (mode %o); chmod 700 keeps the engine's files to you", dir, info.Mode().Perm()))
	}
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		d.add("disk", "", err)
		return
	}
	free := fs.Bavail * uint64(fs.Bsize)
	detail := fmt.Sprintf("%.1f GiB free in %s", float64(free)/(1<<30), dir)
	if free < lowDisk {
		d.warn("disk", detail+"; a run may need more")
		return
	}
	d.add("disk", detail, nil)
}

func (a *app) checkStore(ctx context.Context, d *doctorResult) {
	s, err := a.connect(ctx)
	if err != nil {
		d.add("graph store", "", err)
		return
	}
	defer s.close()
	versions, err := s.client.Versions(ctx)
	d.add("graph store", fmt.Sprintf("%s: Redis %s, FalkorDB %s", s.client.Address(), versions.Redis, versions.FalkorDB), err)
	durability, err := s.store.Durability(ctx)
	switch {
	case err != nil:
		d.add("durability", "", err)
	case durability.Confirmed:
		d.add("durability", durability.Reason, nil)
	default:
		d.warn("durability", durability.Reason)
	}
	meta, err := s.store.Meta(ctx)
	detail := fmt.Sprintf("%s holds %d documents", a.cfg.GraphName(), meta.Counts.Documents)
	if !meta.Exists {
		detail = a.cfg.GraphName() + " holds nothing yet"
	}
	d.add("graph", detail, err)
	if meta.FinalizePending {
		d.warn("graph", "not finalized; run `ingestd finalize`")
	}
}

func (a *app) checkModels(ctx context.Context, d *doctorResult) {
	w, err := newWired(a.cfg)
	if err != nil {
		d.add("patterns", "", err)
		return
	}
	defer w.close()
	detail := ""
	if choosesGLiNER(a.cfg.Plan) {
		w.mu.Lock()
		_, err = w.loadGLiNER()
		w.mu.Unlock()
		if err == nil {
			detail = fmt.Sprintf("%s on %s", w.gliner.Identity, w.engine.Name())
		}
		d.add("extraction model", detail, err)
	} else {
		d.add("extraction model", "none; no rule chooses gliner", nil)
	}
	embedder, err := w.embedder()
	if err == nil {
		detail = fmt.Sprintf("%s, %d dimensions", embedder.Model(), embedder.Dimension())
		_, err = embedder.Embed(ctx, []string{"a sentence to embed"})
	}
	d.add("embedding model", detail, err)
	if w.engine != nil {
		d.add("model engine", fmt.Sprintf("%s %s", w.engine.Name(), models.RuntimeVersion), nil)
	}
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

func (a *app) checkInputs(d *doctorResult) {
	if a.cfg.Root != "" {
		root, err := a.openRoot()
		if err == nil {
			err = root.Close()
		}
		d.add("files root", a.cfg.Root, err)
	}
	if a.cfg.Ontology != "" {
		o, err := ontology.Load(a.cfg.Ontology)
		detail := ""
		if err == nil {
			detail = fmt.Sprintf("%s: %d entity types, %d relation types", filepath.Base(a.cfg.Ontology), len(o.Entities), len(o.Relations))
		}
		d.add("ontology", detail, err)
	}
	_, err := newPlanner(a.cfg)
	detail := fmt.Sprintf("%d rules", len(a.cfg.Plan.Rules))
	if len(a.cfg.Plan.Rules) == 0 {
		detail = "none; each format has its own"
	}
	d.add("plan rules", detail, err)
}

func (d *doctorResult) print(w io.Writer) {
	fmt.Fprintf(w, "ingestd %s\n\nConfiguration\n", d.Version)
	table := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	for _, s := range d.Settings {
		fmt.Fprintf(table, "  %s\t%s\t%s\n", s.Key, printable(s.Value), s.Origin)
	}
	table.Flush()
	fmt.Fprintln(w, "\nChecks")
	for _, f := range d.Checks {
		fmt.Fprintf(table, "  %s\t%s\t%s\n", f.Result, f.Check, printable(f.Detail))
	}
	table.Flush()
	for _, warning := range d.Warnings {
		fmt.Fprintf(w, "warning: %s\n", warning)
	}
}
