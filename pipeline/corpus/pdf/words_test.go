package pdf

import (
	"regexp"
	"strings"

	"golang.org/x/text/unicode/norm"
)

var wordPattern = regexp.MustCompile(`[\p{Han}\p{Hiragana}\p{Katakana}ー]|[\p{L}\p{N}]+(?:['’._+-][\p{L}\p{N}]+)*`)

// wordsIn are a text's words as they are compared: case folded, compatibility
// forms alike.
func wordsIn(text string) []string {
	return wordPattern.FindAllString(strings.ToLower(norm.NFKC.String(text)), -1)
}

// overlap is the number of words that a and b share, each as often as in both.
func overlap(a, b []string) int {
	counts := map[string]int{}
	for _, w := range a {
		counts[w]++
	}
	shared := 0
	for _, w := range b {
		if counts[w] > 0 {
			counts[w]--
			shared++
		}
	}
	return shared
}

// pairs are neighbouring words, which tell whether the order is the same.
func pairs(words []string) []string {
	var out []string
	for i := 1; i < len(words); i++ {
		out = append(out, words[i-1]+" "+words[i])
	}
	return out
}

// agreement is how much of the longer list the two share.
func agreement(a, b []string) float64 {
	if longest := max(len(a), len(b)); longest > 0 {
		return float64(overlap(a, b)) / float64(longest)
	}
	return 1
}
