package main

import (
	"flag"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"graphmill/pipeline/llm/llmtest"
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
			server := llmtest.New(t, namesInPassages)
			env.Setenv("SERVER", server.BaseURL())
			env.Values["server"] = server
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"asked": timesAsked},
	})
}

// timesAsked wants the script's language model to have been called so often.
func timesAsked(ts *testscript.TestScript, neg bool, args []string) {
	want, err := strconv.Atoi(strings.Join(args, " "))
	ts.Check(err)
	if got := ts.Value("server").(*llmtest.Server).Counts().Calls; (got == want) == neg {
		ts.Fatalf("the model was asked %d times", got)
	}
}
