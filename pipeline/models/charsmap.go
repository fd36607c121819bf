package models

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"

	"github.com/rivo/uniseg"
)

// charsmap is SentencePiece's precompiled normalisation: a double-array trie
// (Aoe 1989, in the layout of darts-clone) from UTF-8 prefixes to offsets in a
// table of replacements that end in NUL.
type charsmap struct {
	trie         []uint32
	replacements string
}

// graphemeLimit is the length, in bytes, from which a grapheme is replaced
// character by character and not as a whole, as in SentencePiece's ports.
const graphemeLimit = 6

func parseCharsmap(encoded string) (normalizer, error) {
	raw, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return nil, fmt.Errorf("normalizer Precompiled: %w", err)
	}
	if len(raw) == 0 {
		return nil, nil
	}
	if len(raw) < 4 {
		return nil, fmt.Errorf("normalizer Precompiled: map of %d bytes is too short", len(raw))
	}
	size := int(binary.LittleEndian.Uint32(raw))
	if size%4 != 0 || size > len(raw)-4 || size == 0 {
		return nil, fmt.Errorf("normalizer Precompiled: trie of %d bytes does not fit in a map of %d", size, len(raw))
	}
	m := &charsmap{trie: make([]uint32, size/4), replacements: string(raw[4+size:])}
	for i := range m.trie {
		m.trie[i] = binary.LittleEndian.Uint32(raw[4+4*i:])
	}
	return m.normalize, nil
}

func (m *charsmap) normalize(chars []char) []char {
	text, at := charText(chars)
	out := make([]char, 0, len(chars))
	state := -1
	for pos := 0; pos < len(text); {
		cluster, _, _, next := uniseg.FirstGraphemeClusterInString(text[pos:], state)
		state = next
		first, end := at[pos], at[pos+len(cluster)]
		pos += len(cluster)
		if len(cluster) < graphemeLimit {
			if replaced, ok := m.lookup(cluster); ok {
				out = appendRunes(out, replaced, chars[first].start, chars[end-1].end)
				continue
			}
		}
		for _, c := range chars[first:end] {
			if replaced, ok := m.lookup(string(c.r)); ok {
				out = appendRunes(out, replaced, c.start, c.end)
			} else {
				out = append(out, c)
			}
		}
	}
	return out
}

func appendRunes(out []char, text string, start, end int32) []char {
	for _, r := range text {
		out = append(out, char{r, start, end})
	}
	return out
}

// lookup finds the replacement of the shortest prefix of key that has one.
func (m *charsmap) lookup(key string) (string, bool) {
	at := offsetOf(m.trie[0])
	for i := range len(key) {
		at ^= uint32(key[i])
		if int(at) >= len(m.trie) || key[i] == 0 {
			return "", false
		}
		unit := m.trie[at]
		if unit&(1<<31|0xff) != uint32(key[i]) {
			return "", false
		}
		at ^= offsetOf(unit)
		if unit>>8&1 == 1 {
			if int(at) >= len(m.trie) {
				return "", false
			}
			return m.replacement(int(m.trie[at] & (1<<31 - 1)))
		}
	}
	return "", false
}

func offsetOf(unit uint32) uint32 { return unit >> 10 << (unit & (1 << 9) >> 6) }

func (m *charsmap) replacement(from int) (string, bool) {
	if from > len(m.replacements) {
		return "", false
	}
	to := from
	for to < len(m.replacements) && m.replacements[to] != 0 {
		to++
	}
	return m.replacements[from:to], true
}
