package retrieve

import (
	"strings"
	"unicode"

	"graphmill/pipeline/graph"
)

const (
	// maxNameWords is how many words of the question a name may have.
	maxNameWords = 6
	// maxKeys bounds the look-ups for one question; each takes microseconds.
	maxKeys = 600
	// maxUnspaced is how many characters a name in a script without spaces may have.
	maxUnspaced = 8
)

// nameKeys are the normalised forms of every group of neighbouring words that may
// be a name, the longest groups first. A word at the edge of a group is taken
// with the signs around it and without: "C++", "Inc." and "Babbage?" are all
// found.
func nameKeys(question string) []string {
	words := strings.Fields(question)
	var keys []string
	seen := map[string]bool{"": true}
	add := func(name string) {
		if key := graph.NameKey(name); !seen[key] && len(keys) < maxKeys {
			seen[key] = true
			keys = append(keys, key)
		}
	}
	for n := min(maxNameWords, len(words)); n > 0; n-- {
		for i := 0; i+n <= len(words); i++ {
			name := strings.Join(words[i:i+n], " ")
			add(name)
			add(strings.TrimRight(name, ".,;:!?…。、！？"))
			add(strings.TrimFunc(name, isSign))
		}
	}
	for _, word := range words {
		eachUnspaced(word, add)
	}
	return keys
}

func isSign(r rune) bool { return unicode.IsPunct(r) || unicode.IsSymbol(r) }

// eachUnspaced calls do for every piece of a run of characters that are written
// without spaces.
func eachUnspaced(word string, do func(string)) {
	var run []rune
	flush := func() {
		for n := min(maxUnspaced, len(run)); n > 1; n-- {
			for i := 0; i+n <= len(run); i++ {
				do(string(run[i : i+n]))
			}
		}
		run = run[:0]
	}
	for _, r := range word {
		if unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar) || r == 'ー' {
			run = append(run, r)
		} else {
			flush()
		}
	}
	flush()
}
