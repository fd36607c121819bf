package chunkers

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"graphmill/pipeline/corpus"
	"graphmill/pipeline/graph"
	"graphmill/pipeline/llm"
)

// Situater is a chunker that can also say what a passage is about in its
// document. Cutting stays pure; the calls that this takes come afterwards.
type Situater interface {
	Chunker
	// Situate returns for each of the chunks, which are of one document, the line
	// that belongs in front of it. It is safe for concurrent use, and a chunk's line
	// does not depend on the other chunks given. An error is the document's.
	Situate(ctx context.Context, document *corpus.Document, chunks []Chunk) ([]Context, error)
	// Windowed reports that lines are written from a part of the document only.
	Windowed(document *corpus.Document) bool
}

// Context is the line of one chunk, or why there is none.
type Context struct{ Line, Failed string }

// Contextual cuts along the structure where a document has sections, and into
// sentences where it has none. A language model then writes a line for each chunk
// that says what the chunk leaves unsaid: who "she" is, which product a table is
// about. The line stands in front of what is embedded and extracted; it is no part
// of the text that is cited.
type Contextual struct {
	structural Structural
	sentence   Sentence
	window     int // of the document, in bytes
	chat       llm.Chat
}

// contextVersion is raised whenever the instructions or what is made of an answer
// change.
const contextVersion = 1

const (
	// bytesPerToken of English, for the size of a window.
	bytesPerToken = 4
	// startShare of a window is the document's beginning, which mostly says what it
	// is; the rest stands around the chunk.
	startShare = 8
	// mostContext bounds a line, in characters: 80 words. A longer answer is asked
	// for again.
	mostContext = 500
	// contextAnswer bounds an answer, in tokens.
	contextAnswer = 200
)

const contextInstructions = `You are given a document, or a part of it, and a passage of it. Write one sentence of at most forty words that is put in front of the passage, so that it can be found and understood by itself: what the passage is about, and the names, dates and things that it only points back to ("she", "the company", "this version"). Say nothing that the document does not say, do not repeat the passage, and do not begin with "This passage". Write in the language of the passage. ` +
	llm.FenceRule + ` Answer with the sentence alone.`

// NewContextual returns the chunker "contextual" with the model that writes its
// lines. Parameters are as [New] takes them.
func NewContextual(params Params, chat llm.Chat) (*Contextual, error) {
	values, err := settle("contextual", params)
	if err != nil {
		return nil, err
	}
	c := newContextual(values)
	c.chat = chat
	return c, nil
}

func newContextual(values Params) *Contextual {
	limit := size{units: values[ChunkTokens] * token}
	return &Contextual{
		structural: Structural{cap: limit}, sentence: Sentence{cap: limit}, window: values[ContextTokens] * bytesPerToken,
	}
}

// Chunk implements [Chunker].
func (c *Contextual) Chunk(document *corpus.Document) ([]Chunk, error) {
	if len(document.Sections) > 0 {
		return c.structural.Chunk(document)
	}
	return c.sentence.Chunk(document)
}

// Windowed implements [Situater].
func (c *Contextual) Windowed(document *corpus.Document) bool { return len(document.Text) > c.window }

// Situate implements [Situater].
func (c *Contextual) Situate(ctx context.Context, document *corpus.Document, chunks []Chunk) ([]Context, error) {
	if c.chat == nil {
		return nil, errors.New("the chunker contextual has no language model")
	}
	out := make([]Context, len(chunks))
	err := llm.Each(ctx, len(chunks), func(ctx context.Context, i int) (err error) {
		out[i], err = c.situate(ctx, document, chunks[i])
		return err
	})
	return out, err
}

func (c *Contextual) situate(ctx context.Context, document *corpus.Document, chunk Chunk) (Context, error) {
	if strings.TrimSpace(chunk.Text) == strings.TrimSpace(document.Text) {
		return Context{}, nil // it is the document: there is nothing to add
	}
	answer, err := c.chat.Ask(ctx, c.request(document, chunk))
	if errors.Is(err, llm.ErrUnusable) {
		return Context{Failed: onOneLine(err.Error(), mostContext)}, nil
	}
	if err != nil {
		return Context{}, err
	}
	return Context{Line: onOneLine(answer.Text, mostContext)}, nil
}

func (c *Contextual) request(document *corpus.Document, chunk Chunk) llm.Request {
	around := windowOf(document.Text, chunk.Range, c.window)
	fence := llm.NewFence(around, chunk.Header, chunk.Text)
	user := fence.Enclose("DOCUMENT", around)
	if chunk.Header != "" {
		user += fence.Enclose("HEADINGS", chunk.Header)
	}
	return llm.Request{
		Purpose: llm.Situate, Version: contextVersion, System: contextInstructions, User: user + fence.Enclose("PASSAGE", chunk.Text),
		MaxTokens: contextAnswer, Check: checkContext,
	}
}

func checkContext(text string) error {
	switch n := utf8.RuneCountInString(strings.TrimSpace(text)); {
	case n == 0:
		return errors.New("it is empty")
	case n > mostContext:
		return fmt.Errorf("it has %d characters; one sentence of at most %d was asked for", n, mostContext)
	}
	return nil
}

// omitted stands in a window where text was left out.
const omitted = "\n[…]\n"

// windowOf is a text of at most so many bytes, but for marks of omission: the
// whole, or its beginning and what stands around a place in it.
func windowOf(text string, at graph.Range, most int) string {
	if len(text) <= most {
		return text
	}
	start := betweenWords(text, most/startShare)
	room := max(0, most-start-at.Len())
	from := max(start, at.Start-room/2)
	to := min(len(text), max(from, at.End)+room-max(0, at.Start-from))
	from, to = betweenWords(text, from), betweenWords(text, to)
	window := text[:start]
	if from > start {
		window += omitted
	}
	window += text[min(max(from, start), to):to]
	if to < len(text) {
		window += omitted
	}
	return window
}

// betweenWords is the last place up to the given one at which a word starts, or,
// where words are very long, a character.
func betweenWords(text string, at int) int {
	at = min(at, len(text))
	for at > 0 && at < len(text) && !utf8.RuneStart(text[at]) {
		at--
	}
	if at == len(text) {
		return at
	}
	if space := strings.LastIndexAny(text[max(0, at-100):at], " \n"); space >= 0 {
		return max(0, at-100) + space + 1
	}
	return at
}

var _ Situater = (*Contextual)(nil)
