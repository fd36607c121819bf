//go:build unix

package corpus

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A mirroring run takes out what does not exist: a path too many is a document
// lost, one too few a document that stands twice.
func TestOnlyWhatIsCertainlyNotThereDoesNotExist(t *testing.T) {
	outside := tree(t, "far/x.md")
	dir := tree(t, "a.md", "left.png", "drafts/x.md", "sub/x.md", ".hidden/x.md", "plain")
	for link, target := range map[string]string{
		"alias.md": "a.md", "absolute.md": filepath.Join(dir, "a.md"), "moved": "sub", "deep": "moved", "dangling": "nowhere",
		"away": filepath.Join(outside, "far"), "circle": "circle", "secret": ".hidden", "shelved": "drafts", "away.md": filepath.Join(outside, "far/x.md"),
	} {
		must(t, os.Symlink(target, filepath.Join(dir, link)))
	}
	root := open(t, dir, Options{Exclude: []string{"drafts/**"}})
	for name, want := range map[string]bool{
		"a.md": true, "left.png": true, "drafts/x.md": true, "sub/x.md": true, ".hidden/x.md": true,
		"none.md": false, "none/x.md": false, "sub": false, "plain/x.md": false, "": false, "..": false, "../x.md": false, "/etc/passwd": false,
		"nul\x00.md": false, strings.Repeat("n", 300) + ".md": false,
		// What is listed under the path that a link leads to.
		"alias.md": false, "absolute.md": false, "moved/x.md": false, "deep/x.md": false, "dangling/x.md": false,
		// What no listing shows, and so nothing is known of.
		"away/x.md": true, "away.md": true, "circle/x.md": true, "secret/x.md": true, "shelved/x.md": true,
	} {
		if got := root.Exists(name); got != want {
			t.Errorf("Exists(%.40q) = %v", name, got)
		}
	}
}

func TestAnErrorOfTheDiskIsNoProofThatAFileIsGone(t *testing.T) {
	for err, gone := range map[error]bool{
		syscall.EIO: false, syscall.ESTALE: false, syscall.ENOTCONN: false, syscall.EACCES: false, syscall.ETIMEDOUT: false, syscall.EHOSTDOWN: false, syscall.ELOOP: false,
		fs.ErrNotExist: true, syscall.ENOENT: true, syscall.ENOTDIR: true, syscall.ENAMETOOLONG: true,
	} {
		if got := nothingThere(fmt.Errorf("stat: %w", &fs.PathError{Op: "lstat", Path: "a.md", Err: err})); got != gone {
			t.Errorf("%v: nothing there: %v", err, got)
		}
	}
}
