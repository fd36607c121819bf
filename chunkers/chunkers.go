// Package chunkers cuts documents into passages. A chunker is pure: the same
// document and parameters give the same chunks. It owns sentence and structure
// splitting; it does not read files, embed or extract.
package chunkers

import (
	"strings"

	"graphmill/pipeline/corpus"
	"graphmill/pipeline/graph"
)

// Chunker cuts one document. Implementations are safe for concurrent use, and
// every one of them holds to this: chunks come in document order; none is empty
// or longer than its cap; every non-space character of the text is in at least
// one chunk; text[chunk.Range] is chunk.Text, which neither starts nor ends
// with white space; no chunk begins or ends inside a grapheme cluster.
type Chunker interface {
	Chunk(document *corpus.Document) ([]Chunk, error)
}

// Lead is what is read in front of the chunk's text: headings, then context.
func (c Chunk) Lead() string {
	if c.Context == "" {
		return c.Header
	}
	return strings.TrimPrefix(c.Header+"\n"+c.Context, "\n")
}

// Chunk is a passage in bytes of its document's text.
type Chunk struct {
	Index  int
	Range  graph.Range
	Text   string
	Tokens int    // EstimateTokens(Text)
	Header string // the heading trail, "Title › Heading › Subheading", for the later parts of a table with its columns; "" where there is none
	// Context is a line that a model wrote about the chunk's place in its document;
	// "" for most chunkers. It is read with the chunk and is no part of its text.
	Context string
	Section int // index of the innermost section it starts in; -1 if none
}
