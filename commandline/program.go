package commandline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"graphmill/configs"
)

// Program is one of the two programs while it runs one verb.
type Program struct {
	Name   string
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	// Keys are the settings that every verb has flags for.
	Keys []string
	// ExitCode gives an error its code; nil is [ExitCode].
	ExitCode func(error) int

	// Config and Log are set before a verb's work begins.
	Config *configs.Config
	Log    *slog.Logger

	wrote bool // something stands on stdout
	gone  bool // nobody reads stdout any more
}

// Execute runs the root command and returns the exit code. An error is told once,
// on stderr; whoever asked for JSON gets an object on stdout whatever happens.
func (p *Program) Execute(ctx context.Context, root *cobra.Command, args []string) int {
	out := p.Stdout
	p.Stdout = writerFunc(func(b []byte) (int, error) {
		p.wrote = p.wrote || len(b) > 0
		n, err := out.Write(b)
		p.gone = p.gone || errors.Is(err, syscall.EPIPE)
		return n, err
	})
	root.SilenceErrors, root.SilenceUsage = true, true
	root.Version = Version()
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return wrongFlag(cmd, err, args) })
	root.SetArgs(args)
	root.SetOut(p.Stdout)
	root.SetErr(p.Stderr)
	return p.finish(args, root.ExecuteContext(ctx))
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

// Failure is what a verb prints with --output json when it has no result.
type Failure struct {
	Error    string `json:"error"`
	ExitCode int    `json:"exit_code"`
}

func (p *Program) finish(args []string, err error) int {
	if err == nil {
		return ExitDone
	}
	code := ExitFailed
	if p.ExitCode != nil {
		code = p.ExitCode(err)
	} else {
		code = ExitCode(err)
	}
	var e *ExitError
	if errors.As(err, &e) && e.Err == nil {
		return code
	}
	if p.gone && errors.Is(err, syscall.EPIPE) {
		return code // whoever reads only the first lines wants to hear no more
	}
	text := strings.TrimSpace(err.Error())
	p.tell(args, text, code)
	if !p.wrote && p.wantsJSON(args) {
		_ = p.printJSON(Failure{text, code}) // a stdout that is gone cannot be told so
	}
	return code
}

// wantsJSON also knows when the configuration could not be loaded.
func (p *Program) wantsJSON(args []string) bool {
	if p.Config != nil {
		return p.Config.Output == configs.OutputJSON
	}
	for i, arg := range args {
		if arg == "--output=json" || arg == "--output" && i+1 < len(args) && args[i+1] == configs.OutputJSON {
			return true
		}
	}
	return os.Getenv("GRAPHMILL_OUTPUT") == configs.OutputJSON
}

// Verb makes a command whose configuration is loaded before work runs. keys are
// the settings it has flags for, besides the program's.
func (p *Program) Verb(cmd *cobra.Command, keys []string, work func(ctx context.Context, args []string) error) *cobra.Command {
	p.prepare(cmd, keys)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		cfg, err := configs.Load(configs.Source{Env: os.Environ(), Flags: cmd.Flags()})
		if err != nil {
			return err
		}
		p.configure(cfg)
		return work(cmd.Context(), args)
	}
	return cmd
}

// Daemon is Verb for a program that others rely on: it runs also when the
// configuration cannot be loaded. work is then told why, what is right of it is in
// Config, and load reads it again.
func (p *Program) Daemon(cmd *cobra.Command, keys []string, work func(ctx context.Context, broken error, load func() (*configs.Config, error)) error) *cobra.Command {
	p.prepare(cmd, keys)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		source := configs.Source{Env: os.Environ(), Flags: cmd.Flags()}
		cfg, err := configs.Salvage(source)
		if cfg == nil {
			return err
		}
		p.configure(cfg)
		return work(cmd.Context(), err, func() (*configs.Config, error) { return configs.Load(source) })
	}
	return cmd
}

