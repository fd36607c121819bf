package configs

import (
	"fmt"
	"strings"
)

// Resolvers holds the settings of what takes names for one thing's.
type Resolvers struct {
	MustNotMerge []string `key:"must_not_merge"` // each "NAME != NAME"
}

// Pairs are the names of MustNotMerge.
func (r Resolvers) Pairs() [][2]string {
	pairs := make([][2]string, len(r.MustNotMerge))
	for i, line := range r.MustNotMerge {
		left, right, _ := strings.Cut(line, "!=")
		pairs[i] = [2]string{strings.TrimSpace(left), strings.TrimSpace(right)}
	}
	return pairs
}

func resolverKeys() []Key {
	return []Key{
		{Name: "resolvers.must_not_merge", Kind: KindList, Default: []string{}, check: checkNamePair, rule: `two names with != between them: "IBM != IBM Research"`, DefaultNote: "none",
			Description: "Pairs of names that are two things', whatever a resolver says. finalize takes apart what was merged of them."},
	}
}

func checkNamePair(v string) error {
	left, right, ok := strings.Cut(v, "!=")
	if !ok || strings.TrimSpace(left) == "" || strings.TrimSpace(right) == "" || strings.Contains(right, "!=") {
		return fmt.Errorf("is no pair of names")
	}
	return nil
}
