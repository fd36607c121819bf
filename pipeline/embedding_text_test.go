package pipeline

import (
	"math"
	"slices"
	"testing"

	"graphmill/pipeline/falkor/store"
)

func TestWhatIsEmbedded(t *testing.T) {
	for name, c := range map[string]struct {
		pending store.Pending
		want    []string
	}{
		"a chunk with its headings":     {store.Pending{Kind: store.ChunkVector, Title: "Guide › Install", Text: "Run it."}, []string{"Guide › Install\nRun it."}},
		"a chunk without headings":      {store.Pending{Kind: store.ChunkVector, Text: "Run it."}, []string{"Run it."}},
		"an entity by name and by text": {store.Pending{Kind: store.EntityVector, Title: "Acme", Type: "Organization", Text: "Acme makes rockets."}, []string{"Acme", "Acme makes rockets."}},
		"an entity without a text":      {store.Pending{Kind: store.EntityVector, Title: "Acme", Type: "Organization"}, []string{"Acme"}},
		"a relation by its fact":        {store.Pending{Kind: store.RelationVector, Text: "(a, B, c): a b c."}, []string{"(a, B, c): a b c."}},
		"signs alone mean nothing":      {store.Pending{Kind: store.ChunkVector, Text: "— * * * —"}, nil},
		"digits are something":          {store.Pending{Kind: store.ChunkVector, Text: "1984"}, []string{"1984"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := EmbeddingTexts(c.pending); !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestMeanHasLengthOne(t *testing.T) {
	got := mean([][]float32{{1, 0}, {0, 1}})
	if math.Abs(float64(got[0]-got[1])) > 1e-7 || math.Abs(float64(got[0]*got[0]+got[1]*got[1])-1) > 1e-6 {
		t.Errorf("mean of two axes is %v", got)
	}
	if got := mean([][]float32{{1, 0}, {-1, 0}}); got[0] != 1 {
		t.Errorf("mean of opposites is %v; a zero vector is found by nothing", got)
	}
}
