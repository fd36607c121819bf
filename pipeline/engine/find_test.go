package engine_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"graphmill/pipeline/engine"
	"graphmill/pipeline/engine/enginetest"
)

// makeDeps lays out a directory of dependencies with files of no use.
func makeDeps(t *testing.T, dir string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(dir, "engine"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"redis-server", "falkordb.so"} {
		overwrite(t, filepath.Join(dir, "engine", name), "nothing")
	}
	return dir
}

func TestFindLooksInOrder(t *testing.T) {
	named, fromEnvironment, data, working := t.TempDir(), t.TempDir(), t.TempDir(), t.TempDir()
	makeDeps(t, named)
	makeDeps(t, fromEnvironment)
	makeDeps(t, filepath.Join(data, "deps"))
	makeDeps(t, filepath.Join(working, ".deps"))
	t.Chdir(working)
	t.Setenv("GRAPHMILL_DEPS_DIR", fromEnvironment)
	find := func(options engine.Options, want string) {
		t.Helper()
		found, err := engine.Find(options)
		if err != nil || found.RedisServer != filepath.Join(want, "engine", "redis-server") {
			t.Errorf("found %+v, %v; want it in %s", found, err, want)
		}
	}
	find(engine.Options{DepsDir: named, DataDir: data}, named)
	find(engine.Options{DataDir: data}, fromEnvironment)
	t.Setenv("GRAPHMILL_DEPS_DIR", "")
	find(engine.Options{DataDir: data}, filepath.Join(data, "deps"))

	// One file named, the other looked up.
	found, err := engine.Find(engine.Options{DataDir: data, Module: filepath.Join(named, "engine", "falkordb.so")})
	if err != nil || !strings.HasPrefix(found.Module, named) || !strings.HasPrefix(found.RedisServer, data) {
		t.Errorf("found %+v, %v", found, err)
	}
}

func TestNothingOfAWorkingDirectoryIsRunUnlessItIsTheEngine(t *testing.T) {
	deps := enginetest.Options(t, t.TempDir()).DepsDir
	working := t.TempDir()
	t.Setenv("GRAPHMILL_DEPS_DIR", "")
	makeDeps(t, filepath.Join(working, ".deps"))
	if err := os.Mkdir(filepath.Join(working, "below"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Chdir(filepath.Join(working, "below"))
	_, err := engine.Find(engine.Options{DataDir: t.TempDir()})
	mustFail(t, err, "checksum is not the one in deps.lock", "make deps", "make install", "GRAPHMILL_DEPS_DIR", "FALKOR_HOST")
	if !errors.Is(err, engine.ErrMissing) {
		t.Errorf("got %v, want ErrMissing", err)
	}
	if err := os.RemoveAll(filepath.Join(working, ".deps")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(deps, filepath.Join(working, ".deps")); err != nil {
		t.Fatal(err)
	}
	if found, err := engine.Find(engine.Options{DataDir: t.TempDir()}); err != nil {
		t.Errorf("the real engine: %+v, %v", found, err)
	}
}

func TestWhereTheEngineIsNotIsSaidOnce(t *testing.T) {
	named := filepath.Join(t.TempDir(), "nothing")
	t.Chdir(t.TempDir())
	t.Setenv("GRAPHMILL_DEPS_DIR", named+"/")
	_, err := engine.Find(engine.Options{DepsDir: named, DataDir: t.TempDir()})
	mustFail(t, err, "were not found in "+named+", ", "a link to it in bin/ works")
	if n := strings.Count(err.Error(), named); n != 1 {
		t.Errorf("the folder is named %d times: %v", n, err)
	}
}

func TestThePinnedChecksumsAreThoseOfTheLockFile(t *testing.T) {
	lock, err := os.ReadFile("../../deps.lock")
	if err != nil {
		t.Fatal(err)
	}
	for _, sum := range engine.PinnedSums {
		if !strings.Contains(string(lock), sum) {
			t.Errorf("deps.lock does not have %s", sum)
		}
	}
}
