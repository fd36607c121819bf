package chunkers

import (
	"strings"

	"graphmill/pipeline/corpus"
	"graphmill/pipeline/graph"
	"graphmill/pipeline/prose"
)

// blocksOf returns the document's blocks, and a paragraph for every stretch of
// text that no block covers, so that nothing is lost whatever a parser does.
// Ranges come trimmed and on grapheme cluster boundaries.
func blocksOf(document *corpus.Document) []corpus.Block {
	text := document.Text
	blocks := make([]corpus.Block, 0, len(document.Blocks))
	at := 0
	for _, block := range document.Blocks {
		start := prose.LastBoundary(text, at, max(at, block.Range.Start))
		end := prose.LastBoundary(text, start, max(start, min(block.Range.End, len(text))))
		if end <= start {
			continue
		}
		blocks = appendGap(blocks, text, graph.Range{Start: at, End: start})
		if block.Range = prose.Trim(text, graph.Range{Start: start, End: end}); block.Range.Len() > 0 {
			blocks = append(blocks, block)
		}
		at = end
	}
	return appendGap(blocks, text, graph.Range{Start: at, End: len(text)})
}

// appendGap appends paragraphs for the text in r, divided at blank lines.
func appendGap(blocks []corpus.Block, text string, r graph.Range) []corpus.Block {
	for r.Len() > 0 {
		end, next := r.End, r.End
		if at := strings.Index(text[r.Start:r.End], "\n\n"); at >= 0 {
			end, next = r.Start+at, r.Start+at+2
		}
		if paragraph := prose.Trim(text, graph.Range{Start: r.Start, End: end}); paragraph.Len() > 0 {
			blocks = append(blocks, corpus.Block{Kind: corpus.Paragraph, Range: paragraph})
		}
		r.Start = next
	}
	return blocks
}
