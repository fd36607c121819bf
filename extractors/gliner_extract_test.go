package extractors

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"graphmill/chunkers"
	"graphmill/pipeline/graph"
)

// asChunk puts text at a place of a longer document.
func asChunk(text string, start int) chunkers.Chunk {
	return chunkers.Chunk{Text: text, Range: graph.Range{Start: start, End: start + len(text)}}
}

func ontologyOf(labels ...string) *graph.Ontology {
	o := &graph.Ontology{}
	for _, l := range labels {
		o.Entities = append(o.Entities, graph.EntityType{Label: l})
	}
	return o
}

// extract runs the extractor on one chunk and checks what every extraction
// must hold to.
func extract(t testing.TB, g *GLiNER, chunk chunkers.Chunk, ontology *graph.Ontology) graph.Extraction {
	t.Helper()
	out, err := g.Extract(context.Background(), []chunkers.Chunk{chunk}, ontology)
	if err != nil {
		t.Fatal(err)
	}
	unknown := 0
	for i, m := range out[0].Mentions {
		at := graph.Range{Start: m.Range.Start - chunk.Range.Start, End: m.Range.End - chunk.Range.Start}
		if m.Text == "" || chunk.Text[at.Start:at.End] != m.Text {
			t.Errorf("mention %q is not at its range %v", m.Text, m.Range)
		}
		if i > 0 && m.Range.Start < out[0].Mentions[i-1].Range.Start {
			t.Errorf("mention %q is out of order", m.Text)
		}
		if m.Method != "gliner" || m.Score <= 0 || m.Score > 1 {
			t.Errorf("mention %q has method %q and score %g", m.Text, m.Method, m.Score)
		}
		if m.Type == graph.UnknownType {
			unknown++
		}
	}
	if unknown != out[0].Pruned.UnknownEntities {
		t.Errorf("%d Unknown mentions, %d counted", unknown, out[0].Pruned.UnknownEntities)
	}
	return out[0]
}

func has(e graph.Extraction, text, kind string) bool {
	return slices.ContainsFunc(e.Mentions, func(m graph.Mention) bool { return m.Text == text && m.Type == kind })
}

func TestGLiNERFindsEntitiesInOrdinaryProse(t *testing.T) {
	g := loadGLiNER(t, defaultModel, GLiNEROptions{})
	text := "Angela Merkel met the president of Microsoft in Berlin on 3 March 2014."
	e := extract(t, g, asChunk(text, 1000), ontologyOf("Person", "Organization", "Location", "Date"))
	for name, kind := range map[string]string{"Angela Merkel": "Person", "Microsoft": "Organization", "Berlin": "Location", "3 March 2014": "Date"} {
		if !has(e, name, kind) {
			t.Errorf("%s %s is not among %v", kind, name, e.Mentions)
		}
	}
}

func TestGLiNERFindsEntitiesLateInALongChunk(t *testing.T) {
	filler := strings.Repeat("The weather was calm and the sea was flat, and nothing of note took place that day. ", 60)
	for _, dir := range []string{tinyModel, defaultModel} {
		g := loadGLiNER(t, dir, GLiNEROptions{})
		text := filler + "Maria Rossi works for Nova Robotics in Rome."
		e := extract(t, g, asChunk(text, 7), ontologyOf("Person", "Organization", "Location"))
		if !has(e, "Maria Rossi", "Person") || !has(e, "Rome", "Location") {
			t.Errorf("%s, %d bytes: the last sentence's entities are not among %v", dir, len(text), e.Mentions)
		}
	}
}

func TestGLiNERFindsAnEntityWhereverItStands(t *testing.T) {
	// Seams between windows fall on every word of the name in turn.
	g := loadGLiNER(t, defaultModel, GLiNEROptions{})
	for words := 70; words < 130; words += 4 {
		text := strings.Repeat("rain ", words) + ". Angela Merkel lives in Berlin. " + strings.Repeat("rain ", 100)
		e := extract(t, g, asChunk(text, 0), ontologyOf("Person", "Location"))
		found := 0
		for _, m := range e.Mentions {
			if m.Text == "Angela Merkel" {
				found++
			}
		}
		if found != 1 {
			t.Errorf("after %d words the name is found %d times: %v", words, found, e.Mentions)
		}
	}
}

