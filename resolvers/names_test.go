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

// exactly reports whether exact takes two names of one type for one thing's.
func exactly(t *testing.T, a, b string) bool {
	t.Helper()
	out, err := Exact{}.Resolve(context.Background(), []graph.Mention{mention(a, "Thing"), mention(b, "Thing")})
	if err != nil || len(out.Entities) != 2 {
		t.Fatal(out, err)
	}
	return out.Entities[0] != "" && out.Entities[0] == out.Entities[1]
}

// alike reports whether similar does, where the texts hold what need says.
func alike(t *testing.T, a, b string, need Need) bool {
	t.Helper()
	if exactly(t, a, b) {
		return true
	}
	entities := []Named{named(a), named(b)}
	proposals, _ := Propose(entities)
	return len(Cluster(entities, Settle(proposals, func(Proposal) Need { return need }), nil)) == 1
}

func named(name string) Named {
	return Named{ID: graph.NewEntityID(name, "Thing"), Type: "Thing", Names: []string{graph.DisplayName(name)}}
}

// columns are the resolvers that the golden file has figures of.
var columns = []struct {
	name  string
	joins func(t *testing.T, a, b string) bool
}{
	{"exact", exactly},
	{"similar", func(t *testing.T, a, b string) bool { return alike(t, a, b, NeedNothing) }},
	{"in one document", func(t *testing.T, a, b string) bool { return alike(t, a, b, NeedDocument) }},
	{"side by side", func(t *testing.T, a, b string) bool { return alike(t, a, b, NeedBeside) }},
}

func TestNoResolverMakesAWrongMerge(t *testing.T) {
	apart := 0
	for _, p := range namePairs(t) {
		if p.same {
			continue
		}
		apart++
		for _, column := range columns {
			if column.joins(t, p.a, p.b) || column.joins(t, p.b, p.a) {
				t.Errorf("%s: %q and %q are merged by %s", p.about, p.a, p.b, column.name)
			}
		}
	}
	if apart < 200 {
		t.Errorf("%d pairs to be kept apart", apart)
	}
}

func TestResolversFindAsManyMergesAsCommitted(t *testing.T) {
	right, all := map[string][]int{}, map[string]int{}
	for _, p := range namePairs(t) {
		if !p.same {
			continue
		}
		for _, about := range []string{p.about, "total"} {
			all[about]++
			if right[about] == nil {
				right[about] = make([]int, len(columns))
			}
			for i, column := range columns {
				if column.joins(t, p.a, p.b) {
					right[about][i]++
				}
			}
		}
	}
	if all["total"] < 120 {
		t.Errorf("%d pairs to be merged", all["total"])
	}
	var table strings.Builder
	fmt.Fprintf(&table, "%-22s", "must merge")
	for _, column := range columns {
		fmt.Fprintf(&table, " %15s", column.name)
	}
	fmt.Fprintf(&table, " %7s\n", "of")
	for _, about := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(&table, "%-22s", about)
		for _, n := range right[about] {
			fmt.Fprintf(&table, " %15d", n)
		}
		fmt.Fprintf(&table, " %7d\n", all[about])
	}
	compareGolden(t, table.String())
}

func compareGolden(t *testing.T, table string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(namesGolden, []byte(table), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	golden, err := os.ReadFile(namesGolden)
	if err != nil {
		t.Fatal(err)
	}
	if string(golden) != table {
		t.Errorf("got\n%s\ncommitted\n%s\nIf that is meant, run `go test ./resolvers -update` and say in the commit why.", table, golden)
	}
}
