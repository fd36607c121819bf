package main

import (
	"flag"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

var update = flag.Bool("update", false, "rewrite the expected output in testdata/script")

// ingestd runs as a process of its own in the tests: the test binary is the
// command, under that name on the PATH.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"ingestd": main,
	})
}

// Each script has a data directory, and so an engine, of its own; the last verb
// of each stops it.
func TestScripts(t *testing.T) {
	modelsDir, err := filepath.Abs("../models")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("GRAPHMILL_DATA_DIR", filepath.Join(env.WorkDir, "data"))
			env.Setenv("GRAPHMILL_DEPS_DIR", depsDir(t))
			env.Setenv("MODELS", modelsDir)
			env.Setenv("HOME", filepath.Join(env.WorkDir, "home"))
			return nil
		},
	})
}
