package main

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"graphmill/commandline"
	"graphmill/pipeline"
	"graphmill/pipeline/llm"
)

func (a *app) finalizeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "finalize",
		Short: "make missing vectors, indexes and counts",
		Long: `finalize brings a written graph to searchable: vectors that are missing or stale, vector and full-text indexes, stored
counts. run and reextract do it at their end; this does it alone, after an interruption or with --reembed.`,
		Args: cobra.NoArgs,
	}
	var reembed bool
	cmd.Flags().BoolVar(&reembed, "reembed", false, "accept another embedding model than the graph's and make every vector again")
	keys := []string{"jobs", "queue.url", "wait", "progress", "embedder.kind", "embedder.model_dir", "embedder.model", "limits.max_cost", "limits.max_calls", "limits.max_tokens"}
	return a.verb(cmd, keys, func(ctx context.Context, _ []string) error { return a.finalizeGraph(ctx, reembed) })
}

func (a *app) finalizeGraph(ctx context.Context, reembed bool) error {
	s, err := a.openSession(ctx, "finalize")
	if err != nil {
		return err
	}
	started := time.Now()
	report := pipeline.NewReport(a.Config.GraphName())
	err = s.finalizeAlone(ctx, report, reembed)
	report.Totals.Seconds = time.Since(started).Seconds()
	err = errors.Join(err, s.record("finalize", report, started, err), s.close())
	if report.Finalize == nil {
		return err // nothing was begun
	}
	return a.conclude(report, err)
}

func (s *session) finalizeAlone(ctx context.Context, report *pipeline.Report, reembed bool) error {
	w, err := newWired(s.Config)
	if err != nil {
		return err
	}
	defer w.close()
	ctx, cancel := s.untilLockLost(ctx)
	defer cancel()
	show := s.newProgress()
	defer show.done()
	// Asked for by name, finalize always looks: an index may be missing though
	// nothing is pending.
	meter := newMeter(s.Config)
	w.asking.log = s.Log
	if s.workers, err = s.callWorkers(ctx, "finalize", nil); err != nil {
		return err
	}
	defer s.leaveWorkers()
	report.Finalize, err = s.finalize(llm.WithMeter(ctx, meter), w, true, reembed, show)
	report.Cost = bill(s.Config, meter)
	if err == nil && report.Finalize == nil {
		return commandline.Usage("graph %s holds nothing yet; `ingestd run --root DIR` fills it", s.Config.GraphName())
	}
	if err != nil {
		err = report.Interrupt(ctx, err)
	}
	return s.explain(ctx, err)
}
