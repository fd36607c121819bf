package pdf

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"graphmill/pipeline/corpus"
)

// compiledFile is the compiled engine, and where it stands in a cache directory.
func compiledFile(t *testing.T) (name string, data []byte) {
	t.Helper()
	parse(t, buildPDF(column(72, 700, "A page.")))
	kept := cached(shared.options.CacheDir)
	if len(kept) != 1 {
		t.Fatalf("the cache holds %v", kept)
	}
	data, err := os.ReadFile(kept[0])
	if err != nil {
		t.Fatal(err)
	}
	name, err = filepath.Rel(shared.options.CacheDir, kept[0])
	if err != nil {
		t.Fatal(err)
	}
	return name, data
}

func notesFrom(t *testing.T, options Options) []string {
	t.Helper()
	parser := New(options)
	defer func() {
		if err := parser.Close(); err != nil {
			t.Error(err)
		}
	}()
	document, err := parser.Parse(t.Context(), corpus.File{Path: "a.pdf", Format: corpus.PDF}, buildPDF(column(72, 700, "A page.")), corpus.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return document.Notes
}

func put(t *testing.T, name string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// It once failed every PDF until somebody deleted the file.
func TestADamagedCacheIsMadeAgain(t *testing.T) {
	name, whole := compiledFile(t)
	flipped := bytes.Clone(whole)
	flipped[len(flipped)/2] ^= 1
	for what, data := range map[string][]byte{"cut": whole[:len(whole)/2], "empty": nil, "flipped": flipped} {
		dir := filepath.Join(t.TempDir(), "pdf [1]") // no pattern
		put(t, filepath.Join(dir, name), data)
		notes := notesFrom(t, Options{CacheDir: dir, Compile: func(_ context.Context, dir string) error {
			if isCompiled(dir) {
				t.Errorf("%s: the damaged file is still there", what)
			}
			put(t, filepath.Join(dir, name), whole)
			return nil
		}})
		made, err := os.ReadFile(filepath.Join(dir, name))
		if len(notes) > 0 || err != nil || !bytes.Equal(made, whole) {
			t.Errorf("%s: notes %q; the cache is not whole (%v)", what, notes, err)
		}
	}
}

func TestWithoutACacheTheEngineServesThisRunAlone(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pdf")
	put(t, file, nil)
	compiles := 0
	compile := func(context.Context, string) error {
		compiles++
		return errors.New("no space left on device")
	}
	for what, dir := range map[string]string{"is not dir": file, "no space left": t.TempDir()} {
		notes := strings.Join(notesFrom(t, Options{CacheDir: dir, Compile: compile}), "\n")
		if !strings.Contains(notes, what) || !strings.Contains(notes, dir) || strings.Count(notes, "alone") != 1 {
			t.Errorf("%s: notes %q", what, notes)
		}
	}
	if compiles != 1 {
		t.Errorf("compiled elsewhere %d times; a directory that cannot be written to is not worth it", compiles)
	}
}

func TestACancelledCompilationIsNoFault(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	parser := New(Options{CacheDir: t.TempDir(), Compile: func(ctx context.Context, _ string) error {
		cancel()
		return ctx.Err()
	}})
	defer parser.Close()
	if _, err := parser.Parse(ctx, corpus.File{Path: "a.pdf"}, buildPDF(column(72, 700, "A page.")), corpus.Limits{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestWhatAKilledCompilationLeftIsRemoved(t *testing.T) {
	name, whole := compiledFile(t)
	dir := t.TempDir()
	old, young := filepath.Join(dir, name+".1.tmp"), filepath.Join(dir, name+".2.tmp")
	put(t, old, []byte("half"))
	put(t, young, []byte("half"))
	long := time.Now().Add(-2 * abandoned)
	if err := os.Chtimes(old, long, long); err != nil {
		t.Fatal(err)
	}
	compiled := false
	notesFrom(t, Options{CacheDir: dir, Compile: func(context.Context, string) error {
		compiled = true
		put(t, filepath.Join(dir, name), whole)
		return nil
	}})
	if !compiled {
		t.Error("an unfinished file passed for a compiled engine")
	}
	if _, err := os.Stat(old); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an abandoned file stays (%v)", err)
	}
	if _, err := os.Stat(young); err != nil {
		t.Errorf("another process's file was taken away: %v", err)
	}
}
