//go:build !cgo || !ORT

package hugot

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"graphmill/pipeline/models"
)

func TestPureGoGivesTheVectorsOfTheDefaultEngine(t *testing.T) {
	e, err := New("")
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	embedder, err := models.NewONNXEmbedder(e, "../../../models/minilm", models.EmbedderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer embedder.Close()
	raw, err := os.ReadFile("../testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var want struct {
		Texts   []string    `json:"texts"`
		Vectors [][]float32 `json:"vectors"`
	}
	if err := json.Unmarshal(raw, &want); err != nil {
		t.Fatal(err)
	}
	texts, vectors := want.Texts[3:5], want.Vectors[3:5] // the short ones
	got, err := embedder.Embed(t.Context(), texts)
	if err != nil {
		t.Fatal(err)
	}
	for i, text := range texts {
		cosine := 0.0
		for j, x := range got[i] {
			cosine += float64(x) * float64(vectors[i][j])
		}
		// Not 1: the backend rounds where the other does not, and a dynamically
		// quantised model makes steps of that.
		if cosine < 0.98 {
			t.Errorf("%q: cosine to the reference is %g", text, cosine)
		}
	}
	if !strings.HasSuffix(embedder.Model(), "+hugot") {
		t.Errorf("vectors of another engine are named %s", embedder.Model())
	}
}

func TestPureGoSaysAtStartThatItCannotRunGLiNER(t *testing.T) {
	e, err := New("")
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	for _, dir := range []string{"../../../testdata/models/gliner-tiny", "../../../models/gliner-minilm-en"} {
		_, err = models.LoadGLiNER(e, dir, models.SessionOptions{})
		if err == nil || !strings.Contains(err.Error(), "models.engine") {
			t.Errorf("%s: error is %v", dir, err)
		}
	}
}
