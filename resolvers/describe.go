package resolvers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"graphmill/pipeline/llm"
)

// Described is an entity of several names, with what documents say under them.
type Described struct {
	Name, Type string
	Aliases    []string
	Sentences  []string
}

// Telling is a model's answer about one entity.
type Telling struct {
	Answered bool   // a usable answer came
	Text     string // "" of one that is refused
	Refused  string // why: it holds what the sentences do not
}

// Describer asks a language model for one short description made of what several
// sentences say, several entities a call.
type Describer struct{ chat llm.Chat }

// NewDescriber returns a describer that asks chat.
func NewDescriber(chat llm.Chat) *Describer { return &Describer{chat} }

const (
	// DescriptionsPerCall is how many entities are asked about in one call.
	DescriptionsPerCall = 4
	// describeVersion is raised with every change of the prompt or its schema.
	describeVersion = 1
	mostSentences   = 10  // of an entity that are shown: the first by their letters
	mostDescription = 300 // characters of a description
)

const describeAsk = `You describe things that documents mention under several names. For each item you are given the names of one thing and sentences ` +
	`about it. Write one short description of it, one or two plain sentences of at most 40 words in the language of the sentences. ` +
	`Say only what the sentences say, in their own words: add no name, number, date or judgement that does not stand in them, draw no conclusion, ` +
	`and leave nothing out that turns their meaning round. Items have nothing to do with each other. ` +
	`Answer with an empty text where the sentences say nothing of the thing.`

var describeSchema = &llm.Schema{Name: "descriptions", JSON: json.RawMessage(`{"type":"object","additionalProperties":false,"required":["items"],"properties":{
"items":{"type":"array","items":{"type":"object","additionalProperties":false,"required":["item","description"],"properties":{
"item":{"type":"integer"},"description":{"type":"string"}}}}}}`)}

// Describe answers in the order of the entities. An answer that stays unusable
// leaves its entities unanswered; a description that holds what its own sentences
// do not is refused, and the others of its call are not. A budget that is spent,
// or any other error of the model, comes back beside the answers had. said is
// called after each call with what it answered, and its error ends the asking.
func (d *Describer) Describe(ctx context.Context, entities []Described, said func(from int, answers []Telling) error) error {
	for from := 0; from < len(entities); from += DescriptionsPerCall {
		part := entities[from:min(from+DescriptionsPerCall, len(entities))]
		answers, err := d.ask(ctx, part)
		if err == nil {
			err = said(from, answers)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (d *Describer) ask(ctx context.Context, entities []Described) ([]Telling, error) {
	answers := make([]Telling, len(entities))
	answer, err := d.chat.Ask(ctx, llm.Request{
		Purpose: llm.Describe, Version: describeVersion, System: describeAsk + "\n\n" + llm.FenceRule, User: described(entities), Schema: describeSchema,
		MaxTokens: 100 + 120*len(entities),
		Check:     func(text string) error { _, err := readDescriptions(text, len(entities)); return err },
	})
	if errors.Is(err, llm.ErrUnusable) {
		return answers, nil
	}
	if err != nil {
		return answers, err
	}
	texts, err := readDescriptions(answer.Text, len(entities))
	if err != nil {
		return answers, nil // unusable all the same
	}
	for i, text := range texts {
		answers[i] = entities[i].judge(text)
	}
	return answers, nil
}

// judge refuses what is not made of the entity's own sentences.
func (e Described) judge(text string) Telling {
	text = oneLine(text)
	sentences, names := e.shown()
	switch why := notOf(text, sentences, names); {
	case text == "":
		return Telling{Answered: true, Refused: "it is empty"}
	case utf8.RuneCountInString(text) > mostDescription:
		return Telling{Answered: true, Refused: fmt.Sprintf("it is longer than %d characters", mostDescription)}
	case why != "":
		return Telling{Answered: true, Refused: why}
	}
	return Telling{Answered: true, Text: text}
}

// shown are the sentences and names as the model sees them.
func (e Described) shown() (sentences, names []string) {
	for _, sentence := range e.Sentences[:min(len(e.Sentences), mostSentences)] {
		sentences = append(sentences, shortened(oneLine(sentence), mostAbout))
	}
	names = append(names, oneLine(e.Name))
	for _, alias := range e.Aliases[:min(len(e.Aliases), mostAliases)] {
		names = append(names, oneLine(alias))
	}
	return sentences, names
}

// described writes the questions. Names and sentences are documents' words: each
// entity's stand between a fence's lines.
func described(entities []Described) string {
	texts := make([]string, len(entities))
	for i, e := range entities {
		sentences, names := e.shown()
		var b strings.Builder
		b.WriteString("names: " + strings.Join(names, "; ") + " (" + oneLine(e.Type) + ")")
		for _, sentence := range sentences {
			b.WriteString("\n- " + sentence)
		}
		texts[i] = b.String()
	}
	fence := llm.NewFence(texts...)
	var b strings.Builder
	for i, text := range texts {
		b.WriteString(fence.Enclose("ITEM "+strconv.Itoa(i+1), text))
	}
	b.WriteString("Answer for each item, by its number.")
	return b.String()
}

// readDescriptions wants one answer for each item.
func readDescriptions(text string, items int) ([]string, error) {
	var answer struct {
		Items []struct {
			Item        int    `json:"item"`
			Description string `json:"description"`
		} `json:"items"`
	}
	if err := json.Unmarshal([]byte(text), &answer); err != nil {
		return nil, fmt.Errorf("it is no JSON of the schema: %w", err)
	}
	texts, answered := make([]string, items), make([]bool, items)
	for _, a := range answer.Items {
		if a.Item < 1 || a.Item > items {
			return nil, fmt.Errorf("there is no item %d", a.Item)
		}
		if answered[a.Item-1] {
			return nil, fmt.Errorf("item %d is answered twice", a.Item)
		}
		texts[a.Item-1], answered[a.Item-1] = a.Description, true
	}
	for i := range answered {
		if !answered[i] {
			return nil, fmt.Errorf("item %d has no answer", i+1)
		}
	}
	return texts, nil
}
