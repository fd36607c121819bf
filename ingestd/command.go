package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"graphmill/configs"
)

// app is what every verb shares.
type app struct {
	stdout *output
	stderr io.Writer
	cfg    *configs.Config
	out    printer
	log    *slog.Logger
}

// commonKeys are the settings that every verb has flags for.
var commonKeys = []string{"data_dir", "graph", "tenant", "output", "quiet", "log.level"}

// run is main without the process: it returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	ctx, stop := interruptible(ctx, stderr)
	defer stop()
	a := &app{stdout: &output{Writer: stdout}, stderr: stderr}
	root := a.command()
	root.SetArgs(args)
	root.SetOut(a.stdout)
	root.SetErr(stderr)
	return a.finish(args, root.ExecuteContext(ctx))
}

// interruptible ends ctx on the first Ctrl-C (or SIGTERM), so that a run stops
// at a document boundary, and the process on the second. What was committed is
// whole either way.
func interruptible(ctx context.Context, stderr io.Writer) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		if _, ok := <-signals; !ok {
			return
		}
		fmt.Fprintln(stderr, "stopping at a document boundary; once more stops at once")
		cancel()
		if _, ok := <-signals; ok {
			os.Exit(exitInterrupted)
		}
	}()
	return ctx, func() { signal.Stop(signals); close(signals); cancel() }
}

func (a *app) command() *cobra.Command {
	root := &cobra.Command{
		Use:   "ingestd",
		Short: "turn a folder of documents into a cited knowledge graph",
		Long: `ingestd turns a folder of documents into a cited knowledge graph in FalkorDB. It is the only program that writes
the graph; queryd serves it. Without FALKOR_HOST it starts a local engine of its own in the data directory.

` + exitHelp,
		Example:                    "  ingestd run --root corpus\n  ingestd plan --root corpus\n  ingestd doctor",
		Version:                    version(),
		SilenceErrors:              true,
		SuggestionsMinimumDistance: 2,
		SilenceUsage:               true,
		Args:                       onlyVerbs,
		RunE:                       func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usage("%v; see `%s --help`", err, cmd.CommandPath())
	})
	for _, verb := range []*cobra.Command{
		a.runCommand(), a.planCommand(), a.previewCommand(), a.ontologyCommand(), a.reextractCommand(),
		a.finalizeCommand(), a.forgetCommand(), a.statusCommand(), a.runsCommand(), a.digestCommand(), a.doctorCommand(), a.dbCommand(),
	} {
		root.AddCommand(verb)
	}
	return root
}

// onlyVerbs refuses what is no verb, with the nearest one that is.
func onlyVerbs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	hint := ""
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		hint = fmt.Sprintf("did you mean %q? ", near[0])
	}
	return usage("%s has no verb %q; %ssee `%s --help`", cmd.CommandPath(), args[0], hint, cmd.CommandPath())
}

// verb makes a command whose configuration is loaded before work runs. keys are
// the settings it has flags for, besides the common ones.
func (a *app) verb(cmd *cobra.Command, keys []string, work func(ctx context.Context, args []string) error) *cobra.Command {
	if err := configs.BindFlags(cmd.Flags(), append(append([]string{}, commonKeys...), keys...)...); err != nil {
		panic(err) // a key that the table does not have: caught by any test
	}
	if cmd.Long == "" {
		cmd.Long = cmd.Short
	}
	cmd.Long += "\n\n" + exitHelp
	check := cmd.Args
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if check == nil {
			return nil
		}
		if err := check(cmd, args); err != nil {
			return usage("%v; see `%s --help`", err, cmd.CommandPath())
		}
		return nil
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		cfg, err := configs.Load(configs.Source{Env: os.Environ(), Flags: cmd.Flags()})
		if err != nil {
			return err
		}
		a.configure(cfg)
		ctx := cmd.Context()
		if cfg.Limits.RunTime > 0 {
			var cancel context.CancelFunc
			ctx, cancel = withRunTime(ctx, cfg.Limits.RunTime)
			defer cancel()
		}
		return settle(ctx, work(ctx, args))
	}
	return cmd
}

func (a *app) configure(cfg *configs.Config) {
	a.cfg = cfg
	a.out = newPrinter(cfg.Output, cfg.Quiet, a.stdout)
	var level slog.Level
	if err := level.UnmarshalText([]byte(cfg.Log.Level)); err != nil {
		level = slog.LevelWarn
	}
	a.log = slog.New(slog.NewTextHandler(a.stderr, &slog.HandlerOptions{Level: level}))
	for _, warning := range cfg.Warnings {
		a.log.Warn(warning)
	}
}

// notice is a sentence among JSON events.
type notice struct {
	Event string `json:"event"`
	Text  string `json:"text"`
}

// say tells the operator, on stderr, what is being waited for.
func (a *app) say(text string) {
	switch {
	case a.cfg.Quiet:
	case a.cfg.Progress == configs.ProgressJSON:
		_ = json.NewEncoder(a.stderr).Encode(notice{"notice", text}) // stderr that is gone must not stop a run
	default:
		fmt.Fprintln(a.stderr, text)
	}
}

// patience is how long closing may take after a run's context has ended.
const patience = 2 * time.Minute

func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "0.1.0-dev"
}