func TestWindowsOwnEveryWordOnce(t *testing.T) {
	for _, n := range []int{0, 1, 2, 50, 99, 100, 101, 1000} {
		for _, size := range []int{1, 3, 20, 50} { // pieces a word
			words := make([]modelWord, n)
			for i := range words {
				words[i].ids = make([]int64, 1+i*7%size)
			}
			l := limits{pieces: 100, words: 90, overlap: 32}
			var starts []int
			for at := size; at < n; at += 1 + at*13%150 {
				starts = append(starts, at)
			}
			next := 0
			for i, w := range windowsOf(words, starts, l) {
				pieces := 0
				for _, word := range words[w.start:w.end] {
					pieces += len(word.ids)
				}
				if pieces != w.pieces || pieces > l.pieces || w.end-w.start > l.words {
					t.Fatalf("%d words of %d: window %d holds %d words, %d pieces", n, size, i, w.end-w.start, pieces)
				}
				if w.own != next || w.ownEnd <= w.own || w.own < w.start || w.ownEnd > w.end {
					t.Fatalf("%d words of %d: window %d is [%d,%d) and owns [%d,%d), %d is due", n, size, i, w.start, w.end, w.own, w.ownEnd, next)
				}
				next = w.ownEnd
			}
			if next != n {
				t.Fatalf("%d words of %d: owned up to %d", n, size, next)
			}
		}
	}
}

func TestWindowsHoldWholeSentences(t *testing.T) {
	words := make([]modelWord, 260)
	for i := range words {
		words[i].ids = make([]int64, 1)
	}
	var got [][2]int
	for _, w := range windowsOf(words, []int{40, 90, 110, 230}, limits{pieces: 100, words: 100, overlap: 10}) {
		got = append(got, [2]int{w.start, w.end})
	}
	// The fourth sentence has 120 words.
	if want := [][2]int{{0, 90}, {90, 110}, {110, 180}, {170, 230}, {230, 260}}; !slices.Equal(got, want) {
		t.Errorf("windows %v, want %v", got, want)
	}
}

func TestGLiNERReadsTextsThatNoWindowHolds(t *testing.T) {
	texts := map[string]string{
		"one word of 10,000 letters":  strings.Repeat("qwertzuiop", 1000),
		"prose without spaces":        strings.Repeat("東京都に本社を置く会社である", 300),
		"punctuation only":            strings.Repeat("!?;", 500),
		"combining marks":             strings.Repeat("e\u0301\u0302", 500),
		"zero-width only":             strings.Repeat("\u200b\u200d", 500),
		"ligatures that grow":         strings.Repeat("ﷺ", 500),
		"not UTF-8":                   strings.Repeat("\xff\xfe ok ", 100),
		"blank":                       " \n ",
		"special tokens of the model": "<<ENT>> person <<SEP>> [CLS] [SEP] [MASK] <<ENT>>",
	}
	calm := strings.Repeat(" The weather was calm and nothing of note took place that day.", 12)
	for _, dir := range []string{tinyModel, defaultModel} {
		g := loadGLiNER(t, dir, GLiNEROptions{})
		for name, text := range texts {
			if dir == defaultModel && len(text) > 4000 && testing.Short() {
				continue
			}
			extract(t, g, asChunk(text[:len(text)/4], 3), ontologyOf("Person"))
			e := extract(t, g, asChunk(text+calm+" Maria Rossi works for Nova Robotics in Rome.", 3), ontologyOf("Person", "Organization", "Location"))
			if !has(e, "Maria Rossi", "Person") {
				t.Errorf("%s, %s: what follows is not found: %d mentions", dir, name, len(e.Mentions))
			}
		}
	}
}

func TestLongWordsAreCutIntoWordsThatCoverThem(t *testing.T) {
	g := loadGLiNER(t, tinyModel, GLiNEROptions{})
	text := "before " + strings.Repeat("東é", 3000) + " after"
	words := modelWords(text, g.model.Tokenizer, 60)
	next := len("before ")
	for _, w := range words[1 : len(words)-1] {
		if w.at.Start != next || !utf8.ValidString(text[w.at.Start:w.at.End]) || len(w.ids) > 60 {
			t.Fatalf("part %v with %d pieces, %d is due", w.at, len(w.ids), next)
		}
		next = w.at.End
	}
	if next != len(text)-len(" after") {
		t.Errorf("parts end at %d of %d", next, len(text))
	}
}

func TestAllLabelsAreAskedForWhenTheModelTakesFewer(t *testing.T) {
	g := loadGLiNER(t, defaultModel, GLiNEROptions{})
	var labels []string
	for i := range 80 {
		labels = append(labels, fmt.Sprintf("Kind%02dOfMineral", i))
	}
	labels[0], labels[79] = "Person", "Location"
	text := "Angela Merkel lives in Berlin."
	e := extract(t, g, asChunk(text, 0), ontologyOf(labels...))
	if !has(e, "Angela Merkel", "Person") || !has(e, "Berlin", "Location") {
		t.Errorf("first and last label's entities are not among %v", e.Mentions)
	}
	q, err := g.ask(g.labelsOf(ontologyOf(labels...)))
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	for _, group := range q.groups {
		if group.first != asked || group.count > g.model.Config.MaxTypes || len(group.prompt) > g.model.Entry.Positions/2 {
			t.Errorf("group of %d from %d with %d pieces", group.count, group.first, len(group.prompt))
		}
		asked += group.count
	}
	if asked != len(labels) {
		t.Errorf("%d of %d labels are asked for", asked, len(labels))
	}
}

