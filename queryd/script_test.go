package main

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"graphmill/commandline/serving/servingtest"
	"graphmill/pipeline/engine/enginetest"
)

var update = flag.Bool("update", false, "rewrite the expected output in testdata/script")

// queryd runs as a process of its own: the test binary is the command, when it is
// called by that name.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"queryd": func() { os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) },
	})
}

// One engine with the graphs of [seeded] serves all of these.
func TestOnTheRealEngine(t *testing.T) {
	f := seeded(t)
	t.Run("mcp", func(t *testing.T) { testConversation(t, f) })
	t.Run("ends", func(t *testing.T) { testEnds(t, f) })
	t.Run("outcomes", func(t *testing.T) { testOutcomes(t, f) })
	t.Run("search", func(t *testing.T) { testSearch(t, f) })
	t.Run("peer", func(t *testing.T) { testPeer(t, f) })
	if testing.Short() {
		return // half a hundred processes, which the race detector slows down tenfold
	}
	t.Run("scripts", func(t *testing.T) { testScripts(t, f) })
	t.Run("login", func(t *testing.T) { testLogins(t, f) })
}

func testScripts(t *testing.T, f *enginetest.Fixture) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"converse": servingtest.Converse("queryd",
			"GRAPHMILL_DATA_DIR", "GRAPHMILL_DEPS_DIR", "GRAPHMILL_EMBEDDER_KIND", "GRAPHMILL_QUERYD_MAX_REPLY_CHARS", "FALKOR_HOST", "FALKOR_PORT")},
		Setup: func(env *testscript.Env) error {
			for name, value := range environment(t, f) {
				env.Setenv(name, value)
			}
			models, err := filepath.Abs("../models")
			if err != nil {
				return err
			}
			env.Setenv("MODELS", models)
			env.Setenv("HOME", filepath.Join(env.WorkDir, "home"))
			return nil
		},
	})
}

func environment(t testing.TB, f *enginetest.Fixture) map[string]string {
	t.Helper()
	deps, err := filepath.Abs("../.deps")
	must(t, err)
	if dir := os.Getenv("GRAPHMILL_DEPS_DIR"); dir != "" {
		deps = dir
	}
	return map[string]string{"GRAPHMILL_DATA_DIR": f.DataDir, "GRAPHMILL_DEPS_DIR": deps, "GRAPHMILL_EMBEDDER_KIND": "hash"}
}
