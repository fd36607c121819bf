package chunkers

import (
	"strings"

	"graphmill/pipeline/corpus"
	"graphmill/pipeline/graph"
	"graphmill/pipeline/prose"
)

// Sentences are those of [prose.Sentences].
func Sentences(text string) []graph.Range { return prose.Sentences(text) }

// DocumentSentences is [Sentences] with the help of the document's blocks: a
// heading, a table row and a line of code are one sentence each, and no
// sentence reaches over the end of a block.
func DocumentSentences(document *corpus.Document) []graph.Range {
	var found []graph.Range
	for _, block := range blocksOf(document) {
		scanBlock(document.Text, block, func(r graph.Range) { found = append(found, r) })
	}
	return found
}

// scanBlock yields the sentences of one block.
func scanBlock(text string, block corpus.Block, yield func(graph.Range)) {
	switch block.Kind {
	case corpus.Heading:
		if r := prose.Trim(text, block.Range); r.Len() > 0 {
			yield(r)
		}
	case corpus.Table, corpus.Code:
		scanLines(text, block.Range, yield)
	default:
		prose.EachSentence(text, block.Range, yield)
	}
}

// scanLines yields the lines that are not blank.
func scanLines(text string, r graph.Range, yield func(graph.Range)) {
	for start := r.Start; start < r.End; {
		end := r.End
		if at := strings.IndexByte(text[start:r.End], '\n'); at >= 0 {
			end = start + at
		}
		if line := prose.Trim(text, graph.Range{Start: start, End: end}); line.Len() > 0 {
			yield(line)
		}
		start = end + 1
	}
}
