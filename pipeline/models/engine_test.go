package models

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestLibraryIsLookedForInOrder(t *testing.T) {
	root := t.TempDir()
	place := func(dir string) string {
		path := filepath.Join(root, dir, "onnxruntime", libraryName())
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("library"), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	work := filepath.Join(root, "a", "b")
	if err := os.MkdirAll(work, 0o700); err != nil {
		t.Fatal(err)
	}
	places := Places{DepsDir: filepath.Join(root, "named"), Executable: filepath.Join(root, "install", "bin", "ingestd"), DataDir: filepath.Join(root, "data"), WorkDir: work}
	_, err := FindLibrary("", places)
	if err == nil || !strings.Contains(err.Error(), "make deps") || !strings.Contains(err.Error(), "1.26.0") || !strings.Contains(err.Error(), "models.engine") {
		t.Errorf("error is %v", err)
	}
	// From the last place to the first: each wins over those before.
	for _, dir := range []string{".deps", "a/b/.deps", "data/deps", "install/.deps", "named"} {
		want := place(filepath.FromSlash(dir))
		if got, err := FindLibrary("", places); err != nil || got != want {
			t.Errorf("got %s, %v, want %s", got, err, want)
		}
	}
	configured := place("own")
	if got, err := FindLibrary(configured, places); err != nil || got != configured {
		t.Errorf("got %s, %v, want %s", got, err, configured)
	}
	if _, err := FindLibrary(filepath.Join(root, "gone.so"), places); err == nil || !strings.Contains(err.Error(), "models.runtime") {
		t.Errorf("error is %v", err)
	}
}

func TestModelsAreFoundByNameAndByPath(t *testing.T) {
	for _, name := range []string{"minilm", inTree(minilm)} {
		dir, err := FindModel(name, Places{})
		if err != nil || filepath.Base(dir) != "minilm" || !filepath.IsAbs(dir) {
			t.Errorf("%s: %s, %v", name, dir, err)
		}
	}
	home := t.TempDir() // the folder above the program's is the data directory
	_, err := FindModel("no-such-model", Places{Executable: home + "/bin/queryd", DataDir: home, WorkDir: home})
	if err == nil || !strings.Contains(err.Error(), "--embedder-dir") || !strings.Contains(err.Error(), "make install") || strings.Count(err.Error(), home+"/models/") != 1 {
		t.Errorf("error is %v", err)
	}
}

func TestASecondEngineIsRefused(t *testing.T) {
	if _, err := NewONNXRuntime("whatever.so"); err == nil || !strings.Contains(err.Error(), "already open") {
		t.Errorf("error is %v", err)
	}
}

func TestModelsThatCannotBeLoadedSayWhy(t *testing.T) {
	dir := t.TempDir()
	damaged := filepath.Join(dir, "model.onnx")
	if err := os.WriteFile(damaged, []byte("no model"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := engine.Load(damaged, SessionOptions{}); err == nil || !strings.Contains(err.Error(), damaged) {
		t.Errorf("damaged file: %v", err)
	}
	if _, err := engine.Load(filepath.Join(dir, "gone.onnx"), SessionOptions{}); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("missing file: %v", err)
	}
	if _, err := LoadGLiNER(engine, inTree(minilm), SessionOptions{}); err == nil || !strings.Contains(err.Error(), "gliner_config.json") {
		t.Errorf("an embedder as GLiNER: %v", err)
	}
	if _, err := NewONNXEmbedder(engine, inTree(glinerTiny), EmbedderOptions{}); err == nil || !strings.Contains(err.Error(), "sentence model") {
		t.Errorf("a GLiNER model as embedder: %v", err)
	}
}

func TestSessionRefusesWrongInputsAndUseAfterClose(t *testing.T) {
	session, err := engine.Load(inTree(minilm, "model.onnx"), SessionOptions{})
	if err != nil {
		t.Fatal(err)
	}
	shape := []int64{1, 2}
	good := map[string]Tensor{}
	for _, name := range session.Inputs() {
		good[name] = Tensor{Shape: shape, Int64: []int64{1, 1}}
	}
	if _, err := session.Run(t.Context(), good); err != nil {
		t.Error(err)
	}
	for want, bad := range map[string]Tensor{
		"needs 2 values":         {Shape: shape, Int64: []int64{1}},
		"exactly one data field": {Shape: shape, Int64: []int64{1, 1}, Bool: []bool{true, true}},
		"is empty":               {Shape: []int64{0, 2}, Int64: []int64{1}},
		"run model":              {Shape: shape, Float32: []float32{1, 1}},
	} {
		inputs := map[string]Tensor{}
		for name, tensor := range good {
			inputs[name] = tensor
		}
		inputs["input_ids"] = bad
		if _, err := session.Run(t.Context(), inputs); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error is %v, want %q", err, want)
		}
	}
	if _, err := session.Run(t.Context(), map[string]Tensor{}); err == nil || !strings.Contains(err.Error(), "is missing") {
		t.Errorf("no inputs: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := session.Run(ctx, good); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	for range 2 {
		if err := session.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := session.Run(t.Context(), good); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("after closing: %v", err)
	}
}
