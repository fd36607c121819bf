//go:build unix

package corpus

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

func makePipe(path string) error { return syscall.Mkfifo(path, 0o644) }

func listed(t *testing.T, root *Root, path string) File {
	t.Helper()
	for entry, err := range root.List(t.Context()) {
		must(t, err)
		if entry.Skipped == nil && entry.File.Path == path {
			return entry.File
		}
	}
	t.Fatalf("%s is not listed", path)
	return File{}
}

func TestReadGivesBytesAndSum(t *testing.T) {
	content := strings.Repeat("x", readBlock+5)
	root := open(t, tree(t, "a/b.md="+content), Options{})
	file := listed(t, root, "a/b.md")
	data, sum, err := root.Read(t.Context(), file)
	must(t, err)
	want := sha256.Sum256([]byte(content))
	if string(data) != content || sum != hex.EncodeToString(want[:]) {
		t.Error("data or sum differ")
	}
	if again, err := root.Hash(t.Context(), file); err != nil || again != sum {
		t.Errorf("Hash gives %s, %v", again, err)
	}
	window, err := root.ReadWindow(t.Context(), file, int64(len(content)-3), 10)
	if err != nil || string(window) != "xxx" {
		t.Errorf("window %q, %v", window, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := root.Read(ctx, file); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled read gives %v", err)
	}
}

// Each attack happens between listing and reading.
func TestReadRefusesWhatIsNoLongerTheFile(t *testing.T) {
	outside := tree(t, "secret.md=outside")
	for name, test := range map[string]struct {
		attack func(dir string) error
		want   error
	}{
		"vanished": {func(dir string) error { return os.Remove(filepath.Join(dir, "sub/a.md")) }, ErrVanished},
		"grown": {func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "sub/a.md"), []byte("longer than it was"), 0o644)
		}, ErrChanged},
		"another time": {func(dir string) error {
			return os.Chtimes(filepath.Join(dir, "sub/a.md"), time.Time{}, time.Unix(1, 0))
		}, ErrChanged},
		"a link out":    {swap("sub/a.md", filepath.Join(outside, "secret.md")), ErrNotRegular},
		"a link inside": {swap("sub/a.md", "../.env.md"), ErrNotRegular},
		"folder out":    {swap("sub", outside), ErrNotRegular},
		"folder inside": {swap("sub", ".hidden"), ErrNotRegular},
		"a loop":        {swap("sub", "sub"), ErrNotRegular},
		"a pipe": {func(dir string) error {
			return errors.Join(os.Remove(filepath.Join(dir, "sub/a.md")), makePipe(filepath.Join(dir, "sub/a.md")))
		}, ErrNotRegular},
		"a folder that is a pipe": {func(dir string) error {
			return errors.Join(os.RemoveAll(filepath.Join(dir, "sub")), makePipe(filepath.Join(dir, "sub")))
		}, ErrNotRegular},
		"a device": {swap("sub/a.md", "/dev/zero"), ErrNotRegular},
		"a folder": {func(dir string) error {
			return errors.Join(os.Remove(filepath.Join(dir, "sub/a.md")), os.Mkdir(filepath.Join(dir, "sub/a.md"), 0o755))
		}, ErrNotRegular},
	} {
		t.Run(name, func(t *testing.T) {
			dir := tree(t, "sub/a.md", ".env.md=hidden", ".hidden/a.md=hidden")
			root := open(t, dir, Options{})
			file := listed(t, root, "sub/a.md")
			must(t, test.attack(dir))
			data, sum, err := root.Read(t.Context(), file)
			if !errors.Is(err, test.want) || data != nil || sum != "" {
				t.Errorf("got %q, %v", data, err)
			}
			if err != nil && !strings.Contains(err.Error(), "sub/a.md") {
				t.Errorf("%v does not name the file", err)
			}
		})
	}
}

func swap(path, target string) func(dir string) error {
	return func(dir string) error {
		name := filepath.Join(dir, path)
		return errors.Join(os.RemoveAll(name), os.Symlink(target, name))
	}
}

// The handle itself must hold when the look before opening is overtaken.
func TestOpenBelowNeitherFollowsNorBlocks(t *testing.T) {
	dir := tree(t, "a.md", ".env=hidden")
	must(t, makePipe(filepath.Join(dir, "pipe")))
	must(t, os.Symlink(".env", filepath.Join(dir, "link")))
	root := open(t, dir, Options{})
	if _, err := openBelow(root.root, "link", false); err == nil {
		t.Error("a link was followed")
	}
	for _, folder := range []bool{true, false} {
		handle, err := openBelow(root.root, "pipe", folder)
		if err == nil {
			handle.Close()
		}
	}
	if _, err := openBelow(root.root, "../"+filepath.Base(dir)+"/a.md", false); err == nil {
		t.Error(".. was followed")
	}
}

func TestReadStaysWithTheFolderThatWasOpened(t *testing.T) {
	base := tree(t, "corpus/a.md=mine", "other/a.md=other")
	root := open(t, filepath.Join(base, "corpus"), Options{})
	must(t, os.Rename(filepath.Join(base, "corpus"), filepath.Join(base, "moved")))
	must(t, os.Symlink("other", filepath.Join(base, "corpus")))
	data, _, err := root.Read(t.Context(), listed(t, root, "a.md"))
	if err != nil || string(data) != "mine" {
		t.Errorf("got %q, %v", data, err)
	}
}

