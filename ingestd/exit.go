package main

import (
	"context"
	"errors"
	"fmt"
	"io"
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

// finish prints err once, at the edge, and returns the exit code.
func finish(err error, stderr io.Writer) int {
	if err == nil {
		return exitDone
	}
	code := exitCode(err)
	var e *exitError
	if !errors.As(err, &e) || e.err != nil {
		fmt.Fprintln(stderr, "ingestd: "+strings.TrimSpace(err.Error()))
	}
	return code
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
	case errors.As(err, &held):
		return exitHeld
	case errors.Is(err, pipeline.ErrInterrupted), errors.Is(err, context.Canceled):
		return exitInterrupted
	default:
		return exitFailed
	}
}
