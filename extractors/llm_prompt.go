package extractors

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"graphmill/chunkers"
	"graphmill/pipeline/graph"
	"graphmill/pipeline/llm"
	"graphmill/planner/catalogue"
)

// llmVersion is raised whenever a prompt, a schema or what is made of an answer
// changes: answers to an older one are asked for again, and documents extracted
// again. A test holds the prompts to it.
const llmVersion = 1

// mostLabels is how many labels a schema lists. More are named in the
// instructions alone, because endpoints bound the size of a schema.
const mostLabels = 200

const entitiesInstructions = `You list what a passage of a document mentions, for a knowledge graph. You know nothing but the passage.

Types:
%s
Rules:
- List everything of these types that the passage mentions, in the order of the passage. Every way in which a thing is written is an entry of its own: "Charles Babbage" and "Babbage" are two.
- name: the characters of the passage, and of the name alone: without an article, a title of courtesy or rank (Dr., General) or a possessive ending. No pronouns, and no words that only point back to a name ("the company", "she").
- type: the type whose description fits best. What fits none is no entity.
- quote: three to twelve consecutive words copied from the passage, letter by letter, with the name among them.
- other: at most five things that matter to the passage and fit none of the types, each with the type that you would give it. Mostly there are none.
- %s
- Headings and context, if there are any, only help to understand the passage. List nothing from them.
- Answer with JSON alone: {"entities": [{"name": …, "type": …, "quote": …}], "other": [{"name": …, "type": …}]}`

const verifyInstructions = `You check what was found in a passage of a document and say how those things are related, for a knowledge graph. You know nothing but the passage.

Entity types:
%s
Relation types, each with the types that it may join, source -> target:
%s
Rules:
- The list of entities gives each a number, a type and a name. Relations name them by number.
- corrections: the entries that are wrong, each with the right type, or with "none" if the passage does not mean a thing of any type there. Leave out what is right.
- relations: every relation of these types that the passage states between two entities of the list, in the direction of its description; through a pronoun or over two sentences too. Not what is denied, asked, planned, possible or only claimed, and not what you know from elsewhere or conclude. Of several entries for one thing take the one with the fullest name.
- quote: the consecutive words of the passage that state the relation, copied letter by letter, at most a sentence or two.
- other: at most five relations that the passage states between two entities of the list and that fit none of the relation types, each with the TYPE_IN_CAPITALS that you would give it. Mostly there are none.
- %s
- Headings and context, if there are any, only help to understand the passage. Take nothing from them.
- Answer with JSON alone: {"corrections": [{"entity": …, "type": …}], "relations": [{"source": …, "type": …, "target": …, "quote": …}], "other": [{"source": …, "type": …, "target": …}]}`

// prompt is what the questions about all chunks of a document share.
type prompt struct {
	purpose llm.Purpose
	system  string
	schema  *llm.Schema
}

// askedTypes are the types that a model is asked for; those that only patterns
// find are not.
func askedTypes(ontology *graph.Ontology) (types []graph.EntityType) {
	for _, t := range ontology.Entities {
		if t.Prompt != graph.NoPrompt {
			types = append(types, t)
		}
	}
	return types
}

func entitiesPrompt(ontology *graph.Ontology, types []graph.EntityType) prompt {
	return prompt{
		purpose: llm.Extract,
		system:  fmt.Sprintf(entitiesInstructions, describeTypes(types), llm.FenceRule),
		schema:  &llm.Schema{Name: "entities", JSON: entitiesSchema(labelsOf(types)), Accepts: entitiesSchema(nil)},
	}
}

func verifyPrompt(ontology *graph.Ontology) prompt {
	return prompt{
		purpose: llm.Verify,
		system:  fmt.Sprintf(verifyInstructions, describeTypes(ontology.Entities), describeRelations(ontology), llm.FenceRule),
		schema: &llm.Schema{
			Name: "relations", JSON: verifySchema(append(labelsOf(ontology.Entities), noType), relationLabels(ontology)), Accepts: verifySchema(nil, nil),
		},
	}
}

