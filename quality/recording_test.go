package quality_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"graphmill/chunkers"
	"graphmill/extractors"
	"graphmill/pipeline/graph"
	"graphmill/pipeline/llm"
	"graphmill/pipeline/ontology"
	"graphmill/quality"
	"graphmill/resolvers"
)

var record = flag.String("record", "", "ask this model (openai/…, anthropic/…; keys and base URL from the environment) about the labelled passages and write its answers")

const (
	recordingFile = "testdata/llm_answers.jsonl"
	llmGoldenFile = "testdata/extraction_llm.golden"
)

// asking is the pipeline with `extractor: [pattern, llm]`.
func asking(t *testing.T, chat llm.Chat) *defaults {
	t.Helper()
	pattern, err := extractors.NewPattern(extractors.PatternConfig{})
	if err != nil {
		t.Fatal(err)
	}
	d := &defaults{resolver: resolvers.Exact{}}
	if d.extractor, err = extractors.Combine([]extractors.Extractor{pattern, extractors.NewLLM(chat)}, extractors.CombineOptions{}); err != nil {
		t.Fatal(err)
	}
	if d.chunker, err = chunkers.New("sentence", nil); err != nil {
		t.Fatal(err)
	}
	if d.ontology, err = ontology.Default(); err != nil {
		t.Fatal(err)
	}
	return d
}

func loadRecording(t *testing.T) *quality.Recording {
	t.Helper()
	r, err := quality.LoadRecording(recordingFile)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// What a language model gives, held to committed figures as the default is. It
// measures the prompts' answers once, and from then on what is made of them.
func TestExtractionWithALanguageModelIsAsGoodAsCommitted(t *testing.T) {
	var chat llm.Chat
	var recorder *quality.Recorder
	if *record != "" {
		client, err := llm.New(llm.Options{Endpoint: llm.Endpoint{Model: *record, APIKey: os.Getenv("LLM_API_KEY"), BaseURL: os.Getenv("OPENAI_BASE_URL")}})
		if err != nil {
			t.Fatal(err)
		}
		recorder = quality.NewRecorder(client, quality.RecordingHead{
			Model: *record, Made: time.Now().UTC().Format(time.DateOnly), Covers: "all passages of examples/labelled",
			How: []string{"Answers of the model as they came, by `go test ./quality -run LanguageModel -record " + *record + "`."},
		})
		chat = recorder
	} else {
		chat = loadRecording(t)
	}
	d := asking(t, chat)
	var table quality.Table
	for _, p := range passages(t) {
		found, err := d.find(t.Context(), p)
		if err != nil {
			t.Fatalf("%s: %v", p.ID, err)
		}
		table.Add(p, quality.Measure(p, found))
	}
	if recorder != nil {
		if err := recorder.Recording.Write(recordingFile); err != nil {
			t.Fatal(err)
		}
	}
	holdToGolden(t, &table, llmGoldenFile)
}

// A recording does not answer questions that were put otherwise.
func TestAStaleRecordingIsRefused(t *testing.T) {
	r := loadRecording(t)
	if r.Len() < 2*len(passages(t)) {
		t.Errorf("%d answers for %d passages, two each", r.Len(), len(passages(t)))
	}
	if r.Head.Model == "" || r.Head.Made == "" || len(r.Head.How) == 0 || r.Head.Covers == "" {
		t.Errorf("the recording does not say how it was made: %+v", r.Head)
	}
	p := passages(t)[0]
	for name, change := range map[string]func(*defaults){
		"another ontology": func(d *defaults) {
			d.ontology = d.ontology.Canonical()
			d.ontology.Entities[0].Description += " "
			d.ontology.Entities = append(d.ontology.Entities, graph.EntityType{Label: "Animal"})
		},
		"another passage": func(*defaults) { p.Text += " And so it went." },
	} {
		d := asking(t, r)
		change(d)
		if _, err := d.find(t.Context(), p); err == nil || !strings.Contains(err.Error(), "stale") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestARecordingGivesBackWhatWasAnswered(t *testing.T) {
	r := loadRecording(t)
	d := asking(t, quality.NewRecorder(r, r.Head))
	p := passages(t)[3]
	want, err := d.find(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	again := quality.NewRecorder(r, r.Head)
	if _, err := asking(t, again).find(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "r.jsonl")
	if err := again.Recording.Write(name); err != nil {
		t.Fatal(err)
	}
	read, err := quality.LoadRecording(name)
	if err != nil || read.Len() != 2 || read.Head.Model != r.Head.Model {
		t.Fatal(read.Head, read.Len(), err)
	}
	if got, err := asking(t, read).find(t.Context(), p); err != nil || len(got.Mentions) != len(want.Mentions) || len(got.Relations) != len(want.Relations) {
		t.Errorf("%d mentions, %v; want %d", len(got.Mentions), err, len(want.Mentions))
	}
}
