package configs

import (
	"fmt"
	"slices"
	"strings"
)

// didYouMean is a hint naming the nearest candidate: ` (did you mean "x"?)`, or
// "" when nothing is near.
func didYouMean(name string, candidates []string) string {
	if best := nearest(name, candidates); best != "" {
		return fmt.Sprintf(" (did you mean %q?)", best)
	}
	return ""
}

// nearest returns the candidate with the fewest edits, at most a third of its
// length; failing that, one whose last part is the name's ("port" for
// "falkor.port"). Ties go to the first in the alphabet.
func nearest(name string, candidates []string) string {
	sorted := slices.Sorted(slices.Values(candidates))
	lower := strings.ToLower(strings.ReplaceAll(name, "-", "_"))
	best, fewest := "", len(lower)+1
	for _, candidate := range sorted {
		edits := distance(lower, strings.ToLower(candidate))
		if edits < fewest && edits <= max(1, len(candidate)/3) {
			best, fewest = candidate, edits
		}
	}
	if best != "" {
		return best
	}
	last := lower[strings.LastIndexByte(lower, '.')+1:]
	for _, candidate := range sorted {
		tail := candidate[strings.LastIndexByte(candidate, '.')+1:]
		if edits := distance(last, tail); edits < fewest && edits <= len(tail)/4 {
			best, fewest = candidate, edits
		}
	}
	return best
}

// distance is the number of insertions, deletions and replacements between two
// texts (Levenshtein), by bytes; long texts count as far apart.
func distance(a, b string) int {
	const longest = 200
	if len(a) > longest || len(b) > longest {
		return longest
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}
