package corpus

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path"
	"sort"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
	"golang.org/x/text/unicode/norm"
)

// FilePrefix stands before a file's path in its document's id.
const FilePrefix = "file:"

// maxLinks is how many links one path may lead through.
const maxLinks = 40

// Unmatched is an argument that names no file to ingest, and why.
type Unmatched struct {
	Pattern string
	Err     error
}

// Match returns the files that the arguments of a command name, sorted, each
// once under its real path. An argument is a path, a file's id ("file:" and its
// path), a folder (all files in it) or a glob over paths under the root, in
// which "*" stays in a folder and "**" crosses them. What exists under the
// argument's very name is meant, even when the name holds *, ? or [ or starts
// with "file:". An error is one that ended a listing; an argument's own is in
// unmatched.
func (r *Root) Match(ctx context.Context, patterns []string) (files []File, unmatched []Unmatched, err error) {
	return match(ctx, r, patterns)
}

// matched is a files root that match works on.
type matched interface {
	List(ctx context.Context) iter.Seq2[Entry, error]
	named(ctx context.Context, argument string) (name string, known bool, err error)
	// look finds what stands under a real path: a file, or a folder.
	look(ctx context.Context, name string) (file File, folder bool, err error)
}

func match(ctx context.Context, r matched, patterns []string) (files []File, unmatched []Unmatched, err error) {
	found := make(map[string]File)
	globs := make(map[string]string) // glob → argument
	for _, pattern := range patterns {
		name, known, err := r.named(ctx, pattern)
		switch {
		case err != nil:
			unmatched = append(unmatched, Unmatched{pattern, err})
		case !known:
			globs[name] = pattern
		default:
			if err := addNamed(ctx, r, found, globs, pattern, name); err != nil {
				unmatched = append(unmatched, Unmatched{pattern, err})
			}
		}
	}
	missed, err := matchGlobs(ctx, r, globs, found)
	if err != nil {
		return nil, nil, err
	}
	for _, file := range found {
		files = append(files, file)
	}
	sort.Slice(files, func(i, j int) bool { return files[i].Path < files[j].Path })
	return files, append(unmatched, missed...), nil
}

// addNamed adds the file of that real path, or the glob for all in a folder.
func addNamed(ctx context.Context, r matched, found map[string]File, globs map[string]string, pattern, name string) error {
	file, folder, err := r.look(ctx, name)
	if err != nil {
		return err
	}
	if folder {
		glob := "**"
		if name != "" {
			glob = quoteGlob(name) + "/**"
		}
		globs[glob] = pattern
		return nil
	}
	found[file.Path] = file
	return nil
}

func (r *Root) look(_ context.Context, name string) (file File, folder bool, err error) {
	info, err := r.root.Lstat(orDot(name))
	if err != nil {
		return File{}, false, readError(name, err)
	}
	if info.IsDir() {
		return File{}, true, nil
	}
	file, err = r.file(name, info)
	return file, false, err
}

// Resolve finds the file that path names, under its real path on disk: case and
// Unicode form as stored, links resolved. It refuses what List does not list.
func (r *Root) Resolve(name string) (File, error) {
	real, known, err := r.named(context.Background(), name)
	if err != nil {
		return File{}, err
	}
	if !known {
		return File{}, noSuchFile(name)
	}
	info, err := r.root.Lstat(orDot(real))
	if err != nil {
		return File{}, readError(real, err)
	}
	return r.file(real, info)
}

// file checks that a real path may be ingested.
func (r *Root) file(name string, info fs.FileInfo) (File, error) {
	if !info.Mode().IsRegular() {
		return File{}, &FileError{Kind: KindNotRegular, Verb: "find", Path: name, Reason: "it is " + specialKind(info.Mode())}
	}
	format, known := formatOf(name)
	if !known {
		return File{}, &FileError{Kind: KindFormat, Verb: "find", Path: name, Reason: unsupported(name)}
	}
	ignored, err := r.ignoredPath(name)
	if err != nil {
		return File{}, err
	}
	if ignored || !r.options.included(name) || r.options.excludedAbove(name) {
		return File{}, excludedError(name)
	}
	return File{Path: name, Size: info.Size(), ModTime: info.ModTime(), Format: format}, nil
}

func excludedError(name string) error {
	return &FileError{Kind: KindExcluded, Verb: "find", Path: name,
		Reason: "it is excluded", Hint: "change corpus.include, corpus.exclude or " + IgnoreFile}
}

func noSuchFile(name string) error {
	return &FileError{Kind: KindVanished, Verb: "find", Path: name, Reason: "there is no such file under the files root"}
}

func (o Options) excludedAbove(name string) bool {
	for folder := path.Dir(name); folder != "."; folder = path.Dir(folder) {
		if o.excluded(folder) {
			return true
		}
	}
	return false
}

// named returns the real path of what an argument names. When nothing has that
// name, known is false and the argument, without "file:", is a glob.
func (r *Root) named(_ context.Context, argument string) (name string, known bool, err error) {
	candidates := []string{argument}
	if rest, ok := strings.CutPrefix(argument, FilePrefix); ok {
		candidates = append(candidates, rest)
	}
	for _, candidate := range candidates {
		real, err := r.realPath(candidate)
		if err == nil && hiddenPath(real) {
			err = &FileError{Kind: KindHidden, Verb: "find", Path: argument, Reason: "hidden files are refused"}
		}
		if !errors.Is(err, ErrVanished) {
			return real, err == nil, err
		}
	}
	return path.Clean(candidates[len(candidates)-1]), false, nil
}

