package corpus

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path"
	"sort"
	"strings"
	"unicode/utf8"
)

// Entry is one thing that listing found: a file to ingest, or one that is not
// ingested when Skipped is set.
type Entry struct {
	File    File
	Skipped *Skipped
}

// Skipped is a file or folder that is not ingested, and why.
type Skipped struct {
	Path   string
	Reason string
	// Err is set when this is a failure and not a kind of file that is left
	// alone: a folder that cannot be read, a name that cannot be stored.
	Err error
}

// ErrTooManyEntries ends a listing at Options.MaxEntries.
var ErrTooManyEntries = errors.New("too many entries under the files root")

// List walks the root in byte order of the paths. Hidden files and folders and
// what globs and ignore files exclude are not listed, nor is Options.Own. Symbolic
// links to what is listed under its own path are left out without a word; other
// links, special files and kinds that are not ingested come as Skipped. An error
// ends the listing: the entry limit, a done context, an ignore file that cannot be
// read.
func (r *Root) List(ctx context.Context) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		w := &walk{root: r, ctx: ctx, yield: yield}
		if r.options.Own != "" {
			w.own, _ = os.Stat(r.options.Own) // one that is not there is not met either
		}
		if err := w.folder("", 0, nil); err != nil && !errors.Is(err, errStopped) {
			yield(Entry{}, err)
		}
	}
}

var errStopped = errors.New("the caller stopped")

type walk struct {
	root    *Root
	ctx     context.Context
	yield   func(Entry, error) bool
	entries int
	own     fs.FileInfo // of Options.Own; nil when there is none
}

// child is a name in a folder with what it is; key orders paths by their bytes.
type child struct {
	path, key string
	info      fs.FileInfo
}

func (w *walk) folder(folder string, depth int, ignore ignoreRules) error {
	if err := w.ctx.Err(); err != nil {
		return fmt.Errorf("list files root: %w", err)
	}
	if depth > maxFolderDepth {
		return w.fail(folder, fmt.Errorf("folders nest deeper than %d; move its files further up", maxFolderDepth))
	}
	names, complete, err := w.root.readFolder(orDot(folder), w.root.options.MaxEntries-w.entries)
	if err != nil {
		if folder == "" {
			return unreadableRoot("list", w.root.dir, err)
		}
		return w.unreadable(folder, err)
	}
	if !complete {
		return fmt.Errorf("list files root %s: %w: it stops after %d (limit corpus.max_entries); name the folder that holds the documents, or exclude the others",
			w.root.dir, ErrTooManyEntries, w.root.options.MaxEntries)
	}
	w.entries += len(names)
	ignore, err = w.root.addIgnoreFile(ignore, folder, names)
	if err != nil {
		return err
	}
	for _, child := range w.children(folder, names) {
		if err := w.child(child, depth, ignore); err != nil {
			return err
		}
	}
	return nil
}

func (w *walk) children(folder string, names []string) []child {
	children := make([]child, 0, len(names))
	for _, name := range names {
		if hidden(name) {
			continue
		}
		c := child{path: path.Join(folder, name)}
		c.key = c.path
		// What vanished since the folder was read is as if it had never been.
		info, err := w.root.root.Lstat(c.path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			c.info = info
			if info.IsDir() {
				c.key += "/"
			}
		}
		children = append(children, c)
	}
	sort.Slice(children, func(i, j int) bool { return children[i].key < children[j].key })
	return children
}

func (w *walk) child(c child, depth int, ignore ignoreRules) error {
	if c.info == nil {
		return w.fail(c.path, errors.New("it cannot be looked at; check its permissions"))
	}
	folder := c.info.IsDir()
	if w.root.options.excluded(c.path) || ignore.ignored(c.path, folder) {
		return nil
	}
	if !utf8.ValidString(path.Base(c.path)) {
		return w.fail(c.path, errors.New("its name is not UTF-8; rename it"))
	}
	switch {
	case folder && w.own != nil && os.SameFile(w.own, c.info):
		return nil
	case folder:
		return w.folder(c.path, depth+1, ignore)
	case c.info.Mode()&fs.ModeSymlink != 0:
		return w.link(c.path)
	case !c.info.Mode().IsRegular():
		return w.skip(c.path, "it is "+specialKind(c.info.Mode()))
	case !w.root.options.included(c.path):
		return nil
	}
	format, known := formatOf(c.path)
	if !known {
		return w.skip(c.path, unsupported(c.path))
	}
	return w.emit(Entry{File: File{Path: c.path, Size: c.info.Size(), ModTime: c.info.ModTime(), Format: format}})
}

// link reports a symbolic link whose target will not be listed by itself.
func (w *walk) link(name string) error {
	real, err := w.root.realPath(name)
	if err == nil && !hiddenPath(real) {
		return nil
	}
	reason := "it is a link to a hidden file"
	switch {
	case errors.Is(err, ErrOutside):
		reason = "it is a link that leaves the files root"
	case errors.Is(err, ErrVanished):
		reason = "it is a link to nothing"
	case err != nil:
		reason = "it is a link that cannot be followed"
	}
	return w.skip(name, reason)
}

func unsupported(name string) string {
	if extension := path.Ext(name); extension != "" {
		return fmt.Sprintf("%s files are not ingested", strings.ToLower(extension))
	}
	return "files without an extension are not ingested"
}

func (w *walk) unreadable(folder string, err error) error {
	if errors.Is(err, fs.ErrNotExist) || replacedByLink(err) {
		return nil
	}
	return w.fail(folder, fmt.Errorf("the folder cannot be read: %w", plain(err)))
}

func (w *walk) skip(name, reason string) error {
	return w.emit(Entry{Skipped: &Skipped{Path: name, Reason: reason}})
}

func (w *walk) fail(name string, err error) error { return w.emit(failed(name, err.Error())) }

// failed is the entry of what was met under that name and cannot be ingested.
func failed(name, reason string) Entry {
	name = strings.ToValidUTF8(name, "\uFFFD")
	failure := &FileError{Kind: KindRead, Verb: "list", Path: name, Reason: reason}
	return Entry{Skipped: &Skipped{Path: name, Reason: reason, Err: failure}}
}

func (w *walk) emit(entry Entry) error {
	if !w.yield(entry, nil) {
		return errStopped
	}
	return nil
}

func orDot(folder string) string {
	if folder == "" {
		return "."
	}
	return folder
}

// plain is err without the path that its operation put in front.
func plain(err error) error {
	if inner, ok := errors.AsType[*os.PathError](err); ok {
		return inner.Err
	}
	return err
}

func ignoreEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
