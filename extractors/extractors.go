// Package extractors finds mentions of entities, and relations between them, in
// passages. It owns the glue around models (word splitting, prompts, windows,
// decoding), the pattern rules and the cue rules; it does not know the graph
// store, and loads no model itself (package models does).
package extractors

import (
	"context"

	"graphmill/chunkers"
	"graphmill/pipeline/graph"
)

// Extractor finds mentions and relations in chunks of one document.
// Implementations are safe for concurrent use and deterministic: what they
// return for a chunk does not depend on the other chunks in the batch. The
// result has one Extraction a chunk, in order; mentions are sorted by range,
// then type; ranges are bytes of the document's text (chunk.Range.Start plus
// the place in chunk.Text). An error fails the document; a caller does not
// retry it. Nothing is dropped in silence: Pruned counts it.
type Extractor interface {
	Extract(ctx context.Context, chunks []chunkers.Chunk, ontology *graph.Ontology) ([]graph.Extraction, error)
}
