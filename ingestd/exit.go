package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"graphmill/configs"
	"graphmill/pipeline"
	"graphmill/pipeline/falkor/store"
)

// The exit codes of every verb; docs/exit-codes.md explains them.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2
	exitSomeFailed  = 3
	exitBudget      = 4
	exitHeld        = 5
	exitInterrupted = 130
)

const exitHelp = `Exit codes: 0 done · 1 failed · 2 wrong usage or configuration · 3 done but some files failed · 4 stopped by a
budget · 5 another run holds the graph · 6 below a quality gate · 130 interrupted, resumable`

// exitError carries an exit code up to main.
type exitError struct {
	code int
	err  error // nil when everything was printed already
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

func usage(format string, args ...any) error {
	return &exitError{code: exitUsage, err: fmt.Errorf(format, args...)}
}

// errStopped is what a verb that was interrupted before it had a report says.
var errStopped = errors.New("interrupted")

// settle gives an error that only says that ctx ended the reason why it did.
func settle(ctx context.Context, err error) error {
	var told *exitError
	if errors.As(err, &told) || !pipeline.EndedBy(ctx, err) {
		return err
	}
	if errors.Is(context.Cause(ctx), pipeline.ErrRunTime) {
		return &exitError{code: exitBudget, err: pipeline.ErrRunTime}
	}
	return errStopped
}

// failure is what a verb prints with --output json when it has no result.
type failure struct {
	Error    string `json:"error"`
	ExitCode int    `json:"exit_code"`
}

// finish prints err once, at the edge, and returns the exit code. Whoever asked
// for JSON gets an object on stdout whatever happens.
func (a *app) finish(args []string, err error) int {
	if err == nil {
		return exitDone
	}
	code := exitCode(err)
	var e *exitError
	if errors.As(err, &e) && e.err == nil {
		return code
	}
	text := strings.TrimSpace(err.Error())
	fmt.Fprintln(a.stderr, "ingestd: "+text)
	if !a.stdout.used && a.wantsJSON(args) {
		_ = jsonPrinter{a.stdout}.value(failure{text, code}, nil) // a stdout that is gone cannot be told so
	}
	return code
}

// wantsJSON also knows when the configuration could not be loaded.
func (a *app) wantsJSON(args []string) bool {
	if a.cfg != nil {
		return a.cfg.Output == configs.OutputJSON
	}
	for i, arg := range args {
		if arg == "--output=json" || arg == "--output" && i+1 < len(args) && args[i+1] == configs.OutputJSON {
			return true
		}
	}
	return os.Getenv("GRAPHMILL_OUTPUT") == configs.OutputJSON
}

// output is stdout, which remembers whether anything was written.
type output struct {
	io.Writer
	used bool
}

func (o *output) Write(p []byte) (int, error) {
	o.used = o.used || len(p) > 0
	return o.Writer.Write(p)
}

func exitCode(err error) int {
	var e *exitError
	var config *configs.Error
	var held *store.HeldError
	switch {
	case errors.As(err, &e):
		return e.code
	case errors.As(err, &config):
		return exitUsage
	case errors.As(err, &held), errors.Is(err, store.ErrLockLost):
		return exitHeld
	case errors.Is(err, pipeline.ErrRunTime):
		return exitBudget
	case errors.Is(err, pipeline.ErrInterrupted), errors.Is(err, errStopped):
		return exitInterrupted
	default:
		return exitFailed
	}
}
