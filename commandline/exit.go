package commandline

import (
	"context"
	"errors"
	"fmt"

	"graphmill/configs"
)

// The exit codes; docs/exit-codes.md explains them.
const (
	ExitDone        = 0
	ExitFailed      = 1
	ExitUsage       = 2
	ExitSomeFailed  = 3
	ExitBudget      = 4
	ExitHeld        = 5
	ExitInterrupted = 130
)

// ExitHelp stands in every help text.
const ExitHelp = `Exit codes: 0 done · 1 failed · 2 wrong usage or configuration · 3 done but some files failed · 4 stopped by a
budget · 5 another run holds the graph · 6 below a quality gate · 130 interrupted, resumable`

// ExitError carries an exit code up to main.
type ExitError struct {
	Code int
	Err  error // nil when everything was printed already
}

func (e *ExitError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit %d", e.Code)
	}
	return e.Err.Error()
}

func (e *ExitError) Unwrap() error { return e.Err }

// Usage is an error with exit code 2.
func Usage(format string, args ...any) error {
	return &ExitError{Code: ExitUsage, Err: fmt.Errorf(format, args...)}
}

// ExitCode is the code of an error that both programs know: their own, a
// configuration's, an interruption's; ExitFailed otherwise.
func ExitCode(err error) int {
	var e *ExitError
	var config *configs.Error
	switch {
	case err == nil:
		return ExitDone
	case errors.As(err, &e):
		return e.Code
	case errors.As(err, &config):
		return ExitUsage
	case errors.Is(err, context.Canceled):
		return ExitInterrupted
	}
	return ExitFailed
}
