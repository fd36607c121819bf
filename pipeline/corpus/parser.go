package corpus

import (
	"context"
	"io"
)

// Parser turns the bytes of one file of its format into a [Document].
//
// Implementations are safe for concurrent use, deterministic, and do not keep
// data. They never panic across the call and stop soon after ctx is done. The
// document returned has every field of [Document] filled that the format can
// fill, with its invariants holding; File and Format are set to those of file.
// A file with nothing to read in it is a Document with empty Text and a nil
// error. An error is a [*FileError] where a caller can tell kinds apart
// (encrypted, binary, too large, …), any other error is a damaged file.
type Parser interface {
	Parse(ctx context.Context, file File, data []byte, limits Limits) (*Document, error)
}

// PreviewParser is what a [Parser] also implements when it can read a sample
// without reading the whole file, such as a few pages of a long PDF.
type PreviewParser interface {
	// ParsePreview returns a Document that holds about maxChars characters from
	// the middle of data's size bytes, and the number of characters the whole
	// would have, estimated from the part that was read. It reads what it needs
	// for that, wherever it stands; an error of data ends it and is in its own.
	ParsePreview(ctx context.Context, file File, data io.ReaderAt, size int64, maxChars int, limits Limits) (doc *Document, charsEstimated int, err error)
}

// Limits bound what one file may cost. The zero value of a field means its
// default.
type Limits struct {
	// MaxFileBytes bounds the bytes of a file as stored (corpus.max_file_bytes).
	// 0 is [DefaultMaxFileBytes].
	MaxFileBytes int64
	// MaxTextBytes bounds the text that a file expands to
	// (corpus.max_text_bytes). 0 is [DefaultMaxTextBytes].
	MaxTextBytes int64
	// MaxPages bounds the pages of a paged file (corpus.max_pages). 0 is
	// [DefaultMaxPages].
	MaxPages int
}

// The limits when none are given.
const (
	// DefaultMaxFileBytes is larger than nearly all documents that people
	// write; what is larger is usually a scan or an export of data.
	DefaultMaxFileBytes int64 = 50 << 20
	// DefaultMaxTextBytes leaves room for a text file of the largest size in
	// an encoding that grows in UTF-8.
	DefaultMaxTextBytes int64 = 64 << 20
	// DefaultMaxPages is above the longest manuals (the Intel SDM has 5,000).
	DefaultMaxPages = 20_000
)

// WithDefaults returns l with defaults in place of zero values.
func (l Limits) WithDefaults() Limits {
	if l.MaxFileBytes == 0 {
		l.MaxFileBytes = DefaultMaxFileBytes
	}
	if l.MaxTextBytes == 0 {
		l.MaxTextBytes = DefaultMaxTextBytes
	}
	if l.MaxPages == 0 {
		l.MaxPages = DefaultMaxPages
	}
	return l
}
