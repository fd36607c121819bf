package bucket_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"gocloud.dev/blob/fileblob"

	"graphmill/pipeline/corpus"
	"graphmill/pipeline/corpus/bucket"
	"graphmill/pipeline/corpus/bucket/s3test"
)

func TestMain(m *testing.M) {
	for _, variable := range s3test.Env() {
		name, value, _ := strings.Cut(variable, "=")
		os.Setenv(name, value)
	}
	os.Exit(m.Run())
}

// files are a corpus with what the rules are about.
var files = map[string]string{
	"a.txt": "Ada Lovelace met Charles Babbage.", "a/b.md": "# One\n\nText.", "a-b.txt": "x", "a/c/d.html": "<p>Hello</p>",
	"Über/café.md": "Ü", "with space+plus%41.txt": "odd", "empty.txt": "", "logo.png": "png", "noextension": "x",
	".hidden.txt": "hidden", ".git/x.txt": "hidden", "a/.secret/y.txt": "hidden",
	"drafts/one.txt": "draft", "drafts/two.md": "draft", "old/keep.txt": "keep", "old/drop.txt": "drop", "old/deep/drop.txt": "drop",
	".graphmillignore": "drop.txt\n!old/drop.txt\n", "old/.graphmillignore": "/deep/\n", "!first.txt": "stands before the ignore file",
	"a[1].txt": "glob", "line\nbreak.txt": "odd", "z/report.rst": "Title\n=====\n\nText.",
}

