package suggest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"graphmill/pipeline/graph"
	"graphmill/pipeline/llm"
)

// promptVersion is raised whenever the instructions or the schema change: answers
// to an older one are asked for again. A test holds them to it.
const promptVersion = 1

const instructions = `You read a piece of a document and say which types of things and of relations a knowledge graph of such documents should have. You know nothing but the piece.

Types of things that are in use already:
%s
Types of relations that are in use already:
%s
Rules:
- entities: the types of the things that the piece names, at most twelve, the most important first. Take a type that is in use where it says what is meant. Where none does, or the documents are about something more particular, name a type of your own: a singular noun of one to three words, such as "Engine model", that other documents of this kind would need, too.
- names: up to fifteen things of that type that the piece names, copied from it letter by letter: proper names and the like, without articles, no pronouns. A type of which the piece names nothing is left out.
- relations: what the piece states of two of those things, at most twenty. source and target are two of the names above, and type says how they are related, read from source to target: one in use, or a verb with its preposition or a noun of one to three words, in capitals, such as SUPPLIES or PUPIL_OF. Use one type for what is the same. Not what is denied, asked, planned or only possible.
- quote: the consecutive words of the piece that state it, copied letter by letter, one sentence at most.
- %s
- Answer with JSON alone: {"entities": [{"type": …, "names": […]}], "relations": [{"quote": …, "source": …, "type": …, "target": …}]}`

// answerForm is the schema of the answer: a quote is given before what is made of it.
const answerForm = `{"type":"object","additionalProperties":false,"required":["entities","relations"],"properties":{` +
	`"entities":{"type":"array","items":{"type":"object","additionalProperties":false,"required":["type","names"],"properties":{` +
	`"type":{"type":"string"},"names":{"type":"array","items":{"type":"string"}}}}},` +
	`"relations":{"type":"array","items":{"type":"object","additionalProperties":false,"required":["quote","source","type","target"],"properties":{` +
	`"quote":{"type":"string"},"source":{"type":"string"},"type":{"type":"string"},"target":{"type":"string"}}}}}}`

// answerTokens bounds an answer: twelve types with their names and twenty quotes.
const answerTokens = 3000

// Bounds of what is taken of an answer.
const (
	mostTypes      = 20
	mostNames      = 30 // of a type
	mostStatements = 40
	longestName    = 100 // characters
	longestLabel   = 40  // characters: a label is a few words, and no sentence
	mostWords      = 4   // of a label
)

// answer is what the model says of a sample.
type answer struct {
	Entities []struct {
		Type  string
		Names []string
	}
	Relations []struct{ Quote, Source, Type, Target string }
}

func checkAnswer(text string) error {
	_, err := parseAnswer(text)
	return err
}

func parseAnswer(text string) (answer, error) {
	var a answer
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		return answer{}, fmt.Errorf("it is not the JSON that was asked for: %w", err)
	}
	if a.Entities == nil || a.Relations == nil {
		return answer{}, errors.New(`it lacks a list "entities" or "relations"`)
	}
	return a, nil
}

// question asks about one sample. Its text stands in User alone, inside a fence.
func question(instructions string, sample Sample) llm.Request {
	return llm.Request{
		Purpose: llm.Suggest, Version: promptVersion, System: instructions,
		User:      llm.NewFence(sample.Text).Enclose("PASSAGE", sample.Text),
		Schema:    &llm.Schema{Name: "ontology", JSON: json.RawMessage(answerForm)},
		MaxTokens: answerTokens, Check: checkAnswer,
	}
}

func instructionsFor(base *graph.Ontology) string {
	var entities, relations strings.Builder
	for _, t := range base.Entities {
		describe(&entities, t.Label, t.Description)
	}
	for _, t := range base.Relations {
		describe(&relations, t.Label, t.Description)
	}
	return fmt.Sprintf(instructions, entities.String(), relations.String(), llm.FenceRule)
}

func describe(b *strings.Builder, label, description string) {
	b.WriteString("- " + label)
	if description != "" {
		b.WriteString(": " + strings.Join(strings.Fields(description), " "))
	}
	b.WriteByte('\n')
}
