package models

import (
	"encoding/base64"
	"encoding/binary"
	"slices"
	"testing"
)

// oneEntryCharsmap builds the map that replaces key: a chain of nodes, each
// level of which has 256 places of its own.
func oneEntryCharsmap(key, replacement string) string {
	trie := make([]uint32, 256*(len(key)+2))
	trie[0] = 256 << 10
	base := uint32(256)
	for i := range len(key) {
		at, next := base^uint32(key[i]), uint32(256*(i+2))
		trie[at] = (at^next)<<10 | uint32(key[i])
		if i == len(key)-1 {
			trie[at] |= 1 << 8
			trie[next] = 1 << 31 // the value: offset 0 of the replacements
		}
		base = next
	}
	raw := binary.LittleEndian.AppendUint32(nil, uint32(4*len(trie)))
	for _, unit := range trie {
		raw = binary.LittleEndian.AppendUint32(raw, unit)
	}
	raw = append(raw, replacement...)
	return base64.StdEncoding.EncodeToString(append(raw, 0))
}

func TestPrecompiledMapsAreApplied(t *testing.T) {
	normalize, err := parseCharsmap(oneEntryCharsmap("ﬁ", "fi"))
	if err != nil {
		t.Fatal(err)
	}
	text := "aﬁxﬁé"
	var chars []char
	for i, r := range text {
		chars = append(chars, char{r, int32(i), int32(i + len(string(r)))})
	}
	want := []char{{'a', 0, 1}, {'f', 1, 4}, {'i', 1, 4}, {'x', 4, 5}, {'f', 5, 8}, {'i', 5, 8}, {'é', 8, 10}}
	if got := normalize(chars); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func FuzzCharsmaps(f *testing.F) {
	f.Add([]byte{4, 0, 0, 0, 255, 255, 255, 255, 'x'}, "text é")
	raw, _ := base64.StdEncoding.DecodeString(oneEntryCharsmap("ﬁ", "fi"))
	f.Add(raw, "aﬁx")
	f.Fuzz(func(t *testing.T, raw []byte, text string) {
		normalize, err := parseCharsmap(base64.StdEncoding.EncodeToString(raw))
		if err != nil || normalize == nil {
			return
		}
		var chars []char
		for i, r := range text {
			chars = append(chars, char{r, int32(i), int32(i + 1)})
		}
		normalize(chars)
	})
}
