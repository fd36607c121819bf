package retrieve

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func TestEveryGroupOfWordsIsLookedUp(t *testing.T) {
	for question, want := range map[string][]string{
		"Who knows Ada Lovelace?":      {"ada lovelace", "ada", "lovelace", "who knows ada lovelace"},
		"Is C++ older than .NET?":      {"c++", ".net"},
		"Was it Acme Inc., or Acme's?": {"acme inc.", "acme inc", "acme"},
		"東京タワーはどこ？":                    {"東京タワー", "東京"},
		"NEW  YORK":                    {"new york"},
	} {
		keys := nameKeys(question)
		for _, key := range want {
			if !slices.Contains(keys, key) {
				t.Errorf("%s: no %q in %q", question, key, keys)
			}
		}
	}
	if keys := nameKeys(" ? ! … "); len(keys) != 0 {
		t.Errorf("signs give %q", keys)
	}
	if keys := nameKeys(strings.Repeat("a b c d e f g ", 2000)); len(keys) > maxKeys {
		t.Errorf("%d keys", len(keys))
	}
	var words []string
	for i := range 1000 {
		words = append(words, fmt.Sprint("w", i))
	}
	keys := nameKeys(strings.Join(words, " "))
	if len(keys) > maxKeys || !slices.Contains(keys, "w0") || !slices.Contains(keys, "w40 w41") {
		t.Errorf("of a long question are looked up %d keys, single words among them: %v", len(keys), slices.Contains(keys, "w0"))
	}
}

func TestFusionPrefersWhatSeveralListsFind(t *testing.T) {
	tasks := []*task{
		{path: Passages, search: "vector", chunks: []string{"a", "b", "c"}},
		{path: Passages, search: "full text", chunks: []string{"d", "c"}},
		{path: Passages, search: "mentions", chunks: []string{"c", "e"}},
	}
	order := func() string {
		var keys []string
		for _, f := range fuse(tasks, func(t *task) []string { return t.chunks }, func(s string) string { return s }, unknown) {
			keys = append(keys, f.key)
		}
		return strings.Join(keys, "")
	}
	want := order()
	if want != "cadbe" {
		t.Errorf("order %s", want)
	}
	for range 20 {
		rand.Shuffle(len(tasks), func(i, j int) { tasks[i], tasks[j] = tasks[j], tasks[i] })
		if got := order(); got != want {
			t.Errorf("order of lists changes the result: %s, %s", got, want)
		}
	}
}

func TestNearnessIsOneListMore(t *testing.T) {
	tasks := []*task{{path: Passages, search: "full text", chunks: []string{"a", "b", "c"}}, {path: Passages, search: "mentions", chunks: []string{"b", "a", "d"}}}
	near := map[string]float64{"c": 0.1, "b": 0.2, "a": 0.3}
	var keys string
	for _, f := range fuse(tasks, func(t *task) []string { return t.chunks }, func(s string) string { return s },
		func(k string) (float64, bool) { d, ok := near[k]; return d, ok }) {
		keys += f.key
	}
	if keys != "bacd" {
		t.Errorf("order %s", keys)
	}
}

func TestRareWordsWeighMost(t *testing.T) {
	words, total := weigh([]string{"the", "of", "babbage", "engine", "nowhere"}, []int{500, 500, 2, 40, 0}, 500, 1000)
	got := map[string]float64{}
	sum := 0.0
	for _, w := range words {
		got[w.query] = w.weight
		sum += w.weight
	}
	if len(words) != 4 || !(got["babbage"] > got["engine"] && got["engine"] > got["(babbage|engine) the"]) || got["(babbage|engine) of"] == 0 {
		t.Errorf("weights %v", got)
	}
	if total <= sum {
		t.Errorf("a word that is found nowhere weighs nothing: %v of %v", total, sum)
	}
	if words, _ := weigh([]string{"the", "of"}, []int{500, 500}, 500, 1000); len(words) != 0 {
		t.Errorf("common words alone are looked for: %v", words)
	}
}

