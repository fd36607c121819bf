package corpus

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path"
	"path/filepath"
	"sort"
	"strings"
	"syscall"

	"github.com/bmatcuk/doublestar/v4"
)

// DefaultMaxEntries is the number of entries after which listing a root stops:
// a folder with more is usually not the folder that was meant.
const DefaultMaxEntries = 100_000

// maxFolderDepth bounds how deep folders may nest below the root; each level
// costs one open per file read.
const maxFolderDepth = 200

// Options choose what a root holds. The zero value is every supported file.
type Options struct {
	// Include keeps only the files that match one of these globs; empty keeps
	// all. Exclude drops files and whole folders that match; it wins over
	// Include. Globs are matched against the path under the root ("**" crosses
	// folders); one without "/" is matched against the name in every folder.
	Include, Exclude []string
	// Own is the program's own folder, which holds no documents: where it lies under
	// the root it is not listed. "" is none; it need not be there yet.
	Own string
	// MaxFileBytes is the largest file that is read. 0 is DefaultMaxFileBytes.
	MaxFileBytes int64
	// MaxEntries is the number of entries, hidden and ignored ones too, after
	// which listing stops with an error. 0 is DefaultMaxEntries.
	MaxEntries int
}

// withDefaults fills in the defaults and refuses globs that cannot be read.
func (o Options) withDefaults() (Options, error) {
	if o.MaxFileBytes == 0 {
		o.MaxFileBytes = DefaultMaxFileBytes
	}
	if o.MaxEntries == 0 {
		o.MaxEntries = DefaultMaxEntries
	}
	for _, glob := range append(append([]string{}, o.Include...), o.Exclude...) {
		if !doublestar.ValidatePattern(glob) {
			return o, fmt.Errorf("open files root: glob %q is not valid; check its brackets and braces", glob)
		}
	}
	return o, nil
}

// Root is a folder that files may be read from. It holds on to the folder that
// was there when it was opened. It is safe for concurrent use.
type Root struct {
	dir     string // absolute, links resolved
	root    *os.Root
	options Options
}

// Open opens dir as a files root. The filesystem root, the home folder and
// folders that contain it are refused, as is a glob that cannot be read.
func Open(dir string, options Options) (*Root, error) {
	options, err := options.withDefaults()
	if err != nil {
		return nil, err
	}
	real, err := realFolder(dir)
	if err != nil {
		return nil, err
	}
	if err := refuseHome(real); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(real)
	if err != nil {
		return nil, unreadableRoot("open", real, err)
	}
	return &Root{dir: real, root: root, options: options}, nil
}

// Dir is the absolute path of the folder when it was opened, links resolved.
func (r *Root) Dir() string { return r.dir }

// Close lets go of the folder.
func (r *Root) Close() error { return r.root.Close() }

// Exists reports whether a file stands at path, or may, whatever its kind and also
// when globs or ignore files leave it out: what cannot be looked at is not gone. A
// path that leads by a link to a file which is listed under its own is none.
func (r *Root) Exists(name string) bool {
	if !filepath.IsLocal(name) {
		return false
	}
	info, err := r.root.Lstat(name)
	if err != nil {
		return !nothingThere(err)
	}
	if info.IsDir() {
		return false
	}
	if !r.throughLink(name) {
		return true
	}
	real, err := r.realPath(name)
	if err != nil {
		return !errors.Is(err, ErrVanished)
	}
	return hiddenPath(real) || !r.options.included(real)
}

// nothingThere reports whether err says for certain that there is no such file. A
// disk or a server that does not answer says nothing of the kind.
func nothingThere(err error) bool {
	for _, certain := range []error{fs.ErrNotExist, fs.ErrInvalid, syscall.ENOTDIR, syscall.ENAMETOOLONG, syscall.EINVAL} {
		if errors.Is(err, certain) {
			return true
		}
	}
	return false
}

// throughLink reports whether a link stands at the path, or at a folder on its way.
func (r *Root) throughLink(name string) bool {
	for at := name; at != "."; at = path.Dir(at) {
		if info, err := r.root.Lstat(at); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return true
		}
	}
	return false
}

func realFolder(dir string) (string, error) {
	if dir == "" {
		return "", errors.New("open files root: no folder given; name the folder that holds the documents")
	}
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("open files root %s: %w", dir, err)
	}
	real, err := filepath.EvalSymlinks(absolute)
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("open files root %s: there is no such folder; name the folder that holds the documents (--root), or mount it: %w", dir, plain(err))
	}
	if err != nil {
		return "", unreadableRoot("open", dir, err)
	}
	info, err := os.Stat(real)
	if err != nil {
		return "", fmt.Errorf("open files root %s: %w", dir, err)
	}
	if !info.IsDir() {
		return "", fmt.Errorf("open files root %s: it is not a folder; name the folder that holds the file", dir)
	}
	return real, nil
}

