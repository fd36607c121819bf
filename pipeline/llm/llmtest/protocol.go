package llmtest

import (
	"encoding/json"
	"hash/fnv"
	"math"
	"net/http"
	"slices"
	"strings"
)

// request holds the fields of all three protocols.
type request struct {
	Model    string `json:"model"`
	System   any    `json:"system"`
	Messages []struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	} `json:"messages"`
	MaxTokens           int      `json:"max_tokens"`
	MaxCompletionTokens int      `json:"max_completion_tokens"`
	Temperature         *float64 `json:"temperature"`
	Seed                *int64   `json:"seed"`
	ResponseFormat      *struct {
		Type       string `json:"type"`
		JSONSchema struct {
			Name   string          `json:"name"`
			Strict bool            `json:"strict"`
			Schema json.RawMessage `json:"schema"`
		} `json:"json_schema"`
	} `json:"response_format"`
	OutputConfig *struct {
		Format struct {
			Type   string          `json:"type"`
			Schema json.RawMessage `json:"schema"`
		} `json:"format"`
	} `json:"output_config"`
	Tools []struct {
		Name        string          `json:"name"`
		InputSchema json.RawMessage `json:"input_schema"`
	} `json:"tools"`
	ToolChoice *struct {
		Type string `json:"type"`
		Name string `json:"name"`
	} `json:"tool_choice"`
	Input      json.RawMessage `json:"input"`
	Dimensions int             `json:"dimensions"`
}

func read(r *http.Request, body []byte) Call {
	call := Call{Path: r.URL.Path, Query: r.URL.RawQuery, Header: r.Header.Clone(), Body: slices.Clone(body)}
	var in request
	_ = json.Unmarshal(body, &in)
	switch {
	case strings.HasSuffix(r.URL.Path, "/messages"):
		call.Protocol = "anthropic"
	case strings.HasSuffix(r.URL.Path, "/embeddings"):
		call.Protocol = "embeddings"
	default:
		call.Protocol = "openai"
	}
	call.Model, call.Temperature, call.Seed, call.Dimensions = in.Model, in.Temperature, in.Seed, in.Dimensions
	call.MaxTokens, call.LimitName = in.MaxTokens, "max_tokens"
	if in.MaxCompletionTokens > 0 {
		call.MaxTokens, call.LimitName = in.MaxCompletionTokens, "max_completion_tokens"
	}
	if in.System != nil {
		system, _ := json.Marshal(in.System)
		call.System = text(system)
	}
	for _, message := range in.Messages {
		if message.Role == "system" {
			call.System = text(message.Content)
		} else {
			call.Turns = append(call.Turns, text(message.Content))
		}
	}
	call.form(in)
	if json.Unmarshal(in.Input, &call.Inputs) != nil && len(in.Input) > 0 {
		call.Inputs = []string{text(in.Input)}
	}
	return call
}

func (c *Call) form(in request) {
	switch {
	case in.ResponseFormat != nil && in.ResponseFormat.Type == "json_schema":
		schema := in.ResponseFormat.JSONSchema
		c.Form, c.SchemaName, c.Schema, c.Strict = "schema", schema.Name, schema.Schema, schema.Strict
	case in.ResponseFormat != nil && in.ResponseFormat.Type == "json_object":
		c.Form = "object"
	case in.OutputConfig != nil && in.OutputConfig.Format.Type == "json_schema":
		c.Form, c.Schema = "schema", in.OutputConfig.Format.Schema
	case in.ToolChoice != nil && len(in.Tools) > 0:
		c.Form, c.SchemaName, c.Schema = "tool", in.Tools[0].Name, in.Tools[0].InputSchema
	}
}

// text is a content as one string: it is a string or a list of blocks.
func text(raw json.RawMessage) string {
	var whole string
	if json.Unmarshal(raw, &whole) == nil {
		return whole
	}
	var blocks []struct {
		Text string `json:"text"`
	}
	_ = json.Unmarshal(raw, &blocks)
	for _, block := range blocks {
		whole += block.Text
	}
	return whole
}

// regular is a reply's body, with the tokens that it counts.
func regular(call Call, reply Reply) (body string, input, output int) {
	input, output = reply.Input, reply.Output
	if input == 0 {
		input = 3 + Tokens(call.System) + Tokens(string(call.Schema))
		for _, part := range append(call.Turns, call.Inputs...) {
			input += Tokens(part)
		}
	}
	if output == 0 && call.Protocol != "embeddings" {
		output = Tokens(reply.Text)
	}
	switch call.Protocol {
	case "anthropic":
		return message(call, reply, input, output), input, output
	case "embeddings":
		return vectors(call, reply, input), input, 0
	}
	return completion(call, reply, input, output), input, output
}

func completion(call Call, reply Reply, input, output int) string {
	answer := map[string]any{"role": "assistant", "content": reply.Text}
	if reply.Refusal != "" {
		answer = map[string]any{"role": "assistant", "content": nil, "refusal": reply.Refusal}
	}
	finish := "stop"
	if reply.CutOff {
		finish = "length"
	}
	out := map[string]any{
		"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": call.Model,
		"choices": []any{map[string]any{"index": 0, "message": answer, "finish_reason": finish, "logprobs": nil}},
	}
	if !reply.NoUsage {
		out["usage"] = map[string]any{"prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output}
	}
	return encode(out)
}

func message(call Call, reply Reply, input, output int) string {
	stop := "end_turn"
	block := map[string]any{"type": "text", "text": reply.Text}
	var object map[string]any
	switch {
	case reply.Refusal != "":
		stop, block["text"] = "refusal", reply.Refusal
	case reply.CutOff:
		stop = "max_tokens"
	case call.Form == "tool" && json.Unmarshal([]byte(reply.Text), &object) == nil:
		stop, block = "tool_use", map[string]any{"type": "tool_use", "id": "toolu_1", "name": call.SchemaName, "input": object}
	}
	usage := map[string]any{"input_tokens": input, "output_tokens": output}
	if reply.NoUsage {
		usage = map[string]any{}
	}
	return encode(map[string]any{
		"id": "msg_1", "type": "message", "role": "assistant", "model": call.Model,
		"content": []any{block}, "stop_reason": stop, "stop_sequence": nil, "usage": usage,
	})
}

func vectors(call Call, reply Reply, input int) string {
	values := reply.Vectors
	if values == nil {
		for _, text := range call.Inputs {
			values = append(values, Vector(text, call.Dimensions))
		}
	}
	data := make([]any, 0, len(values))
	for i, value := range values {
		data = append(data, map[string]any{"object": "embedding", "index": i, "embedding": value})
	}
	if reply.Reversed {
		slices.Reverse(data)
	}
	out := map[string]any{"object": "list", "model": call.Model, "data": data}
	if !reply.NoUsage {
		out["usage"] = map[string]any{"prompt_tokens": input, "total_tokens": input}
	}
	return encode(out)
}

// Vector is the vector that the server gives a text: 1,536 numbers unless asked
// for fewer, of length 2, so that nobody takes them to be normalised.
func Vector(text string, dimension int) []float64 {
	if dimension <= 0 {
		dimension = 1536
	}
	v := make([]float64, dimension)
	hash := fnv.New64a()
	hash.Write([]byte(text))
	state, sum := hash.Sum64(), 0.0
	for i := range v {
		state = state*6364136223846793005 + 1442695040888963407
		v[i] = float64(int32(state>>32)) / math.MaxInt32
		sum += v[i] * v[i]
	}
	for i := range v {
		v[i] *= 2 / math.Sqrt(sum)
	}
	return v
}
