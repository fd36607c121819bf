package corpus

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// List lists the objects under the prefix as [Root.List] does a folder's files, in
// the store's order where there are more than fit in memory. Every object counts
// as an entry. An object whose key is no path under the root comes as Skipped with
// an error; the empty ones that stand for folders are left out.
func (b *Bucket) List(ctx context.Context) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		if err := b.list(ctx, yield); err != nil && !errors.Is(err, errStopped) {
			yield(Entry{}, err)
		}
	}
}

func (b *Bucket) list(ctx context.Context, yield func(Entry, error) bool) error {
	ignoreFiles, kept, err := b.survey(ctx)
	if err != nil {
		return err
	}
	w := &objectWalk{bucket: b, ctx: ctx, ignoreFiles: ignoreFiles, yield: yield}
	if kept != nil {
		for _, object := range kept {
			if err := w.object(object); err != nil {
				return err
			}
		}
		return ctx.Err()
	}
	return b.pages(ctx, func(page []Object) error {
		for _, object := range page {
			if err := w.object(object); err != nil {
				return err
			}
		}
		return nil
	})
}

// pages goes through all objects under the prefix, a page at a time.
func (b *Bucket) pages(ctx context.Context, do func(page []Object) error) error {
	for token := ""; ; {
		page, next, err := b.page(ctx, b.prefix, token, pageObjects)
		if err == nil {
			err = do(page)
		}
		if err != nil || next == "" {
			return err
		}
		token = next
	}
}

// survey finds the ignore files, which may stand behind files that they ignore. It
// also returns all objects, sorted, where they are few enough to be kept.
func (b *Bucket) survey(ctx context.Context) (ignoreFiles map[string]Object, kept []Object, err error) {
	ignoreFiles, kept = map[string]Object{}, []Object{}
	entries := 0
	err = b.pages(ctx, func(page []Object) error {
		if entries += len(page); entries > b.options.MaxEntries {
			return fmt.Errorf("list files root %s: %w: it stops after %d (limit corpus.max_entries); name the prefix that holds the documents",
				b.name, ErrTooManyEntries, b.options.MaxEntries)
		}
		if entries > keptObjects {
			kept = nil
		} else {
			kept = append(kept, page...)
		}
		for _, object := range page {
			if name := strings.TrimPrefix(object.Key, b.prefix); path.Base(name) == IgnoreFile && isPath(name) {
				ignoreFiles[folderOf(name)] = object
			}
		}
		return nil
	})
	slices.SortFunc(kept, func(one, other Object) int { return strings.Compare(one.Key, other.Key) })
	return ignoreFiles, kept, err
}

// folderOf is the folder of a path; "" is the root.
func folderOf(name string) string {
	if folder := path.Dir(name); folder != "." {
		return folder
	}
	return ""
}

// objectWalk goes through objects and knows the rules of the folder that it is in.
type objectWalk struct {
	bucket      *Bucket
	ctx         context.Context
	ignoreFiles map[string]Object // by folder
	yield       func(Entry, error) bool
	levels      []level // from the root to the folder
}

// level is a folder on the way to an object.
type level struct {
	folder string
	ignore ignoreRules
	out    bool // hidden, excluded or ignored, with all below
}

func (w *objectWalk) object(object Object) error {
	b := w.bucket
	name := strings.TrimPrefix(object.Key, b.prefix)
	if object.Size == 0 && (name == "" || strings.HasSuffix(name, "/")) {
		return nil
	}
	if !isPath(name) {
		return w.notAPath(name)
	}
	in, err := w.enter(folderOf(name))
	if err != nil {
		return err
	}
	if in.out || hidden(path.Base(name)) || in.ignore.ignored(name, false) || !b.options.included(name) {
		return nil
	}
	format, known := formatOf(name)
	if !known {
		return w.emit(Entry{Skipped: &Skipped{Path: name, Reason: unsupported(name)}})
	}
	return w.emit(Entry{File: b.file(name, format, object)})
}

// notAPath reports a key that could be no file's name: nothing is left out without
// a word, and nothing is ingested under a path that it does not have.
func (w *objectWalk) notAPath(name string) error {
	reason := "its key is no path: it has an empty, . or .. part, or a slash at an end; rename it"
	if !utf8.ValidString(name) {
		reason = "its name is not UTF-8; rename it"
	}
	if w.bucket.options.excluded(name) {
		return nil
	}
	if name == "" {
		name = strings.TrimSuffix(w.bucket.prefix, "/")
	}
	return w.emit(failed(name, reason))
}

// enter goes to a folder, and reads the ignore files on the way there.
func (w *objectWalk) enter(folder string) (level, error) {
	if len(w.levels) == 0 {
		rules, err := w.addIgnoreFile(nil, "")
		if err != nil {
			return level{}, err
		}
		w.levels = []level{{ignore: rules}}
	}
	for {
		top := w.levels[len(w.levels)-1]
		if top.folder == "" || top.folder == folder || strings.HasPrefix(folder, top.folder+"/") {
			break
		}
		w.levels = w.levels[:len(w.levels)-1]
	}
	for {
		top := w.levels[len(w.levels)-1]
		if top.folder == folder {
			return top, nil
		}
		rest := strings.TrimPrefix(strings.TrimPrefix(folder, top.folder), "/")
		part, _, _ := strings.Cut(rest, "/")
		next := level{folder: path.Join(top.folder, part), ignore: top.ignore}
		next.out = top.out || hidden(part) || w.bucket.options.excluded(next.folder) || top.ignore.ignored(next.folder, true)
		if !next.out {
			var err error
			if next.ignore, err = w.addIgnoreFile(next.ignore, next.folder); err != nil {
				return level{}, err
			}
		}
		w.levels = append(w.levels, next)
	}
}

func (w *objectWalk) addIgnoreFile(rules ignoreRules, folder string) (ignoreRules, error) {
	object, there := w.ignoreFiles[folder]
	if !there {
		return rules, nil
	}
	name := path.Join(folder, IgnoreFile)
	if object.Size > maxIgnoreBytes {
		return nil, fmt.Errorf("read %s: it is larger than %d bytes; shorten it", name, maxIgnoreBytes)
	}
	var data bytes.Buffer
	_, err := w.bucket.whole(w.ctx, w.bucket.file(name, Text, object), maxIgnoreBytes, data.Reset, func(block []byte) { data.Write(block) })
	if err != nil {
		return nil, fmt.Errorf("%w; make it readable or remove it", err)
	}
	added, err := parseIgnore(folder, data.Bytes())
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return append(slices.Clip(rules), added...), nil
}

func (w *objectWalk) emit(entry Entry) error {
	if !w.yield(entry, nil) {
		return errStopped
	}
	return nil
}

// ignoredPath applies the rules of every folder on the way to a file.
func (b *Bucket) ignoredPath(ctx context.Context, name string) (bool, error) {
	w := &objectWalk{bucket: b, ctx: ctx, ignoreFiles: map[string]Object{}}
	for folder := folderOf(name); ; folder = folderOf(folder) {
		object, err := b.find(ctx, path.Join(folder, IgnoreFile))
		switch {
		case err == nil:
			w.ignoreFiles[folder] = object
		case !errors.Is(err, ErrVanished):
			return false, err
		}
		if folder == "" {
			break
		}
	}
	in, err := w.enter(folderOf(name))
	return in.out || in.ignore.ignored(name, false), err
}
