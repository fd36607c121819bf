package llm

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/anthropics/anthropic-sdk-go/packages/param"
)

// anthropicMessages speaks Anthropic's messages protocol.
type anthropicMessages struct {
	messages anthropic.MessageService
}

func newAnthropic(s *sender) *anthropicMessages {
	options := []option.RequestOption{
		option.WithBaseURL(s.base), option.WithHTTPClient(s.httpClient()), option.WithMaxRetries(0),
		// Without one the client refuses long answers that are not streamed.
		option.WithRequestTimeout(s.Timeout),
	}
	if s.APIKey != "" {
		options = append(options, option.WithAPIKey(s.APIKey))
	}
	return &anthropicMessages{anthropic.NewMessageService(options...)}
}

func (a *anthropicMessages) forms() []form { return []form{formSchema, formTool, formPlain} }

func (a *anthropicMessages) chat(ctx context.Context, q query) (reply, error) {
	params := anthropic.MessageNewParams{Model: anthropic.Model(q.model), MaxTokens: int64(q.maxTokens)}
	if q.system != "" {
		params.System = []anthropic.TextBlockParam{{Text: q.system}}
	}
	for i, turn := range q.turns {
		block := anthropic.NewTextBlock(turn)
		if i%2 == 0 {
			params.Messages = append(params.Messages, anthropic.NewUserMessage(block))
		} else {
			params.Messages = append(params.Messages, anthropic.NewAssistantMessage(block))
		}
	}
	if !q.quirks.noTemperature {
		params.Temperature = anthropic.Float(q.temperature)
	}
	if q.schema != nil {
		if err := holdToSchema(&params, q); err != nil {
			return reply{}, err
		}
	}
	message, err := a.messages.New(ctx, params)
	if err != nil {
		return reply{}, err
	}
	return readMessage(message, q), nil
}

// holdToSchema sends the schema as it is written: models answer in the order of
// the properties.
func holdToSchema(params *anthropic.MessageNewParams, q query) error {
	switch q.form {
	case formSchema:
		format, err := json.Marshal(map[string]any{"type": "json_schema", "schema": q.schema.JSON})
		if err != nil {
			return err
		}
		params.OutputConfig = anthropic.OutputConfigParam{Format: param.Override[anthropic.JSONOutputFormatParam](json.RawMessage(format))}
	case formTool:
		input := param.Override[anthropic.ToolInputSchemaParam](q.schema.JSON)
		params.Tools = []anthropic.ToolUnionParam{{OfTool: &anthropic.ToolParam{
			Name: q.schema.Name, Description: anthropic.String("Takes the answer. Call it once, with all of it."), InputSchema: input,
		}}}
		params.ToolChoice = anthropic.ToolChoiceParamOfTool(q.schema.Name)
	}
	return nil
}

func readMessage(message *anthropic.Message, q query) reply {
	// What a prompt cache held is part of the input, at its own price: counting
	// it in full never counts too little.
	input := message.Usage.InputTokens + message.Usage.CacheCreationInputTokens + message.Usage.CacheReadInputTokens
	var r reply
	var text strings.Builder
	for _, block := range message.Content {
		switch block.Type {
		case "text":
			text.WriteString(block.Text)
		case "tool_use":
			if q.schema != nil && block.Name == q.schema.Name && json.Valid(block.Input) {
				text.Reset()
				text.Write(block.Input)
			}
		}
	}
	r.text = text.String()
	r.took = tookOf(input, message.Usage.OutputTokens, r.text)
	r.cutOff = message.StopReason == anthropic.StopReasonMaxTokens
	if message.StopReason == anthropic.StopReasonRefusal {
		r.declined = "the model refused"
	}
	return r
}
