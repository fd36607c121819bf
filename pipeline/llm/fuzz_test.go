package llm

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func FuzzRepairs(f *testing.F) {
	for _, seed := range []string{
		`{"a":1}`, "```json\n{\"a\":[1,2,],}\n```", "<think>{</think>{\"a\":\"b\"}", `Here: {"a":"x` + "\n" + `y"} and {"b":2}`,
		`{"a":[{"b":"c"}`, `{"a":"b`, `[1,2`, `{"a":"\"}`, "\uFEFF[]", `]}{[`, "```", "", `{"a":{"b":{"c":[[[`, "{\"a\":\"\xff\"}", strings.Repeat("[", 300),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, answer string) {
		candidates := repairs(answer)
		if len(candidates) > 1+2*maxCandidates+maxCandidates*maxCandidates {
			t.Fatalf("%d candidates", len(candidates))
		}
		for _, candidate := range candidates {
			if !json.Valid([]byte(candidate)) || !utf8.ValidString(candidate) {
				t.Fatalf("%q is no JSON", candidate)
			}
			// Nothing is invented: every string and number stands in the answer.
			for _, token := range leaves(t, candidate) {
				if !strings.Contains(answer, token) {
					t.Fatalf("%q is not in the answer", token)
				}
			}
		}
		if trimmed := strings.TrimSpace(answer); json.Valid([]byte(trimmed)) && utf8.ValidString(trimmed) && !strings.HasPrefix(trimmed, "<think>") {
			var whole bytes.Buffer
			_ = json.Compact(&whole, []byte(trimmed))
			if len(candidates) == 0 || candidates[0] != whole.String() {
				t.Fatalf("JSON is not taken as it is: %q", candidates)
			}
		}
	})
}

// leaves are a document's strings and numbers, those with escapes aside: raw
// control characters are escaped when a string is mended.
func leaves(t *testing.T, document string) []string {
	decoder := json.NewDecoder(strings.NewReader(document))
	decoder.UseNumber()
	var out []string
	for {
		token, err := decoder.Token()
		if err != nil {
			return out
		}
		switch value := token.(type) {
		case string:
			if encoded, err := json.Marshal(value); err == nil && string(encoded) == `"`+value+`"` && strings.Contains(document, value) {
				out = append(out, value)
			}
		case json.Number:
			out = append(out, value.String())
		}
	}
}

func FuzzDecodeEntry(f *testing.F) {
	key := digest("a question")
	whole, err := encodeEntry(entryHead{key, entryInfo{Model: "openai/x", Purpose: "extract"}}, []byte(`{"a":1}`))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add(whole[:len(whole)-1])
	f.Add(bytes.Replace(whole, []byte("call 1 "), []byte("call 2 "), 1))
	f.Add([]byte("graphmill-call 1 \n\n"))
	f.Add([]byte(nil))
	f.Fuzz(func(t *testing.T, raw []byte) {
		content, err := decodeEntry(raw, key)
		if err != nil {
			return
		}
		// What is accepted is exactly what would be written.
		line, _, _ := bytes.Cut(raw[bytes.IndexByte(raw, '\n')+1:], []byte("\n"))
		var head entryHead
		if json.Unmarshal(line, &head) != nil || head.Key != key {
			t.Fatalf("another key's entry was read: %q", raw)
		}
		if !bytes.HasSuffix(raw, content) {
			t.Fatalf("the content is not the entry's: %q", content)
		}
	})
}

func FuzzWindows(f *testing.F) {
	f.Add("a few words and 文字 🙂", 16)
	f.Add(strings.Repeat("x", 500), 20)
	f.Add(strings.Repeat("文", 500), 17)
	f.Add(strings.Repeat("🙂é", 100), 19)
	f.Add("\xff\xfe\xfd", 16)
	f.Fuzz(func(t *testing.T, text string, room int) {
		room = max(16, room%1000)
		parts := windows(text, room)
		if got := strings.Join(parts, ""); len(parts) == 1 && got != text {
			t.Fatalf("one window is not the text: %q", got)
		}
		for _, part := range parts {
			if utf8.ValidString(text) && !utf8.ValidString(part) {
				t.Fatalf("a character was cut in two: %q", part)
			}
			if n := EstimateTokens(part); n > room && len(part) > utf8.UTFMax {
				t.Fatalf("a window of %d tokens in %d", n, room)
			}
		}
		if strings.TrimSpace(text) != "" && len(parts) == 0 {
			t.Fatal("no window")
		}
	})
}