func TestAPromptThatNoCallHoldsIsAnError(t *testing.T) {
	g := loadGLiNER(t, defaultModel, GLiNEROptions{})
	o := ontologyOf("Person", "Thing")
	o.Entities[1].Prompt = strings.Repeat("very ", 400) + "long"
	_, err := g.Extract(t.Context(), []chunkers.Chunk{asChunk("Ann", 0)}, o)
	if err == nil || !strings.Contains(err.Error(), "entity type Thing") || !strings.Contains(err.Error(), "shorter prompt") {
		t.Errorf("error is %v", err)
	}
}

func TestThresholdsDropAndUnname(t *testing.T) {
	text := "Angela Merkel met the president of Microsoft in Berlin on 3 March 2014."
	o := ontologyOf("Person", "Organization", "Location", "Date")
	sure := extract(t, loadGLiNER(t, defaultModel, GLiNEROptions{}), asChunk(text, 0), o)
	low, high := 1.0, 0.0
	for _, m := range sure.Mentions {
		low, high = min(low, m.Score), max(high, m.Score)
	}
	if low == high {
		t.Fatalf("all scores are equal: %v", sure.Mentions)
	}
	middle := (low + high) / 2
	above := 0
	for _, m := range sure.Mentions {
		if m.Score > middle {
			above++
		}
	}
	dropped := extract(t, loadGLiNER(t, defaultModel, GLiNEROptions{Threshold: middle}), asChunk(text, 0), o)
	if len(dropped.Mentions) != above || dropped.Pruned.BelowThreshold == 0 {
		t.Errorf("threshold %.3f leaves %d mentions, want %d, and counts %d below", middle, len(dropped.Mentions), above, dropped.Pruned.BelowThreshold)
	}
	unnamed := extract(t, loadGLiNER(t, defaultModel, GLiNEROptions{UnknownThreshold: middle}), asChunk(text, 0), o)
	if len(unnamed.Mentions) != len(sure.Mentions) || unnamed.Pruned.UnknownEntities != len(sure.Mentions)-above {
		t.Errorf("unknown threshold %.3f gives %d mentions, %d of them Unknown; want %d and %d",
			middle, len(unnamed.Mentions), unnamed.Pruned.UnknownEntities, len(sure.Mentions), len(sure.Mentions)-above)
	}
	o.Entities[0].Threshold = 0.999999
	strict := extract(t, loadGLiNER(t, defaultModel, GLiNEROptions{}), asChunk(text, 0), o)
	if has(strict, "Angela Merkel", "Person") || !has(strict, "Berlin", "Location") {
		t.Errorf("Person's own threshold leaves %v", strict.Mentions)
	}
}

// What a threshold rejects stays rejected when it is all there is.
func TestNothingComesBackWhenEveryMentionIsRejected(t *testing.T) {
	text := "Angela Merkel met the president of Microsoft in Berlin on 3 March 2014."
	o := ontologyOf("Person", "Organization", "Location", "Date")
	for i := range o.Entities {
		o.Entities[i].Threshold = 1
	}
	found := extract(t, loadGLiNER(t, defaultModel, GLiNEROptions{}), asChunk(text, 0), o)
	if len(found.Mentions) != 0 || len(found.Relations) != 0 || found.Pruned.BelowThreshold == 0 {
		t.Errorf("%d mentions, %d relations; %d are counted as below", len(found.Mentions), len(found.Relations), found.Pruned.BelowThreshold)
	}
}

