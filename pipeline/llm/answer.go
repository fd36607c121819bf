package llm

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
)

// checker holds answers against a schema.
type checker struct{ resolved *jsonschema.Resolved }

// compiled are the checkers made so far: a run has a handful of schemas and asks
// thousands of questions with each.
var compiled sync.Map // string → *checker

// compile makes a schema's checker; nil for no schema.
func compile(s *Schema) (*checker, error) {
	if s == nil {
		return nil, nil
	}
	accepts := s.JSON
	if s.Accepts != nil {
		accepts = s.Accepts
	}
	if known, ok := compiled.Load(string(accepts)); ok {
		return known.(*checker), nil
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(accepts, &schema); err != nil {
		return nil, fmt.Errorf("schema %s: %w", s.Name, err)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		return nil, fmt.Errorf("schema %s: %w", s.Name, err)
	}
	c := &checker{resolved}
	compiled.Store(string(accepts), c)
	return c, nil
}

func (c *checker) check(text string) error {
	var value any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		return fmt.Errorf("it is not JSON: %w", err)
	}
	if err := c.resolved.Validate(value); err != nil {
		return fmt.Errorf("it does not fit the schema: %s", excerpt(err.Error()))
	}
	return nil
}

// judgeAnswer makes an answer usable where that loses and adds nothing, or says
// why it cannot be used.
func judgeAnswer(got reply, r Request, schema *checker, room int) (string, error) {
	switch {
	case got.declined != "":
		return "", fmt.Errorf("the model declined: %s", excerpt(got.declined))
	case got.cutOff:
		return "", fmt.Errorf("it was cut off at its bound of %d tokens", room)
	case strings.TrimSpace(got.text) == "":
		return "", errors.New("it is empty")
	case schema == nil:
		text := strings.TrimSpace(withoutThoughts(got.text))
		if text == "" {
			return "", errors.New("it is empty")
		}
		return text, usable(text, r, nil)
	}
	var first error
	for _, candidate := range repairs(got.text) {
		err := usable(candidate, r, schema)
		if err == nil {
			return candidate, nil
		}
		if first == nil {
			first = err
		}
	}
	if first == nil {
		first = errors.New("it holds no whole JSON value")
	}
	return "", first
}

func usable(text string, r Request, schema *checker) error {
	if schema != nil {
		if err := schema.check(text); err != nil {
			return err
		}
	}
	if r.Check != nil {
		return r.Check(text)
	}
	return nil
}

// inWords says what a schema says, for an endpoint that does not hold the model to it.
func inWords(s *Schema) string {
	return "Answer with one JSON value that fits this JSON schema and with nothing else, no code fence and no words around it:\n" + string(s.JSON)
}

// again is the second ask.
func again(reason error, s *Schema, cutOff bool) string {
	text := "This answer cannot be used: " + reason.Error() + ". Answer the question again, from the beginning."
	if cutOff {
		text += " Be brief, so that the answer is whole."
	}
	if s != nil {
		text += "\n" + inWords(s)
	}
	return text
}
