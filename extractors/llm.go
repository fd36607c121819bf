package extractors

import (
	"context"
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"graphmill/chunkers"
	"graphmill/pipeline/graph"
	"graphmill/pipeline/llm"
)

// Refiner is an extractor that has something to say of what it and others found.
// [Combine] joins the mentions of all extractors and then asks it.
type Refiner interface {
	Extractor
	// Refine returns for each chunk what stands of what was found in it, and the
	// relations that the chunk states. The rules of [Extractor.Extract] hold; the
	// slices of found are not written to, and a chunk that has failed stays so.
	Refine(ctx context.Context, chunks []chunkers.Chunk, found []graph.Extraction, ontology *graph.Ontology) ([]graph.Extraction, error)
}

// LLM reads passages with a language model, in two calls a chunk: the first
// lists the entities (Extract), the second, which is also shown what other
// extractors found, corrects the list and states the relations (Refine). The
// second alone is the extractor "verify", which finds no mention by itself.
//
// The model is asked for the ontology's types only. Whatever it answers has to
// carry a quote that the passage holds (see [QuoteFloor]); what has none is
// dropped and counted, and what is kept is always the passage's own text. So a
// passage can change what is read from itself, and nothing else.
//
// A chunk whose answer stays unusable is marked as failed; every other error is
// the document's.
type LLM struct {
	chat   llm.Chat
	verify bool // only the second call
	counts bool // see Counting
}

// NewLLM is the extractor "llm".
func NewLLM(chat llm.Chat) *LLM { return &LLM{chat: chat} }

// NewVerify is the extractor "verify".
func NewVerify(chat llm.Chat) *LLM { return &LLM{chat: chat, verify: true} }

// Counting returns an extractor that puts the questions of x and takes nothing
// from the answers, for a model that only counts what it is asked. Where x would
// ask about what was found, it asks about words of the passage instead: the
// question has the right size, not the right names.
func (x *LLM) Counting() *LLM { return &LLM{chat: x.chat, verify: x.verify, counts: true} }

const (
	llmMethod = "llm"
	// llmScore is the score of what a model found with its quote: below that of a
	// pattern, which cannot be mistaken in the form; of the same name elsewhere in
	// the passage, sameNameScore.
	llmScore      = 0.9
	sameNameScore = 0.85
	// mostItems bounds what is taken of one list of an answer.
	mostItems = 500
	// mostReason bounds, in characters, why a chunk failed.
	mostReason = 200
)

// Extract implements [Extractor]: the entities, without relations.
func (x *LLM) Extract(ctx context.Context, chunks []chunkers.Chunk, ontology *graph.Ontology) ([]graph.Extraction, error) {
	out := make([]graph.Extraction, len(chunks))
	types := askedTypes(ontology)
	if x.verify || len(types) == 0 {
		return out, ctx.Err()
	}
	prompt := entitiesPrompt(ontology, types)
	err := llm.Each(ctx, len(chunks), func(ctx context.Context, i int) error {
		answer, failed, err := x.ask(ctx, prompt.about(chunks[i], nil), checkEntities)
		if x.counts {
			return err
		}
		if err == nil && failed == "" {
			out[i] = readEntities(answer, chunks[i], ontology, types)
		}
		out[i].Failed = failed
		return err
	})
	return out, err
}

// Refine implements [Refiner].
func (x *LLM) Refine(ctx context.Context, chunks []chunkers.Chunk, found []graph.Extraction, ontology *graph.Ontology) ([]graph.Extraction, error) {
	out := slices.Clone(found)
	prompt := verifyPrompt(ontology)
	err := llm.Each(ctx, len(chunks), func(ctx context.Context, i int) error {
		things := thingsOf(found[i].Mentions)
		if x.counts {
			_, _, err := x.ask(ctx, prompt.about(chunks[i], standIns(chunks[i], ontology)), checkVerified)
			return err
		}
		if len(things) == 0 || found[i].Failed != "" {
			return nil
		}
		answer, failed, err := x.ask(ctx, prompt.about(chunks[i], things), checkVerified)
		if err == nil && failed == "" {
			out[i] = readVerified(answer, chunks[i], found[i], things, ontology)
		} else if failed != "" {
			out[i] = graph.Extraction{Failed: failed}
		}
		return err
	})
	return out, err
}

// standIns are words of a passage in place of what will be found in it: one of
// two words for every fifteen tokens, which is what the labelled passages have.
func standIns(chunk chunkers.Chunk, ontology *graph.Ontology) (things []thing) {
	words := strings.Fields(chunk.Text)
	for i := 0; len(ontology.Entities) > 0 && i+1 < len(words) && len(things) <= chunk.Tokens/15; i += 2 {
		kind := ontology.Entities[len(things)%len(ontology.Entities)].Label
		things = append(things, thing{kind: kind, name: words[i] + " " + words[i+1]})
	}
	return things
}

// ask returns the answer, or why the chunk is lost.
func (x *LLM) ask(ctx context.Context, r llm.Request, check func(string) error) (answer, failed string, err error) {
	r.Check = check
	a, err := x.chat.Ask(ctx, r)
	if errors.Is(err, llm.ErrUnusable) {
		return "", shortened(err.Error(), mostReason), nil
	}
	return a.Text, "", err
}

func shortened(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most-1]) + "…"
}

var _ Refiner = (*LLM)(nil)
