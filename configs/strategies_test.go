package configs

import (
	"maps"
	"slices"
	"testing"

	"graphmill/chunkers"
	"graphmill/extractors"
	"graphmill/planner/catalogue"
	"graphmill/resolvers"
)

// The names are repeated in this package so that a reader of the graph does
// not link the strategies; here they are held to the catalogues.
func TestStrategyNamesAreTheCatalogues(t *testing.T) {
	parameters := map[string]bool{}
	names := func(strategies []catalogue.Strategy) []string {
		found := []string{}
		for _, s := range strategies {
			found = append(found, s.Name)
			for _, p := range s.Parameters {
				parameters[p.Name] = true
			}
		}
		slices.Sort(found)
		return found
	}
	for _, c := range []struct {
		what      string
		got, want []string
	}{
		{"chunkers", chunkerNames, names(chunkers.Catalogue())},
		{"extractors", extractorNames, names(extractors.Catalogue())},
		{"resolvers", resolverNames, names(resolvers.Catalogue())},
	} {
		if !slices.Equal(c.got, c.want) {
			t.Errorf("%s %q, catalogue %q", c.what, c.got, c.want)
		}
	}
	if got, want := slices.Sorted(slices.Values(RuleParameters())), slices.Sorted(maps.Keys(parameters)); !slices.Equal(got, want) {
		t.Errorf("parameters %q, catalogue %q", got, want)
	}
}
