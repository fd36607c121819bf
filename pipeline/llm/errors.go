package llm

import (
	"errors"
	"fmt"
)

// ErrSettings is matched, beside [ErrUnavailable], when the model's settings are
// refused (key, name, address, price): every further question would fail too, so
// a run had better end.
var ErrSettings = errors.New("the model's settings are refused")

// CallError is a question that got no answer. It is an [ErrUnavailable].
type CallError struct {
	Model    string
	Status   int // of HTTP; 0 when no reply came
	Reason   string
	Hint     string
	Attempts int  // that were made
	Settings bool // asking again cannot help: it is an [ErrSettings] too
	Err      error
}

func (e *CallError) Error() string {
	s := fmt.Sprintf("ask model %s: %s", e.Model, e.Reason)
	if e.Attempts > 1 {
		s += fmt.Sprintf(" (%d attempts)", e.Attempts)
	}
	if e.Hint != "" {
		s += "; next: " + e.Hint
	}
	return s
}

// Is makes every CallError an [ErrUnavailable].
func (e *CallError) Is(target error) bool {
	return target == ErrUnavailable || e.Settings && target == ErrSettings
}

func (e *CallError) Unwrap() error { return e.Err }

// UnusableError is an answer that cannot be used. It is an [ErrUnusable].
type UnusableError struct {
	Model  string
	Reason string
	Hint   string
	Answer string // the last one, for the debug log
}

func (e *UnusableError) Error() string {
	s := fmt.Sprintf("model %s: its answer cannot be used: %s", e.Model, e.Reason)
	if e.Hint != "" {
		s += "; next: " + e.Hint
	}
	return s
}

// Is makes every UnusableError an [ErrUnusable].
func (e *UnusableError) Is(target error) bool { return target == ErrUnusable }
