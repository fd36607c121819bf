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

// LLMVerified is similar, and has a language model decide on pairs of names that
// could be one thing's and that similar does not join. Like similar it gives the
// ids of [Exact] within a document; finalize asks, through [Judge].
type LLMVerified struct{ Similar }

// Subject is one of two entities that a model compares.
type Subject struct {
	Name, Type string
	Aliases    []string
	About      string // a sentence of a document about it; "" if there is none
}

// Question is a pair that a model decides on.
type Question struct{ A, B Subject }

// Verdict is a model's answer. Only Same with both is a yes: what is unsure is
// not merged.
type Verdict struct {
	Answered bool // a usable answer came
	Same     bool
	Why      string
}

// Judge asks a language model whether two names are one thing's, several pairs a
// call. A yes about things of two types is asked a second time, alone, and stands
// only if it is given again.
type Judge struct{ chat llm.Chat }

// NewJudge returns a judge that asks chat.
func NewJudge(chat llm.Chat) *Judge { return &Judge{chat} }

const (
	// PairsPerCall is how many pairs are asked about in one call.
	PairsPerCall = 8
	// judgeVersion is raised with every change of the prompt or its schema.
	judgeVersion = 1
	mostAbout    = 400 // characters of a sentence that is shown
	mostAliases  = 5
	mostWhy      = 200
)

// Judge answers questions in their order. An answer that stays unusable leaves
// its questions unanswered; so does a budget that is spent, whose error comes
// back beside the answers had. Any other error of the model is returned alike.
func (j *Judge) Judge(ctx context.Context, questions []Question) ([]Verdict, error) {
	verdicts := make([]Verdict, len(questions))
	for from := 0; from < len(questions); from += PairsPerCall {
		until := min(from+PairsPerCall, len(questions))
		if err := j.ask(ctx, questions[from:until], verdicts[from:until], firstAsk); err != nil {
			return verdicts, err
		}
	}
	for i, q := range questions {
		if !verdicts[i].Same || strings.EqualFold(q.A.Type, q.B.Type) {
			continue
		}
		first := verdicts[i]
		verdicts[i] = Verdict{}
		if err := j.ask(ctx, questions[i:i+1], verdicts[i:i+1], secondAsk); err != nil {
			return verdicts, err
		}
		if verdicts[i].Same {
			verdicts[i].Why = first.Why
		}
	}
	return verdicts, nil
}

const (
	firstAsk = `You compare pairs of names from documents. For each pair say whether both names are names of one and the same thing: ` +
		`the same person, organisation, place, product or other thing. Parts, members, versions, successors, relatives and namesakes are other things. ` +
		`Answer "yes" only if what is shown leaves no doubt, "no" if they are two things, "unsure" otherwise. Give the reason in one short sentence.`
	secondAsk = firstAsk + ` The two names below were filed under two types, and an earlier reading took them for one thing. ` +
		`Look again: a person and the company named after it, a city and its football club, a product and its maker are two things.`
)

var judgeSchema = &llm.Schema{Name: "verdicts", JSON: json.RawMessage(`{"type":"object","additionalProperties":false,"required":["pairs"],"properties":{
"pairs":{"type":"array","items":{"type":"object","additionalProperties":false,"required":["pair","same","why"],"properties":{
"pair":{"type":"integer"},"same":{"type":"string","enum":["yes","no","unsure"]},"why":{"type":"string"}}}}}}`)}

type judged struct {
	Pairs []struct {
		Pair int    `json:"pair"`
		Same string `json:"same"`
		Why  string `json:"why"`
	} `json:"pairs"`
}

// ask puts one call's questions and fills in their verdicts.
func (j *Judge) ask(ctx context.Context, questions []Question, verdicts []Verdict, instructions string) error {
	answer, err := j.chat.Ask(ctx, llm.Request{
		Purpose: llm.Resolve, Version: judgeVersion, System: instructions + "\n\n" + llm.FenceRule, User: asked(questions), Schema: judgeSchema,
		MaxTokens: 100 + 80*len(questions),
		Check:     func(text string) error { _, err := readVerdicts(text, len(questions)); return err },
	})
	if errors.Is(err, llm.ErrUnusable) {
		return nil
	}
	if err != nil {
		return err
	}
	read, err := readVerdicts(answer.Text, len(questions))
	if err != nil {
		return nil // unusable all the same
	}
	copy(verdicts, read)
	return nil
}

// readVerdicts wants one answer for each pair.
func readVerdicts(text string, pairs int) ([]Verdict, error) {
	var answer judged
	if err := json.Unmarshal([]byte(text), &answer); err != nil {
		return nil, fmt.Errorf("it is no JSON of the schema: %w", err)
	}
	verdicts := make([]Verdict, pairs)
	for _, p := range answer.Pairs {
		if p.Pair < 1 || p.Pair > pairs {
			return nil, fmt.Errorf("there is no pair %d", p.Pair)
		}
		if verdicts[p.Pair-1].Answered {
			return nil, fmt.Errorf("pair %d is answered twice", p.Pair)
		}
		verdicts[p.Pair-1] = Verdict{Answered: true, Same: p.Same == "yes", Why: shortened(p.Why, mostWhy)}
	}
	for i, v := range verdicts {
		if !v.Answered {
			return nil, fmt.Errorf("pair %d has no answer", i+1)
		}
	}
	return verdicts, nil
}

// asked writes the questions. Names and sentences are documents' words: each
// pair's stand between a fence's lines.
func asked(questions []Question) string {
	texts := make([]string, len(questions))
	for i, q := range questions {
		texts[i] = "first: " + q.A.text() + "\nsecond: " + q.B.text()
	}
	fence := llm.NewFence(texts...)
	var b strings.Builder
	for i, text := range texts {
		b.WriteString(fence.Enclose("PAIR "+strconv.Itoa(i+1), text))
	}
	b.WriteString("Answer for each pair, by its number.")
	return b.String()
}

func (s Subject) text() string {
	var b strings.Builder
	b.WriteString(oneLine(s.Name) + " (" + oneLine(s.Type) + ")")
	if n := min(len(s.Aliases), mostAliases); n > 0 {
		b.WriteString("; also written: " + oneLine(strings.Join(s.Aliases[:n], "; ")))
	}
	if s.About != "" {
		b.WriteString("; said of it: " + shortened(oneLine(s.About), mostAbout))
	}
	return b.String()
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

func shortened(s string, most int) string {
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most-1]) + "…"
}
