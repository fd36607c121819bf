package extractors

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
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
	code := m.Run()
	for _, model := range loaded.models {
		err = errors.Join(err, model.Close())
	}
	if err = errors.Join(err, engine.Close()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

const (
	tinyModel    = "../testdata/models/gliner-tiny"
	defaultModel = "../models/gliner-minilm-en"
)

// loaded keeps each model between tests; a test gets a copy of its own.
var loaded = struct {
	sync.Mutex
	models map[string]*models.GLiNER
}{models: map[string]*models.GLiNER{}}

func loadGLiNER(t testing.TB, dir string, options GLiNEROptions) *GLiNER {
	t.Helper()
	loaded.Lock()
	defer loaded.Unlock()
	if loaded.models[dir] == nil {
		model, err := models.LoadGLiNER(engine, filepath.FromSlash(dir), models.SessionOptions{})
		if err != nil {
			t.Fatal(err)
		}
		loaded.models[dir] = model
	}
	model := *loaded.models[dir]
	g, err := NewGLiNER(&model, options)
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

// loadReference loads a model to be asked as the reference engine asks: all of a
// text in one call.
func loadReference(t testing.TB, dir string) *GLiNER {
	g := loadGLiNER(t, dir, GLiNEROptions{})
	g.model.Entry.Window = g.model.Entry.Positions
	return g
}

// lowestThreshold of all cases: one call of the model answers for every
// threshold and way of decoding.
const lowestThreshold = 0.3

// scored is a text with all spans above lowestThreshold.
type scored struct {
	text       string
	labels     []label
	candidates []candidate
}

func (g *GLiNER) scoreAll(t testing.TB, text string, names []string) scored {
	t.Helper()
	var labels []label
	for i, name := range names {
		if slices.Index(names, name) == i { // the reference engine asks once too
			labels = append(labels, label{kind: name, prompt: name, threshold: lowestThreshold})
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
	return scored{text, labels, candidates}
}

// decode answers as the reference engine does, its mistake about words without
// pieces made again (see modelWords): span numbers are looked up in the list of
// all words.
func (s scored) decode(threshold float64, d decoding) []expectedEntity {
	var above []candidate
	for _, c := range s.candidates {
		if c.score > threshold {
			above = append(above, c)
		}
	}
	offsets, words := graph.NewOffsets(s.text), glinerWords(s.text)
	var out []expectedEntity
	for _, c := range d.choose(above) {
		at := graph.Range{Start: words[c.start].Start, End: words[c.end].End}
		span := offsets.Span(at)
		out = append(out, expectedEntity{span.Start, span.End, s.text[at.Start:at.End], s.labels[c.label].kind, c.score})
	}
	return out
}

// The reference answers were made on one machine. The default model is quantised,
// and another processor's float arithmetic moves an activation over the edge of a
// step now and then, after which a whole text's scores move a little. So most
// texts must agree to the last digits, and the others nearly.
const (
	leastExact  = 0.8  // share of texts whose every entity agrees within 1e-4
	leastShared = 0.97 // share of all entities that both engines name
	largestMean = 0.01 // of the scores' differences, over all shared entities
)

func TestGLiNERAgreesWithTheReferenceEngine(t *testing.T) {
	for _, dir := range []string{tinyModel, defaultModel} {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			g := loadReference(t, dir)
			want := readExpectations(t, dir)
			var all agreement
			answers := map[string][]scored{}
			for _, c := range want.Cases {
				asked := strings.Join(c.Labels, "|")
				if answers[asked] == nil {
					for _, text := range want.Texts {
						answers[asked] = append(answers[asked], g.scoreAll(t, text, c.Labels))
					}
				}
				for i := range want.Texts {
					got := answers[asked][i].decode(c.Threshold, decoding{nested: !c.Flat, multiLabel: c.MultiLabel})
					all.add(got, c.Entities[i])
				}
			}
			exact, shared, mean := all.figures()
			t.Logf("%d cases: exact %.3f, shared entities %.4f, mean difference of their scores %.2g", all.cases, exact, shared, mean)
			if dir == tinyModel && exact < 1 {
				t.Errorf("exact %.3f of a model that is not quantised", exact)
			}
			if exact < leastExact || shared < leastShared || mean > largestMean {
				t.Errorf("exact %.3f of %v, shared %.4f of %v, mean difference %.2g of %v", exact, leastExact, shared, leastShared, mean, largestMean)
			}
			if all.cases != len(want.Cases)*len(want.Texts) || all.cases < 320 {
				t.Errorf("compared %d cases only", all.cases)
			}
		})
	}
}

// agreement sums how two engines' answers compare.
type agreement struct {
	cases, exact     int
	entities, shared int // of both engines together, each shared one once
	difference       float64
}

func (a *agreement) add(got, want []expectedEntity) {
	type key struct {
		start, end  int
		text, label string
	}
	scores := map[key]float64{}
	for _, e := range want {
		scores[key{e.Start, e.End, e.Text, e.Label}] = e.Score
	}
	shared, worst := 0, 0.0
	for _, e := range got {
		score, ok := scores[key{e.Start, e.End, e.Text, e.Label}]
		if !ok {
			continue
		}
		shared++
		a.difference += math.Abs(score - e.Score)
		worst = max(worst, math.Abs(score-e.Score))
	}
	a.cases++
	if shared == len(got) && shared == len(want) && worst <= 1e-4 {
		a.exact++
	}
	a.shared += shared
	a.entities += len(got) + len(want) - shared
}

func (a *agreement) figures() (exact, shared, mean float64) {
	return float64(a.exact) / float64(a.cases), float64(a.shared) / float64(a.entities), a.difference / float64(a.shared)
}

func TestGLiNERFeedsTheReferenceEnginesTokens(t *testing.T) {
	for _, dir := range []string{tinyModel, defaultModel} {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			g := loadReference(t, dir)
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
				inputs := g.inputs(words, windowsOf(words, nil, q.limits), q.groups[0])
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
