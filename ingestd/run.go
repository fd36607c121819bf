package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"graphmill/commandline"
	"graphmill/pipeline"
	"graphmill/pipeline/llm"
	"graphmill/planner"
)

// ingestKeys are the settings of the verbs that read files and write the graph.
var ingestKeys = []string{
	"root", "source", "ontology", "jobs", "queue.url", "wait", "progress", "corpus.include", "corpus.exclude",
	"extractors.gliner.model_dir", "embedder.kind", "embedder.model_dir", "embedder.model", "llm.model", "limits.run_time",
	"limits.max_cost", "limits.max_calls", "limits.max_tokens", "limits.file_max_cost", "limits.file_max_calls", "limits.file_max_tokens",
}

func (a *app) runCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "run --root DIR",
		Short: "ingest every file under the root that is new or changed, and finalize",
		Long: `run ingests every file under the root that is new or changed since it was ingested, and then finalizes the graph
(vectors, indexes, counts). A second run over the same folder writes nothing. It prints a row a file, totals and
failures with --quiet, one JSON object with --output json.

The root may be a bucket as well: s3://BUCKET/PREFIX?region=…&endpoint=…, with credentials from where the AWS SDK finds them.

With --mirror the graph becomes equal to the folder: documents whose files are gone are removed, and those of files that
got another path move along without being extracted or embedded again. When more files are gone than --max-delete allows,
the run fails before it writes anything: a folder that is suddenly empty is more often not mounted than emptied.

Language models and remote embedders are asked within --max-cost, --max-calls and --max-tokens; where the next call could go
beyond, the run stops with whole documents only and exit code 4, and the next run goes on from there. --file-max-… hold for
each file, which fails then while others go on.

With --queue the documents are extracted and the texts embedded by the processes of ` + "`ingestd worker`" + ` on that Redis; this one
lists, hashes, decides and writes. The graph is the same. It waits where no worker is there.`,
		Example: "  ingestd run --root corpus\n  ingestd run --root corpus --exclude 'drafts/**' --output json\n  ingestd run --root /mnt/docs --mirror --max-delete 25\n  ingestd run --root corpus --max-cost 2.50\n  ingestd run --root 's3://papers/reports?region=eu-central-1'",
		Args:    cobra.NoArgs,
	}
	var reembed, noFinalize, moved bool
	var planned string
	cmd.Flags().BoolVar(&reembed, "reembed", false, "accept another embedding model than the graph's and make every vector again")
	cmd.Flags().BoolVar(&noFinalize, "no-finalize", false, "leave vectors and indexes to a later finalize")
	cmd.Flags().BoolVar(&moved, "moved", false, "the root is the folder that the graph was built from, at a new place")
	cmd.Flags().StringVar(&planned, "plan", "", "do exactly what this file of plan --out says, or refuse and say what moved")
	return a.verb(cmd, slices.Concat(ingestKeys, []string{"mirror.enabled", "mirror.max_delete", "metrics.file"}), func(ctx context.Context, _ []string) error {
		o := ingestOptions{verb: "run", reembed: reembed, noFinalize: noFinalize, moved: moved}
		if err := a.readPlan(planned, &o); err != nil {
			return err
		}
		return a.ingest(ctx, o)
	})
}

// ingestOptions distinguish the verbs that ingest.
type ingestOptions struct {
	verb string
	// files are the paths to process; nil means all under the root.
	files map[string]bool
	// unmatched are arguments that name nothing, for the report.
	unmatched  []pipeline.DocumentReport
	force      bool
	replan     bool // with force: by today's rules, not by each file's last plan
	reembed    bool
	noFinalize bool
	moved      bool // the root's folder has a new place

	mayQueue    bool             // workers may extract and embed
	texts       bool             // the root holds texts and no files
	additive    bool             // what stands and would change is left alone
	contentOnly bool             // what only other settings would change is left alone
	planner     *planner.Planner // nil means the configuration's
	// plan is what to do, and nothing else; nil means whatever there is to do.
	plan  *pipeline.PlanFile
	meter *llm.Meter // nil means one of the run's own
}

// ingest is run and reextract: it opens everything, runs the pipeline, finalizes
// and prints the report. The report is printed also when the run ended early. What
// it leaves for monitoring it leaves however it ends.
func (a *app) ingest(ctx context.Context, o ingestOptions) error {
	started := time.Now()
	if _, err := a.metricsFile(); err != nil {
		return err
	}
	report, err := a.ingestAndPrint(ctx, o)
	code := 0
	if err != nil {
		code = exitCode(settle(ctx, err))
	}
	unwritten := a.writeMetrics(o.verb, report, code, started)
	if err != nil && unwritten != nil {
		a.Log.Error(unwritten.Error()) // beside the verb's own error, which gives the code
		return err
	}
	return errors.Join(err, unwritten)
}

// ingestAndPrint is ingest without metrics; the report is nil when nothing was
// begun.
func (a *app) ingestAndPrint(ctx context.Context, o ingestOptions) (*pipeline.Report, error) {
	root, err := a.openRoot(ctx)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	s, err := a.openSession(ctx, o.verb)
	if err != nil {
		return nil, err
	}
	o.mayQueue = true
	report, err := s.ingest(ctx, root, o)
	err = errors.Join(err, s.close())
	if report == nil {
		return nil, err
	}
	for _, d := range o.unmatched {
		report.Add(d)
	}
	if err == nil && report.Totals.Documents == 0 {
		a.Log.Warn(fmt.Sprintf("no file under %s is to be ingested; next: see what it holds, and what --include, --exclude and ignore files leave of it", root.Dir()))
	}
	return report, a.conclude(report, err)
}

// conclude prints the report, also of a verb that err ended early, and gives
// the exit code.
func (a *app) conclude(report *pipeline.Report, err error) error {
	report.Sort()
	if err != nil {
		report.Error = err.Error()
	}
	if printErr := a.report(report); printErr != nil {
		return errors.Join(err, printErr)
	}
	switch {
	case err != nil:
		return err
	case report.FailedCount() > 0, report.IncompleteCount() > 0:
		return &commandline.ExitError{Code: commandline.ExitSomeFailed}
	}
	return nil
}

func withRunTime(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, limit, pipeline.ErrRunTime)
}
