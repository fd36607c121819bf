package corpus

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"time"

	"golang.org/x/text/unicode/norm"
)

// Objects is a store of objects by keys, such as a bucket of S3's. It is safe for
// concurrent use, tries again by itself what fails on the way, and ends when the
// context does.
type Objects interface {
	// Page lists at most so many objects whose keys begin with prefix, in the order
	// of the keys' bytes if the store has them so. token is "" for the first page;
	// next is "" after the last. An error says what to look at.
	Page(ctx context.Context, prefix, token string, most int) (page []Object, next string, err error)
	// Open reads length bytes of an object from offset on, all that follow with -1.
	// An object that is not of the Version that is asked for is [ErrChanged], one
	// that may never be read another *[FileError], without a path.
	Open(ctx context.Context, object Object, offset, length int64) (Content, error)
	Close() error
}

// Object is a stored object. Version is another for another content; "" when
// the store has no such thing.
type Object struct {
	Key     string
	Size    int64
	ModTime time.Time
	Version string
}

// Content is an object that is being read; Size is of the whole.
type Content struct {
	io.ReadCloser
	Size    int64
	ModTime time.Time
}

// Bucket is the objects under a prefix, as a files root. It follows the rules of a
// folder: what would be hidden, excluded or skipped there is here.
type Bucket struct {
	objects Objects
	prefix  string // "" or with "/" at its end
	name    string
	options Options
	// patience is how long a request may go on without giving anything.
	patience time.Duration
}

// The bounds of requests.
const (
	// bucketPatience is beyond what a store that works takes for a page or a block.
	bucketPatience = time.Minute
	// pageObjects is the most that S3 lists in one reply.
	pageObjects = 1000
	// keptObjects are listed once and not twice: 2 MB of memory.
	keptObjects = 10_000
)

// NewBucket makes a files root of the objects under prefix; the graph knows it by
// name. It closes objects when it is closed.
func NewBucket(objects Objects, prefix, name string, options Options) (*Bucket, error) {
	options, err := options.withDefaults()
	if err != nil {
		return nil, err
	}
	if prefix = strings.Trim(prefix, "/"); prefix != "" {
		prefix += "/"
	}
	return &Bucket{objects: objects, prefix: prefix, name: name, options: options, patience: bucketPatience}, nil
}

// Dir is the name of the bucket's root.
func (b *Bucket) Dir() string { return b.name }

// Close lets go of the store.
func (b *Bucket) Close() error { return b.objects.Close() }

// Exists reports whether an object stands at path, or may: a store that gives no
// answer has not lost it.
func (b *Bucket) Exists(name string) bool {
	if !isPath(name) {
		return false
	}
	_, err := b.find(context.Background(), name)
	return !errors.Is(err, ErrVanished)
}

// find looks for the object at a path.
func (b *Bucket) find(ctx context.Context, name string) (Object, error) {
	page, _, err := b.page(ctx, b.prefix+name, "", 1)
	if err != nil {
		return Object{}, err
	}
	if len(page) == 0 || page[0].Key != b.prefix+name {
		return Object{}, noSuchFile(name)
	}
	return page[0], nil
}

// isFolder reports whether there are objects below a path.
func (b *Bucket) isFolder(ctx context.Context, name string) (bool, error) {
	page, _, err := b.page(ctx, b.prefix+name+"/", "", 1)
	return len(page) > 0, err
}

// page lists a page, and gives up when the store does not answer.
func (b *Bucket) page(ctx context.Context, prefix, token string, most int) (page []Object, next string, err error) {
	err = b.patiently(ctx, func(ctx context.Context, _ func()) error {
		page, next, err = b.objects.Page(ctx, prefix, token, most)
		return err
	})
	if err != nil && ctx.Err() == nil {
		err = fmt.Errorf("list files root %s: %w", b.name, err)
	}
	return page, next, err
}

// ErrSilent is the end of a request to which nothing came for long.
var ErrSilent = errors.New("the store gave no answer")

