package models

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// wordPiece cuts a word into the longest known pieces from the left (BERT).
type wordPiece struct {
	vocab    map[string]int64
	prefix   string
	unknown  int64
	maxChars int // longer words are unknown as a whole
	maxPiece int // bytes of the longest piece, prefix included
}

func parseWordPiece(raw []byte) (*wordPiece, error) {
	var file struct {
		Vocab    map[string]int64 `json:"vocab"`
		Unknown  string           `json:"unk_token"`
		Prefix   *string          `json:"continuing_subword_prefix"`
		MaxChars int              `json:"max_input_chars_per_word"`
	}
	if err := json.Unmarshal(raw, &file); err != nil {
		return nil, fmt.Errorf("parse WordPiece model: %w", err)
	}
	m := &wordPiece{vocab: file.Vocab, prefix: "##", maxChars: file.MaxChars}
	if file.Prefix != nil {
		m.prefix = *file.Prefix
	}
	if m.maxChars <= 0 {
		m.maxChars = 100
	}
	var ok bool
	if m.unknown, ok = m.vocab[file.Unknown]; !ok {
		return nil, fmt.Errorf("parse WordPiece model: unknown token %q is not in the vocabulary", file.Unknown)
	}
	for token := range m.vocab {
		m.maxPiece = max(m.maxPiece, len(token))
	}
	return m, nil
}

func (m *wordPiece) id(token string) (int64, bool) {
	id, ok := m.vocab[token]
	return id, ok
}

func (m *wordPiece) forget(token string) { delete(m.vocab, token) }

func (m *wordPiece) cut(w word, pieces []Piece) []Piece {
	whole := Piece{ID: m.unknown, Start: int(w[0].start), End: int(w[len(w)-1].end), First: true}
	if len(w) > m.maxChars {
		return append(pieces, whole)
	}
	// The prefix stands before the word in one buffer, so that a continued
	// piece is looked up without building it.
	var stack [256]byte
	buf := append(stack[:0], m.prefix...)
	ends := make([]int, 0, 128)
	for _, c := range w {
		ends = append(ends, len(buf))
		buf = utf8.AppendRune(buf, c.r)
	}
	ends = append(ends, len(buf))

	kept := len(pieces)
	key := make([]byte, 0, 64)
	for start := 0; start < len(w); {
		key = key[:0]
		if start > 0 {
			key = append(key, m.prefix...)
		}
		head := len(key)
		end := len(w)
		for end > start && head+ends[end]-ends[start] > m.maxPiece {
			end--
		}
		key = append(key, buf[ends[start]:ends[end]]...)
		for ; end > start; end-- {
			if id, ok := m.vocab[string(key[:head+ends[end]-ends[start]])]; ok {
				pieces = append(pieces, Piece{ID: id, Start: int(w[start].start), End: int(w[end-1].end), First: start == 0})
				break
			}
		}
		if end == start {
			return append(pieces[:kept], whole)
		}
		start = end
	}
	return pieces
}
