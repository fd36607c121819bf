package chunkers

import (
	"graphmill/pipeline/corpus"
	"graphmill/pipeline/graph"
)

// Sentence packs whole sentences into chunks, across paragraphs and headings.
// Only a sentence over the cap is divided, between words. The zero value is not
// usable; see [New].
type Sentence struct {
	cap     size
	overlap int // sentences
}

// Chunk implements [Chunker].
func (s *Sentence) Chunk(document *corpus.Document) ([]Chunk, error) {
	c := collector{document: document, outline: newOutline(document)}
	p := packer{
		text: document.Text, limit: s.cap, overlap: s.overlap,
		emit: func(r graph.Range, m meter) { c.add(r, m) },
	}
	for _, block := range blocksOf(document) {
		heading := block.Kind == corpus.Heading
		scanBlock(document.Text, block, func(r graph.Range) { p.add(unit{r, heading}) })
	}
	p.flush()
	return c.chunks, nil
}
