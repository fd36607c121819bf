package assemble

import (
	"cmp"
	"maps"
	"slices"

	"graphmill/chunkers"
	"graphmill/extractors"
	"graphmill/pipeline/corpus"
	"graphmill/pipeline/graph"
	"graphmill/resolvers"
)

// sentence is a sentence of the document; prose is false in headings, tables
// and code, which describe nothing.
type sentence struct {
	at    graph.Range
	prose bool
}

// notProse is what a sentence in a heading, table or line of code keeps of how
// telling it is.
const notProse = 0.25

// sentencesOf divides a document and looks up each sentence's block.
func sentencesOf(document *corpus.Document) []sentence {
	ranges := chunkers.DocumentSentences(document)
	out := make([]sentence, len(ranges))
	block := 0
	for i, r := range ranges {
		for block < len(document.Blocks) && document.Blocks[block].Range.End <= r.Start {
			block++
		}
		out[i] = sentence{at: r, prose: true}
		if block < len(document.Blocks) && document.Blocks[block].Range.Overlaps(r) {
			switch document.Blocks[block].Kind {
			case corpus.Heading, corpus.Table, corpus.Code:
				out[i].prose = false
			}
		}
	}
	return out
}

// found is all that a document says of one entity.
type found struct {
	names  map[string]bool
	kinds  map[string]int
	places map[graph.Range]bool
	chunks map[int]*graph.EntityMention // by chunk index
}

// collect groups the mentions by entity and chunk.
func (b *builder) collect(chunks []graph.Chunk) {
	b.found = map[graph.EntityID]*found{}
	n := 0
	for i, extraction := range b.in.Extractions {
		for _, m := range extraction.Mentions {
			id := b.in.Resolution.Entities[n]
			n++
			name := graph.DisplayName(m.Text)
			if id == "" || name == "" {
				continue
			}
			e := b.found[id]
			if e == nil {
				e = &found{names: map[string]bool{}, kinds: map[string]int{}, places: map[graph.Range]bool{}, chunks: map[int]*graph.EntityMention{}}
				b.found[id] = e
			}
			e.names[name] = true
			e.kinds[m.Type]++
			e.places[m.Range] = true
			row := e.chunks[i]
			if row == nil {
				row = &graph.EntityMention{Entity: id, Chunk: chunks[i].ID}
				e.chunks[i] = row
			}
			b.add(row, m, name, b.in.Chunks[i].Range)
		}
	}
}

// add takes a mention into its row; the order of mentions does not matter.
func (b *builder) add(row *graph.EntityMention, m graph.Mention, name string, chunk graph.Range) {
	row.Spans = append(row.Spans, b.offsets.Span(m.Range))
	row.Names = append(row.Names, name)
	if m.Score > row.Score || row.Method == "" || m.Score == row.Score && m.Method < row.Method {
		row.Score, row.Method = m.Score, m.Method
	}
	text, telling := b.describe(m.Range, chunk)
	if better(text, telling, row.Description, row.Telling) {
		row.Description, row.Telling = text, telling
	}
}

// describe offers the sentence around a mention, as far as its chunk shows it.
func (b *builder) describe(m, chunk graph.Range) (text string, telling float64) {
	place, _ := slices.BinarySearchFunc(b.sentences, m.Start, func(s sentence, start int) int {
		if s.at.End <= start {
			return -1
		}
		return 1
	})
	if place == len(b.sentences) || !b.sentences[place].at.Overlaps(m) {
		return "", 0
	}
	s := b.sentences[place]
	at := graph.Range{Start: max(s.at.Start, chunk.Start), End: min(s.at.End, chunk.End)}
	if !at.Contains(m) {
		at = graph.Range{Start: min(at.Start, m.Start), End: max(at.End, m.End)}
	}
	telling = extractors.Telling(b.text[at.Start:at.End], graph.Range{Start: m.Start - at.Start, End: m.End - at.Start})
	if !s.prose || at != s.at {
		telling *= notProse
	}
	return extractors.Description(b.text[at.Start:at.End]), telling
}

// better prefers the more telling description, then the smaller text.
func better(text string, telling float64, than string, thanTelling float64) bool {
	if text == "" {
		return false
	}
	return than == "" || telling > thanTelling || telling == thanTelling && text < than
}

// entities builds the entity rows, by id, and the mention rows, by entity and
// chunk index.
func (b *builder) entities(chunks []graph.Chunk) ([]graph.Entity, []graph.EntityMention) {
	var entities []graph.Entity
	var mentions []graph.EntityMention
	for _, id := range slices.Sorted(maps.Keys(b.found)) {
		f := b.found[id]
		names := slices.Sorted(maps.Keys(f.names))
		e := graph.Entity{ID: id, Type: f.kind(), Name: resolvers.DisplayForm(names), Mentions: len(f.places)}
		e.NameKey = graph.NameKey(e.Name)
		for _, name := range names {
			if name != e.Name {
				e.Aliases = append(e.Aliases, name)
			}
		}
		for _, i := range slices.Sorted(maps.Keys(f.chunks)) {
			row := f.chunks[i]
			slices.SortFunc(row.Spans, compareSpans)
			row.Spans = slices.Compact(row.Spans)
			slices.Sort(row.Names)
			row.Names = slices.Compact(row.Names)
			if better(row.Description, row.Telling, e.Description, e.Telling) {
				e.Description, e.Telling = row.Description, row.Telling
			}
			mentions = append(mentions, *row)
		}
		entities = append(entities, e)
	}
	return entities, mentions
}

// kind is the type that most mentions have, of equals the smallest.
func (f *found) kind() string {
	best := ""
	for _, kind := range slices.Sorted(maps.Keys(f.kinds)) {
		if best == "" || f.kinds[kind] > f.kinds[best] {
			best = kind
		}
	}
	return best
}

func compareSpans(a, b graph.Span) int {
	return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End))
}
