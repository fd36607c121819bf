package prose

import (
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"

	"graphmill/pipeline/graph"
)

// anchored reports whether what follows r is divided into grapheme clusters
// alike whatever stands before r, so that segmentation can start at r. Marks,
// joiners, emoji modifiers and flag halves are not; nearly everything else is.
func anchored(r rune) bool {
	if r < 0x300 || Ideographic(r) {
		return true
	}
	switch {
	case r == 0x200C || r == 0x200D || r == 0xFF9E || r == 0xFF9F:
	case r == 0x0E33 || r == 0x0EB3: // Thai and Lao AM continue a cluster
	case 0x1F1E6 <= r && r <= 0x1F1FF || 0x1F3FB <= r && r <= 0x1F3FF:
	case 0xE0020 <= r && r <= 0xE007F:
	default:
		return !unicode.Is(unicode.M, r)
	}
	return false
}

// LastBoundary returns the largest grapheme cluster boundary of text that is
// at most limit, given that from is one; from itself when the cluster that
// starts there reaches beyond limit. It reads back from limit to the first
// character that is safe to start from, in most texts the one before.
func LastBoundary(text string, from, limit int) int {
	if limit >= len(text) {
		return len(text)
	}
	if limit <= from {
		return from
	}
	if a, b := text[limit-1], text[limit]; a < utf8.RuneSelf && b < utf8.RuneSelf && (a != '\r' || b != '\n') {
		return limit
	}
	_, size := utf8.DecodeRuneInString(text[limit:])
	end := limit + size
	tried := 0
	for anchor := limit; anchor > from; {
		r, size := utf8.DecodeLastRuneInString(text[from:anchor])
		anchor -= size
		// Doubling the distance keeps a long run of clusterless anchors linear.
		if anchor > from && (!anchored(r) || limit-anchor < 2*tried) {
			continue
		}
		if found := lastBreak(text[anchor:end], limit-anchor); found > 0 {
			return anchor + found
		}
		tried = limit - anchor
	}
	return from
}

// lastBreak returns the largest cluster boundary of text in (0, limit], or 0.
func lastBreak(text string, limit int) int {
	found, at, state := 0, 0, -1
	for rest := text; len(rest) > 0; {
		var cluster string
		cluster, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		at += len(cluster)
		if at > limit {
			break
		}
		found = at
	}
	return found
}

// IsBoundary reports whether at is a grapheme cluster boundary, given that
// from, which is not larger, is one.
func IsBoundary(text string, from, at int) bool {
	return at == from || LastBoundary(text, from, at) == at
}

// Trim takes white space off both ends of r, which starts and ends on cluster
// boundaries, without dividing a cluster: a space that carries a combining mark
// stays.
func Trim(text string, r graph.Range) graph.Range {
	for r.Start < r.End {
		c, size := utf8.DecodeRuneInString(text[r.Start:r.End])
		if !unicode.IsSpace(c) {
			break
		}
		next := r.Start + size
		if next < r.End && text[next] >= utf8.RuneSelf && !IsBoundary(text, r.Start, next) {
			break
		}
		r.Start = next
	}
	for r.Start < r.End {
		c, size := utf8.DecodeLastRuneInString(text[r.Start:r.End])
		if !unicode.IsSpace(c) {
			break
		}
		last := r.End - size
		if last > r.Start && text[last-1] >= utf8.RuneSelf && !IsBoundary(text, r.Start, last) {
			break
		}
		r.End = last
	}
	return r
}
