package main

import (
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"graphmill/commandline"
	"graphmill/toolserver"
)

// app is what every verb shares.
type app struct {
	*commandline.Program
}

// commonKeys are the settings that every verb has flags for.
var commonKeys = []string{"data_dir", "graph", "tenant", "output", "quiet", "log.level", "log.format", "mcp.include"}

// modelKeys are those of the verbs that embed questions.
var modelKeys = []string{"embedder.kind", "embedder.model_dir"}

// run is main without the process: it returns the exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	// The engine is given back before the program ends; there is nothing to say.
	ctx, stop := commandline.Interruptible(ctx, func() {})
	defer stop()
	a := &app{&commandline.Program{Name: "queryd", Stdin: stdin, Stdout: stdout, Stderr: stderr, Keys: commonKeys, ExitCode: exitCode}}
	return a.Execute(ctx, a.command(), args)
}

func (a *app) command() *cobra.Command {
	return commandline.Group(&cobra.Command{
		Use:   "queryd",
		Short: "serve a knowledge graph to agents, read-only",
		Long: `queryd answers questions from a knowledge graph that ingestd built. It sends reading statements only, as a database
user that may do nothing else. Without FALKOR_HOST it uses the local engine in the data directory, which it starts or joins.
Of the exit codes it uses 0, 1, 2 and 130.`,
		Example: "  queryd call retrieve '{\"question\": \"Who worked with Charles Babbage?\"}'\n  queryd serve\n  queryd doctor",
	}, a.serveCommand(), a.callCommand(), a.toolsCommand(), a.doctorCommand(), a.keepAliveCommand())
}

// exitCode knows the tools' errors beside those of every program.
func exitCode(err error) int {
	var told *toolserver.Error
	var exit *commandline.ExitError
	if !errors.As(err, &exit) && errors.As(err, &told) && (told.Kind == toolserver.Usage || told.Kind == toolserver.Config) {
		return commandline.ExitUsage
	}
	return commandline.ExitCode(err)
}