// prepare gives a command its flags, its help and the check of its arguments.
func (p *Program) prepare(cmd *cobra.Command, keys []string) {
	if err := configs.BindFlags(cmd.Flags(), append(append([]string{}, p.Keys...), keys...)...); err != nil {
		panic(err) // a key that the table does not have: caught by any test
	}
	if cmd.Long == "" {
		cmd.Long = cmd.Short
	}
	cmd.Long += "\n\n" + ExitHelp
	check := cmd.Args
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if check == nil {
			return nil
		}
		if err := check(cmd, args); err != nil {
			if strings.HasPrefix(err.Error(), "unknown command") { // cobra.NoArgs, for any argument
				return noArguments(cmd, args[0])
			}
			return wrongArguments(cmd, args)
		}
		return nil
	}
}

// noArguments refuses an argument of a command that takes none; most often it is
// the folder that --root should name.
func noArguments(cmd *cobra.Command, arg string) error {
	hint := ""
	if cmd.Flags().Lookup("root") != nil {
		hint = "a folder of documents is given with --root; "
	}
	return Usage("%s takes no argument, but was given %q; %ssee `%s --help`", cmd.CommandPath(), arg, hint, cmd.CommandPath())
}

func (p *Program) configure(cfg *configs.Config) {
	p.Config = cfg
	var level slog.Level
	if err := level.UnmarshalText([]byte(cfg.Log.Level)); err != nil {
		level = slog.LevelWarn
	}
	options := &slog.HandlerOptions{Level: level}
	p.Log = slog.New(slog.NewTextHandler(p.Stderr, options))
	if cfg.Log.Format == configs.OutputJSON {
		p.Log = slog.New(slog.NewJSONHandler(p.Stderr, options))
	}
	for _, warning := range cfg.Warnings {
		p.Log.Warn(warning)
	}
}

// Print writes a verb's result: one JSON object, or what text writes.
func (p *Program) Print(value any, text func(w io.Writer)) error {
	if p.Config.Output == configs.OutputJSON {
		return p.printJSON(value)
	}
	var b strings.Builder
	text(&b)
	_, err := io.WriteString(p.Stdout, b.String())
	return err
}

func (p *Program) printJSON(value any) error {
	encoder := json.NewEncoder(p.Stdout)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}

// notice is a sentence among JSON events.
type notice struct {
	Event string `json:"event"`
	Text  string `json:"text"`
}

// Say tells the operator, on stderr, what is being waited for.
func (p *Program) Say(text string) {
	switch {
	case p.Config.Quiet:
	case p.Config.Progress == configs.ProgressJSON:
		_ = json.NewEncoder(p.Stderr).Encode(notice{"notice", text}) // stderr that is gone must not stop a run
	default:
		fmt.Fprintln(p.Lines(), text)
	}
}

// Group makes a command that only holds verbs: without one it shows its help, and
// it refuses what is none, with the nearest that is.
func Group(cmd *cobra.Command, verbs ...*cobra.Command) *cobra.Command {
	cmd.Long += "\n\n" + ExitHelp
	cmd.SuggestionsMinimumDistance = 2
	cmd.Args = onlyVerbs
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	cmd.AddCommand(verbs...)
	return cmd
}

func onlyVerbs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	hint := ""
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		hint = fmt.Sprintf("did you mean %q? ", near[0])
	}
	return Usage("%s has no verb %q; %ssee `%s --help`", cmd.CommandPath(), args[0], hint, cmd.CommandPath())
}

// signalWake is how long after a SIGTERM another one is not a second wish.
const signalWake = 500 * time.Millisecond

// Interruptible ends the context on the first Ctrl-C, SIGTERM or SIGHUP (the
// terminal is gone), telling first, and the process on the second. Under nohup,
// SIGHUP stays ignored. A SIGTERM in the wake of another is none: timeout(1) tells
// the process and then its group.
func Interruptible(ctx context.Context, first func()) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	signals := make(chan os.Signal, 2)
	stops := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		stops = append(stops, syscall.SIGHUP)
	}
	signal.Notify(signals, stops...)
	go func() {
		was, ok := <-signals
		if !ok {
			return
		}
		wake := time.Now().Add(signalWake)
		first()
		cancel()
		for again := range signals {
			if was == syscall.SIGTERM && again == syscall.SIGTERM && time.Now().Before(wake) {
				continue
			}
			os.Exit(ExitInterrupted)
		}
	}()
	return ctx, func() { signal.Stop(signals); close(signals); cancel() }
}

// Version is the module's version, or that of a development build.
func Version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "0.1.0-dev"
}