// patiently does something whose context ends when it has not called alive for the
// bucket's patience.
func (b *Bucket) patiently(ctx context.Context, do func(ctx context.Context, alive func()) error) error {
	inner, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timer := time.AfterFunc(b.patience, func() { cancel(ErrSilent) })
	defer timer.Stop()
	err := do(inner, func() { timer.Reset(b.patience) })
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case context.Cause(inner) == ErrSilent:
		return fmt.Errorf("%w for %s; check the endpoint and the network", ErrSilent, b.patience)
	}
	return err
}

// Match returns the files that the arguments of a command name, as [Root.Match] does.
func (b *Bucket) Match(ctx context.Context, patterns []string) (files []File, unmatched []Unmatched, err error) {
	return match(ctx, b, patterns)
}

// Resolve finds the file that path names, as [Root.Resolve] does.
func (b *Bucket) Resolve(name string) (File, error) {
	ctx := context.Background()
	real, known, err := b.named(ctx, name)
	if err == nil && !known {
		err = noSuchFile(name)
	}
	if err != nil {
		return File{}, err
	}
	file, folder, err := b.look(ctx, real)
	if err == nil && folder {
		err = &FileError{Kind: KindNotRegular, Verb: "find", Path: real, Reason: "it is a folder"}
	}
	return file, err
}

func (b *Bucket) named(ctx context.Context, argument string) (name string, known bool, err error) {
	candidates := []string{argument}
	if rest, ok := strings.CutPrefix(argument, FilePrefix); ok {
		candidates = append(candidates, rest)
	}
	for _, candidate := range candidates {
		real, err := b.realPath(ctx, candidate)
		if err == nil && hiddenPath(real) {
			err = &FileError{Kind: KindHidden, Verb: "find", Path: argument, Reason: "hidden files are refused"}
		}
		if !errors.Is(err, ErrVanished) {
			return real, err == nil, err
		}
	}
	return path.Clean(candidates[len(candidates)-1]), false, nil
}

// realPath is the path of an object or folder that a name is for: the same bytes,
// or else in another of Unicode's forms.
func (b *Bucket) realPath(ctx context.Context, name string) (string, error) {
	refuse := func(reason string) (string, error) {
		return "", &FileError{Kind: KindOutside, Verb: "find", Path: name, Reason: reason, Hint: "give a path relative to the files root"}
	}
	switch {
	case name == "" || strings.ContainsRune(name, 0):
		return "", &FileError{Kind: KindVanished, Verb: "find", Path: name, Reason: "it is no path"}
	case path.IsAbs(name):
		return refuse("an absolute path is refused")
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == ".." {
			return refuse("a path with .. is refused")
		}
	}
	clean := path.Clean(name)
	if clean == "." {
		return "", nil
	}
	for i, form := range []string{clean, norm.NFC.String(clean), norm.NFD.String(clean)} {
		if i > 0 && form == clean {
			continue
		}
		_, err := b.find(ctx, form)
		if !errors.Is(err, ErrVanished) {
			return form, err
		}
		if folder, err := b.isFolder(ctx, form); folder || err != nil {
			return form, err
		}
	}
	return "", noSuchFile(name)
}

func (b *Bucket) look(ctx context.Context, name string) (file File, folder bool, err error) {
	if name == "" {
		return File{}, true, nil
	}
	object, err := b.find(ctx, name)
	if errors.Is(err, ErrVanished) {
		if folder, err := b.isFolder(ctx, name); folder || err != nil {
			return File{}, folder, err
		}
	}
	if err != nil {
		return File{}, false, err
	}
	format, known := formatOf(name)
	if !known {
		return File{}, false, &FileError{Kind: KindFormat, Verb: "find", Path: name, Reason: unsupported(name)}
	}
	out, err := b.ignoredPath(ctx, name)
	if err != nil {
		return File{}, false, err
	}
	if out || !b.options.included(name) {
		return File{}, false, excludedError(name)
	}
	return b.file(name, format, object), false, nil
}

func (b *Bucket) file(name string, format Format, object Object) File {
	return File{Path: name, Size: object.Size, ModTime: object.ModTime, Format: format, Version: object.Version}
}

// Check asks the store whether the prefix may be listed.
func (b *Bucket) Check(ctx context.Context) error {
	_, _, err := b.page(ctx, b.prefix, "", 1)
	return err
}
