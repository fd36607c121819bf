package llm

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// windows cuts a text into as few parts of at most room tokens as there must be,
// of about equal size, at blanks where there are any.
func windows(text string, room int) []string {
	tokens := EstimateTokens(text)
	if tokens <= room {
		return []string{text}
	}
	count := (tokens + room - 1) / room
	var out []string
	for rest := text; rest != ""; count-- {
		size := len(rest)
		if count > 1 {
			size = len(rest) / count
		}
		at := cut(rest, size)
		// Scripts are mixed: a part may hold more tokens than its share of bytes.
		for EstimateTokens(rest[:at]) > room && at > utf8.UTFMax {
			at = cut(rest, at*3/4)
		}
		if part := rest[:at]; strings.TrimSpace(part) != "" {
			out = append(out, part)
		}
		rest = rest[at:]
	}
	return out
}

// cut is a place at or before size: behind a blank if there is one in the last
// quarter, else between two characters. It is behind the first one at least.
func cut(text string, size int) int {
	if size >= len(text) {
		return len(text)
	}
	_, first := utf8.DecodeRuneInString(text)
	size = max(size, first)
	// Back to a character's beginning; what is no UTF-8 is cut anywhere.
	for back := 0; back < utf8.UTFMax && size-back >= first; back++ {
		if utf8.RuneStart(text[size-back]) {
			size -= back
			break
		}
	}
	if blank := strings.LastIndexFunc(text[:size], unicode.IsSpace); blank > size*3/4 {
		_, width := utf8.DecodeRuneInString(text[blank:])
		return blank + width
	}
	return size
}

// mean is the normalised mean of the parts' vectors, each as heavy as its share
// of the text.
func mean(parts []string, vectors map[string][]float32) ([]float32, error) {
	if len(parts) == 1 {
		// A copy: equal texts share what is in the map.
		return append([]float32(nil), vectors[parts[0]]...), nil
	}
	sum := make([]float32, len(vectors[parts[0]]))
	for _, part := range parts {
		for i, x := range vectors[part] {
			sum[i] += x * float32(EstimateTokens(part))
		}
	}
	return sum, normalize(sum)
}