func TestReadRefusesPathsOutside(t *testing.T) {
	dir := tree(t, "corpus/a.md", "secret.md")
	root := open(t, filepath.Join(dir, "corpus"), Options{})
	for path, want := range map[string]error{
		"../secret.md": ErrOutside, "/etc/passwd": ErrOutside, "": ErrOutside, ".": ErrOutside, "a/../../secret.md": ErrOutside, ".x.md": ErrHidden, "b/.x/y.md": ErrHidden,
	} {
		if data, _, err := root.Read(t.Context(), File{Path: path}); !errors.Is(err, want) {
			t.Errorf("%q gives %q, %v", path, data, err)
		}
	}
}

func TestReadBoundsTheFile(t *testing.T) {
	root := open(t, tree(t, "a.md=12345", "b.md=123456"), Options{MaxFileBytes: 5})
	if _, _, err := root.Read(t.Context(), listed(t, root, "a.md")); err != nil {
		t.Error(err)
	}
	_, _, err := root.Read(t.Context(), listed(t, root, "b.md"))
	if !errors.Is(err, ErrTooLarge) || !strings.Contains(err.Error(), "corpus.max_file_bytes") || !strings.Contains(err.Error(), "5") {
		t.Errorf("got %v", err)
	}
}

func TestReadWithoutPermission(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("the super-user may read everything")
	}
	dir := tree(t, "a.md", "shut/b.md")
	root := open(t, dir, Options{})
	file := listed(t, root, "a.md")
	must(t, os.Chmod(filepath.Join(dir, "a.md"), 0))
	must(t, os.Chmod(filepath.Join(dir, "shut"), 0))
	defer os.Chmod(filepath.Join(dir, "shut"), 0o755)
	if _, _, err := root.Read(t.Context(), file); !errors.Is(err, ErrPermission) {
		t.Errorf("got %v", err)
	}
	if got := listing(t, root); len(got) != 2 || !strings.HasPrefix(got[1], "shut: the folder cannot be read") {
		t.Errorf("got %q", got)
	}
}

func TestMatchArguments(t *testing.T) {
	const nfd, nfc = "cafe\u0301.md", "caf\u00e9.md"
	dir := tree(t, "a.md", "a[1].md", "a1.md", "sub/b.md", "sub/deep/c.md", "file:odd.md", "x.docx", ".h.md", "star*.md", "starry.md", nfd)
	must(t, os.Symlink("sub", filepath.Join(dir, "link")))
	must(t, os.Symlink("a.md", filepath.Join(dir, "alias.md")))
	must(t, os.Symlink(filepath.Join(dir, "a.md"), filepath.Join(dir, "absolute.md")))
	must(t, os.Symlink("/etc", filepath.Join(dir, "etc")))
	root := open(t, dir, Options{})
	for name, test := range map[string]struct {
		patterns, want string
		unmatched      error
	}{
		"a path":                         {"a.md", "a.md", nil},
		"spelled in other ways":          {"./a.md a.md file:a.md alias.md absolute.md sub/../a.md", "a.md", ErrOutside},
		"an id":                          {"file:sub/b.md", "sub/b.md", nil},
		"a real path like an id":         {"file:odd.md", "file:odd.md", nil},
		"an id of a path like an id":     {"file:file:odd.md", "file:odd.md", nil},
		"brackets that exist":            {"a[1].md", "a[1].md", nil},
		"brackets that do not":           {"?[1].md", "a1.md", nil},
		"a star that exists":             {"star*.md", "star*.md", nil},
		"a star that does not":           {"st*.md", "star*.md starry.md", nil},
		"a star stays in its folder":     {"sub/*.md", "sub/b.md", nil},
		"two stars do not":               {"sub/**/*.md", "sub/b.md sub/deep/c.md", nil},
		"a glob after an id's prefix":    {"file:sub/*", "sub/b.md", nil},
		"a folder":                       {"sub/", "sub/b.md sub/deep/c.md", nil},
		"a linked folder":                {"link/deep/c.md", "sub/deep/c.md", nil},
		"composed for decomposed":        {nfc, nfd, nil},
		"nothing there":                  {"none.md", "", ErrVanished},
		"a glob for nothing":             {"none*.md", "", ErrVanished},
		"hidden":                         {".h.md", "", ErrHidden},
		"not ingested":                   {"x.docx", "", ErrFormat},
		"above":                          {"../a.md", "", ErrOutside},
		"absolute":                       {"/etc/passwd", "", ErrOutside},
		"through a link out of the root": {"etc/passwd", "", ErrOutside},
	} {
		t.Run(name, func(t *testing.T) {
			files, unmatched, err := root.Match(t.Context(), strings.Fields(test.patterns))
			must(t, err)
			var got []string
			for _, file := range files {
				got = append(got, file.Path)
			}
			equal(t, got, strings.Fields(test.want))
			if test.unmatched == nil && len(unmatched) > 0 || test.unmatched != nil && (len(unmatched) != 1 || !errors.Is(unmatched[0].Err, test.unmatched)) {
				t.Errorf("unmatched: %v", unmatched)
			}
		})
	}
	if files, _, err := root.Match(t.Context(), []string{"."}); err != nil || len(files) != 9 {
		t.Errorf("the root itself gives %d files, %v", len(files), err)
	}
}

func TestResolveGivesSizeAndTimeAsListed(t *testing.T) {
	root := open(t, tree(t, "sub/a.md"), Options{})
	got, err := root.Resolve("./sub//a.md")
	must(t, err)
	if want := listed(t, root, "sub/a.md"); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if _, err := root.Resolve("sub"); !errors.Is(err, ErrNotRegular) {
		t.Errorf("a folder gives %v", err)
	}
	if !slices.Contains([]Format{Markdown}, got.Format) {
		t.Errorf("format %q", got.Format)
	}
}
