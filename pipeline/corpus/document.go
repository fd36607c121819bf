package corpus

import (
	"time"

	"graphmill/pipeline/graph"
)

// Document is a file as text with structure. Every offset in it is a byte of
// Text, which is valid UTF-8 without NUL and with "\n" as its only line end.
type Document struct {
	File   File
	Format Format
	Text   string
	// Blocks lie in order, do not overlap, and between them stand only white
	// space and page breaks: their text together is all the text there is.
	Blocks []Block
	// Pages are the pages' ranges in Text, in order; empty for formats without.
	Pages []Page
	// Sections follow from the heading blocks, in order; see [SectionsOf].
	Sections []Section
	Title    string
	Date     string // ISO 8601 as stated by the document: "2024", "2024-05", "2024-05-01"; "" if none
	Metadata map[string]string
	// Notes say what was done to the file that an operator may want to know:
	// "decoded as windows-1252", "3 pages hold no text".
	Notes []string
}

// Format names a parser.
type Format string

// The formats that are ingested.
const (
	Text     Format = "text"
	Markdown Format = "markdown"
	RST      Format = "rst"
	HTML     Format = "html"
	PDF      Format = "pdf"
)

// File is a file under the files root as listing found it.
type File struct {
	// Path is slash-separated and relative to the root, case and Unicode form
	// as stored on disk, links resolved.
	Path    string
	Size    int64
	ModTime time.Time
	Format  Format
	// Version is what a bucket calls this content (an ETag); "" for a folder's file.
	Version string
}

// BlockKind says what a block is.
type BlockKind string

// The kinds of block.
const (
	Heading   BlockKind = "heading"
	Paragraph BlockKind = "paragraph"
	ListItem  BlockKind = "list_item"
	Table     BlockKind = "table"
	Code      BlockKind = "code"
	Quote     BlockKind = "quote"
)

// Block is a piece of a document that belongs together.
type Block struct {
	Kind  BlockKind
	Range graph.Range
	Depth int // headings: from 1; list items: nesting from 0
	// Head is where a table begins with lines that name its columns; empty if
	// none do.
	Head graph.Range
}

// Page is one page of a paged format.
type Page struct {
	Number int // from 1
	Label  string
	Range  graph.Range
}

// Section is a heading and everything until the next heading of its depth or
// above.
type Section struct {
	Title  string
	Depth  int
	Parent int // index into Sections; -1 at the top
	Range  graph.Range
}
