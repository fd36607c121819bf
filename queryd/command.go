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
	"strconv"
	"strings"
	"syscall"
	"unicode"

	"github.com/spf13/cobra"

	"graphmill/configs"
)

// app is what every verb shares.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	cfg            *configs.Config
	log            *slog.Logger
}

// commonKeys are the settings that every verb has flags for.
var commonKeys = []string{"data_dir", "graph", "tenant", "output", "quiet", "log.level", "mcp.include"}

// modelKeys are those of the verbs that embed questions.
var modelKeys = []string{"embedder.kind", "embedder.model_dir"}

// run is main without the process: it returns the exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, stop := interruptible(ctx)
	defer stop()
	a := &app{stdin: stdin, stdout: stdout, stderr: stderr}
	root := a.command()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	return finish(root.ExecuteContext(ctx), stderr)
}

// interruptible ends ctx on the first Ctrl-C (or SIGTERM), so that the engine is
// given back, and the process on the second.
func interruptible(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		if _, ok := <-signals; !ok {
			return
		}
		cancel()
		if _, ok := <-signals; ok {
			os.Exit(exitInterrupted)
		}
	}()
	return ctx, func() { signal.Stop(signals); close(signals); cancel() }
}

func (a *app) command() *cobra.Command {
	root := &cobra.Command{
		Use:   "queryd",
		Short: "serve a knowledge graph to agents, read-only",
		Long: `queryd answers questions from a knowledge graph that ingestd built. It sends reading statements only, as a database
user that may do nothing else. Without FALKOR_HOST it uses the local engine in the data directory, which it starts or joins.

` + exitHelp,
		Example:       "  queryd call retrieve '{\"question\": \"Who worked with Charles Babbage?\"}'\n  queryd serve\n  queryd doctor",
		Version:       version(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usage("%v; see `%s --help`", err, cmd.CommandPath())
	})
	root.AddCommand(a.serveCommand(), a.callCommand(), a.toolsCommand(), a.doctorCommand(), a.keepAliveCommand())
	return root
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
		return work(cmd.Context(), args)
	}
	return cmd
}

func (a *app) configure(cfg *configs.Config) {
	a.cfg = cfg
	var level slog.Level
	if err := level.UnmarshalText([]byte(cfg.Log.Level)); err != nil {
		level = slog.LevelWarn
	}
	a.log = slog.New(slog.NewTextHandler(a.stderr, &slog.HandlerOptions{Level: level}))
	for _, warning := range cfg.Warnings {
		a.log.Warn(warning)
	}
}

// say tells the operator, on stderr, what is being waited for.
func (a *app) say(text string) {
	if !a.cfg.Quiet {
		fmt.Fprintln(a.stderr, text)
	}
}

// print writes a verb's result: one JSON object, or text.
func (a *app) print(value any, text func(w io.Writer)) error {
	if a.cfg.Output != configs.OutputJSON {
		var b strings.Builder
		text(&b)
		_, err := io.WriteString(a.stdout, b.String())
		return err
	}
	encoder := json.NewEncoder(a.stdout)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(value)
}

// printable quotes a text that would move a terminal's cursor or reorder it.
func printable(text string) string {
	if strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) }) {
		return strconv.Quote(text)
	}
	return text
}

func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "0.1.0-dev"
}
