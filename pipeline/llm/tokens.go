package llm

import (
	"math"
	"unicode"
)

// EstimateTokens is about how many tokens a model makes of a text, without its
// vocabulary. Byte-pair vocabularies of today (100,000 to 200,000 pieces) hold
// most words of five or six letters whole, split longer and accented ones, take
// digits by threes and punctuation mark by mark, and give other scripts fewer
// pieces the rarer they are on the web. A model with a small vocabulary makes up
// to a third more of it.
func EstimateTokens(text string) int {
	sum := 0.0
	var word, digits, spaces int
	flush := func() {
		if word > 0 {
			sum += 1 + math.Max(0, float64(word-6))*0.2
		}
		sum += float64((digits + 2) / 3)
		word, digits = 0, 0
	}
	for _, r := range text {
		blank := unicode.IsSpace(r)
		if !blank {
			spaces = 0
		}
		switch {
		case r < 128 && (r|32 >= 'a' && r|32 <= 'z'):
			if digits > 0 {
				flush()
			}
			word++
		case r >= '0' && r <= '9':
			if word > 0 {
				flush()
			}
			digits++
		case blank:
			flush()
			// One blank is part of the next word; lines and runs are pieces.
			if spaces++; r == '\n' || spaces == 2 {
				sum += 0.5
			}
		default:
			if !unicode.Is(unicode.Latin, r) && !unicode.IsMark(r) {
				flush()
			}
			sum += weight(r)
		}
	}
	flush()
	return int(math.Ceil(sum))
}

// weight is the part of a token that one character beyond ASCII letters takes.
func weight(r rune) float64 {
	switch {
	case r < 128:
		return 0.8
	case unicode.Is(unicode.Latin, r):
		return 0.5 // and the word around it is not in the vocabulary
	case unicode.Is(unicode.Cyrillic, r), unicode.Is(unicode.Greek, r):
		return 0.4
	case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul):
		return 0.9
	case unicode.IsLetter(r), unicode.IsMark(r):
		return 0.6
	case unicode.IsPunct(r):
		return 1
	}
	return 2 // symbols and emoji are written in bytes
}

// messageTokens is what the frame of a message takes, by the providers' cookbooks.
const messageTokens = 4

// estimate is what the parts of a prompt take.
func estimate(parts ...string) int {
	n := 3
	for _, part := range parts {
		if part != "" {
			n += messageTokens + EstimateTokens(part)
		}
	}
	return n
}
