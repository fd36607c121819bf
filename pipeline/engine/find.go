package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Names of the two files in a directory of dependencies, as `make deps` puts
// them, and what they must hash to (deps.lock) where a directory is not trusted.
const (
	serverFile = "engine/redis-server"
	moduleFile = "engine/falkordb.so"

	serverSHA256 = "bd8ecb501b10b57151209248a25e6311ebadb5acea94f7d123b334ee547282d7"
	moduleSHA256 = "84ff87446c8c2b4506f32baf675e607512f2a16f1b49e40fab26f505209a0335"
)

// Binaries are the files that make the engine.
type Binaries struct {
	// RedisServer is an executable, Module what it loads. Absolute paths.
	RedisServer, Module string
	// Dir is the directory of dependencies they were found in; "" when both were
	// given.
	Dir string
}

// DepsDirs lists the directories that may hold what `make deps` fetches, in the
// order they are looked in: the one given, $GRAPHMILL_DEPS_DIR, .deps beside the
// executable's parent, deps in the data directory. Empty arguments are left out, as
// is what was named before.
func DepsDirs(depsDir, dataDir string) []string {
	dirs := []string{depsDir, os.Getenv("GRAPHMILL_DEPS_DIR")}
	if executable, err := os.Executable(); err == nil {
		if real, err := filepath.EvalSymlinks(executable); err == nil {
			executable = real
		}
		dirs = append(dirs, filepath.Join(filepath.Dir(executable), "..", ".deps"))
	}
	if dataDir != "" {
		dirs = append(dirs, filepath.Join(dataDir, "deps"))
	}
	found := dirs[:0]
	for _, dir := range dirs {
		if dir != "" && !slices.Contains(found, filepath.Clean(dir)) {
			found = append(found, filepath.Clean(dir))
		}
	}
	return found
}

// workingDepsDirs are .deps in the working directory and above it. What lies there
// may have come with somebody else's documents, so that nothing in them is run
// unless its checksum is the one in deps.lock.
func workingDepsDirs() []string {
	dir, err := os.Getwd()
	if err != nil {
		return nil
	}
	var dirs []string
	for {
		dirs = append(dirs, filepath.Join(dir, ".deps"))
		parent := filepath.Dir(dir)
		if parent == dir {
			return dirs
		}
		dir = parent
	}
}

// Find looks for the engine's files: those named in the options, else in the
// directories of [DepsDirs], else in .deps in the working directory or above it.
// An error is [ErrMissing], says where it looked and what to do.
func Find(options Options) (Binaries, error) {
	given := Binaries{RedisServer: options.RedisServer, Module: options.Module}
	for _, file := range []struct{ key, path string }{{"engine.redis_server", given.RedisServer}, {"engine.module", given.Module}} {
		if file.path != "" && !isFile(file.path) {
			return Binaries{}, &Error{
				Verb: "find", Subject: file.path, Reason: file.key + " names a file that is not there",
				Hint: "correct the setting, or leave it out and run `make deps`", Err: ErrMissing,
			}
		}
	}
	if given.RedisServer != "" && given.Module != "" {
		return absolute(given)
	}
	trusted := DepsDirs(options.DepsDir, options.DataDir)
	for _, dir := range trusted {
		if found, whole := inDir(dir, given); whole {
			return absolute(found)
		}
	}
	var refused []string
	for _, dir := range workingDepsDirs() {
		found, whole := inDir(dir, given)
		if !whole {
			continue
		}
		if err := found.checkSums(); err != nil {
			refused = append(refused, err.Error())
			continue
		}
		return absolute(found)
	}
	reason := "redis-server and falkordb.so were not found in " + strings.Join(trusted, ", ") + ", nor in .deps in the working directory or above it"
	if len(refused) > 0 {
		reason += " (" + strings.Join(refused, "; ") + ")"
	}
	return Binaries{}, &Error{
		Verb: "find", Subject: options.DataDir, Reason: reason,
		Hint: "run `make deps`; a program that was copied out of its folder finds nothing: `make install` lays out what it needs, a link to it in bin/ works as well; " +
			"or set GRAPHMILL_DEPS_DIR to a directory that holds " + serverFile + " and " + moduleFile + ", or FALKOR_HOST to use a server",
		Err: ErrMissing,
	}
}

func inDir(dir string, given Binaries) (Binaries, bool) {
	found := Binaries{RedisServer: given.RedisServer, Module: given.Module, Dir: dir}
	if found.RedisServer == "" {
		found.RedisServer = filepath.Join(dir, serverFile)
	}
	if found.Module == "" {
		found.Module = filepath.Join(dir, moduleFile)
	}
	return found, isFile(found.RedisServer) && isFile(found.Module)
}

func (b Binaries) checkSums() error {
	for _, file := range []struct{ path, want string }{{b.RedisServer, serverSHA256}, {b.Module, moduleSHA256}} {
		if !strings.HasPrefix(file.path, b.Dir) {
			continue
		}
		sum, err := fileSHA256(file.path)
		if err != nil {
			return err
		}
		if sum != file.want {
			return fmt.Errorf("%s is not run: its checksum is not the one in deps.lock", file.path)
		}
	}
	return nil
}

func absolute(b Binaries) (Binaries, error) {
	var errs [3]error
	b.RedisServer, errs[0] = filepath.Abs(b.RedisServer)
	b.Module, errs[1] = filepath.Abs(b.Module)
	if b.Dir != "" {
		b.Dir, errs[2] = filepath.Abs(b.Dir)
	}
	return b, errors.Join(errs[:]...)
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

func fileSHA256(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	digest := sha256.New()
	if _, err := io.Copy(digest, file); err != nil {
		return "", err
	}
	return hex.EncodeToString(digest.Sum(nil)), nil
}
