// Package resolvers decides which mentions name the same entity. A resolver
// gives merges with reasons and never writes.
package resolvers

import (
	"context"

	"graphmill/pipeline/graph"
)

// Resolver groups mentions into entities. Implementations are safe for
// concurrent use, and the result does not depend on the order of the mentions.
type Resolver interface {
	// Resolve returns, for each mention, the id of its entity ("" for a name
	// that can name nothing: the mention is dropped), and the merges
	// it made between names that are not written alike, each with its reason.
	Resolve(ctx context.Context, mentions []graph.Mention) (Resolution, error)
}

// Resolution says which entity each mention belongs to.
type Resolution struct {
	Entities []graph.EntityID // one a mention
	Merges   []Merge
}

// Merge is two names taken for one entity, and why.
type Merge struct {
	Kept, Merged string
	Type         string
	Reason       string
}
