package pipeline

import (
	"strings"
	"unicode"

	"graphmill/pipeline/falkor/store"
)

// EmbeddingText is the text whose vector stands for a chunk, an entity or a
// relation; "" when it holds no letter or digit and so nothing to embed.
//
// A chunk is embedded with its heading trail in front, an entity as its name,
// type and most telling sentence, a relation as the sentence that states it
// after its two names. See docs/design.md for the measurements behind this.
func EmbeddingText(p store.Pending) string {
	var text string
	switch p.Kind {
	case store.ChunkVector:
		text = joinNonEmpty("\n", p.Title, p.Text)
	case store.EntityVector:
		text = joinNonEmpty(": ", p.Title+" ("+p.Type+")", p.Text)
	default:
		text = p.Text
	}
	if !strings.ContainsFunc(text, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
		return ""
	}
	return text
}

func joinNonEmpty(separator string, parts ...string) string {
	kept := parts[:0]
	for _, part := range parts {
		if part != "" {
			kept = append(kept, part)
		}
	}
	return strings.Join(kept, separator)
}
