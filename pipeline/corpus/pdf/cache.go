package pdf

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/klippa-app/go-pdfium"
	"github.com/tetratelabs/wazero"
)

// Compile fills a cache directory with the compiled engine.
func Compile(ctx context.Context, cacheDir string) error {
	e := newEngine(Options{CacheDir: cacheDir}.withDefaults())
	pool, err := e.openCached(ctx)
	e.pool = pool
	return errors.Join(err, e.close())
}

// openCached loads the engine from the cache directory, which it fills first when
// it is empty, or when what stands in it does not load: a file that was cut short
// would stand in the way of every PDF for good.
func (e *engine) openCached(ctx context.Context) (pdfium.Pool, error) {
	dir := e.options.CacheDir
	if isCompiled(dir) {
		if pool, err := e.loadFrom(dir); err == nil {
			return pool, nil
		}
		sweep(dir, 0)
	}
	sweep(dir, abandoned)
	if err := tryWriting(dir); err != nil {
		return nil, err // before the time is spent
	}
	if e.options.Compile != nil {
		if err := e.options.Compile(ctx, dir); err != nil {
			return nil, err
		}
	}
	return e.loadFrom(dir)
}

func (e *engine) loadFrom(dir string) (pdfium.Pool, error) {
	cache, err := wazero.NewCompilationCacheWithDir(dir)
	if err != nil {
		return nil, err
	}
	pool, err := e.load(cache)
	if err != nil {
		return nil, errors.Join(err, cache.Close(context.Background()))
	}
	e.cache = cache
	return pool, nil
}

// unfinished is how the library's names of files end that it is writing.
const unfinished = ".tmp"

// abandoned is the age at which such a file's writer is taken for dead: writing
// takes a fraction of a second.
const abandoned = time.Hour

// versions are the library's directories in a cache directory, one a version of it.
func versions(dir string) []string { return within(dir, "wazero-") }

// cached are the files of a cache directory, by the place where the library
// keeps them.
func cached(dir string) []string {
	var files []string
	for _, version := range versions(dir) {
		files = append(files, within(version, "")...)
	}
	return files
}

// within lists what a directory holds whose name begins so; nothing when it
// cannot be read. A pattern would take signs in the directory's own name for its.
func within(dir, prefix string) []string {
	entries, _ := os.ReadDir(dir)
	var names []string
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), prefix) {
			names = append(names, filepath.Join(dir, entry.Name()))
		}
	}
	return names
}

// isCompiled reports whether a cache directory holds a compiled engine. A wrong
// answer costs memory, nothing else.
func isCompiled(dir string) bool {
	for _, name := range cached(dir) {
		if !strings.HasSuffix(name, unfinished) {
			return true
		}
	}
	return false
}

// sweep removes what processes that were killed left unfinished that long ago,
// and everything when age is 0. Another process that reads a file goes on
// reading it, and one that writes compiles for itself.
func sweep(dir string, age time.Duration) {
	for _, name := range cached(dir) {
		info, err := os.Lstat(name)
		if err == nil && (age == 0 || strings.HasSuffix(name, unfinished) && time.Since(info.ModTime()) > age) {
			_ = os.RemoveAll(name) // what stays is met again when it is loaded
		}
	}
}

// tryWriting finds out whether the directory can be written to.
func tryWriting(dir string) error {
	cache, err := wazero.NewCompilationCacheWithDir(dir) // makes the directories
	if err != nil {
		return err
	}
	if err := cache.Close(context.Background()); err != nil {
		return err
	}
	for _, version := range versions(dir) {
		file, err := os.CreateTemp(version, "probe.*"+unfinished)
		if err != nil {
			return err
		}
		_ = file.Close()
		if err := os.Remove(file.Name()); err != nil {
			return err
		}
	}
	return nil
}
