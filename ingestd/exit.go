package main

import (
	"context"
	"errors"

	"graphmill/commandline"
	"graphmill/pipeline"
	"graphmill/pipeline/falkor/store"
	"graphmill/pipeline/llm"
)

// errStopped is what a verb that was interrupted before it had a report says.
var errStopped = errors.New("interrupted")

// settle gives an error that only says that ctx ended the reason why it did.
func settle(ctx context.Context, err error) error {
	var told *commandline.ExitError
	if errors.As(err, &told) || !pipeline.EndedBy(ctx, err) {
		return err
	}
	if errors.Is(context.Cause(ctx), pipeline.ErrRunTime) {
		return &commandline.ExitError{Code: commandline.ExitBudget, Err: pipeline.ErrRunTime}
	}
	return errStopped
}

// exitCode knows the store's and the pipeline's errors beside those of every
// program.
func exitCode(err error) int {
	var exit *commandline.ExitError
	var held *store.HeldError
	switch {
	case errors.As(err, &exit):
		return exit.Code
	case errors.As(err, &held), errors.Is(err, store.ErrLockLost):
		return commandline.ExitHeld
	case errors.Is(err, pipeline.ErrRunTime), errors.Is(err, llm.ErrBudget):
		return commandline.ExitBudget
	case errors.Is(err, pipeline.ErrInterrupted), errors.Is(err, errStopped):
		return commandline.ExitInterrupted
	}
	return commandline.ExitCode(err)
}
