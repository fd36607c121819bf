package store

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"graphmill/pipeline/falkor/shape"
)

// TestSharesMergeInAnyOrderAndGrouping merges random mentions in random trees.
func TestSharesMergeInAnyOrderAndGrouping(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		mentions := make([]mention, 1+r.IntN(150))
		for i := range mentions {
			m := mention{chunk: fmt.Sprintf("c%03d", i), telling: float64(r.IntN(4)), about: fmt.Sprint("about ", r.IntN(5)), score: float64(r.IntN(5)), count: 1 + r.IntN(3)}
			for range 1 + r.IntN(3) {
				m.names = append(m.names, []string{"é", "zz", "a"}[r.IntN(3)]+fmt.Sprint(r.IntN(200)))
			}
			mentions[i] = m
		}
		want := share{}
		for _, m := range mentions {
			want = want.merge(m.share())
		}
		shares := make([]share, len(mentions))
		for i, m := range mentions {
			shares[i] = m.share()
		}
		for len(shares) > 1 {
			i, j := r.IntN(len(shares)), r.IntN(len(shares))
			if i == j {
				continue
			}
			shares[i] = shares[i].merge(shares[j])
			shares = slices.Delete(shares, j, j+1)
		}
		if !reflect.DeepEqual(shares[0], want) {
			t.Fatalf("seed %d: %+v, want %+v", seed, shares[0], want)
		}
		if len(want.others) > shape.MaxAliases || len(want.chunks) > shape.MaxSourceChunks {
			t.Fatalf("seed %d: %d aliases, %d chunks", seed, len(want.others), len(want.chunks))
		}
	}
}

func TestEvidenceIsASet(t *testing.T) {
	a := evidence{chunk: "c1", quote: "b", score: 0.5, sourceName: "Ada", targetName: "Bob"}
	b := evidence{chunk: "c2", quote: "a", score: 0.5, sourceName: "Ada Lovelace", targetName: "Bob"}
	e := edge{kind: "R"}.with([]evidence{b, a}, nil).with([]evidence{a}, nil)
	if len(e.evidence) != 2 || e.statement().fact("R") != "(Ada Lovelace, R, Bob): a" {
		t.Errorf("%+v says %s", e.evidence, e.statement().fact("R"))
	}
	if e = e.with(nil, map[string]bool{"c2": true}); e.statement().fact("R") != "(Ada, R, Bob): b" {
		t.Errorf("without c2: %s", e.statement().fact("R"))
	}
}
