package main

import (
	"context"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"graphmill/commandline"
	"graphmill/pipeline"
)

// app is what every verb shares.
type app struct {
	*commandline.Program
}

// commonKeys are the settings that every verb has flags for.
var commonKeys = []string{"data_dir", "graph", "tenant", "output", "quiet", "log.level", "log.format"}

// run is main without the process: it returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	// What was committed is whole, whether the run stops at a document boundary or
	// at once.
	ctx, stop := commandline.Interruptible(ctx, func() {
		commandline.Note(stderr, args, "stopping at a document boundary; once more stops at once")
	})
	defer stop()
	a := &app{&commandline.Program{Name: "ingestd", Stdin: os.Stdin, Stdout: stdout, Stderr: stderr, Keys: commonKeys, ExitCode: exitCode}}
	return a.Execute(ctx, a.command(), args)
}

func (a *app) command() *cobra.Command {
	return commandline.Group(&cobra.Command{
		Use:   "ingestd",
		Short: "turn a folder of documents into a cited knowledge graph",
		Long: `ingestd turns a folder of documents into a cited knowledge graph in FalkorDB. It is the only program that writes
the graph; queryd serves it. Without FALKOR_HOST it starts a local engine of its own in the data directory.`,
		Example: "  ingestd run --root corpus\n  ingestd plan --root corpus\n  ingestd doctor",
	},
		a.runCommand(), a.planCommand(), a.previewCommand(), a.ontologyCommand(), a.reextractCommand(),
		a.finalizeCommand(), a.forgetCommand(), a.statusCommand(), a.runsCommand(), a.diffCommand(), a.mergesCommand(), a.digestCommand(), a.checkCommand(), a.snapshotCommand(), a.exportCommand(),
		a.workerCommand(), a.queueCommand(), a.serveCommand(), a.callCommand(), a.toolsCommand(), a.cacheCommand(), a.doctorCommand(), a.dbCommand(), a.compileCommand(),
	)
}

// verb makes a command whose work ends when limits.run_time is over.
func (a *app) verb(cmd *cobra.Command, keys []string, work func(ctx context.Context, args []string) error) *cobra.Command {
	return a.Verb(cmd, keys, func(ctx context.Context, args []string) error {
		if limit := a.Config.Limits.RunTime; limit > 0 {
			var cancel context.CancelFunc
			ctx, cancel = withRunTime(ctx, limit)
			defer cancel()
		}
		return settle(ctx, work(ctx, args))
	})
}

// report prints a verb's report.
func (a *app) report(r *pipeline.Report) error {
	return a.Print(r, func(w io.Writer) { textPrinter{w, a.Config.Quiet, a.advice}.report(r) })
}

// patience is how long closing may take after a run's context has ended.
const patience = 2 * time.Minute
