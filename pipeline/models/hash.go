package models

import (
	"context"
	"fmt"
	"hash/fnv"
	"strings"
	"unicode"
)

// hashEmbedder hashes words into a vector (feature hashing, Weinberger et al.
// 2009).
type hashEmbedder struct{ dimension int }

// NewHashEmbedder makes an embedder without a model, for tests and benchmarks:
// each lower-cased word adds 1 or -1 to the component it hashes to, so that
// texts that share words are similar. The same text gives the same vector on
// every machine. dimension must be positive.
func NewHashEmbedder(dimension int) (Embedder, error) {
	if dimension <= 0 {
		return nil, fmt.Errorf("make hash embedder: dimension %d is not positive", dimension)
	}
	return hashEmbedder{dimension}, nil
}

func (h hashEmbedder) Model() string  { return fmt.Sprintf("hash-%d@1", h.dimension) }
func (h hashEmbedder) Dimension() int { return h.dimension }
func (h hashEmbedder) Close() error   { return nil }

func (h hashEmbedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if strings.TrimSpace(text) == "" {
			return nil, fmt.Errorf("embed text %d of %d: %w", i+1, len(texts), errEmptyText)
		}
		vectors[i] = h.embed(text)
	}
	return vectors, nil
}

func (h hashEmbedder) embed(text string) []float32 {
	vector := make([]float32, h.dimension)
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsNumber(r)
	})
	for _, word := range words {
		h.add(vector, word)
	}
	if _, err := normalize(vector); err != nil {
		// No words, or words that cancel out: the text as a whole is the feature.
		h.add(vector, text)
		normalize(vector)
	}
	return vector
}

func (h hashEmbedder) add(vector []float32, feature string) {
	sum := fnv.New64a()
	sum.Write([]byte(feature))
	hash := sum.Sum64()
	hash ^= hash >> 33 // FNV's high bits are weak on short words
	hash *= 0xff51afd7ed558ccd
	hash ^= hash >> 33
	if hash>>63 == 0 {
		vector[hash%uint64(h.dimension)]++
	} else {
		vector[hash%uint64(h.dimension)]--
	}
}
