package extractors

import (
	"context"
	"slices"
	"strings"
	"testing"

	"graphmill/chunkers"
	"graphmill/pipeline/graph"
)

// fixed gives the same extraction for every chunk.
type fixed struct{ e graph.Extraction }

func (f fixed) Extract(_ context.Context, chunks []chunkers.Chunk, _ *graph.Ontology) ([]graph.Extraction, error) {
	out := make([]graph.Extraction, len(chunks))
	for i := range out {
		out[i] = graph.Extraction{Mentions: slices.Clone(f.e.Mentions), Relations: slices.Clone(f.e.Relations), Pruned: f.e.Pruned}
	}
	return out, nil
}

const combined = "Jane Roe of Oslo founded New York Times Company."

func at(text, kind string, score float64, method string) graph.Mention {
	start := strings.Index(combined, text)
	return graph.Mention{Range: graph.Range{Start: start, End: start + len(text)}, Text: text, Type: kind, Score: score, Method: method}
}

func combine(t *testing.T, options CombineOptions, methods ...Extractor) graph.Extraction {
	t.Helper()
	c, err := Combine(methods, options)
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.Extract(context.Background(), []chunkers.Chunk{{Text: combined, Range: graph.Range{End: len(combined)}}}, defaultOntology(t))
	if err != nil {
		t.Fatal(err)
	}
	return out[0]
}

func TestOfOverlappingMentionsTheMoreCertainStays(t *testing.T) {
	for behaviour, c := range map[string]struct {
		a, b []graph.Mention
		want string
		nest bool
	}{
		"the more certain":          {a: []graph.Mention{at("New York", "Location", 0.9, "a")}, b: []graph.Mention{at("York Times Company", "Organization", 0.8, "b")}, want: "New York/Location"},
		"of equals the longer":      {a: []graph.Mention{at("New York", "Location", 0.8, "a")}, b: []graph.Mention{at("York Times Company", "Organization", 0.8, "b")}, want: "York Times Company/Organization"},
		"then the earlier":          {a: []graph.Mention{at("York Times", "Location", 0.8, "a")}, b: []graph.Mention{at("w York Tim", "Organization", 0.8, "b")}, want: "w York Tim/Organization"},
		"then the first method's":   {a: []graph.Mention{at("New York", "Work", 0.8, "a")}, b: []graph.Mention{at("New York", "Location", 0.8, "b")}, want: "New York/Work"},
		"a certain over Unknown":    {a: []graph.Mention{at("New York", graph.UnknownType, 0.3, "a")}, b: []graph.Mention{at("New York", "Location", 0.8, "b")}, want: "New York/Location"},
		"no nested one":             {a: []graph.Mention{at("New York", "Location", 0.7, "a")}, b: []graph.Mention{at("New York Times Company", "Organization", 0.8, "b")}, want: "New York Times Company/Organization"},
		"a nested one where wanted": {a: []graph.Mention{at("New York", "Location", 0.7, "a")}, b: []graph.Mention{at("New York Times Company", "Organization", 0.8, "b")}, want: "New York/Location New York Times Company/Organization", nest: true},
		"all that do not overlap":   {a: []graph.Mention{at("Oslo", "Location", 0.7, "a"), at("Jane", "Person", 0.5, "a")}, b: []graph.Mention{at("New York", "Location", 0.8, "b")}, want: "Jane/Person Oslo/Location New York/Location"},
	} {
		t.Run(behaviour, func(t *testing.T) {
			e := combine(t, CombineOptions{Nested: c.nest, NoCues: true}, fixed{graph.Extraction{Mentions: c.a}}, fixed{graph.Extraction{Mentions: c.b, Pruned: graph.Pruned{UnknownEntities: 5}}})
			if got := strings.Join(typed(e), " "); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if e.Pruned.UnknownEntities != 0 {
				t.Errorf("%d mentions are counted as Unknown", e.Pruned.UnknownEntities)
			}
		})
	}
}

func TestRelationsFollowTheirMentions(t *testing.T) {
	pattern := graph.Extraction{
		Mentions: []graph.Mention{at("Oslo", "Location", 0.4, "p"), at("Jane Roe", "Person", 1, "p"), at("Times", "Work", 0.3, "p")},
		Relations: []graph.RelationMention{
			{Source: 1, Target: 0, Type: "LIVED_IN", Score: 0.5, Method: "neighbours", Evidence: graph.Range{Start: 0, End: 16}},
			{Source: 1, Target: 2, Type: "CREATED", Score: 0.5, Method: "neighbours", Evidence: graph.Range{Start: 0, End: 20}},
		},
	}
	model := graph.Extraction{Mentions: []graph.Mention{at("New York Times Company", "Organization", 0.9, "m"), at("Oslo", "Location", 0.8, "m")}}
	e := combine(t, CombineOptions{}, fixed{pattern}, fixed{model})
	if got := strings.Join(typed(e), " "); got != "Jane Roe/Person Oslo/Location New York Times Company/Organization" {
		t.Errorf("mentions %q", got)
	}
	if got := strings.Join(related(e), "; "); got != "Jane Roe FOUNDED New York Times Company; Jane Roe LIVED_IN Oslo" {
		t.Errorf("relations %q", got)
	}
	if e.Mentions[1].Method != "m" {
		t.Error("the less certain of two equal ranges stayed")
	}
}

func TestEveryExtractorInTheCatalogueHasANameAndCost(t *testing.T) {
	names := map[string]bool{}
	for _, s := range Catalogue() {
		if s.Name == "" || s.Description == "" || s.Cost.Source == "" || names[s.Name] {
			t.Errorf("entry %+v", s)
		}
		names[s.Name] = true
	}
	if !names["pattern"] || !names["gliner"] {
		t.Errorf("names %v", names)
	}
}

func TestTheMoreTellingSentenceIsTheDefinition(t *testing.T) {
	name := "Acme"
	ordered := []string{
		"Acme is a maker of anvils and rockets in the town of Springfield.",
		"Acme opened a second factory in the town of Springfield last year.",
		"A long time ago the people of Springfield sold their farms to Acme.",
		"They like Acme.",
		"| Acme | 17 | 4 |",
	}
	last := 2.0
	for _, s := range ordered {
		start := strings.Index(s, name)
		got := Telling(s, graph.Range{Start: start, End: start + len(name)})
		if got >= last || got < 0 || got > 1 {
			t.Errorf("%q tells %v, the one before %v", s, got, last)
		}
		last = got
	}
	if Telling("Acme (formerly Apex) was the first anvil company in the western world.", graph.Range{End: 4}) < Telling(ordered[1], graph.Range{End: 4}) {
		t.Error("a parenthesis hides the definition")
	}
}

func TestADescriptionIsOneBoundedLine(t *testing.T) {
	if got := Description("## Acme\nis   a maker"); got != "Acme is a maker" {
		t.Errorf("%q", got)
	}
	long := Description(strings.Repeat("Größe zählt, ", 100))
	if n := len([]rune(long)); n > MaxDescription || !strings.HasSuffix(long, "zählt…") && !strings.HasSuffix(long, "Größe…") {
		t.Errorf("%d code points: …%s", n, long[len(long)-20:])
	}
}
