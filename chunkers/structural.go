package chunkers

import (
	"strings"

	"graphmill/pipeline/corpus"
	"graphmill/pipeline/graph"
)

// Structural follows the document's structure. A section that fits is one
// chunk; in a larger one its own blocks are packed, then each subsection is cut
// in the same way. Lists, tables, code blocks and paragraphs stay whole where
// they fit; a larger list is divided between items, a table between rows, code
// between lines, anything else between sentences and at last between words. A
// heading stays with what it introduces, and a small section joins its
// neighbour under the same parent. The zero value is not usable; see [New].
type Structural struct {
	cap size
}

// Chunk implements [Chunker].
func (s *Structural) Chunk(document *corpus.Document) ([]Chunk, error) {
	layout := newOutline(document)
	cut := structure{text: document.Text, limit: s.cap}
	root := cut.tree(blocksOf(document), layout)
	c := collector{document: document, outline: newOutline(document)}
	for _, p := range cut.section(root, nil) {
		c.add(p.Range, p.meter)
	}
	return c.chunks, nil
}

// structure cuts one document.
type structure struct {
	text  string
	limit size
}

// node is a section with its own blocks and its subsections.
type node struct {
	blocks   []corpus.Block
	children []*node
	end      int // of its last block or subsection
}

// tree sorts blocks into the sections that they start in. Sections without
// blocks of their own or below are left out.
func (s *structure) tree(blocks []corpus.Block, layout *outline) *node {
	root := &node{}
	nodes := make([]*node, len(layout.sections))
	var nodeOf func(section int) *node
	nodeOf = func(section int) *node {
		if section < 0 {
			return root
		}
		if nodes[section] == nil {
			nodes[section] = nodeOf(layout.parent(section)).child()
		}
		return nodes[section]
	}
	for _, block := range blocks {
		section := layout.at(block.Range.Start)
		nodeOf(section).append(block)
		for root.end = block.Range.End; section >= 0; section = layout.parent(section) {
			nodes[section].end = block.Range.End
		}
	}
	return root
}

func (n *node) child() *node {
	child := &node{}
	n.children = append(n.children, child)
	return child
}

// append adds a block; one that comes after a subsection gets a nameless
// subsection of its own, so that a node's own blocks come first.
func (n *node) append(block corpus.Block) {
	n.end = block.Range.End
	if len(n.children) > 0 {
		n = n.child()
		n.end = block.Range.End
	}
	n.blocks = append(n.blocks, block)
}

// passage is a chunk to be, and the meter that has read it.
type passage struct {
	graph.Range
	meter meter
	// whole says that it is a section, or what stands before its first
	// subsection, and no part of one.
	whole bool
}

// section cuts one section. Lead is a heading above it that has nothing else
// below, and goes before its first block.
func (s *structure) section(n *node, lead *graph.Range) []passage {
	first := n.end
	if lead != nil {
		first = lead.Start
	} else if len(n.blocks) > 0 {
		first = n.blocks[0].Range.Start
	} else if len(n.children) > 0 {
		first = n.children[0].start()
	}
	all := passage{Range: graph.Range{Start: first, End: n.end}, whole: true}
	if all.meter.fits(s.text[all.Start:all.End], s.limit.units) {
		return []passage{all}
	}
	var found []passage
	if len(n.children) > 0 && onlyHeadings(n.blocks) {
		if len(n.blocks) > 0 {
			own := graph.Range{Start: first, End: n.blocks[len(n.blocks)-1].Range.End}
			lead = &own
		}
	} else {
		found = s.pack(n.blocks, lead)
		lead = nil
	}
	for _, child := range n.children {
		for _, p := range s.section(child, lead) {
			found = s.join(found, p)
		}
		lead = nil
	}
	return found
}

func (n *node) start() int {
	for len(n.blocks) == 0 && len(n.children) > 0 {
		n = n.children[0]
	}
	if len(n.blocks) == 0 {
		return n.end
	}
	return n.blocks[0].Range.Start
}

// join appends next to found, or to the last of found where both are whole and
// one of them is small: under a quarter of the cap.
func (s *structure) join(found []passage, next passage) []passage {
	if len(found) == 0 {
		return append(found, next)
	}
	last := &found[len(found)-1]
	smallest := min(last.meter.units, next.meter.units)
	if !last.whole || !next.whole || smallest > s.limit.units/4 {
		return append(found, next)
	}
	joined := last.meter
	if !joined.fits(s.text[last.End:next.End], s.limit.units) {
		return append(found, next)
	}
	last.End, last.meter = next.End, joined
	return found
}

// pack fills passages with blocks, lead first. A single passage is whole.
func (s *structure) pack(blocks []corpus.Block, lead *graph.Range) []passage {
	var found []passage
	p := packer{text: s.text, limit: s.limit, emit: func(r graph.Range, m meter) {
		found = append(found, passage{Range: r, meter: m})
	}}
	if lead != nil {
		p.add(unit{*lead, true})
	}
	for i := 0; i < len(blocks); {
		next := i + 1
		if blocks[i].Kind == corpus.ListItem {
			for next < len(blocks) && blocks[next].Kind == corpus.ListItem {
				next++
			}
		}
		s.addBlocks(&p, blocks[i:next], next < len(blocks))
		i = next
	}
	p.flush()
	if len(found) == 1 {
		found[0].whole = true
	}
	return found
}

// addBlocks adds one block, or the items of one list.
func (s *structure) addBlocks(p *packer, blocks []corpus.Block, more bool) {
	all := graph.Range{Start: blocks[0].Range.Start, End: blocks[len(blocks)-1].Range.End}
	if s.fits(all) {
		p.add(unit{all, more && s.leads(blocks[len(blocks)-1])})
		return
	}
	if len(blocks) == 1 {
		scanBlock(s.text, blocks[0], func(r graph.Range) { p.add(unit{r, false}) })
		return
	}
	longest := 2 * s.limit.units // in bytes; no text of that length fits
	for i := 0; i < len(blocks); {
		next := i + 1
		for next < len(blocks) && blocks[next].Depth > blocks[i].Depth && blocks[next].Range.End-blocks[i].Range.Start <= longest {
			next++
		}
		if next == i+1 || s.fits(graph.Range{Start: blocks[i].Range.Start, End: blocks[next-1].Range.End}) {
			s.addBlocks(p, blocks[i:next], false)
			i = next
			continue
		}
		s.addBlocks(p, blocks[i:i+1], false)
		i++
	}
}

func (s *structure) fits(r graph.Range) bool {
	var m meter
	return m.fits(s.text[r.Start:r.End], s.limit.units)
}

// leads reports whether a block introduces the next: a heading, or a paragraph
// that ends with a colon.
func (s *structure) leads(block corpus.Block) bool {
	text := s.text[block.Range.Start:block.Range.End]
	return block.Kind == corpus.Heading ||
		block.Kind == corpus.Paragraph && (strings.HasSuffix(text, ":") || strings.HasSuffix(text, "："))
}

func onlyHeadings(blocks []corpus.Block) bool {
	for _, block := range blocks {
		if block.Kind != corpus.Heading {
			return false
		}
	}
	return true
}
