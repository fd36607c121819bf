package models

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

const (
	minilm     = "models/minilm"
	glinerEN   = "models/gliner-minilm-en"
	glinerTiny = "testdata/models/gliner-tiny"
)

// inTree is a path under the module's root.
func inTree(elem ...string) string {
	return filepath.Join(append([]string{"..", ".."}, elem...)...)
}

func loadTokenizer(t testing.TB, folder string) Tokenizer {
	t.Helper()
	tokenizer, err := LoadTokenizer(inTree(folder, "tokenizer.json"))
	if err != nil {
		t.Fatal(err)
	}
	return tokenizer
}

func readTestdata(t testing.TB, name string, into any) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, into); err != nil {
		t.Fatal(err)
	}
}

func ids(pieces []Piece) []int64 {
	out := make([]int64, len(pieces))
	for i, p := range pieces {
		out[i] = p.ID
	}
	return out
}

func TestTokenizerGivesTheReferenceLibrarysIDs(t *testing.T) {
	var want struct {
		Texts []string             `json:"texts"`
		IDs   map[string][][]int64 `json:"ids"`
	}
	readTestdata(t, "tokens.json", &want)
	for _, folder := range []string{minilm, glinerEN, glinerTiny} {
		tokenizer := loadTokenizer(t, folder)
		for i, text := range want.Texts {
			if got := ids(tokenizer.Encode(text)); !slices.Equal(got, want.IDs[folder][i]) {
				t.Errorf("%s: %q gives %v, want %v", folder, text, got, want.IDs[folder][i])
			}
		}
	}
}

func TestTokenizerNeitherCutsNorPads(t *testing.T) {
	// gliner-minilm-en's file asks for truncation at 512 and padding.
	tokenizer := loadTokenizer(t, glinerEN)
	if got := len(tokenizer.Encode(strings.Repeat("word ", 5000))); got != 5000 {
		t.Errorf("5000 words give %d pieces", got)
	}
	if got := len(tokenizer.Encode("word")); got != 1 {
		t.Errorf("one word gives %d pieces", got)
	}
}

func TestTokenizerTakesSpecialTokensInTextForText(t *testing.T) {
	for _, folder := range []string{minilm, glinerEN, glinerTiny} {
		tokenizer := loadTokenizer(t, folder)
		for _, name := range []string{"[CLS]", "[SEP]", "[MASK]", "[PAD]", "<<ENT>>", "<<SEP>>"} {
			special, ok := tokenizer.TokenID(name)
			if ok && slices.Contains(ids(tokenizer.Encode("before "+name+" after")), special) {
				t.Errorf("%s: a text that spells %s gives the special token", folder, name)
			}
		}
	}
}

func TestTokenizerKnowsWhatStandsAroundASequence(t *testing.T) {
	for folder, want := range map[string][2]int64{minilm: {101, 102}, glinerEN: {2, 3}, glinerTiny: {1, 2}} {
		before, after := loadTokenizer(t, folder).Wrapper()
		if !slices.Equal(before, []int64{want[0]}) || !slices.Equal(after, []int64{want[1]}) {
			t.Errorf("%s: wrapper is %v and %v, want %v", folder, before, after, want)
		}
	}
}

func TestPiecesPointAtTheText(t *testing.T) {
	tokenizer := loadTokenizer(t, minilm)
	text := "Zoë's  unbelievable—Straße (2024)"
	var spelled []string
	for _, p := range tokenizer.Encode(text) {
		mark := ""
		if !p.First {
			mark = "+"
		}
		spelled = append(spelled, mark+text[p.Start:p.End])
	}
	want := []string{"Zoë", "'", "s", "unbelievable", "—", "St", "+raße", "(", "202", "+4", ")"}
	if !slices.Equal(spelled, want) {
		t.Errorf("pieces spell %q, want %q", spelled, want)
	}
}

// checkPieces wants what a Tokenizer promises of any text.
func checkPieces(t *testing.T, text string, pieces []Piece) {
	t.Helper()
	last, valid := 0, utf8.ValidString(text)
	for i, p := range pieces {
		if p.Start < last || p.End < p.Start || p.End > len(text) {
			t.Fatalf("%q: piece %d is [%d,%d) after one that starts at %d", text, i, p.Start, p.End, last)
		}
		last = p.Start
		if valid && (p.Start < len(text) && !utf8.RuneStart(text[p.Start]) || p.End < len(text) && !utf8.RuneStart(text[p.End])) {
			t.Fatalf("%q: piece %d is [%d,%d), inside a character", text, i, p.Start, p.End)
		}
	}
}

func FuzzTokenizers(f *testing.F) {
	for _, seed := range []string{"", "plain words", "İİ \u0300e\u0301", "\xff\xfe bad utf-8", "東京 ﷺ ㎏", strings.Repeat("x", 400), "a\u200b\u00ad b", "▁ ▁▁", "\x00\x1c"} {
		f.Add(seed)
	}
	var all []Tokenizer
	for _, folder := range []string{minilm, glinerEN, glinerTiny} {
		all = append(all, loadTokenizer(f, folder))
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, tokenizer := range all {
			pieces := tokenizer.Encode(text)
			checkPieces(t, text, pieces)
			if !slices.Equal(pieces, tokenizer.Encode(text)) {
				t.Fatalf("%q: two calls differ", text)
			}
		}
	})
}

func TestTokenizerTimeGrowsWithTheTextOnly(t *testing.T) {
	// A quadratic step in any of these would take minutes, not milliseconds.
	texts := []string{strings.Repeat("İ", 1<<16), strings.Repeat("x", 1<<18), strings.Repeat("東", 1<<16), "a" + strings.Repeat("\u0301", 1<<16), strings.Repeat(" ", 1<<18)}
	for _, folder := range []string{minilm, glinerEN, glinerTiny} {
		tokenizer := loadTokenizer(t, folder)
		for _, text := range texts {
			checkPieces(t, text[:8], tokenizer.Encode(text[:8]))
			tokenizer.Encode(text)
		}
	}
}

func TestTokenizerFilesThatCannotBeUsedSayWhy(t *testing.T) {
	for name, c := range map[string]struct{ file, want string }{
		"BPE model":          {`{"model":{"type":"BPE","vocab":{}}}`, `model type "BPE" is not supported`},
		"unknown normalizer": {`{"normalizer":{"type":"Nmt"},"model":{"type":"WordPiece","unk_token":"u","vocab":{"u":0}}}`, `normalizer type "Nmt"`},
		"missing unknown":    {`{"model":{"type":"WordPiece","unk_token":"[UNK]","vocab":{"a":0}}}`, `unknown token "[UNK]"`},
		"bad unk_id":         {`{"model":{"type":"Unigram","unk_id":7,"vocab":[["a",-1]]}}`, "unk_id 7"},
		"bad charsmap":       {`{"normalizer":{"type":"Precompiled","precompiled_charsmap":"/////w=="},"model":{"type":"WordPiece","unk_token":"u","vocab":{"u":0}}}`, "Precompiled"},
		"not JSON":           {`{`, "unexpected end"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := parseTokenizer([]byte(c.file)); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error is %v, want it to hold %q", err, c.want)
			}
		})
	}
}
