package main

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"graphmill/commandline/serving/servingtest"
	"graphmill/pipeline/engine/enginetest"
)

// TestServing has the conversations with a server. They share an engine; each has
// a graph of its own.
func TestServing(t *testing.T) {
	data := enginetest.Start(t).DataDir
	modelsDir, err := filepath.Abs("../models")
	if err != nil {
		t.Fatal(err)
	}
	queryd := ""
	if !testing.Short() { // without it, the one script that asks is skipped
		queryd = filepath.Join(t.TempDir(), "queryd")
		if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", queryd, "graphmill/queryd").CombinedOutput(); err != nil {
			t.Fatalf("build queryd: %v: %s", err, out)
		}
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/serving",
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"converse": servingtest.Converse("ingestd",
			"GRAPHMILL_DATA_DIR", "GRAPHMILL_DEPS_DIR", "GRAPHMILL_CONFIG", "GRAPHMILL_GRAPH", "GRAPHMILL_MCP_LOCK_TIMEOUT",
			"GRAPHRAG_MCP_READ_ONLY", "GRAPHRAG_MCP_FILES_ROOT", "GRAPHMILL_CORPUS_MAX_FILE_BYTES", "GRAPHMILL_CORPUS_MAX_ENTRIES", "GRAPHMILL_EMBEDDER_KIND", "GRAPHMILL_EMBEDDER_MODEL_DIR", "GRAPHMILL_EXTRACTORS_GLINER_MODEL_DIR", "GRAPHMILL_PLAN_LIMITS_MAX_CHUNKS")},
		Setup: func(env *testscript.Env) error {
			env.Setenv("GRAPHMILL_DATA_DIR", data)
			env.Setenv("GRAPHMILL_DEPS_DIR", depsDir(t))
			env.Setenv("GRAPHMILL_CONFIG", filepath.Join(env.WorkDir, "graphmill.yaml"))
			env.Setenv("GRAPHMILL_GRAPH", filepath.Base(env.WorkDir))
			env.Setenv("GRAPHMILL_EXTRACTORS_GLINER_MODEL_DIR", filepath.Join(modelsDir, "gliner-minilm-en"))
			env.Setenv("QUERYD", queryd)
			if filepath.Base(env.WorkDir) == "script-session" {
				env.Setenv("GRAPHMILL_EMBEDDER_MODEL_DIR", filepath.Join(modelsDir, "minilm"))
			}
			env.Setenv("HOME", filepath.Join(env.WorkDir, "home"))
			return nil
		},
	})
}
