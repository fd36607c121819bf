package retrieve

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"graphmill/pipeline/graph"
)

const (
	// maxNameWords is how many words of the question a name may have.
	maxNameWords = 6
	// maxKeys bounds the look-ups for one question; each takes microseconds.
	maxKeys = 600
	// maxTrailing is how many signs are taken off a group's end, one by one.
	maxTrailing = 4
	// maxUnspaced is how many characters a name in a script without spaces may have.
	maxUnspaced = 8
)

// nameKeys are the normalised forms of every group of neighbouring words that may
// be a name, in the question's order. A group is taken with the signs around it
// and without: "C++", "Inc.," and "Babbage?" are all found.
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
	for i := range words {
		for n := 1; n <= maxNameWords && i+n <= len(words); n++ {
			name := strings.Join(words[i:i+n], " ")
			add(name)
			add(strings.TrimLeftFunc(name, isSign))
			for range maxTrailing {
				r, size := utf8.DecodeLastRuneInString(name)
				if !isSign(r) {
					break
				}
				name = name[:len(name)-size]
				add(name)
				add(strings.TrimLeftFunc(name, isSign))
			}
		}
		if len(keys) == maxKeys {
			break
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
