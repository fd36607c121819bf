package models

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

func openMiniLM(t testing.TB, options EmbedderOptions) Embedder {
	t.Helper()
	e, err := NewONNXEmbedder(engine, inTree(minilm), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

func dot(a, b []float32) float64 {
	sum := 0.0
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

func TestEmbedderGivesTheReferenceVectors(t *testing.T) {
	var want struct {
		Texts   []string    `json:"texts"`
		Vectors [][]float32 `json:"vectors"`
	}
	readTestdata(t, "vectors.json", &want)
	e := openMiniLM(t, EmbedderOptions{})
	got, err := e.Embed(t.Context(), want.Texts)
	if err != nil {
		t.Fatal(err)
	}
	for i, text := range want.Texts {
		if len(got[i]) != 384 || e.Dimension() != 384 {
			t.Fatalf("dimension is %d and %d", len(got[i]), e.Dimension())
		}
		if length := math.Sqrt(dot(got[i], got[i])); math.Abs(length-1) > 1e-6 {
			t.Errorf("%q: length %g", text, length)
		}
		if cosine := dot(got[i], want.Vectors[i]); cosine < 0.99999 {
			t.Errorf("%q: cosine to the reference is %g", text, cosine)
		}
	}
}

func TestVectorsDoNotDependOnWhatElseIsEmbedded(t *testing.T) {
	e := openMiniLM(t, EmbedderOptions{Parallel: 4})
	texts := []string{"a short one", strings.Repeat("a rather long sentence about engines ", 20), "Paris", "a short one"}
	together, err := e.Embed(t.Context(), texts)
	if err != nil {
		t.Fatal(err)
	}
	for i, text := range texts {
		alone, err := e.Embed(t.Context(), []string{text})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(alone[0], together[i]) {
			t.Errorf("%q has another vector alone", text)
		}
	}
}

func TestLongTextsAreEmbeddedToTheirEnd(t *testing.T) {
	e := openMiniLM(t, EmbedderOptions{})
	filler := strings.Repeat("The weather was calm and the sea was flat. ", 60) // about 600 pieces
	vectors, err := e.Embed(t.Context(), []string{
		filler,
		filler + strings.Repeat("Volcanoes erupt molten lava. ", 30),
		"Volcanoes erupt molten lava.",
	})
	if err != nil {
		t.Fatal(err)
	}
	without, with := dot(vectors[0], vectors[2]), dot(vectors[1], vectors[2])
	if with < without+0.1 {
		t.Errorf("the end of a long text changes its similarity only from %.3f to %.3f", without, with)
	}
	if length := dot(vectors[1], vectors[1]); math.Abs(length-1) > 1e-6 {
		t.Errorf("squared length is %g", length)
	}
}

func TestWindowsCoverAllPiecesEvenly(t *testing.T) {
	for _, room := range []int{8, 10, 254} {
		for n := range 1200 {
			pieces := make([]Piece, n)
			for i := range pieces {
				pieces[i] = Piece{ID: int64(i), First: i%3 == 0}
			}
			next := int64(0)
			windows := evenWindows(pieces, room)
			for _, w := range windows {
				if len(w) > room || n > 0 && len(w) == 0 {
					t.Fatalf("%d pieces, room %d: a window of %d", n, room, len(w))
				}
				for _, p := range w {
					if p.ID != next {
						t.Fatalf("%d pieces, room %d: piece %d where %d is due", n, room, p.ID, next)
					}
					next++
				}
			}
			if next != int64(n) || len(windows) != max(1, (n+room-1)/room) {
				t.Fatalf("%d pieces, room %d: %d windows end at %d", n, room, len(windows), next)
			}
		}
	}
}

func TestBlankTextsAreRefused(t *testing.T) {
	hash, err := NewHashEmbedder(8)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range []Embedder{openMiniLM(t, EmbedderOptions{}), hash} {
		_, err := e.Embed(t.Context(), []string{"fine", " \n"})
		if !errors.Is(err, errEmptyText) || !strings.Contains(err.Error(), "text 2 of 2") {
			t.Errorf("%s: error is %v", e.Model(), err)
		}
	}
}

func TestEmbedderStopsWhenCancelled(t *testing.T) {
	e := openMiniLM(t, EmbedderOptions{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.Embed(ctx, []string{"text"}); !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
}

func TestEmbedderIsSafeForConcurrentUse(t *testing.T) {
	e := openMiniLM(t, EmbedderOptions{})
	want, err := e.Embed(t.Context(), []string{"concurrency"})
	if err != nil {
		t.Fatal(err)
	}
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			for range 5 {
				got, err := e.Embed(context.Background(), []string{"concurrency", "something else"})
				if err != nil || !slices.Equal(got[0], want[0]) {
					t.Errorf("a concurrent call differs (%v)", err)
				}
			}
		})
	}
	wait.Wait()
}

func TestIdentityFollowsTheBytes(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	look := func() folder {
		found, err := inspectFolder(dir)
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	write("model.onnx", "weights")
	write("tokenizer.json", "{}")
	first := look()
	if first.dynamic {
		t.Error("weights without the operator count as dynamically quantised")
	}
	write("README.md", "words")
	if look() != first {
		t.Error("a file that no answer depends on changes the identity")
	}
	write("tokenizer.json", "{ }")
	if look().hash == first.hash {
		t.Error("another tokenizer has the same identity")
	}
	// The operator's name where two reads of the file meet.
	write("model.onnx", strings.Repeat("x", 1<<20+64-5)+"DynamicQuantizeLinear"+strings.Repeat("y", 1<<20))
	if !look().dynamic {
		t.Error("DynamicQuantizeLinear is not seen")
	}
}

func TestModelsInTheTreeAreKnownForWhatTheyAre(t *testing.T) {
	for folder, want := range map[string]bool{minilm: true, glinerEN: true, glinerTiny: false} {
		found, err := inspectFolder(inTree(folder))
		if err != nil {
			t.Fatal(err)
		}
		if found.dynamic != want {
			t.Errorf("%s: dynamically quantised is %v", folder, found.dynamic)
		}
	}
}

func TestHashEmbedderIsStableAndKnowsSharedWords(t *testing.T) {
	e, err := NewHashEmbedder(256)
	if err != nil {
		t.Fatal(err)
	}
	v, err := e.Embed(t.Context(), []string{
		"The pump feeds the cooling circuit", "the PUMP feeds a cooling circuit.", "Elections were held in spring", "!!!", "???",
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range v {
		if length := dot(v[i], v[i]); math.Abs(length-1) > 1e-6 || len(v[i]) != 256 {
			t.Errorf("vector %d has squared length %g and %d components", i, length, len(v[i]))
		}
	}
	if near, far := dot(v[0], v[1]), dot(v[0], v[2]); near < 0.7 || far > 0.3 {
		t.Errorf("similar texts: %.2f, others: %.2f", near, far)
	}
	// The first components that are set, as computed once: the vectors stand in
	// graphs and must not change.
	var set []int
	for i, x := range v[2] {
		if x != 0 {
			set = append(set, i)
		}
	}
	if want := []int{21, 22, 93, 130, 144}; !slices.Equal(set, want) {
		t.Errorf("components %v are set, want %v", set, want)
	}
	if e.Model() != "hash-256@1" {
		t.Errorf("model is %s", e.Model())
	}
}