func TestThresholdsThatCannotBeAreRefused(t *testing.T) {
	model := loadGLiNER(t, tinyModel, GLiNEROptions{}).model
	for _, o := range []GLiNEROptions{{Threshold: -1}, {UnknownThreshold: 1.5}, {Threshold: 0.6, UnknownThreshold: 0.5}} {
		if _, err := NewGLiNER(model, o); err == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
	if _, err := NewGLiNER(nil, GLiNEROptions{}); err == nil {
		t.Error("no model is accepted")
	}
}

func TestTypesAreAskedForInWords(t *testing.T) {
	g := loadGLiNER(t, defaultModel, GLiNEROptions{})
	o := ontologyOf("WorkOfArt", "programming_language", "GPUModel", "Product", "Person", "person")
	o.Entities[4].Prompt = "human being"
	var prompts []string
	for _, l := range g.labelsOf(o) {
		prompts = append(prompts, l.kind+"="+l.prompt)
	}
	want := []string{"WorkOfArt=work of art", "programming_language=programming language", "GPUModel=gpu model", "Product=device", "Person=human being", "person=person"}
	if !slices.Equal(prompts, want) {
		t.Errorf("prompts are %q, want %q", prompts, want)
	}
	if got := g.labelsOf(ontologyOf("Person", "PERSON", "person")); len(got) != 1 || got[0].kind != "Person" {
		t.Errorf("one prompt is asked for %d times", len(got))
	}
}

func TestNamesDoNotReachOverParagraphsItemsAndRows(t *testing.T) {
	text := "Crew:\nAnn\nLee\n- Bo Ek\n\nCy Doe\n2. Di Fay\n2024 was fine\n-5 degrees\n\nName | Home\nEd Gil | Rome\nFlo Hay | Oslo"
	g := loadGLiNER(t, tinyModel, GLiNEROptions{})
	words := modelWords(text, g.model.Tokenizer, 90)
	var starts []string
	for i, broken := range breaksBefore(text, words) {
		if broken {
			starts = append(starts, text[words[i].at.Start:words[i].at.End])
		}
	}
	if want := []string{"-", "Cy", "2", "Di", "Name", "Ed", "Flo"}; !slices.Equal(starts, want) {
		t.Errorf("breaks before %q, want %q", starts, want)
	}
}

func TestMentionsAreTidied(t *testing.T) {
	for in, want := range map[string]string{"Paris,": "Paris", "“Paris": "Paris", "U.S.": "U.S.", "The Hague": "The Hague", "—": "", "...": "", "C++": "C++"} {
		at, ok := tidyMention(in, graph.Range{Start: 0, End: len(in)})
		if ok != (want != "") || ok && in[at.Start:at.End] != want {
			t.Errorf("%q becomes %q, %v", in, in[at.Start:at.End], ok)
		}
	}
}

func TestNothingIsAskedForNothing(t *testing.T) {
	g := loadGLiNER(t, tinyModel, GLiNEROptions{})
	for _, o := range []*graph.Ontology{nil, {}} {
		out, err := g.Extract(t.Context(), []chunkers.Chunk{asChunk("Ann", 0), asChunk("Bo", 5)}, o)
		if err != nil || len(out) != 2 || len(out[0].Mentions)+len(out[1].Mentions) != 0 {
			t.Errorf("got %v, %v", out, err)
		}
	}
}

func TestAChunksResultIsItsOwn(t *testing.T) {
	texts := []string{
		"Maria Rossi works for Nova Robotics in Rome.",
		strings.Repeat("Customers in Buenos Aires complained that the Turbo-4 was too slow. ", 60),
		"",
		"John Carter joined Crimson Media in November.",
	}
	var chunks []chunkers.Chunk
	for i, text := range texts {
		c := asChunk(text, i*10000)
		c.Index = i
		chunks = append(chunks, c)
	}
	o := ontologyOf("Person", "Organization", "Location", "Product", "Date")
	for _, dir := range []string{tinyModel, defaultModel} {
		g := loadGLiNER(t, dir, GLiNEROptions{})
		together, err := g.Extract(t.Context(), chunks, o)
		if err != nil {
			t.Fatal(err)
		}
		var wait sync.WaitGroup
		for i := range chunks {
			wait.Go(func() { // side by side, as workers do
				alone, err := g.Extract(context.Background(), chunks[i:i+1], o)
				if err != nil || !reflect.DeepEqual(alone[0], together[i]) {
					t.Errorf("%s: chunk %d differs alone (%v)", dir, i, err)
				}
			})
		}
		wait.Wait()
	}
}

func TestGLiNERStopsBetweenCallsWhenCancelled(t *testing.T) {
	g := loadGLiNER(t, tinyModel, GLiNEROptions{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := g.Extract(ctx, []chunkers.Chunk{asChunk("Maria Rossi", 0)}, ontologyOf("Person"))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
}

func FuzzGLiNERWords(f *testing.F) {
	for _, seed := range []string{"", "snake_case kebab-case a--b -c d-", "naïve Straße 東京", "e\u0301 हिन्दी", "\xff\x00\x1c½²", "O'Brien's"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		last := 0
		for _, w := range glinerWords(text) {
			if w.Start < last || w.End <= w.Start || w.End > len(text) {
				t.Fatalf("%q: word %v after %d", text, w, last)
			}
			for _, r := range text[last:w.Start] {
				if !isPythonSpace(r) {
					t.Fatalf("%q: %q is left out", text, r)
				}
			}
			last = w.End
		}
	})
}
