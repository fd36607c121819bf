package toolserver

import (
	"context"
	"errors"
	"strings"
	"time"
)

// Kind classes what went wrong for the caller.
type Kind string

// The kinds of failure.
const (
	Usage       Kind = "usage"         // the call itself is wrong; nothing was tried
	NoGraph     Kind = "no graph"      // there is nothing to read yet
	Unreachable Kind = "unreachable"   // the graph store cannot be asked
	Timeout     Kind = "timeout"       // it took too long
	Model       Kind = "model"         // a model is missing or is another than the graph's
	Database    Kind = "database"      // the graph store refused or answered nonsense
	Config      Kind = "configuration" // a setting is wrong
	Cancelled   Kind = "cancelled"     // the caller went away
	Busy        Kind = "busy"          // too much is asked at once; later it works
	ReadOnly    Kind = "read only"     // the server does not write, by its settings
	Held        Kind = "held"          // another writes the graph; later it works
	Internal    Kind = "internal"      // everything else; the log has the details
)

// Error is a failure as the caller is told it: what happened and what to do.
type Error struct {
	Kind    Kind
	Message string // a sentence without its full stop
	Hint    string // a sentence without its full stop
	Err     error  // the cause, for the log alone
	// RetryAfter is when the same call may succeed; 0 when that is not known.
	RetryAfter time.Duration
}

func (e *Error) Error() string {
	text := sentence(e.Message)
	if e.Hint != "" {
		text += " Hint: " + sentence(e.Hint)
	}
	return text
}

// sentence gives a text its full stop, unless it ends as a question.
func sentence(text string) string {
	text = strings.TrimRight(text, ".")
	if strings.HasSuffix(text, "?") {
		return text
	}
	return text + "."
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// asError is err as the caller may see it. What no tool explained is told by its
// kind; its text may hold anything and stays in the log.
func asError(err error) *Error {
	var told *Error
	switch {
	case errors.As(err, &told):
		return told
	case errors.Is(err, context.Canceled):
		return &Error{Kind: Cancelled, Message: "The call was cancelled", Err: err}
	case errors.Is(err, context.DeadlineExceeded):
		return &Error{Kind: Timeout, Message: "The call took too long", Hint: "Ask for less, or raise queryd.query_timeout", Err: err}
	}
	return &Error{Kind: Internal, Message: "The tool failed for a reason of its own", Hint: "The server's log says more", Err: err}
}