func describeTypes(types []graph.EntityType) string {
	var b strings.Builder
	for _, t := range types {
		b.WriteString("- " + t.Label)
		if t.Description != "" {
			b.WriteString(": " + oneLine(t.Description))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func describeRelations(ontology *graph.Ontology) string {
	var b strings.Builder
	for _, r := range ontology.Relations {
		b.WriteString("- " + r.Label)
		if r.Description != "" {
			b.WriteString(": " + oneLine(r.Description))
		}
		pairs := make([]string, len(r.Patterns))
		for i, p := range r.Patterns {
			pairs[i] = p[0] + " -> " + p[1]
		}
		if len(pairs) == 0 {
			pairs = []string{"any type -> any type"}
		}
		b.WriteString(" (" + strings.Join(pairs, ", ") + ")\n")
	}
	return b.String()
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// about is the question about one chunk: its headings and context, its text, and
// the numbered things found in it. All of it is text of the document and stands
// inside the fence.
func (p prompt) about(chunk chunkers.Chunk, things []thing) llm.Request {
	var listed strings.Builder
	for i, t := range things {
		name, _ := json.Marshal(t.name)
		fmt.Fprintf(&listed, "%d %s %s\n", i+1, t.kind, name)
	}
	found := strings.TrimSuffix(listed.String(), "\n")
	fence := llm.NewFence(chunk.Header, chunk.Context, chunk.Text, found)
	user := ""
	if chunk.Header != "" {
		user = fence.Enclose("HEADINGS", chunk.Header)
	}
	if chunk.Context != "" {
		user += fence.Enclose("CONTEXT", chunk.Context)
	}
	user += fence.Enclose("PASSAGE", chunk.Text)
	if found != "" {
		user += fence.Enclose("ENTITIES", found)
	}
	return llm.Request{
		Purpose: p.purpose, Version: llmVersion, System: p.system, User: user, Schema: p.schema,
		MaxTokens: answerTokens(chunk),
	}
}

// answerTokens bounds an answer: a passage of names alone has one every three
// tokens, and each takes about thirty with its quote.
func answerTokens(chunk chunkers.Chunk) int { return 1024 + 10*chunk.Tokens }

// object is a JSON schema for an object of which every key is required, the one
// form that all endpoints with schemas take.
func object(properties map[string]any) map[string]any {
	return map[string]any{
		"type": "object", "properties": properties, "required": slices.Sorted(maps.Keys(properties)), "additionalProperties": false,
	}
}

func list(of map[string]any) map[string]any { return map[string]any{"type": "array", "items": of} }

var (
	textSchema   = map[string]any{"type": "string"}
	numberSchema = map[string]any{"type": "integer"}
)

// oneOf allows the labels alone, where they are not too many for a schema.
func oneOf(labels []string) map[string]any {
	if len(labels) == 0 || len(labels) > mostLabels {
		return textSchema
	}
	return map[string]any{"type": "string", "enum": labels}
}

// entitiesSchema is the form of the first answer, with types of the given labels;
// nil allows any, which are counted and dropped.
func entitiesSchema(types []string) json.RawMessage {
	return written(object(map[string]any{
		"entities": list(object(map[string]any{"name": textSchema, "type": oneOf(types), "quote": textSchema})),
		"other":    list(object(map[string]any{"name": textSchema, "type": textSchema})),
	}))
}

func relationLabels(ontology *graph.Ontology) []string {
	labels := make([]string, len(ontology.Relations))
	for i, r := range ontology.Relations {
		labels[i] = r.Label
	}
	return labels
}

// verifySchema is the form of the second answer, likewise.
func verifySchema(types, relations []string) json.RawMessage {
	return written(object(map[string]any{
		"corrections": list(object(map[string]any{"entity": numberSchema, "type": oneOf(types)})),
		"relations":   list(object(map[string]any{"source": numberSchema, "type": oneOf(relations), "target": numberSchema, "quote": textSchema})),
		"other":       list(object(map[string]any{"source": numberSchema, "type": textSchema, "target": numberSchema})),
	}))
}

func labelsOf(types []graph.EntityType) []string {
	labels := make([]string, len(types), len(types)+1)
	for i, t := range types {
		labels[i] = t.Label
	}
	return labels
}

func written(schema map[string]any) json.RawMessage {
	text, err := json.Marshal(schema)
	if err != nil {
		panic(err) // strings, lists and objects only
	}
	return text
}

// promptSource says where the figures of the two strategies come from.
const promptSource = "counted: the prompts for the built-in ontology, without the chunk; of answers two thirds of what the labelled passages, which are dense, take by their length"

// The tokens of a call's instructions and schema for the built-in ontology, and
// of its answer. A test holds the first two to the prompts.
const (
	entitiesTokens, entitiesAnswered = 900, 600
	verifyTokens, verifyAnswered     = 2030, 380
)

// llmStrategy describes the extractor "llm" to the planner.
func llmStrategy() catalogue.Strategy {
	return catalogue.Strategy{
		Kind: catalogue.Extractor, Name: "llm", Version: llmVersion,
		Description: "a language model, two calls a chunk: one lists the entities, one verifies them and states the relations, each with a quote",
		Cost: catalogue.Cost{
			ModelCallsPerChunk: 2, TokensPerCall: (entitiesTokens + verifyTokens) / 2,
			OutputTokensPerCall: (entitiesAnswered + verifyAnswered) / 2, Source: promptSource,
		},
	}
}

// verifyStrategy describes the extractor "verify" to the planner.
func verifyStrategy() catalogue.Strategy {
	return catalogue.Strategy{
		Kind: catalogue.Extractor, Name: "verify", Version: llmVersion,
		Description: "a language model, one call a chunk: verifies what the extractors before it found and states the relations, each with a quote",
		Cost:        catalogue.Cost{ModelCallsPerChunk: 1, TokensPerCall: verifyTokens, OutputTokensPerCall: verifyAnswered, Source: promptSource},
	}
}
