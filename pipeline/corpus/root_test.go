//go:build unix

package corpus

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// tree writes files, whose content is their name when none is given, into a
// new folder.
func tree(t *testing.T, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, file := range files {
		name, content, given := strings.Cut(file, "=")
		if !given {
			content = name + "\n"
		}
		path := filepath.Join(dir, filepath.FromSlash(name))
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(t, os.WriteFile(path, []byte(content), 0o644))
	}
	return dir
}

func open(t *testing.T, dir string, options Options) *Root {
	t.Helper()
	root, err := Open(dir, options)
	must(t, err)
	t.Cleanup(func() { root.Close() })
	return root
}

// listing is what List yields: paths, and "path: reason" for what is skipped.
func listing(t *testing.T, root *Root) []string {
	t.Helper()
	var got []string
	for entry, err := range root.List(t.Context()) {
		must(t, err)
		if entry.Skipped != nil {
			got = append(got, entry.Skipped.Path+": "+entry.Skipped.Reason)
		} else {
			got = append(got, entry.File.Path)
		}
	}
	return got
}

func TestOpenRefuses(t *testing.T) {
	base := tree(t, "home/me/docs/a.md", "file.md")
	home := filepath.Join(base, "home", "me")
	t.Setenv("HOME", home)
	must(t, os.Symlink(home, filepath.Join(base, "link")))
	for name, dir := range map[string]string{
		"the root of the file system":      "/",
		"the root by another spelling":     "/./usr/..",
		"the home folder":                  home,
		"the home folder through a link":   filepath.Join(base, "link"),
		"a folder that contains it":        filepath.Join(base, "home"),
		"a folder far above it":            base,
		"a file":                           filepath.Join(base, "file.md"),
		"a folder that is not there":       filepath.Join(base, "nothing"),
		"no folder at all":                 "",
		"the home folder, with a way back": filepath.Join(home, "docs", ".."),
	} {
		if root, err := Open(dir, Options{}); err == nil {
			t.Errorf("%s was opened as %s", name, root.Dir())
		} else if !strings.HasPrefix(err.Error(), "open files root") {
			t.Errorf("%s: %v", name, err)
		}
	}
	open(t, filepath.Join(home, "docs"), Options{})
	if _, err := Open(filepath.Join(home, "docs"), Options{Include: []string{"[a"}}); err == nil {
		t.Error("an invalid glob was accepted")
	}
}

func TestListIsInByteOrderOfPaths(t *testing.T) {
	root := open(t, tree(t, "b.md", "a/z.md", "a-b.md", "a.md", "a/b/c.txt", "B.md", "ä.md"), Options{})
	got := listing(t, root)
	equal(t, got, []string{"B.md", "a-b.md", "a.md", "a/b/c.txt", "a/z.md", "b.md", "ä.md"})
	if !slices.IsSorted(got) {
		t.Error("not sorted")
	}
}

func TestListTellsWhatIsNotIngested(t *testing.T) {
	outside := tree(t, "secret.md")
	dir := tree(t, "a.md", "B.PDF", "c.docx", "README", ".hidden.md", ".git/config.md", "sub/.x/y.md", "sub/d.htm")
	must(t, os.Symlink("a.md", filepath.Join(dir, "inside.md")))
	must(t, os.Symlink("sub", filepath.Join(dir, "linked")))
	must(t, os.Symlink(filepath.Join(dir, "a.md"), filepath.Join(dir, "absolute.md")))
	must(t, os.Symlink(filepath.Join(outside, "secret.md"), filepath.Join(dir, "out.md")))
	must(t, os.Symlink("../"+filepath.Base(outside), filepath.Join(dir, "up")))
	must(t, os.Symlink("nothing", filepath.Join(dir, "broken.md")))
	must(t, os.Symlink("loop.md", filepath.Join(dir, "loop.md")))
	must(t, os.Symlink(".hidden.md", filepath.Join(dir, "tohidden.md")))
	must(t, makePipe(filepath.Join(dir, "pipe.md")))
	socket, err := net.Listen("unix", filepath.Join(dir, "s.md"))
	must(t, err)
	defer socket.Close()
	equal(t, listing(t, open(t, dir, Options{})), []string{
		"B.PDF",
		"README: files without an extension are not ingested",
		"a.md",
		"broken.md: it is a link to nothing",
		"c.docx: .docx files are not ingested",
		"loop.md: it is a link that cannot be followed",
		"out.md: it is a link that leaves the files root",
		"pipe.md: it is a named pipe",
		"s.md: it is a socket",
		"sub/d.htm",
		"tohidden.md: it is a link to a hidden file",
		"up: it is a link that leaves the files root",
	})
}

