package extractors

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"graphmill/pipeline/graph"
	"graphmill/pipeline/models"
)

// engine is shared by the package's tests: the library allows one a process.
var engine models.Engine

func TestMain(m *testing.M) {
	os.Exit(runTests(m))
}

func runTests(m *testing.M) int {
	library, err := models.FindLibrary("", models.Places{DepsDir: os.Getenv("GRAPHMILL_DEPS_DIR")})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if engine, err = models.NewONNXRuntime(library); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer engine.Close()
	return m.Run()
}

const (
	tinyModel    = "../testdata/models/gliner-tiny"
	defaultModel = "../models/gliner-minilm-en"
)

func loadGLiNER(t testing.TB, dir string, options GLiNEROptions) *GLiNER {
	t.Helper()
	model, err := models.LoadGLiNER(engine, filepath.FromSlash(dir), models.SessionOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := model.Close(); err != nil {
			t.Error(err)
		}
	})
	g, err := NewGLiNER(model, options)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// expectations is what the Python reference engine answered.
type expectations struct {
	Texts []string `json:"texts"`
	Cases []struct {
		Labels     []string           `json:"labels"`
		Threshold  float64            `json:"threshold"`
		Flat       bool               `json:"flat_ner"`
		MultiLabel bool               `json:"multi_label"`
		Entities   [][]expectedEntity `json:"entities"`
	} `json:"cases"`
	Debug []struct {
		Words     []string `json:"words"`
		InputIDs  []int64  `json:"input_ids"`
		WordsMask []int64  `json:"words_mask"`
	} `json:"debug_L5"`
}

type expectedEntity struct {
	Start int     `json:"start"` // code points
	End   int     `json:"end"`
	Text  string  `json:"text"`
	Label string  `json:"label"`
	Score float64 `json:"score"`
}

func readExpectations(t testing.TB, dir string) expectations {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(dir, "expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	var e expectations
	if err := json.Unmarshal(raw, &e); err != nil {
		t.Fatal(err)
	}
	return e
}

// predict answers as the reference engine does: labels asked once, all spans
// above the threshold, and its mistake about words without pieces made again
// (see modelWords): span numbers are looked up in the list of all words.
func (g *GLiNER) predict(t testing.TB, text string, names []string, threshold float64, d decoding) []expectedEntity {
	t.Helper()
	var labels []label
	for i, name := range names {
		if slices.Index(names, name) == i {
			labels = append(labels, label{kind: name, prompt: name, threshold: threshold})
		}
	}
	q, err := g.ask(labels)
	if err != nil {
		t.Fatal(err)
	}
	_, candidates, err := g.candidates(context.Background(), text, q, 1)
	if err != nil {
		t.Fatal(err)
	}
	offsets, words := graph.NewOffsets(text), glinerWords(text)
	var out []expectedEntity
	for _, c := range d.choose(candidates) {
		at := graph.Range{Start: words[c.start].Start, End: words[c.end].End}
		span := offsets.Span(at)
		out = append(out, expectedEntity{span.Start, span.End, text[at.Start:at.End], labels[c.label].kind, c.score})
	}
	return out
}

func TestGLiNERAgreesWithTheReferenceEngine(t *testing.T) {
	for _, dir := range []string{tinyModel, defaultModel} {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			g := loadGLiNER(t, dir, GLiNEROptions{})
			want := readExpectations(t, dir)
			compared, worst := 0, 0.0
			for n, c := range want.Cases {
				for i, text := range want.Texts {
					got := g.predict(t, text, c.Labels, c.Threshold, decoding{nested: !c.Flat, multiLabel: c.MultiLabel})
					compared++
					worst = max(worst, compareEntities(t, fmt.Sprintf("case %d, text %d", n, i), got, c.Entities[i]))
				}
			}
			t.Logf("%d cases, largest difference of a score %.2g", compared, worst)
			if compared != len(want.Cases)*len(want.Texts) || compared < 320 {
				t.Errorf("compared %d cases only", compared)
			}
		})
	}
}

// compareEntities wants the same spans and labels, scores within 1e-4, and
// returns the largest difference.
func compareEntities(t *testing.T, name string, got, want []expectedEntity) float64 {
	t.Helper()
	byPlace := func(a, b expectedEntity) int {
		if a.Start != b.Start {
			return a.Start - b.Start
		}
		if a.End != b.End {
			return a.End - b.End
		}
		return slices.Compare([]byte(a.Label), []byte(b.Label))
	}
	got, want = slices.Clone(got), slices.Clone(want)
	slices.SortFunc(got, byPlace)
	slices.SortFunc(want, byPlace)
	if len(got) != len(want) {
		t.Errorf("%s: %d entities, want %d\n got %v\nwant %v", name, len(got), len(want), got, want)
		return 0
	}
	worst := 0.0
	for i := range got {
		g, w := got[i], want[i]
		difference := math.Abs(g.Score - w.Score)
		worst = max(worst, difference)
		if g.Start != w.Start || g.End != w.End || g.Text != w.Text || g.Label != w.Label || difference > 1e-4 {
			t.Errorf("%s: got %v, want %v", name, g, w)
		}
	}
	return worst
}

func TestGLiNERFeedsTheReferenceEnginesTokens(t *testing.T) {
	for _, dir := range []string{tinyModel, defaultModel} {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			g := loadGLiNER(t, dir, GLiNEROptions{})
			want := readExpectations(t, dir)
			names := want.Cases[0].Labels
			labels := make([]label, len(names))
			for i, name := range names {
				labels[i] = label{prompt: name, threshold: 0.5}
			}
			q, err := g.ask(labels)
			if err != nil {
				t.Fatal(err)
			}
			for i, text := range want.Texts {
				words := modelWords(text, g.model.Tokenizer, q.limits.pieces/2)
				var spelled []string
				for _, at := range glinerWords(text) {
					spelled = append(spelled, text[at.Start:at.End])
				}
				if !slices.Equal(spelled, want.Debug[i].Words) {
					t.Errorf("text %d: words %q, want %q", i, spelled, want.Debug[i].Words)
				}
				if len(words) == 0 {
					continue
				}
				inputs := g.inputs(words, windowsOf(words, q.limits), q.groups[0])
				if got := inputs["input_ids"].Int64; !slices.Equal(got, want.Debug[i].InputIDs) {
					t.Errorf("text %d: input_ids %v, want %v", i, got, want.Debug[i].InputIDs)
				}
				if got := inputs["words_mask"].Int64; !slices.Equal(got, want.Debug[i].WordsMask) {
					t.Errorf("text %d: words_mask %v, want %v", i, got, want.Debug[i].WordsMask)
				}
			}
		})
	}
}
