package resolvers

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"graphmill/pipeline/graph"
)

var update = flag.Bool("update", false, "write the measured figures to the golden file")

const (
	namesFile   = "testdata/names.tsv"
	namesGolden = "testdata/names.golden"
)

// namePair is two names of one type that one thing has, or two.
type namePair struct {
	about, a, b string
	same        bool
}

func namePairs(t *testing.T) []namePair {
	t.Helper()
	data, err := os.ReadFile(namesFile)
	if err != nil {
		t.Fatal(err)
	}
	var pairs []namePair
	for n, line := range strings.Split(strings.TrimSpace(string(data)), "\n") {
		if strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Split(line, "\t")
		if len(fields) != 4 || fields[0] != "merge" && fields[0] != "apart" {
			t.Fatalf("%s:%d: %q", namesFile, n+1, line)
		}
		a, errA := strconv.Unquote(fields[2])
		b, errB := strconv.Unquote(fields[3])
		if errA != nil || errB != nil {
			t.Fatalf("%s:%d: %v, %v", namesFile, n+1, errA, errB)
		}
		pairs = append(pairs, namePair{about: fields[1], a: a, b: b, same: fields[0] == "merge"})
	}
	return pairs
}

// joins reports whether the resolver takes two names of one type for one thing.
func joins(t *testing.T, r Resolver, a, b string) bool {
	t.Helper()
	out, err := r.Resolve(context.Background(), []graph.Mention{mention(a, "Thing"), mention(b, "Thing")})
	if err != nil || len(out.Entities) != 2 {
		t.Fatal(out, err)
	}
	return out.Entities[0] != "" && out.Entities[0] == out.Entities[1]
}

func TestExactMakesNoWrongMerge(t *testing.T) {
	apart := 0
	for _, p := range namePairs(t) {
		if p.same {
			continue
		}
		apart++
		if joins(t, Exact{}, p.a, p.b) {
			t.Errorf("%s: %q and %q are merged", p.about, p.a, p.b)
		}
	}
	if apart < 100 {
		t.Errorf("%d pairs to be kept apart", apart)
	}
}

func TestExactFindsAsManyMergesAsCommitted(t *testing.T) {
	right, all := map[string]int{}, map[string]int{}
	pairs := 0
	for _, p := range namePairs(t) {
		pairs++
		if !p.same {
			continue
		}
		for _, about := range []string{p.about, "total"} {
			all[about]++
			if joins(t, Exact{}, p.a, p.b) {
				right[about]++
			}
		}
	}
	if pairs < 150 {
		t.Errorf("%d pairs", pairs)
	}
	var table strings.Builder
	fmt.Fprintf(&table, "%-22s %6s %7s\n", "must merge", "merged", "of")
	for _, about := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(&table, "%-22s %6d %7d\n", about, right[about], all[about])
	}
	if *update {
		if err := os.WriteFile(namesGolden, []byte(table.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	golden, err := os.ReadFile(namesGolden)
	if err != nil {
		t.Fatal(err)
	}
	if string(golden) != table.String() {
		t.Errorf("got\n%s\ncommitted\n%s\nIf that is meant, run `go test ./resolvers -update` and say in the commit why.", table.String(), golden)
	}
}
