package llm

import (
	"context"
	"encoding/json"
)

// provider speaks one protocol: it sends one call and reads its reply.
type provider interface {
	chat(ctx context.Context, q query) (reply, error)
	// forms are the ways to ask for JSON of a schema, the strictest first.
	forms() []form
}

// form is a way to ask for JSON that fits a schema.
type form string

const (
	formSchema form = "schema" // the endpoint holds the model to the schema
	formTool   form = "tool"   // the answer is the argument of a tool
	formObject form = "object" // the endpoint holds the model to JSON
	formPlain  form = "plain"  // the prompt alone says it
)

// query is one call's content.
type query struct {
	model       string
	system      string
	turns       []string // user, assistant, user …
	schema      *Schema
	form        form
	maxTokens   int
	temperature float64
	seed        int64
	quirks      quirks
}

// quirks are what an endpoint turned out not to take.
type quirks struct {
	otherLimit    bool // it wants the answer's bound under its other name
	noTemperature bool // reasoning models have none
	noSeed        bool
}

// reply is what came back.
type reply struct {
	text     string
	cutOff   bool   // it ended at maxTokens
	declined string // why the model would not answer
	took     took
}

// schemaObject is a schema as a JSON object.
func (s *Schema) object() (map[string]any, error) {
	var object map[string]any
	err := json.Unmarshal(s.JSON, &object)
	return object, err
}

// isStrict reports that a schema has what OpenAI's strict mode asks for: every
// object closed, all its properties required.
func isStrict(schema any) bool {
	switch node := schema.(type) {
	case map[string]any:
		if properties, ok := node["properties"].(map[string]any); ok {
			required, _ := node["required"].([]any)
			if node["additionalProperties"] != false || len(required) != len(properties) {
				return false
			}
		}
		for _, child := range node {
			if !isStrict(child) {
				return false
			}
		}
	case []any:
		for _, child := range node {
			if !isStrict(child) {
				return false
			}
		}
	}
	return true
}
