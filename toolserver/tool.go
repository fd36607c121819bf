package toolserver

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
)

// Spec is what a client is told of a tool.
type Spec struct {
	Name        string
	Title       string // for people
	Description string // for the model that chooses
	// Input describes the arguments: an object that lists all of them.
	Input *jsonschema.Schema
	// Destructive marks a tool that writes; clients ask a person first. All
	// others only read.
	Destructive bool
	// Time is how long a call may take; 0 means the limits' CallTime. A tool with a
	// time of its own ends by itself, with a result, when its context ends: it is
	// waited for. It may tell how far it is by [Progress].
	Time time.Duration
	// Wide lets the text of a reply be as long as its JSON: clients show a model one
	// of the two, and what the other alone holds is lost to it.
	Wide bool
}

// Result is what a tool returns. It marshals to a JSON object. Every part of it
// that can be cited is an object with its evidence number in "n".
type Result interface {
	// Text is the result for a reader, at most limit characters.
	Text(limit int) string
}

// Notice is embedded in a result: what the server says about it.
type Notice struct {
	Truncated bool   `json:"truncated,omitempty"` // the reply was shortened to fit
	Hint      string `json:"hint,omitempty"`      // what to do next
}

// Tool is a Spec with what runs it. Make one with [NewTool].
type Tool struct {
	Spec
	schema *jsonschema.Resolved
	run    func(ctx context.Context, arguments []byte) (Result, error)
	decode func(data []byte) (Result, error)
}

// NewTool joins a spec to its handler. Arguments reach the handler only when the
// schema admits them. Out must survive marshalling: a reply that is shortened is
// shortened as JSON and decoded again. The handler returns an *[Error] for what
// the caller can do something about; other errors are told to the caller by
// their kind alone.
func NewTool[In any, Out Result](spec Spec, handler func(ctx context.Context, in In) (Out, error)) (*Tool, error) {
	schema, err := spec.Input.Resolve(nil)
	if err != nil {
		return nil, fmt.Errorf("define tool %s: %w", spec.Name, err)
	}
	return &Tool{
		Spec:   spec,
		schema: schema,
		run: func(ctx context.Context, arguments []byte) (Result, error) {
			var in In
			if err := json.Unmarshal(arguments, &in); err != nil {
				return nil, &Error{Kind: Usage, Message: fmt.Sprintf("The arguments of %s cannot be read: %v", spec.Name, err)}
			}
			return handler(ctx, in)
		},
		decode: func(data []byte) (Result, error) {
			var out Out
			err := json.Unmarshal(data, &out)
			return out, err
		},
	}, nil
}