func TestListAppliesGlobsAndIgnoreFiles(t *testing.T) {
	files := []string{"a.md", "a.txt", "drafts/b.md", "drafts/keep.md", "x/drafts/c.md", "x/y/z.md", "x/y/gen.md", "x/log.md", "build/o.md", "{a}.md", "#c.md"}
	for name, test := range map[string]struct {
		options Options
		ignore  map[string]string
		want    string
	}{
		"include by name":           {Options{Include: []string{"*.txt"}}, nil, "a.txt"},
		"include by path":           {Options{Include: []string{"x/**/*.md"}}, nil, "x/drafts/c.md x/log.md x/y/gen.md x/y/z.md"},
		"exclude wins":              {Options{Include: []string{"*.md"}, Exclude: []string{"drafts", "x/**", "[#]*.md"}}, nil, "a.md build/o.md {a}.md"},
		"exclude a folder":          {Options{Exclude: []string{"x/", "build/**", "drafts/"}}, nil, "#c.md a.md a.txt {a}.md"},
		"ignore anywhere":           {Options{}, map[string]string{"": "drafts\n# comment\n\n*.txt\nbuild/  \r\n\\#c.md\n"}, "a.md x/log.md x/y/gen.md x/y/z.md {a}.md"},
		"ignore at the root only":   {Options{}, map[string]string{"": "/drafts\n/x\n/build\n"}, "#c.md a.md a.txt {a}.md"},
		"a folder pattern, no file": {Options{}, map[string]string{"": "a.md/\nx/\nbuild\ndrafts\n"}, "#c.md a.md a.txt {a}.md"},
		"negation":                  {Options{}, map[string]string{"": "*.md\n!keep.md\n"}, "a.txt drafts/keep.md"},
		"no way back from a folder": {Options{}, map[string]string{"": "drafts/\n!drafts/keep.md\nx\nbuild\n[#]*\n"}, "a.md a.txt {a}.md"},
		"braces are literal":        {Options{}, map[string]string{"": "{a}.md\nx\nbuild\ndrafts\n"}, "#c.md a.md a.txt"},
		"double stars":              {Options{}, map[string]string{"": "x/**/gen.md\n**/drafts\nbuild/**\n"}, "#c.md a.md a.txt x/log.md x/y/z.md {a}.md"},
		"nested files":              {Options{}, map[string]string{"": "*.md\n", "x": "!log.md\n/y/gen.md\n", "x/y": "!z.md\n"}, "a.txt x/log.md x/y/z.md"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := tree(t, files...)
			for folder, content := range test.ignore {
				must(t, os.WriteFile(filepath.Join(dir, folder, IgnoreFile), []byte(content), 0o644))
			}
			root := open(t, dir, test.options)
			equal(t, listing(t, root), strings.Fields(test.want))
			for _, file := range files {
				_, err := root.Resolve(file)
				if listed := slices.Contains(strings.Fields(test.want), file); listed != (err == nil) {
					t.Errorf("%s is listed: %v, but resolving it gives %v", file, listed, err)
				}
			}
		})
	}
}

func TestListStopsAtAnIgnoreFileItCannotRead(t *testing.T) {
	for name, content := range map[string]string{"a bad pattern": "a[\n", "too large": strings.Repeat("#", maxIgnoreBytes+1)} {
		root := open(t, tree(t, "a.md", IgnoreFile+"="+content), Options{})
		if err := listError(t.Context(), root); err == nil || !strings.Contains(err.Error(), IgnoreFile) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func listError(ctx context.Context, root *Root) error {
	for _, err := range root.List(ctx) {
		if err != nil {
			return err
		}
	}
	return nil
}

func TestListStopsAtTheEntryLimit(t *testing.T) {
	var files []string
	for i := range 30 {
		files = append(files, fmt.Sprintf("d%d/.hidden%d", i%3, i))
	}
	dir := tree(t, files...)
	must(t, listError(t.Context(), open(t, dir, Options{MaxEntries: 33})))
	err := listError(t.Context(), open(t, dir, Options{MaxEntries: 32}))
	if !errors.Is(err, ErrTooManyEntries) || !strings.Contains(err.Error(), "32") {
		t.Errorf("got %v", err)
	}
}

func TestListGoesOnAfterWhatItCannotRead(t *testing.T) {
	deep := strings.Repeat("d/", maxFolderDepth+1) + "x.md"
	dir := tree(t, "a.md", "z.md", deep)
	must(t, os.WriteFile(filepath.Join(dir, "caf\xe9.md"), nil, 0o644))
	var failed, files int
	for entry, err := range open(t, dir, Options{}).List(t.Context()) {
		must(t, err)
		switch {
		case entry.Skipped == nil:
			files++
		case entry.Skipped.Err != nil:
			failed++
		}
	}
	if files != 2 || failed != 2 {
		t.Errorf("%d files and %d failures, want 2 and 2", files, failed)
	}
}

func TestListCanBeStoppedAndCancelled(t *testing.T) {
	root := open(t, tree(t, "a.md", "b.md", "c/d.md"), Options{})
	for range root.List(t.Context()) {
		break
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := listError(ctx, root); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestMatchGlob(t *testing.T) {
	for _, test := range []struct {
		glob, path string
		want       bool
	}{
		{"*.md", "a/b.md", true}, {"a/*.md", "a/b.md", true}, {"a/*.md", "a/c/b.md", false}, {"a/**/*.md", "a/b.md", true},
		{"./a/*", "a/b.md", true}, {"*", "a/b", true}, {"**", "a/b", true}, {"[", "[", false}, {"*.{md,txt}", "x/y.txt", true},
	} {
		if got := MatchGlob(test.glob, test.path); got != test.want {
			t.Errorf("%q matches %q: %v", test.glob, test.path, got)
		}
	}
}
