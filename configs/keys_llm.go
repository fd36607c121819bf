package configs

import "time"

func llmKeys() []Key {
	return []Key{
		{Name: "llm.model", Kind: KindText, Default: "", Aliases: []string{envModel}, Flag: "model", DefaultNote: "none", check: checkModel, rule: ruleModel,
			Description: "The language model that strategies may ask. Without one nothing is asked and nothing leaves the machine."},
		{Name: "llm.openai.api_key", Kind: KindSecret, Default: Secret(""), Aliases: []string{"OPENAI_API_KEY"}, DefaultNote: "none",
			Description: "Key for OpenAI, or for the server of llm.openai.base_url; a server of your own may need none."},
		{Name: "llm.openai.api_key_file", Kind: KindPath, Default: "", DefaultNote: "none",
			Description: "File that holds the key, instead of llm.openai.api_key."},
		{Name: "llm.openai.base_url", Kind: KindText, Default: "", Aliases: []string{"OPENAI_BASE_URL"}, DefaultNote: "OpenAI's", check: checkBaseURL, rule: ruleBaseURL, mayHoldSecret: true,
			Description: "A server that speaks OpenAI's protocol: Azure, vLLM, Ollama, llama.cpp, LiteLLM."},
		{Name: "llm.anthropic.api_key", Kind: KindSecret, Default: Secret(""), Aliases: []string{"ANTHROPIC_API_KEY"}, DefaultNote: "none",
			Description: "Key for Anthropic."},
		{Name: "llm.anthropic.api_key_file", Kind: KindPath, Default: "", DefaultNote: "none",
			Description: "File that holds the key, instead of llm.anthropic.api_key."},
		{Name: "llm.anthropic.base_url", Kind: KindText, Default: "", Aliases: []string{"ANTHROPIC_BASE_URL"}, DefaultNote: "Anthropic's", check: checkBaseURL, rule: ruleBaseURL, mayHoldSecret: true,
			Description: "A server that speaks Anthropic's protocol."},
		{Name: "llm.temperature", Kind: KindNumber, Default: 0.0, Max: 2, DefaultNote: "0",
			Description: "How freely the model words its answers. Above 0 the same run gives another graph each time."},
		{Name: "llm.max_output_tokens", Kind: KindInt, Default: 4096, Min: 16, Max: 1_000_000,
			Description: "Longest answer. Budgets count with it before each call, so a generous number stops a run early."},
		{Name: "llm.timeout", Kind: KindDuration, Default: 2 * time.Minute, Min: float64(time.Second), Max: float64(time.Hour),
			Description: "How long one call may take."},
		{Name: "llm.retries", Kind: KindInt, Default: 5, Min: 0, Max: 20, DefaultNote: "5",
			Description: "How often a call is tried again that met a busy, failing or unreachable server."},
		{Name: "llm.concurrency", Kind: KindInt, Default: 4, Min: 1, Max: 256,
			Description: "Most calls side by side."},
		{Name: "llm.requests_per_minute", Kind: KindInt, Default: 0, Min: 0, Max: 1_000_000, DefaultNote: "no limit",
			Description: "Most calls a minute."},
		{Name: "llm.tokens_per_minute", Kind: KindInt, Default: 0, Min: 0, Max: 1_000_000_000, DefaultNote: "no limit",
			Description: "Most tokens a minute, questions and answers."},
		{Name: "llm.cache", Kind: KindBool, Default: true,
			Description: "Keep answers on disk, so that a second run over the same chunks pays nothing."},
		{Name: "llm.cache_dir", Kind: KindPath, Default: "", DefaultNote: "<data_dir>/cache/llm",
			Description: "Folder of the kept answers; several runs and machines may share it."},
		{Name: "llm.prices", Kind: KindYAML, Default: []byte(nil), DefaultNote: "the built-in table",
			Description: "What models cost a million tokens: {currency: USD, date: 2026-11-01, models: {openai/NAME: {input: 0.4, output: 1.6}}}. What it leaves out keeps the built-in price."},
	}
}