func TestAPassageIsAsCloseAsWhatItStates(t *testing.T) {
	fact := Relation{SourceID: "a", Type: "T", TargetID: "b", evidence: []quoteAt{{chunk: "states"}}}
	words := &task{path: Passages, search: "full text", chunks: []string{"words", "new"}, words: map[string]float64{"words": 1, "new": 0.5}}
	facts := &task{path: Facts, search: "vector", relations: []Relation{fact}}
	facts.keep("fact", fact.key(), 0.1)
	names := &task{path: FuzzyNames, search: "vector", entities: []Entity{{ID: "e", told: "tells"}}}
	names.keep("entity", "e", 0.1)
	near := &task{path: Ranking, search: "nearness"}
	for id, distance := range map[string]float64{"near": 0.3, "words": 0.35, "states": 0.9, "tells": 0.9, "far": 0.8} {
		near.keep("chunk", id, distance)
	}
	vector := &task{path: Passages, search: "vector", chunks: []string{"near", "far"}}
	s := &search{Request: Request{TopK: 10}, tasks: []*task{vector, words, facts, names, near}}
	var order []string
	for _, f := range s.fusePassages() {
		order = append(order, f.key)
	}
	// "new" has no vector yet, and counts as far away.
	if want := "words states tells near new far"; strings.Join(order, " ") != want {
		t.Errorf("order %v, want %s", order, want)
	}
	s.tasks = []*task{words}
	if got := s.fusePassages(); len(got) != 2 || got[0].key != "words" {
		t.Errorf("without vectors: %+v", got)
	}
}

func TestAHubDoesNotCrowdTheOthersOut(t *testing.T) {
	around := map[string][]Relation{}
	for i := range 50 {
		around["hub"] = append(around["hub"], Relation{SourceID: "hub", Type: "T", TargetID: fmt.Sprint(i)})
	}
	shared := Relation{SourceID: "small", Type: "T", TargetID: "hub"}
	around["small"] = []Relation{{SourceID: "small", Type: "T", TargetID: "x"}, shared}
	around["hub"] = append(around["hub"], shared)
	got := inTurn([]string{"hub", "small"}, around)
	if got[0].key() != shared.key() || !slices.ContainsFunc(got[:10], func(r Relation) bool { return r.TargetID == "x" }) {
		t.Errorf("%+v", got)
	}
}

func TestEachHopHasAShare(t *testing.T) {
	for _, c := range []struct{ most, hops, first, last int }{{40, 1, 40, 40}, {40, 5, 8, 8}, {40, 3, 14, 13}, {4, 5, 1, 0}} {
		list := shares(c.most, c.hops)
		sum := 0
		for _, n := range list {
			sum += n
		}
		if len(list) != c.hops || sum != c.most || list[0] != c.first || list[c.hops-1] != c.last {
			t.Errorf("%d relations over %d hops: %v", c.most, c.hops, list)
		}
	}
	for top, want := range map[int]int{1: 4, 5: 20, 10: 40, 100: 40} {
		if got := (Request{TopK: top}).maxRelations(); got != want {
			t.Errorf("top_k %d: %d relations", top, got)
		}
	}
}

// The settings that are named are those that differ.
func TestOfAnotherModelTheSettingsThatDifferAreNamed(t *testing.T) {
	for _, c := range []struct {
		err  OtherModel
		says string
	}{
		{OtherModel{Graph: "hash-384@1", GraphDimension: 384, Question: "minilm@0123", QuestionDimension: 384}, "set embedder.kind to hash and embedder.dimension to 384, or "},
		{OtherModel{Graph: "hash-64@1", GraphDimension: 64, Question: "hash-384@1", QuestionDimension: 384}, "set embedder.dimension to 64, or "},
		{OtherModel{Graph: "minilm@0123", GraphDimension: 384, Question: "hash-384@1", QuestionDimension: 384}, "set embedder.kind to the graph's"},
		{OtherModel{Graph: "minilm@0123", GraphDimension: 384, Question: "other@0123", QuestionDimension: 384}, "embedder.model_dir or embedder.model"},
	} {
		if hint := c.err.Hint(); !strings.Contains(hint, c.says) || !strings.Contains(hint, "ingestd finalize --reembed") {
			t.Errorf("%s and %s: %q does not say %q", c.err.Graph, c.err.Question, hint, c.says)
		}
	}
}
