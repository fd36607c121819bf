// Package llm asks language models and remote embedders. It owns the providers'
// protocols, retries, limits, the meter that every call passes, and the cache of
// answers; it does not know what is asked, nor documents, nor the graph.
package llm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// Purpose is what an answer is for. Figures are kept by it, and so are answers.
type Purpose string

// The purposes.
const (
	Extract  Purpose = "extract"  // entities of a chunk
	Verify   Purpose = "verify"   // entities confirmed, relations between them
	Situate  Purpose = "situate"  // a line that says what a chunk is about in its document
	Resolve  Purpose = "resolve"  // do two names name one thing
	Describe Purpose = "describe" // one description from several
	Suggest  Purpose = "suggest"  // an ontology from samples
)

// Request is one question.
type Request struct {
	Purpose Purpose
	// Version is raised whenever the prompt or the schema changes: answers to an
	// older one are not taken from the cache.
	Version int
	// System holds the instructions. Text of documents stands in User alone.
	System, User string
	// Schema is the form of the answer; nil asks for plain text.
	Schema *Schema
	// MaxTokens bounds the answer; 0 takes the model's setting.
	MaxTokens int
	// Check says why an answer of the right form cannot be used all the same. It
	// is asked again once, with that reason. It may be nil.
	Check func(text string) error
}

// Schema is a JSON schema that an answer has to fit.
type Schema struct {
	Name string // letters, digits, - and _
	JSON json.RawMessage
	// Accepts is a wider form in which an answer is taken all the same, for one
	// word that is not on a list is no reason to lose an answer where the endpoint
	// does not hold the model to the list; nil is JSON.
	Accepts json.RawMessage
}

// Usage is what was paid for.
type Usage struct {
	Calls        int // sent, retries and second asks included
	InputTokens  int
	OutputTokens int
	Cost         float64 // in the currency of the price table
}

// Answer is a model's answer. With a schema, Text is JSON that fits it.
type Answer struct {
	Text   string
	Usage  Usage // zero when Cached
	Cached bool
}

// Chat asks one model. Implementations are safe for concurrent use and do their
// own retries: a caller does not ask again. Errors a caller branches on are
// [ErrBudget] (nothing was sent), [ErrUnusable] (answered twice, never usably;
// the chunk is lost, the document is not) and [ErrUnavailable] (no answer is to
// be had: the document fails).
type Chat interface {
	Ask(ctx context.Context, r Request) (Answer, error)
	// Fingerprint names the model and every setting that changes its answers.
	Fingerprint() string
}

// The errors that callers branch on; each is wrapped with what happened.
var (
	ErrUnusable    = errors.New("the model's answer cannot be used")
	ErrUnavailable = errors.New("the model cannot be reached")
)

// ErrBudget is matched by every [BudgetError].
var ErrBudget = errors.New("the budget is spent")

// BudgetError says which limit the next call would pass.
type BudgetError struct {
	Limit string  // "max_cost", "max_calls", "max_tokens"
	File  string  // the file whose own limit it is; "" for the run's
	Max   float64 // the limit
	Spent float64 // spent and in flight
	Next  float64 // what the call could take
}

func (e *BudgetError) Error() string {
	whose := "the run"
	if e.File != "" {
		whose = e.File
	}
	return fmt.Sprintf("%s of %s is %g: %g are spent or under way and the next call may take %g", e.Limit, whose, e.Max, e.Spent, e.Next)
}

// Is makes every BudgetError an [ErrBudget].
func (e *BudgetError) Is(target error) bool { return target == ErrBudget }
