package corpus

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"iter"
)

// Texts are documents that were given as texts and not as files, by name. They are
// listed and read as a [Root]'s files are; nothing of them is on disk.
type Texts map[string]string

// List lists them, in no order.
func (t Texts) List(ctx context.Context) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for name, text := range t {
			if !yield(Entry{File: File{Path: name, Size: int64(len(text)), Format: Text}}, ctx.Err()) {
				return
			}
		}
	}
}

// Read returns a text and the SHA-256 of it.
func (t Texts) Read(_ context.Context, file File) (data []byte, sum string, err error) {
	text, ok := t[file.Path]
	if !ok {
		return nil, "", &FileError{Kind: KindVanished, Verb: "read", Path: file.Path, Reason: fmt.Sprintf("there is no text %q", file.Path)}
	}
	hash := sha256.Sum256([]byte(text))
	return []byte(text), hex.EncodeToString(hash[:]), nil
}

// Hash returns the SHA-256 of a text.
func (t Texts) Hash(ctx context.Context, file File) (sum string, err error) {
	_, sum, err = t.Read(ctx, file)
	return sum, err
}

// Exists reports whether a text has that name.
func (t Texts) Exists(name string) bool {
	_, ok := t[name]
	return ok
}

// Dir says in messages where texts are.
func (t Texts) Dir() string { return "the texts of the call" }
