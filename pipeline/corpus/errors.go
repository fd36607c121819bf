package corpus

import (
	"errors"
	"fmt"
)

// Kind says why a file could not be ingested.
type Kind string

// The kinds of failure. Their text is stable: reports and JSON carry it.
const (
	KindTooLarge   Kind = "too_large"
	KindVanished   Kind = "vanished"
	KindChanged    Kind = "changed"
	KindPermission Kind = "permission"
	KindNotRegular Kind = "not_regular"
	KindOutside    Kind = "outside_root"
	KindHidden     Kind = "hidden"
	KindExcluded   Kind = "excluded"
	KindBinary     Kind = "binary"
	KindEncoding   Kind = "encoding"
	KindEncrypted  Kind = "encrypted"
	KindImageOnly  Kind = "image_only"
	KindDamaged    Kind = "damaged"
	KindFormat     Kind = "unsupported_format"
	KindRead       Kind = "read"
)

// Sentinels to branch on with errors.Is; each matches every [*FileError] of
// its kind.
var (
	ErrTooLarge   = &FileError{Kind: KindTooLarge}
	ErrVanished   = &FileError{Kind: KindVanished}
	ErrChanged    = &FileError{Kind: KindChanged}
	ErrPermission = &FileError{Kind: KindPermission}
	ErrNotRegular = &FileError{Kind: KindNotRegular}
	ErrOutside    = &FileError{Kind: KindOutside}
	ErrHidden     = &FileError{Kind: KindHidden}
	ErrExcluded   = &FileError{Kind: KindExcluded}
	ErrBinary     = &FileError{Kind: KindBinary}
	ErrEncoding   = &FileError{Kind: KindEncoding}
	ErrEncrypted  = &FileError{Kind: KindEncrypted}
	ErrImageOnly  = &FileError{Kind: KindImageOnly}
	ErrDamaged    = &FileError{Kind: KindDamaged}
	ErrFormat     = &FileError{Kind: KindFormat}
	ErrRead       = &FileError{Kind: KindRead}
)

// FileError is why one file could not be ingested. It concerns that file
// alone: a run goes on with the others.
type FileError struct {
	Kind Kind
	// Verb is what was being done: "read", "decode", "parse".
	Verb string
	// Path is the file's path under the root.
	Path string
	// Reason is what happened, for people.
	Reason string
	// Hint says what to do next; may be empty.
	Hint string
	Err  error
}

// Error is "verb path: reason (hint)".
func (e *FileError) Error() string {
	verb := e.Verb
	if verb == "" {
		verb = "read"
	}
	text := fmt.Sprintf("%s %s: %s", verb, e.Path, e.Reason)
	if e.Reason == "" {
		text = fmt.Sprintf("%s %s: %s", verb, e.Path, e.Kind)
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	if e.Hint != "" {
		text += "; " + e.Hint
	}
	return text
}

// Unwrap returns the cause.
func (e *FileError) Unwrap() error { return e.Err }

// Is reports whether target is a FileError of the same kind.
func (e *FileError) Is(target error) bool {
	var other *FileError
	return errors.As(target, &other) && other.Kind == e.Kind && other.Path == "" && other.Reason == ""
}
