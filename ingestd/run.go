package main

import (
	"context"
	"errors"
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
	"root", "source", "ontology", "jobs", "wait", "progress", "corpus.include", "corpus.exclude",
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

With --mirror the graph becomes equal to the folder: documents whose files are gone are removed, and those of files that
got another path move along without being extracted or embedded again. When more files are gone than --max-delete allows,
the run fails before it writes anything: a folder that is suddenly empty is more often not mounted than emptied.`,
		Example: "  ingestd run --root corpus\n  ingestd run --root corpus --exclude 'drafts/**' --output json\n  ingestd run --root /mnt/docs --mirror --max-delete 25",
		Args:    cobra.NoArgs,
	}
	var reembed, noFinalize, moved bool
	cmd.Flags().BoolVar(&reembed, "reembed", false, "accept another embedding model than the graph's and make every vector again")
	cmd.Flags().BoolVar(&noFinalize, "no-finalize", false, "leave vectors and indexes to a later finalize")
	cmd.Flags().BoolVar(&moved, "moved", false, "the root is the folder that the graph was built from, at a new place")
	return a.verb(cmd, slices.Concat(ingestKeys, []string{"mirror.enabled", "mirror.max_delete"}), func(ctx context.Context, _ []string) error {
		return a.ingest(ctx, ingestOptions{verb: "run", reembed: reembed, noFinalize: noFinalize, moved: moved})
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
	reembed    bool
	noFinalize bool
	moved      bool // the root's folder has a new place

	texts    bool             // the root holds texts and no files
	additive bool             // what stands and would change is left alone
	planner  *planner.Planner // nil means the configuration's
	meter    *llm.Meter       // nil means one of the run's own
}

// ingest is run and reextract: it opens everything, runs the pipeline, finalizes
// and prints the report. The report is printed also when the run ended early.
func (a *app) ingest(ctx context.Context, o ingestOptions) error {
	root, err := a.openRoot()
	if err != nil {
		return err
	}
	defer root.Close()
	s, err := a.openSession(ctx, o.verb)
	if err != nil {
		return err
	}
	report, err := s.ingest(ctx, root, o)
	err = errors.Join(err, s.close())
	if report == nil {
		return err
	}
	for _, d := range o.unmatched {
		report.Add(d)
	}
	return a.conclude(report, err)
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