func matchGlobs(ctx context.Context, r matched, globs map[string]string, found map[string]File) ([]Unmatched, error) {
	if len(globs) == 0 {
		return nil, nil
	}
	hits := make(map[string]bool)
	for entry, err := range r.List(ctx) {
		if err != nil {
			return nil, err
		}
		for glob := range globs {
			if entry.Skipped != nil {
				continue
			}
			if matched, err := doublestar.Match(glob, entry.File.Path); err == nil && matched {
				hits[glob] = true
				found[entry.File.Path] = entry.File
			}
		}
	}
	var missed []Unmatched
	for glob, pattern := range globs {
		if !hits[glob] {
			missed = append(missed, Unmatched{pattern, missedError(glob, pattern)})
		}
	}
	sort.Slice(missed, func(i, j int) bool { return missed[i].Pattern < missed[j].Pattern })
	return missed, nil
}

func missedError(glob, pattern string) error {
	if !doublestar.ValidatePattern(glob) {
		return fmt.Errorf("find %s: the glob is not valid; check its brackets and braces", pattern)
	}
	if strings.ContainsAny(glob, "*?[{") {
		return &FileError{Kind: KindVanished, Verb: "find", Path: pattern, Reason: "no file matches"}
	}
	return noSuchFile(pattern)
}

func quoteGlob(name string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "]", `\]`, "{", `\{`, "}", `\}`).Replace(name)
}

// realPath resolves a path under the root to the path that is on disk. It looks
// at names only; reading opens what it returns without following anything.
func (r *Root) realPath(name string) (string, error) {
	refuse := func(reason string) (string, error) {
		return "", &FileError{Kind: KindOutside, Verb: "find", Path: name, Reason: reason, Hint: "give a path relative to the files root"}
	}
	if name == "" || strings.ContainsRune(name, 0) {
		return "", &FileError{Kind: KindVanished, Verb: "find", Path: name, Reason: "it is no path"}
	}
	if path.IsAbs(name) || isAbsolute(name) {
		return refuse("an absolute path is refused")
	}
	var pending, real []string
	for _, part := range strings.Split(name, "/") {
		if part == ".." {
			return refuse("a path with .. is refused")
		}
		pending = append(pending, part)
	}
	for links := 0; len(pending) > 0; {
		part := pending[0]
		pending = pending[1:]
		if part == "" || part == "." {
			continue
		}
		if part == ".." {
			if len(real) == 0 {
				return refuse("it leaves the files root")
			}
			real = real[:len(real)-1]
			continue
		}
		stored, info, err := r.storedName(strings.Join(real, "/"), part)
		if err != nil {
			return "", readError(name, err)
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			real = append(real, stored)
			continue
		}
		if links++; links > maxLinks {
			return "", &FileError{Kind: KindNotRegular, Verb: "find", Path: name, Reason: "its links lead in a circle"}
		}
		target, err := r.linkTarget(path.Join(strings.Join(real, "/"), stored))
		if err != nil {
			return refuse("it leaves the files root")
		}
		if path.IsAbs(target) {
			real, target = nil, strings.TrimPrefix(target, "/")
		}
		pending = append(strings.Split(target, "/"), pending...)
	}
	return strings.Join(real, "/"), nil
}

// linkTarget reads a link. A target that is absolute and lies in the root comes
// back as "/" and the path under the root.
func (r *Root) linkTarget(name string) (string, error) {
	target, err := r.root.Readlink(name)
	if err != nil || !isAbsolute(target) {
		return target, err
	}
	rest, inside := strings.CutPrefix(target, r.dir)
	if !inside || (rest != "" && !os.IsPathSeparator(rest[0])) {
		return "", errors.New("the link is absolute")
	}
	return "/" + strings.TrimLeft(rest, "/"), nil
}

// storedName finds how a name is spelled in its folder: the same bytes, or else
// the entry that the file system takes it for, or else the only one that is
// equal in Unicode's composed form.
func (r *Root) storedName(folder, name string) (string, fs.FileInfo, error) {
	info, lookErr := r.root.Lstat(path.Join(folder, name))
	if lookErr != nil && !errors.Is(lookErr, fs.ErrNotExist) {
		return "", nil, lookErr
	}
	names, _, err := r.readFolder(orDot(folder), r.options.MaxEntries)
	if err != nil {
		if lookErr == nil {
			return name, info, nil
		}
		return "", nil, lookErr
	}
	var alike []string
	for _, candidate := range names {
		if candidate == name {
			return name, info, lookErr
		}
		if norm.NFC.String(candidate) == norm.NFC.String(name) || (lookErr == nil && strings.EqualFold(candidate, name)) {
			alike = append(alike, candidate)
		}
	}
	for _, candidate := range alike {
		other, err := r.root.Lstat(path.Join(folder, candidate))
		if err == nil && (os.SameFile(other, info) || (lookErr != nil && len(alike) == 1)) {
			return candidate, other, nil
		}
	}
	return name, info, lookErr
}
