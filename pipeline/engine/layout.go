package engine

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

const (
	// maxSocketPath: the address structure holds 108 bytes with its end, and the
	// server refuses the last one too.
	maxSocketPath = 106
	// minFree is what must be left on the disk to start: the server ends itself
	// when it cannot write, so that it is better not begun.
	minFree = 32 << 20
	// maxLog is the size at which the log is set aside at the next start.
	maxLog = 8 << 20
	// logTailLines and logTailBytes are how much of the log an error shows.
	logTailLines = 12
	logTailBytes = 16 << 10
)

// layout names the engine's files in one data directory.
type layout struct{ dir string }

// openLayout resolves the directory, so that two spellings are one engine, and
// makes it when asked to.
func openLayout(dataDir string, create bool) (layout, error) {
	if dataDir == "" {
		return layout{}, &Error{Verb: "open", Subject: "\"\"", Reason: "no data directory was named", Hint: "set --data-dir (GRAPHMILL_DATA_DIR)"}
	}
	absolute, err := filepath.Abs(dataDir)
	if err != nil {
		return layout{}, err
	}
	l := layout{filepath.Join(absolute, "engine")}
	if !create && !isDir(l.dir) {
		return layout{}, l.noGraph()
	}
	if create {
		if err := os.MkdirAll(l.dir, 0o700); err != nil {
			return layout{}, l.fileError("open", "make the directory", err)
		}
	}
	if l.dir, err = filepath.EvalSymlinks(l.dir); err != nil {
		return layout{}, l.fileError("open", "resolve the directory", err)
	}
	return l, l.checkPrivate()
}

// checkPrivate closes the directory to others, and refuses somebody else's.
func (l layout) checkPrivate() error {
	if err := makePrivate(l.dir); err != nil {
		return l.fileError("open", "make the directory private", err)
	}
	return nil
}

func (l layout) path(name string) string { return filepath.Join(l.dir, name) }

func (l layout) logFile() string { return l.path("engine.log") }

// writeFile replaces a file in one step and has it on disk when it returns.
func (l layout) writeFile(name string, content []byte) error {
	file, err := os.CreateTemp(l.dir, "."+name+"-*")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	_, err = file.Write(content)
	err = errors.Join(err, file.Sync(), file.Close())
	if err != nil {
		return err
	}
	if err := os.Rename(file.Name(), l.path(name)); err != nil {
		return err
	}
	dir, err := os.Open(l.dir)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// preflight refuses to start where the server would lose or hide something.
func (l layout) preflight() error {
	var disk syscall.Statfs_t
	if err := syscall.Statfs(l.dir, &disk); err == nil && disk.Bavail*uint64(disk.Bsize) < minFree {
		return l.fileError("start", fmt.Sprintf("only %d MB are free on its disk, %d are needed", disk.Bavail*uint64(disk.Bsize)>>20, minFree>>20), syscall.ENOSPC)
	}
	files, err := os.ReadDir(l.path("appendonlydir"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return l.fileError("start", "read appendonlydir", err)
	}
	manifest := isFile(l.path("appendonlydir/appendonly.aof.manifest"))
	if len(files) > 0 && !manifest {
		return &Error{
			Verb: "start", Subject: l.dir, Reason: "appendonlydir holds data but not its appendonly.aof.manifest: the graph would come up empty",
			Hint: "restore the directory from a backup, or move it away and ingest again",
		}
	}
	if !manifest && isFile(l.path("dump.rdb")) && !isFile(l.path("appendonly.aof")) {
		return &Error{
			Verb: "start", Subject: l.dir, Reason: "there is a dump.rdb but no append-only file: the graph would come up empty",
			Hint: fmt.Sprintf("to use what the dump holds: mv %s %s; otherwise move it away", l.path("dump.rdb"), l.path("appendonly.aof")),
		}
	}
	return nil
}

// socketPath is where a server that is started now will listen. One that runs is
// found where its record says: the environment may differ between two programs.
func (l layout) socketPath() (string, error) {
	if path := l.path("redis.sock"); len(path) <= maxSocketPath {
		return path, nil
	}
	sum := sha256.Sum256([]byte(l.dir))
	name := hex.EncodeToString(sum[:8]) + ".sock"
	parents := []string{fmt.Sprintf("/tmp/graphmill-%d", os.Geteuid())}
	if runtime := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(runtime) && isDir(runtime) {
		parents = []string{filepath.Join(runtime, "graphmill"), parents[0]}
	}
	var errs []error
	for _, parent := range parents {
		path := filepath.Join(parent, name)
		if len(path) > maxSocketPath {
			continue
		}
		err := os.Mkdir(parent, 0o700)
		if err == nil || errors.Is(err, os.ErrExist) {
			err = makePrivate(parent)
		}
		if err == nil {
			return path, nil
		}
		errs = append(errs, err)
	}
	return "", &Error{
		Verb: "start", Subject: l.dir, Reason: "the path is too long for a socket and no short directory can be used",
		Hint: "choose a shorter data directory (--data-dir, GRAPHMILL_DATA_DIR), or make that directory yours with mode 700", Err: errors.Join(errs...),
	}
}

// makePrivate gives a directory of ours mode 700. Not through a link: in /tmp
// anybody may have put one.
func makePrivate(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is not a directory", dir)
	}
	if owner := info.Sys().(*syscall.Stat_t).Uid; int(owner) != os.Geteuid() {
		return fmt.Errorf("%s belongs to user %d, not to this one (%d): the engine's files are private to one user; run as that user or choose another directory", dir, owner, os.Geteuid())
	}
	if info.Mode().Perm() == 0o700 {
		return nil
	}
	return os.Chmod(dir, 0o700)
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// openLog appends to the log and says where the new server's part begins.
func (l layout) openLog() (*os.File, int64, error) {
	if info, err := os.Stat(l.logFile()); err == nil && info.Size() > maxLog {
		if err := os.Rename(l.logFile(), l.logFile()+".1"); err != nil {
			return nil, 0, err
		}
	}
	file, err := os.OpenFile(l.logFile(), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, 0, err
	}
	info, err := file.Stat()
	if err != nil {
		file.Close()
		return nil, 0, err
	}
	return file, info.Size(), nil
}

// logTail is the end of what was logged since an offset.
func (l layout) logTail(since int64) string {
	file, err := os.Open(l.logFile())
	if err != nil {
		return ""
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return ""
	}
	from := max(since, info.Size()-logTailBytes)
	if from >= info.Size() {
		return ""
	}
	text := make([]byte, info.Size()-from)
	n, _ := file.ReadAt(text, from)
	lines := strings.Split(strings.TrimSpace(string(bytes.ToValidUTF8(text[:n], []byte("?")))), "\n")
	return "  " + strings.Join(lines[max(0, len(lines)-logTailLines):], "\n  ")
}
