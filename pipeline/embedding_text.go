package pipeline

import (
	"math"
	"strings"
	"unicode"

	"graphmill/pipeline/falkor/store"
)

// EmbeddingTexts are the texts whose mean vector, brought to length 1, stands for
// a chunk, an entity or a relation; none when nothing of it holds a letter or
// digit.
//
// A chunk is embedded with its heading trail in front, a relation as its fact. An
// entity is the mean of its name and of its most telling sentence: either alone
// is found by one kind of question only, and both in one text are found worse by
// both (bench/entitytext, figures in docs/design.md).
func EmbeddingTexts(p store.Pending) []string {
	var texts []string
	switch {
	case p.Kind == store.EntityVector:
		texts = []string{p.Title, p.Text}
	case p.Title == "":
		texts = []string{p.Text}
	default:
		texts = []string{p.Title + "\n" + p.Text}
	}
	usable := texts[:0]
	for _, text := range texts {
		if strings.ContainsFunc(text, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
			usable = append(usable, text)
		}
	}
	return usable
}

// mean is the normalised mean of vectors; the zero mean of opposite ones, which
// no index can hold, is the first of them.
func mean(vectors [][]float32) []float32 {
	if len(vectors) == 1 {
		return vectors[0]
	}
	sum := make([]float64, len(vectors[0]))
	for _, v := range vectors {
		for i, x := range v {
			sum[i] += float64(x)
		}
	}
	length := 0.0
	for _, x := range sum {
		length += x * x
	}
	if length = math.Sqrt(length); length < 1e-6 {
		return vectors[0]
	}
	out := make([]float32, len(sum))
	for i, x := range sum {
		out[i] = float32(x / length)
	}
	return out
}