func write(t *testing.T, files map[string]string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func open(t *testing.T, address string, options corpus.Options) *corpus.Bucket {
	t.Helper()
	root, err := bucket.Open(t.Context(), address, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return root
}

// stores are the kinds of bucket that hold the files, below a prefix beside which
// there are others.
func stores(t *testing.T, files map[string]string, options corpus.Options) map[string]corpus.Tree {
	t.Helper()
	own := s3test.New(t)
	// Another's server, whose authors read the same documentation.
	memory := s3mem.New()
	other := httptest.NewServer(gofakes3.New(memory).Server())
	t.Cleanup(other.Close)
	if err := memory.CreateBucket("theirs"); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		own.Put("team/docs/"+name, text)
		if _, err := memory.PutObject("theirs", "docs/"+name, nil, strings.NewReader(text), int64(len(text)), nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, beside := range []string{"team/docs-old/x.txt", "team/docs", "x.txt"} {
		own.Put(beside, "beside")
	}
	onDisk := map[string]string{}
	for name, text := range files {
		onDisk["docs/"+strings.ReplaceAll(name, "\n", "__0xa__")] = text // as its driver writes it
	}
	driver, err := fileblob.OpenBucket(write(t, onDisk), nil)
	if err != nil {
		t.Fatal(err)
	}
	file, err := bucket.New(driver, "docs", "file", options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	return map[string]corpus.Tree{
		"file driver":  file,
		"own server":   open(t, own.Root("team/docs/"), options),
		"other server": open(t, "s3://theirs/docs?endpoint="+url.QueryEscape(other.URL), options),
	}
}

// seen is what a root lists and holds.
func seen(t *testing.T, root corpus.Tree) (lines []string) {
	t.Helper()
	for entry, err := range root.List(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if s := entry.Skipped; s != nil {
			lines = append(lines, fmt.Sprintf("%q skipped: %s %v", s.Path, s.Reason, s.Err))
			continue
		}
		data, sum, err := root.Read(t.Context(), entry.File)
		again, hashErr := root.Hash(t.Context(), entry.File)
		if err != nil || hashErr != nil || sum != again {
			t.Errorf("%s: %v, %v, %s and %s", entry.File.Path, err, hashErr, sum, again)
		}
		lines = append(lines, fmt.Sprintf("%q %d %s %s %q", entry.File.Path, entry.File.Size, entry.File.Format, sum, data))
	}
	return lines
}

func TestBucketsListAndReadWhatAFolderDoes(t *testing.T) {
	for name, options := range map[string]corpus.Options{
		"all":     {},
		"include": {Include: []string{"*.txt", "a/**"}},
		"exclude": {Exclude: []string{"drafts", "a/c/", "*.png"}},
		"both":    {Include: []string{"**/*.md"}, Exclude: []string{"drafts/**"}},
	} {
		t.Run(name, func(t *testing.T) {
			folder, err := corpus.Open(write(t, files), options)
			if err != nil {
				t.Fatal(err)
			}
			defer folder.Close()
			want := seen(t, folder)
			if len(want) < 2 {
				t.Fatalf("only %q", want)
			}
			for kind, root := range stores(t, files, options) {
				if got := seen(t, root); !slices.Equal(got, want) {
					t.Errorf("%s:\n%s\nwant\n%s", kind, strings.Join(got, "\n"), strings.Join(want, "\n"))
				}
			}
		})
	}
}

func TestBucketsMatchWhatAFolderDoes(t *testing.T) {
	options := corpus.Options{Exclude: []string{"drafts"}}
	folder, err := corpus.Open(write(t, files), options)
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	all := stores(t, files, options)
	for _, patterns := range [][]string{
		{"a.txt"}, {"file:a.txt", "./a.txt"}, {"a"}, {"a/"}, {"."}, {"a/**"}, {"*.txt"}, {"**/*.md"}, {"a[1].txt"}, {"cafe\u0301.md", "Über/cafe\u0301.md"},
		{"../a.txt"}, {"/etc/passwd"}, {".hidden.txt"}, {"a/.secret"}, {"drafts/one.txt"}, {"drafts"}, {"old/drop.txt", "old/deep/drop.txt"},
		{"logo.png"}, {"nothing.txt"}, {""}, {"a\x00b"}, {"[", "x*"}, {"line\nbreak.txt"}, {"with space+plus%41.txt"},
	} {
		want, wantNot, err := folder.Match(t.Context(), patterns)
		if err != nil {
			t.Fatal(err)
		}
		for kind, root := range all {
			got, gotNot, err := root.Match(t.Context(), patterns)
			if err != nil || !slices.EqualFunc(got, want, func(one, other corpus.File) bool { return one.Path == other.Path && one.Format == other.Format }) {
				t.Errorf("%s: %q: got %v, %v, want %v", kind, patterns, got, err, want)
			}
			if fmt.Sprint(gotNot) != fmt.Sprint(wantNot) {
				t.Errorf("%s: %q: got\n%v, want\n%v", kind, patterns, gotNot, wantNot)
			}
			for _, name := range patterns {
				_, one := root.Resolve(name)
				_, other := folder.Resolve(name)
				if fmt.Sprint(one) != fmt.Sprint(other) {
					t.Errorf("%s: resolve %q: got %v, want %v", kind, name, one, other)
				}
				if root.Exists(name) != folder.Exists(name) && name != "a/" && name != "./a.txt" {
					t.Errorf("%s: %q exists: %v", kind, name, root.Exists(name))
				}
			}
		}
	}
}

func TestManyObjectsAreListedByPages(t *testing.T) {
	many := map[string]string{}
	for i := range 2345 {
		many[fmt.Sprintf("%02d/%d.txt", i%37, i)] = "x"
	}
	var want []string
	for name := range many {
		want = append(want, name)
	}
	slices.Sort(want)
	for kind, root := range stores(t, many, corpus.Options{}) {
		if got := paths(t, root); !slices.Equal(got, want) {
			t.Errorf("%s: %d paths, in the order %.80q…", kind, len(got), got)
		}
	}
}

// More objects than are kept in memory are asked for twice, and an ignore file that
// stands behind them all counts all the same.
func TestMoreObjectsThanAreKept(t *testing.T) {
	server := s3test.New(t)
	for i := range 10_500 {
		server.Put(fmt.Sprintf("docs/!%05d.txt", i), "x")
	}
	server.Put("docs/.graphmillignore", "!*7.txt\n\\!*7.txt\n")
	root := open(t, server.Root("docs"), corpus.Options{})
	before := server.Lists()
	got := paths(t, root)
	if len(got) != 10_500*9/10 || !slices.IsSorted(got) {
		t.Errorf("%d paths", len(got))
	}
	if pages := server.Lists() - before; pages != 2*11 {
		t.Errorf("%d pages were asked for", pages)
	}
	limited := open(t, server.Root("docs"), corpus.Options{MaxEntries: 5000})
	for _, err := range limited.List(t.Context()) {
		if !errors.Is(err, corpus.ErrTooManyEntries) {
			t.Errorf("beyond the limit: %v", err)
		}
	}
}

func paths(t *testing.T, root corpus.Tree) (paths []string) {
	t.Helper()
	for entry, err := range root.List(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if entry.Skipped == nil {
			paths = append(paths, entry.File.Path)
		}
	}
	return paths
}

func TestKeysThatAreNoPathsFailOneByOne(t *testing.T) {
	server := s3test.New(t)
	server.Put("docs/good.txt", "x")
	server.Put("docs/", "")
	server.Put("docs/folder/", "")
	bad := []string{"/leading.txt", "../up.txt", "a/../b.txt", "a//b.txt", "./c.txt", "folder/full/", "nul\x00.txt", "\xff.txt", "\xff/x.txt"}
	for _, name := range bad {
		server.Put("docs/"+name, "x")
	}
	odd := []string{"bell\a.txt", "new\nline.txt", "tab\t.txt", "back\\slash.txt", "__0x2f__.txt", "a%2Fb.txt", "plus+ .txt", "C:x.txt", "\u202etxt.md"}
	for _, name := range odd {
		server.Put("docs/"+name, "content of "+name)
	}
	root := open(t, server.Root("docs"), corpus.Options{})
	var failed []string
	read := map[string]bool{}
	for entry, err := range root.List(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if s := entry.Skipped; s != nil {
			var own *corpus.FileError
			if !errors.As(s.Err, &own) || own.Kind != corpus.KindRead || !strings.Contains(s.Reason, "rename it") {
				t.Errorf("%q: %v", s.Path, s)
			}
			failed = append(failed, s.Path)
			continue
		}
		data, _, err := root.Read(t.Context(), entry.File)
		if want := "content of " + entry.File.Path; err != nil || entry.File.Path != "good.txt" && string(data) != want {
			t.Errorf("%q: %q, %v", entry.File.Path, data, err)
		}
		read[entry.File.Path] = true
	}
	if len(failed) != len(bad) {
		t.Errorf("%d of %d failed: %q", len(failed), len(bad), failed)
	}
	for _, name := range append(odd, "good.txt") {
		if !read[name] {
			t.Errorf("%q is not listed", name)
		}
	}
	if len(read) != len(odd)+1 {
		t.Errorf("listed: %v", read)
	}
	for _, name := range bad {
		if _, _, err := root.Read(t.Context(), corpus.File{Path: name}); err == nil {
			t.Errorf("%q was read", name)
		}
	}
}

func TestWindowsAndParts(t *testing.T) {
	text := rand.Text() + strings.Repeat("0123456789", 300_000)
	for kind, root := range stores(t, map[string]string{"a.txt": text}, corpus.Options{}) {
		file, err := root.Resolve("a.txt")
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range []int64{0, 7, 1<<20 - 3, int64(len(text)) - 5, int64(len(text)), int64(len(text)) + 9} {
			want := text[min(at, int64(len(text))):min(at+100, int64(len(text)))]
			if got, err := root.ReadWindow(t.Context(), file, at, 100); err != nil || string(got) != want {
				t.Errorf("%s: window at %d: %q, %v", kind, at, got, err)
			}
		}
		err = root.ReadParts(t.Context(), file, func(parts io.ReaderAt, size int64) error {
			data := make([]byte, 2_000_000)
			n, err := parts.ReadAt(data, 500_000)
			if size != int64(len(text)) || n != len(data) || err != nil || string(data) != text[500_000:2_500_000] {
				t.Errorf("%s: %d of %d bytes, %v", kind, n, size, err)
			}
			n, err = parts.ReadAt(data, size-4)
			if n != 4 || err == nil {
				t.Errorf("%s: %d bytes at the end, %v", kind, n, err)
			}
			return nil
		})
		if err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

func TestAddresses(t *testing.T) {
	server := s3test.New(t)
	server.Put("docs/a.txt", "x")
	plain := "s3://documents/docs?endpoint=" + url.QueryEscape(server.URL)
	name := open(t, plain, corpus.Options{}).Dir()
	for _, same := range []string{
		"s3://documents//docs/?endpoint=" + url.QueryEscape(server.URL+"/"), plain + "&region=eu-central-1", plain + "&use_path_style=true",
	} {
		if got := open(t, same, corpus.Options{}).Dir(); got != name {
			t.Errorf("%s is %s, and %s is %s", same, got, plain, name)
		}
	}
	for _, other := range []string{server.Root(""), server.Root("docs/a"), server.Root("doc")} {
		if got := open(t, other, corpus.Options{}).Dir(); got == name {
			t.Errorf("%s is %s", other, got)
		}
	}
	for _, wrong := range []string{
		"s3://", "s3:///docs", "s3:docs", "http://documents", "s3://documents/a#b", "s3://documents?endpoint=ftp://x", "s3://documents?endpoint=x",
		plain + "&use_path_style=maybe", plain + "&colour=red", strings.Replace(plain, "documents", "AKIAX:hushhush@documents", 1), "s3://documents/%zz?secret=hushhush",
		"s3://documents?endpoint=" + url.QueryEscape("http://AKIAX:hushhush@host"),
	} {
		root, err := bucket.Open(context.Background(), wrong, corpus.Options{})
		if err == nil || errors.Is(err, bucket.ErrUnreachable) || strings.Contains(err.Error(), "hushhush") {
			t.Errorf("%s: %v, %v", wrong, root, err)
		}
	}
}
