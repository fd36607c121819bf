package store_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"graphmill/pipeline/engine/enginetest"
	"graphmill/pipeline/falkor/store"
	"graphmill/pipeline/graph"
)

// TestCommitsKeepTheCounts commits, replaces and removes at random; what stands in
// the meta node is each time what finalize counts.
func TestCommitsKeepTheCounts(t *testing.T) {
	client := connect(t, enginetest.Start(t))
	s := locked(t, client, "g")
	random := rand.New(rand.NewPCG(3, 5))
	names := []string{"Ada", "Babbage", "London", "Turing", "Engine", "Menlo Park", "Grace"}
	text := func() string {
		var b string
		for range 1 + random.IntN(3) {
			b += names[random.IntN(len(names))] + " knows " + names[random.IntN(len(names))] + " and " + names[random.IntN(len(names))] + ".\n\n"
		}
		return b
	}
	for step := range 30 {
		var err error
		switch path := fmt.Sprintf("%d.txt", random.IntN(5)); random.IntN(4) {
		case 0:
			err = s.Remove(t.Context(), []graph.DocumentID{graph.FileDocumentID(path)})
		case 1:
			commit(t, s, document(path, text()), document("other.txt", text()))
		default:
			commit(t, s, document(path, text()))
		}
		if err != nil {
			t.Fatal(err)
		}
		meta, err := s.Meta(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		counted, err := s.Finish(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		kept := meta.Counts
		if meta.Commits == 0 {
			continue
		}
		if kept.Sections, kept.Mentions = counted.Sections, counted.Mentions; !reflect.DeepEqual(kept, store.Counts(counted)) {
			t.Fatalf("step %d: kept %+v, counted %+v", step, kept, counted)
		}
	}
}
