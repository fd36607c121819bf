package corpus

import (
	"context"
	"io"
	"iter"
)

// Tree is a files root: a folder ([Root]) or a bucket ([Bucket]). Both list, match
// and refuse the same: what is said at Root's methods holds for a bucket's. It is
// safe for concurrent use until it is closed.
type Tree interface {
	List(ctx context.Context) iter.Seq2[Entry, error]
	Match(ctx context.Context, patterns []string) (files []File, unmatched []Unmatched, err error)
	Resolve(name string) (File, error)
	Exists(path string) bool

	Read(ctx context.Context, file File) (data []byte, sum string, err error)
	Hash(ctx context.Context, file File) (sum string, err error)
	ReadWindow(ctx context.Context, file File, offset int64, length int) ([]byte, error)
	ReadParts(ctx context.Context, file File, use func(parts io.ReaderAt, size int64) error) error

	// Dir tells roots apart: the graph keeps it.
	Dir() string
	Close() error
}
