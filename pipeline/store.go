package pipeline

import (
	"context"

	"graphmill/pipeline/falkor/store"
	"graphmill/pipeline/graph"
)

// Store is what the pipeline asks of the graph store. The caller holds the
// graph's lock for as long as a run lasts.
type Store interface {
	// Documents is the one question before work: what the graph has, by path.
	Documents(ctx context.Context) (map[string]store.StoredDocument, error)
	// Commit writes whole documents in one transaction: a reader sees all of
	// them or none, and so does a run after a crash. Merging with what other
	// documents said does not depend on the order of commits.
	Commit(ctx context.Context, changes []store.Change) error
	// Remove takes documents out, with every fact and entity that no other
	// document supports, in one transaction.
	Remove(ctx context.Context, ids []graph.DocumentID) error
	Finalizer
}

// Finalizer is the part of the store that finalize needs. Every call may be
// repeated: what is done is not pending any more.
type Finalizer interface {
	Meta(ctx context.Context) (store.Meta, error)
	PendingCount(ctx context.Context, kind store.VectorKind) (int, error)
	PendingVectors(ctx context.Context, kind store.VectorKind, limit int) ([]store.Pending, error)
	StoreVectors(ctx context.Context, kind store.VectorKind, vectors []store.Vector) error
	Merger
	Judger
	Describer
	// PrepareVectors agrees on the embedder before any vector is stored; another
	// one than the graph's is refused unless o.Reembed is set.
	PrepareVectors(ctx context.Context, o store.IndexOptions) error
	// StartIndexes has the engine begin to build the indexes of what a kind of
	// vector stands on, beside what else it is asked for.
	StartIndexes(ctx context.Context, kind store.VectorKind, o store.IndexOptions) error
	// EnsureIndexes makes what is missing of all and waits until it is built.
	EnsureIndexes(ctx context.Context, o store.IndexOptions) error
	// Finish stores the counts and marks the graph as finalized.
	Finish(ctx context.Context) (store.Counts, error)
}
