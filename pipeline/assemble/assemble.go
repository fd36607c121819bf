// Package assemble turns what the stages found in one document into the rows
// that are committed. It is pure: it reads no file and no store, and the same
// input gives the same rows whatever the order of the mentions in it.
package assemble

import (
	"errors"
	"fmt"

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
	// Sentences splits text for descriptions; nil takes chunkers.Sentences.
	Sentences func(text string) []graph.Range
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

// Document builds a document's rows. An error means that the parts of the input
// do not fit together, which is a bug in the stage that made them.
func Document(in Input) (graph.DocumentGraph, error) {
	if in.Document == nil {
		return graph.DocumentGraph{}, errors.New("assemble document: no document given")
	}
	if len(in.Extractions) != len(in.Chunks) {
		return graph.DocumentGraph{}, fmt.Errorf("assemble %s: %d extractions for %d chunks", in.ID, len(in.Extractions), len(in.Chunks))
	}
	return graph.DocumentGraph{}, nil
}

// ContentKey is the key under which a chunk's extraction and vectors are kept:
// it changes whenever they would.
func ContentKey(seed, header, text string) string {
	return graph.Hash(seed, header, text)
}
