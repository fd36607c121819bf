package quality_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"graphmill/chunkers"
	"graphmill/extractors"
	"graphmill/pipeline/corpus"
	"graphmill/pipeline/corpus/plaintext"
	"graphmill/pipeline/graph"
	"graphmill/pipeline/models"
	"graphmill/pipeline/ontology"
	"graphmill/quality"
	"graphmill/resolvers"
)

var update = flag.Bool("update", false, "write the measured figures to the golden file")

const (
	labelledDir = "../examples/labelled"
	modelDir    = "../models/gliner-minilm-en"
	goldenFile  = "testdata/extraction.golden"
	// allowedDrop is what another processor's arithmetic may cost; more is a
	// change that somebody must explain.
	allowedDrop = 1.0
)

// defaults is the pipeline as `ingestd run` has it without a configuration, for
// text files.
type defaults struct {
	chunker   chunkers.Chunker
	extractor extractors.Extractor
	resolver  resolvers.Resolver
	ontology  *graph.Ontology
	close     func() error
}

func openDefaults(t *testing.T) *defaults {
	t.Helper()
	library, err := models.FindLibrary("", models.Places{DepsDir: os.Getenv("GRAPHMILL_DEPS_DIR")})
	if err != nil {
		t.Fatal(err)
	}
	engine, err := models.NewONNXRuntime(library)
	if err != nil {
		t.Fatal(err)
	}
	model, err := models.LoadGLiNER(engine, modelDir, models.SessionOptions{})
	if err != nil {
		t.Fatal(errors.Join(err, engine.Close()))
	}
	t.Cleanup(func() {
		if err := errors.Join(model.Close(), engine.Close()); err != nil {
			t.Error(err)
		}
	})
	d, err := newDefaults(model, extractors.GLiNEROptions{})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func newDefaults(model *models.GLiNER, options extractors.GLiNEROptions) (*defaults, error) {
	pattern, err := extractors.NewPattern(extractors.PatternConfig{})
	if err != nil {
		return nil, err
	}
	gliner, err := extractors.NewGLiNER(model, options)
	if err != nil {
		return nil, err
	}
	d := &defaults{resolver: resolvers.Exact{}}
	var errs [3]error
	d.extractor, errs[0] = extractors.Combine([]extractors.Extractor{pattern, gliner}, extractors.CombineOptions{})
	d.chunker, errs[1] = chunkers.New("sentence", nil)
	d.ontology, errs[2] = ontology.Default()
	return d, errors.Join(errs[:]...)
}

// find runs the pipeline over one passage.
func (d *defaults) find(ctx context.Context, p quality.Passage) (quality.Found, error) {
	document := plaintext.FromText(corpus.File{Path: p.ID + ".txt", Format: corpus.Text}, p.Text)
	if document.Text != p.Text {
		return quality.Found{}, fmt.Errorf("passage %s is not its own text", p.ID)
	}
	chunks, err := d.chunker.Chunk(document)
	if err != nil {
		return quality.Found{}, err
	}
	extractions, err := d.extractor.Extract(ctx, chunks, d.ontology)
	if err != nil {
		return quality.Found{}, err
	}
	var found quality.Found
	for _, e := range extractions {
		for _, r := range e.Relations {
			r.Source += len(found.Mentions)
			r.Target += len(found.Mentions)
			found.Relations = append(found.Relations, r)
		}
		found.Mentions = append(found.Mentions, e.Mentions...)
	}
	resolution, err := d.resolver.Resolve(ctx, found.Mentions)
	found.Resolved = resolution.Entities
	return found, err
}

func passages(t *testing.T) []quality.Passage {
	t.Helper()
	all, err := quality.Load(labelledDir)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestExtractionIsAsGoodAsCommitted(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the model over the whole set")
	}
	d := openDefaults(t)
	var table quality.Table
	for _, p := range passages(t) {
		found, err := d.find(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		table.Add(p, quality.Measure(p, found))
	}
	holdToGolden(t, &table, goldenFile)
}

// holdToGolden fails when figures are lower than the committed ones.
func holdToGolden(t *testing.T, table *quality.Table, goldenFile string) {
	t.Helper()
	var written strings.Builder
	if err := table.Write(&written); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(goldenFile, []byte(written.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	golden, err := os.ReadFile(goldenFile)
	if err != nil {
		t.Fatal(err)
	}
	want, err := quality.ReadRows(string(golden))
	if err != nil {
		t.Fatal(err)
	}
	if drops := quality.Drops(want, table.Rows(), allowedDrop); len(drops) > 0 {
		t.Errorf("extraction got worse:\n%s\nIf that is meant, run `go test ./quality -update` and say in the commit why.", strings.Join(drops, "\n"))
	} else if string(golden) != written.String() {
		t.Log("figures changed within what is allowed; -update writes them")
	}
}

func TestTheSetIsLargeAndMixed(t *testing.T) {
	all := passages(t)
	kinds, held := map[string]int{}, 0
	for _, p := range all {
		kinds[p.Kind]++
		if p.Part == quality.HeldOut {
			held++
		}
	}
	if len(all) < 60 || len(kinds) < 4 || held < 20 {
		t.Errorf("%d passages, %d of them held out, kinds %v", len(all), held, kinds)
	}
	for kind, n := range kinds {
		if n < 10 {
			t.Errorf("%d passages of kind %s", n, kind)
		}
	}
}

func TestLabelsAreOfTheBuiltInOntology(t *testing.T) {
	o, err := ontology.Default()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range passages(t) {
		types := map[string]string{}
		for _, m := range p.Entities {
			types[m.Entity] = m.Type
			if _, ok := o.Entity(m.Type); !ok {
				t.Errorf("%s: %q has the undeclared type %s", p.ID, m.Text, m.Type)
			}
		}
		for _, r := range p.Relations {
			if !o.Allows(types[r.Source], r.Type, types[r.Target]) {
				t.Errorf("%s: %s -%s-> %s is not declared", p.ID, types[r.Source], r.Type, types[r.Target])
			}
		}
	}
}

// A relation that needs no pronoun has both names in one sentence.
func TestStatedRelationsStandInOneSentence(t *testing.T) {
	for _, p := range passages(t) {
		offsets := graph.NewOffsets(p.Text)
		together := map[[2]string]bool{}
		var sentences []graph.Span
		for _, r := range chunkers.Sentences(p.Text) {
			s := offsets.Span(r)
			if n := len(sentences); n > 0 && slices.ContainsFunc(p.Entities, func(m quality.Mention) bool { return m.Start < s.Start && m.End > s.Start }) {
				// No sentence ends inside a name ("Reno v. ACLU").
				sentences[n-1].End = s.End
				continue
			}
			sentences = append(sentences, s)
		}
		for _, s := range sentences {
			var inside []string
			for _, m := range p.Entities {
				if m.Start >= s.Start && m.End <= s.End {
					inside = append(inside, m.Entity)
				}
			}
			for _, a := range inside {
				for _, b := range inside {
					together[[2]string{a, b}] = true
				}
			}
		}
		for _, r := range p.Relations {
			if !r.Anaphoric && !together[[2]string{r.Source, r.Target}] {
				t.Errorf("%s: no sentence names both ends of %s %s %s", p.ID, r.Source, r.Type, r.Target)
			}
		}
	}
}

// passage is "Jane Roe, CEO of Acme, met Roe." with Acme founded elsewhere.
func passage() quality.Passage {
	return quality.Passage{
		ID: "p", Kind: "news", Part: quality.Tuning, Text: "Jané Roe leads Acme. Roe smiled.",
		Entities: []quality.Mention{
			{Text: "Jané Roe", Span: graph.Span{Start: 0, End: 8}, Type: "Person", Entity: "e1"},
			{Text: "Acme", Span: graph.Span{Start: 15, End: 19}, Type: "Organization", Entity: "e2"},
			{Text: "Roe", Span: graph.Span{Start: 21, End: 24}, Type: "Person", Entity: "e1"},
		},
		Relations: []quality.Relation{
			{Source: "e1", Type: "LEADS", Target: "e2"},
			{Source: "e1", Type: "FOUNDED", Target: "e2", Anaphoric: true},
		},
	}
}

func mention(p quality.Passage, text, kind string) graph.Mention {
	start := strings.LastIndex(p.Text, text)
	return graph.Mention{Range: graph.Range{Start: start, End: start + len(text)}, Text: text, Type: kind}
}

func TestMeasuresCountWhatTheySay(t *testing.T) {
	p := passage()
	jane, acme := mention(p, "Jané Roe", "Person"), mention(p, "Acme", "Organization")
	roe, place := mention(p, "Roe", "Person"), mention(p, "Acme", "Location")
	leads := graph.RelationMention{Source: 0, Target: 1, Type: "LEADS"}
	for behaviour, c := range map[string]struct {
		found quality.Found
		want  string
	}{
		"all that single sentences hold": {
			quality.Found{Mentions: []graph.Mention{jane, acme, roe}, Resolved: []graph.EntityID{"a", "b", "a"}, Relations: []graph.RelationMention{leads, leads}},
			"mentions 3/3/3, spans 3/3/3, entities 2/2/2, relations 1/1/2, stated relations 1/1/1",
		},
		"one person taken for two": {
			quality.Found{Mentions: []graph.Mention{jane, acme, roe}, Resolved: []graph.EntityID{"a", "b", "c"}, Relations: []graph.RelationMention{leads}},
			"mentions 3/3/3, spans 3/3/3, entities 2/3/2, relations 1/1/2, stated relations 1/1/1",
		},
		"two things taken for one": {
			quality.Found{Mentions: []graph.Mention{jane, acme}, Resolved: []graph.EntityID{"a", "a"}},
			"mentions 2/2/3, spans 2/2/3, entities 1/1/2, relations 0/0/2, stated relations 0/0/1",
		},
		"a wrong type": {
			quality.Found{Mentions: []graph.Mention{jane, place}, Resolved: []graph.EntityID{"a", "b"}, Relations: []graph.RelationMention{leads}},
			"mentions 1/2/3, spans 2/2/3, entities 1/2/2, relations 0/1/2, stated relations 0/1/1",
		},
		"nothing": {quality.Found{}, "mentions 0/0/3, spans 0/0/3, entities 0/0/2, relations 0/0/2, stated relations 0/0/1"},
	} {
		t.Run(behaviour, func(t *testing.T) {
			counts := quality.Measure(p, c.found).Counts
			var got []string
			for _, measure := range quality.Measures {
				n := counts[measure]
				got = append(got, fmt.Sprintf("%s %d/%d/%d", measure, n.Right, n.Found, n.Labelled))
			}
			if s := strings.Join(got, ", "); s != c.want {
				t.Errorf("got  %s\nwant %s", s, c.want)
			}
		})
	}
}

func TestFiguresSurviveTheirTable(t *testing.T) {
	var table quality.Table
	p := passage()
	table.Add(p, quality.Measure(p, quality.Found{Mentions: []graph.Mention{mention(p, "Roe", "Person")}, Resolved: []graph.EntityID{"a"}}))
	var written strings.Builder
	if err := table.Write(&written); err != nil {
		t.Fatal(err)
	}
	rows, err := quality.ReadRows(written.String())
	if err != nil || !slices.Equal(rows, table.Rows()) {
		t.Errorf("read %v, wrote %v, %v", rows, table.Rows(), err)
	}
}

func TestADropOfATotalIsSeen(t *testing.T) {
	row := func(kind string, right int) quality.Row {
		c := quality.Counts{Right: right, Found: 100, Labelled: 100}
		return quality.Row{Part: "all", Kind: kind, Measure: quality.Mentions, Precision: 100 * c.Precision(), Recall: 100 * c.Recall(), F1: 100 * c.F1()}
	}
	for behaviour, c := range map[string]struct {
		want, got []quality.Row
		drops     int
	}{
		"two points":                 {[]quality.Row{row(quality.Total, 80)}, []quality.Row{row(quality.Total, 78)}, 3},
		"one point":                  {[]quality.Row{row(quality.Total, 80)}, []quality.Row{row(quality.Total, 79)}, 0},
		"a rise":                     {[]quality.Row{row(quality.Total, 80)}, []quality.Row{row(quality.Total, 90)}, 0},
		"a kind of text only":        {[]quality.Row{row("news", 80)}, []quality.Row{row("news", 60)}, 0},
		"a figure that is not there": {[]quality.Row{row(quality.Total, 80)}, nil, 1},
	} {
		if drops := quality.Drops(c.want, c.got, 1); len(drops) != c.drops {
			t.Errorf("%s: %q", behaviour, drops)
		}
	}
}
