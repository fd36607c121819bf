package llm

import (
	"context"
	"net/url"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/shared"
)

// openAI speaks the chat completions protocol of OpenAI, Azure, vLLM, Ollama,
// llama.cpp and LiteLLM.
type openAI struct {
	completions openai.ChatCompletionService
	own         bool
}

// openAIOptions are the client's settings. Its services are made one by one,
// because the whole client reads the environment, which only configs may do.
func (s *sender) openAIOptions() []option.RequestOption {
	options := []option.RequestOption{
		option.WithBaseURL(s.base), option.WithHTTPClient(s.httpClient()), option.WithMaxRetries(0),
	}
	switch {
	case s.provider == Azure:
		// Its newer address ends with /openai/v1 and is as OpenAI's.
		if !strings.HasSuffix(s.base, "/v1/") {
			options = append(options, option.WithBaseURL(s.base+"openai/deployments/"+url.PathEscape(s.model)+"/"), option.WithQuery("api-version", s.APIVersion))
		}
		options = append(options, option.WithHeader("api-key", s.APIKey))
	case s.APIKey != "":
		options = append(options, option.WithAPIKey(s.APIKey))
	}
	return options
}

func newOpenAI(s *sender) *openAI {
	return &openAI{openai.NewChatCompletionService(s.openAIOptions()...), s.own && s.provider != Azure}
}

func (o *openAI) forms() []form { return []form{formSchema, formObject, formPlain} }

func (o *openAI) chat(ctx context.Context, q query) (reply, error) {
	params := openai.ChatCompletionNewParams{Model: q.model}
	if q.system != "" {
		params.Messages = append(params.Messages, openai.SystemMessage(q.system))
	}
	for i, turn := range q.turns {
		if i%2 == 0 {
			params.Messages = append(params.Messages, openai.UserMessage(turn))
		} else {
			params.Messages = append(params.Messages, openai.AssistantMessage(turn))
		}
	}
	// OpenAI's newer models take only the newer name of the bound, most servers
	// of one's own know the older one.
	if o.own != q.quirks.otherLimit {
		params.MaxTokens = openai.Int(int64(q.maxTokens))
	} else {
		params.MaxCompletionTokens = openai.Int(int64(q.maxTokens))
	}
	if !q.quirks.noTemperature {
		params.Temperature = openai.Float(q.temperature)
	}
	if q.seed != 0 && !q.quirks.noSeed {
		params.Seed = openai.Int(q.seed)
	}
	if q.schema != nil {
		format, err := responseFormat(q)
		if err != nil {
			return reply{}, err
		}
		params.ResponseFormat = format
	}
	completion, err := o.completions.New(ctx, params)
	if err != nil {
		return reply{}, err
	}
	return readCompletion(completion)
}

func responseFormat(q query) (openai.ChatCompletionNewParamsResponseFormatUnion, error) {
	var format openai.ChatCompletionNewParamsResponseFormatUnion
	switch q.form {
	case formSchema:
		object, err := q.schema.object()
		if err != nil {
			return format, err
		}
		format.OfJSONSchema = &shared.ResponseFormatJSONSchemaParam{JSONSchema: shared.ResponseFormatJSONSchemaJSONSchemaParam{
			// As it is written: models answer in the order of the properties.
			Name: q.schema.Name, Schema: q.schema.JSON, Strict: openai.Bool(isStrict(object)),
		}}
	case formObject:
		format.OfJSONObject = &shared.ResponseFormatJSONObjectParam{}
	}
	return format, nil
}

func readCompletion(completion *openai.ChatCompletion) (reply, error) {
	used := completion.Usage
	if len(completion.Choices) == 0 {
		return reply{took: tookOf(used.PromptTokens, used.CompletionTokens, "")}, &fault{what: "the reply holds no choices"}
	}
	choice := completion.Choices[0]
	t := tookOf(used.PromptTokens, used.CompletionTokens, choice.Message.Content)
	r := reply{text: choice.Message.Content, took: t, cutOff: choice.FinishReason == "length", declined: choice.Message.Refusal}
	if choice.FinishReason == "content_filter" {
		r.declined = "the provider's content filter stopped it"
	}
	return r, nil
}
