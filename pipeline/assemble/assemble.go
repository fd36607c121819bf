// Package assemble turns what the stages found in one document into the rows
// that are committed. It is pure: it reads no file and no store, and the same
// input gives the same rows whatever the order of the mentions in it.
package assemble

import (
	"errors"
	"fmt"
	"maps"
	"path"

	"graphmill/chunkers"
	"graphmill/pipeline/corpus"
	"graphmill/pipeline/graph"
	"graphmill/resolvers"
)

// Input is all that one document's rows are made from.
type Input struct {
	Document *corpus.Document
	ID       graph.DocumentID
	// Path is shown for the document; "" takes Document.File.Path.
	Path string
	// Chunks are the document's chunks, and Extractions what was found in each.
	Chunks      []chunkers.Chunk
	Extractions []graph.Extraction
	// Resolution is the resolver's answer for [Mentions] of Extractions.
	Resolution   resolvers.Resolution
	Fingerprints graph.Fingerprints
	Status       string
	// ContentKeySeed names everything but the chunk that extraction and
	// embedding read: models, settings, ontology.
	ContentKeySeed string
}

// Mentions lists the mentions of all extractions, chunk by chunk: the list that
// Input.Resolution speaks of.
func Mentions(extractions []graph.Extraction) []graph.Mention {
	var all []graph.Mention
	for _, extraction := range extractions {
		all = append(all, extraction.Mentions...)
	}
	return all
}

// ContentKey is the key under which a chunk's extraction and vectors are kept:
// it changes whenever they would.
func ContentKey(seed, lead, text string) string {
	return graph.Hash(seed, lead, text)
}

// Document builds a document's rows. An error means that the parts of the input
// do not fit together, which is a fault of the stage that made them.
//
// A mention in the overlap of two chunks is found twice: both chunks are linked
// to its entity, and it counts once. A mention without an entity is dropped,
// and so is a relation of an entity to itself or to none.
func Document(in Input) (graph.DocumentGraph, error) {
	if err := check(in); err != nil {
		return graph.DocumentGraph{}, fmt.Errorf("assemble %s: %w", in.ID, err)
	}
	b := builder{in: in, text: in.Document.Text, offsets: graph.NewOffsets(in.Document.Text)}
	b.sentences = sentencesOf(in.Document)
	out := graph.DocumentGraph{Chunks: b.chunks()}
	out.Sections = b.sections(out.Chunks)
	b.collect(out.Chunks)
	out.Entities, out.Mentions = b.entities(out.Chunks)
	out.Relations = b.relations(out.Chunks, out.Entities)
	out.Document = b.document(&out)
	return out, nil
}

func check(in Input) error {
	switch {
	case in.Document == nil:
		return errors.New("no document given")
	case in.ID == "":
		return errors.New("the document has no id")
	case len(in.Extractions) != len(in.Chunks):
		return fmt.Errorf("%d extractions for %d chunks", len(in.Extractions), len(in.Chunks))
	}
	text, mentions := in.Document.Text, 0
	for i, chunk := range in.Chunks {
		if !inside(chunk.Range, text) || text[chunk.Range.Start:chunk.Range.End] != chunk.Text {
			return fmt.Errorf("chunk %d is not the text at its range", i)
		}
		for _, m := range in.Extractions[i].Mentions {
			if !inside(m.Range, text) || text[m.Range.Start:m.Range.End] != m.Text {
				return fmt.Errorf("mention %.40q of chunk %d is not the text at its range", m.Text, i)
			}
		}
		n := len(in.Extractions[i].Mentions)
		for _, r := range in.Extractions[i].Relations {
			if r.Source < 0 || r.Source >= n || r.Target < 0 || r.Target >= n || !inside(r.Evidence, text) {
				return fmt.Errorf("a %s relation of chunk %d joins no mentions or has no evidence", r.Type, i)
			}
		}
		mentions += n
	}
	if len(in.Resolution.Entities) != mentions {
		return fmt.Errorf("%d resolved mentions of %d", len(in.Resolution.Entities), mentions)
	}
	return nil
}

func inside(r graph.Range, text string) bool {
	return r.Start >= 0 && r.Start < r.End && r.End <= len(text)
}

// builder holds what the rows of one document share.
type builder struct {
	in        Input
	text      string
	offsets   *graph.Offsets
	sentences []sentence
	found     map[graph.EntityID]*found
}

func (b *builder) document(g *graph.DocumentGraph) graph.Document {
	d := b.in.Document
	shown := b.in.Path
	if shown == "" {
		shown = d.File.Path
	}
	folder := path.Dir(shown)
	if folder == "." {
		folder = ""
	}
	return graph.Document{
		ID: b.in.ID, Path: shown, Folder: folder, Title: d.Title, Date: d.Date, Format: string(d.File.Format),
		SizeBytes: d.File.Size, Pages: len(d.Pages), Metadata: maps.Clone(d.Metadata),
		Fingerprints: b.in.Fingerprints, Status: b.in.Status,
		ChunkCount: len(g.Chunks), EntityCount: len(g.Entities), RelationCount: len(g.Relations),
	}
}