// unreadableRoot says what to do about a root that is there and cannot be read.
func unreadableRoot(verb, dir string, err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%s files root %s: this user may not read it; run as one who may, or change its permissions: %w", verb, dir, plain(err))
	}
	return fmt.Errorf("%s files root %s: %w", verb, dir, err)
}

// refuseHome compares folders and not names, so that no spelling of the home
// folder gets through.
func refuseHome(real string) error {
	const hint = "name the folder that holds the documents"
	if filepath.Dir(real) == real {
		return fmt.Errorf("open files root %s: the root of the file system is refused; %s", real, hint)
	}
	info, err := os.Stat(real)
	if err != nil {
		return fmt.Errorf("open files root %s: %w", real, err)
	}
	for _, home := range homeFolders() {
		for at := home; ; at = filepath.Dir(at) {
			if above, err := os.Stat(at); err == nil && os.SameFile(above, info) {
				if at == home {
					return fmt.Errorf("open files root %s: the home folder is refused; %s", real, hint)
				}
				return fmt.Errorf("open files root %s: it contains the home folder and is refused; %s", real, hint)
			}
			if filepath.Dir(at) == at {
				break
			}
		}
	}
	return nil
}

// homeFolders are the home folders by environment and by account: a changed
// HOME must not make the real one acceptable.
func homeFolders() []string {
	var homes []string
	add := func(home string) {
		if !filepath.IsAbs(home) {
			return
		}
		homes = append(homes, filepath.Clean(home))
		if real, err := filepath.EvalSymlinks(home); err == nil {
			homes = append(homes, real)
		}
	}
	if home, err := os.UserHomeDir(); err == nil {
		add(home)
	}
	if account, err := user.Current(); err == nil {
		add(account.HomeDir)
	}
	return homes
}

// formats are the kinds of file that are ingested, by lower-case extension.
func formatOf(name string) (Format, bool) {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".txt":
		return Text, true
	case ".md", ".markdown":
		return Markdown, true
	case ".rst":
		return RST, true
	case ".html", ".htm":
		return HTML, true
	case ".pdf":
		return PDF, true
	}
	return "", false
}

func hidden(name string) bool { return strings.HasPrefix(name, ".") }

func hiddenPath(path string) bool {
	for part := range strings.SplitSeq(path, "/") {
		if hidden(part) {
			return true
		}
	}
	return false
}

// included applies the include and exclude globs to a file.
func (o Options) included(path string) bool {
	if o.excluded(path) {
		return false
	}
	if len(o.Include) == 0 {
		return true
	}
	for _, glob := range o.Include {
		if MatchGlob(glob, path) {
			return true
		}
	}
	return false
}

// excluded applies the exclude globs to a file or folder.
func (o Options) excluded(path string) bool {
	for _, glob := range o.Exclude {
		if MatchGlob(strings.TrimSuffix(glob, "/"), path) {
			return true
		}
	}
	return false
}

// MatchGlob reports whether a glob of an include, exclude or plan rule matches
// the path under the root. "**" crosses folders; a glob without "/" is matched
// against the last element alone. An invalid glob matches nothing.
func MatchGlob(glob, path string) bool {
	glob = strings.TrimPrefix(glob, "./")
	if !strings.Contains(glob, "/") {
		path = path[strings.LastIndexByte(path, '/')+1:]
	}
	matched, err := doublestar.Match(strings.TrimPrefix(glob, "/"), path)
	return err == nil && matched
}

// readFolder returns the names in a folder, sorted, at most max of them and
// then ok is false.
func (r *Root) readFolder(path string, max int) (names []string, ok bool, err error) {
	handle, err := openBelow(r.root, path, true)
	if err != nil {
		return nil, false, err
	}
	defer handle.Close()
	for {
		batch, err := handle.Readdirnames(1024)
		names = append(names, batch...)
		if len(names) > max {
			return names[:max], false, nil
		}
		if err != nil {
			sort.Strings(names)
			return names, true, ignoreEOF(err)
		}
	}
}

// specialKind names what a file that is not a regular file is.
func specialKind(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	case mode&fs.ModeSymlink != 0:
		return "a symbolic link"
	case mode.IsDir():
		return "a folder"
	}
	return "a special file"
}
