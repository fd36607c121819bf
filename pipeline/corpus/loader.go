package corpus

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode"
)

// Loader reads files under a root and parses them. It is safe for concurrent
// use.
type Loader struct {
	root    Tree
	parsers map[Format]Parser
	limits  Limits
}

// NewLoader returns a loader that knows the given formats. The size of a file
// is bounded by the root; limits bound what it expands to.
func NewLoader(root Tree, parsers map[Format]Parser, limits Limits) *Loader {
	return &Loader{root: root, parsers: parsers, limits: limits.WithDefaults()}
}

// Load reads and parses one file, and returns the SHA-256 of its bytes with it.
// Errors are *FileError, but for a done context. The sum is also returned when
// parsing failed, so that a file that cannot be parsed is known again.
func (l *Loader) Load(ctx context.Context, file File) (*Document, string, error) {
	data, sum, err := l.root.Read(ctx, file)
	if err != nil {
		return nil, "", err
	}
	document, err := l.Parse(ctx, file, data)
	return document, sum, err
}

// Parse parses the bytes of a file. A panic in a parser is the file's error, as
// is a result that breaks what Document promises.
func (l *Loader) Parse(ctx context.Context, file File, data []byte) (document *Document, err error) {
	parser, ok := l.parsers[file.Format]
	if !ok {
		return nil, &FileError{Kind: KindFormat, Verb: "parse", Path: file.Path, Reason: fmt.Sprintf("no parser for %q files", file.Format)}
	}
	defer recoverDamage(file, &err)
	document, err = parser.Parse(ctx, file, data, l.limits)
	if err == nil {
		dropUnseen(document)
		err = document.Check()
	}
	if err != nil {
		return nil, fileError(ctx, file, err)
	}
	return document, nil
}

// dropUnseen empties a document in whose text there is nothing to see: white
// space, byte-order marks, joiners.
func dropUnseen(document *Document) {
	seen := func(r rune) bool { return !unicode.IsSpace(r) && !unicode.Is(unicode.Cf, r) && !isControl(r) }
	if len(document.Pages) == 0 && !strings.ContainsFunc(document.Text, seen) {
		document.Text, document.Blocks, document.Sections = "", nil, nil
	}
}

func recoverDamage(file File, err *error) {
	if problem := recover(); problem != nil {
		*err = &FileError{Kind: KindDamaged, Verb: "parse", Path: file.Path, Reason: fmt.Sprintf("the parser gave up: %v", problem)}
	}
}

// fileError makes any error of a parser the file's own.
func fileError(ctx context.Context, file File, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if own, ok := errors.AsType[*FileError](err); ok {
		if own.Path == "" {
			withPath := *own
			withPath.Path = file.Path
			return &withPath
		}
		return err
	}
	return &FileError{Kind: KindDamaged, Verb: "parse", Path: file.Path, Reason: err.Error()}
}
