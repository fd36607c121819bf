package graph

// DocumentGraph is one document as it is committed: all of its rows, with every
// id set and every offset in code points. It is a pure function of the file,
// the plan, the ontology and the models, whatever the number of workers.
type DocumentGraph struct {
	Document  Document
	Sections  []Section
	Chunks    []Chunk
	Entities  []Entity
	Mentions  []EntityMention
	Relations []Relation
}

// Document is a file as the graph knows it.
type Document struct {
	ID           DocumentID
	Path         string // as shown: slash-separated, under the root, with the source's name in front if it has one
	Folder       string // Path without its last element; "" at the root
	Title        string
	Date         string // ISO 8601 day, month or year as the document states it; "" if it does not
	Format       string // "markdown", "text", "rst", "html", "pdf"
	SizeBytes    int64
	Pages        int // 0 for formats without pages
	Metadata     map[string]string
	Fingerprints Fingerprints
	Status       string // of the last run that touched it: "ingested", "updated", "reextracted", "empty"
	// Counts of this document's own rows.
	ChunkCount, EntityCount, RelationCount int
	// FailedChunks of them gave nothing, because a model's answer could not be
	// used: the next run tries the document again.
	FailedChunks int
}

// Fingerprints decide whether a document must be processed again and say why.
type Fingerprints struct {
	Content  string // SHA-256 of the file's bytes
	Plan     string // of chunker, extractor, resolver and their parameters
	Ontology string // of what extraction reads of the ontology
	Model    string // of the extraction models' files
	Format   string // version of parser and of these rows
}

// Section is a heading and what stands under it.
type Section struct {
	ID     SectionID
	Parent SectionID // "" at the top
	Title  string
	Depth  int // 1 for a top heading
	Order  int // in the document, from 0
	Span   Span
	Chunks []ChunkID // chunks that start in it and in none of its subsections
}

// Chunk is a passage of a document.
type Chunk struct {
	ID         ChunkID
	Index      int
	Text       string // the document's text[Span]
	Span       Span
	FirstPage  int // from 1; 0 for formats without pages
	LastPage   int
	FirstLine  int // from 1, in the decoded text
	LastLine   int
	TokenCount int    // the chunker's estimate
	Header     string // "Title › Heading › Subheading", of the later parts of a table with its columns
	Context    string // a line that a model wrote about its place in the document; "" for most
	ContentKey string // Hash of what extraction and embedding read
}

// Entity is one document's share of an entity: the store merges shares of equal
// id by operations whose order does not matter.
type Entity struct {
	ID          EntityID
	Type        string
	Name        string // the display form that Shows
	NameKey     string
	Aliases     []string // other display forms, sorted
	Description string   // the most telling sentence
	Telling     float64  // how telling Description is; the largest wins, then the smallest text
	Mentions    int
}

// EntityMention is one entity's occurrences in one chunk.
type EntityMention struct {
	Entity EntityID
	Chunk  ChunkID
	Spans  []Span   // in the document, sorted
	Names  []string // display forms used, sorted, one each
	Score  float64  // the largest
	Method string
	// The description this chunk offers for the entity, and how telling it is.
	Description string
	Telling     float64
}

// Relation is one document's share of an edge.
type Relation struct {
	Source, Target         EntityID
	SourceName, TargetName string
	SourceType, TargetType string
	Type                   string
	Fact                   string // "(source, TYPE, target): evidence sentence" as graphrag-sdk writes it
	Description            string // the best evidence sentence
	Score                  float64
	Evidence               []RelationEvidence // sorted by chunk index, then span
}

// RelationEvidence is a sentence that states a relation.
type RelationEvidence struct {
	Chunk  ChunkID
	Span   Span // of the sentence, in the document
	Quote  string
	Score  float64
	Method string
}
