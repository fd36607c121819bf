package store

import (
	"time"

	"graphmill/pipeline/falkor/shape"
	"graphmill/pipeline/graph"
)

// Options name the graph that a Store writes.
type Options struct {
	// Graph is the graph's key in FalkorDB; its ontology is Graph+"__ontology".
	Graph string
	// Version is the program's, kept with the graph for the peer and for doctors.
	Version string
}

// Change is one document as it shall stand in the graph after a commit.
type Change struct {
	Graph graph.DocumentGraph
	// Plan is the text of the plan that made Graph, for people; Choices are what it
	// chose, as the planner reads it, for another extraction by the same plan.
	Plan, Choices string
	// Resolver is the plan's: what says which of the document's names are one
	// thing's. What exact says needs no record; it may be left out.
	Resolver string
	// MaxPairs is how many pairs of names a language model may be asked about for
	// the document.
	MaxPairs int
	// Replace says that the document stands in the graph already. The store
	// looks for itself as well, so that doing a commit again is harmless; a
	// caller that does not know may leave it false.
	Replace bool
	// Moved is the document that this one was under another path; "" if none. It
	// goes in the same commit, and chunks that stay the same take their vectors
	// along.
	Moved graph.DocumentID
}

// StoredDocument is what the graph has of a document.
type StoredDocument struct {
	ID           graph.DocumentID
	Path         string
	Status       string
	Plan         string
	Choices      string // of the plan; "" if none were kept
	Fingerprints graph.Fingerprints
	Format       string
	SizeBytes    int64
	Chunks       int
	Entities     int
	Relations    int
	FailedChunks int // that gave nothing: the document is to be processed again
}

// Meta and Counts are what the graph says of itself.
type (
	Meta   = shape.Meta
	Counts = shape.Counts
)

// VectorKind says what a vector belongs to.
type VectorKind string

// The three things that are embedded.
const (
	ChunkVector    VectorKind = "chunk"
	EntityVector   VectorKind = "entity"
	RelationVector VectorKind = "relation"
)

// Pending is a thing whose vector is missing or stale. What text is embedded for
// it is the caller's choice among its fields.
type Pending struct {
	Kind VectorKind
	ID   string // of the chunk or entity; "source␟TYPE␟target" of a relation, for messages
	// A chunk: context header and text. An entity: name and description. A
	// relation: "" and its fact.
	Title, Text string
	Type        string // of the entity or relation
	Key         string // a chunk's content key; a hash of type, title and text otherwise

	source, target string // a relation's ends
}

// Vector is the embedding of what a Pending said. Nil Values mark text that has
// nothing to embed: it is pending no more and has no vector.
type Vector struct {
	Pending
	Values []float32
}

// LockOwner says who holds a graph. Host, BootID, PID and ProcessStart together
// name a process for good, so that a dead one is recognised.
type LockOwner struct {
	Host         string    `json:"host"`
	BootID       string    `json:"boot_id"`
	PID          int       `json:"pid"`
	ProcessStart string    `json:"process_start"` // kernel clock ticks since boot
	Verb         string    `json:"verb"`
	Since        time.Time `json:"since"`
}

// IndexOptions say what EnsureIndexes makes.
type IndexOptions struct {
	Model     string // of the embedder; changes whenever its vectors would
	Dimension int
	// Reembed accepts another model than the graph's: every vector is dropped and
	// marked as pending, and the vector indexes are made again.
	Reembed bool
	// Progress is called while indexes are being built, at most a few times a
	// second; nil for none.
	Progress func(IndexProgress)
}

// IndexProgress is how far one index is.
type IndexProgress struct {
	Label       string
	Done, Total int
}

// Durability says whether a commit that was reported done survives a power cut.
type Durability struct {
	Confirmed bool
	Reason    string // "appendonly yes, appendfsync always"; what is missing or unknown otherwise
}
