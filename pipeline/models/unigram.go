package models

import (
	"encoding/json"
	"fmt"
	"math"
	"unicode/utf8"
)

// unigram cuts a word into the pieces of the highest total score (Kudo 2018,
// "Subword Regularization", section 3.2; the Viterbi path).
type unigram struct {
	ids          map[string]int64
	scores       []float64
	unknown      int64 // -1: none
	unknownScore float64
	maxPiece     int // characters of the longest piece
	byteTokens   *[256]int64
}

// unknownPenalty is how much worse than the worst piece an unknown character
// scores, as in SentencePiece and tokenizers.
const unknownPenalty = 10

func parseUnigram(raw []byte) (*unigram, error) {
	var file struct {
		Vocab        [][2]any `json:"vocab"`
		Unknown      *int64   `json:"unk_id"`
		ByteFallback bool     `json:"byte_fallback"`
	}
	if err := json.Unmarshal(raw, &file); err != nil {
		return nil, fmt.Errorf("parse Unigram model: %w", err)
	}
	m := &unigram{ids: make(map[string]int64, len(file.Vocab)), unknown: -1, unknownScore: math.Inf(1)}
	for i, entry := range file.Vocab {
		token, isText := entry[0].(string)
		score, isNumber := entry[1].(float64)
		if !isText || !isNumber {
			return nil, fmt.Errorf("parse Unigram model: entry %d of the vocabulary is not a token and a score", i)
		}
		m.ids[token] = int64(i)
		m.scores = append(m.scores, score)
		m.unknownScore = min(m.unknownScore, score)
		m.maxPiece = max(m.maxPiece, utf8.RuneCountInString(token))
	}
	m.unknownScore -= unknownPenalty
	if file.Unknown != nil {
		if *file.Unknown < 0 || *file.Unknown >= int64(len(m.scores)) {
			return nil, fmt.Errorf("parse Unigram model: unk_id %d is not in the vocabulary", *file.Unknown)
		}
		m.unknown = *file.Unknown
	}
	if file.ByteFallback {
		m.byteTokens = m.findByteTokens()
	}
	return m, nil
}

func (m *unigram) findByteTokens() *[256]int64 {
	var tokens [256]int64
	for b := range tokens {
		id, ok := m.ids[fmt.Sprintf("<0x%02X>", b)]
		if !ok {
			return nil
		}
		tokens[b] = id
	}
	return &tokens
}

func (m *unigram) id(token string) (int64, bool) {
	id, ok := m.ids[token]
	return id, ok
}

func (m *unigram) forget(token string) { delete(m.ids, token) }

// node is the best way to reach a character boundary.
type node struct {
	score float64
	from  int
	id    int64
}

func (m *unigram) cut(w word, pieces []Piece) []Piece {
	buf := make([]byte, 0, len(w)+8)
	ends := make([]int, 0, len(w)+1)
	for _, c := range w {
		ends = append(ends, len(buf))
		buf = utf8.AppendRune(buf, c.r)
	}
	ends = append(ends, len(buf))
	best := make([]node, len(w)+1)
	for i := range best[1:] {
		best[i+1].from = -1
	}
	for i := range w {
		single := false
		limit := min(len(w), i+m.maxPiece)
		for j := i + 1; j <= limit; j++ {
			id, ok := m.ids[string(buf[ends[i]:ends[j]])]
			if !ok {
				continue
			}
			single = single || j == i+1
			best[j].improve(best[i].score+m.scores[id], i, id)
		}
		if !single {
			best[i+1].improve(best[i].score+m.unknownScore, i, m.unknown)
		}
	}
	return m.trace(w, buf, ends, best, pieces)
}

func (n *node) improve(score float64, from int, id int64) {
	if n.from < 0 || score > n.score {
		*n = node{score, from, id}
	}
}

// trace walks the best path; neighbouring unknown characters become one piece.
func (m *unigram) trace(w word, buf []byte, ends []int, best []node, pieces []Piece) []Piece {
	var cuts []int
	for at := len(w); at > 0; at = best[at].from {
		cuts = append(cuts, at)
	}
	first := true
	for i, start := len(cuts)-1, 0; i >= 0; i-- {
		end, id := cuts[i], best[cuts[i]].id
		if id == m.unknown {
			for i > 0 && best[cuts[i-1]].id == m.unknown {
				i--
				end = cuts[i]
			}
		}
		piece := Piece{ID: id, Start: int(w[start].start), End: int(w[end-1].end), First: first}
		switch {
		case id == m.unknown && m.byteTokens != nil:
			for _, b := range buf[ends[start]:ends[end]] {
				piece.ID = m.byteTokens[b]
				pieces = append(pieces, piece)
				piece.First = false
			}
		case id >= 0:
			pieces = append(pieces, piece)
		}
		first, start = false, end
	}
	return pieces
}
