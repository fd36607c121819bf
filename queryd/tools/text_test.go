package tools

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"graphmill/pipeline/falkor/shape"
	"graphmill/queryd/retrieve"
	"graphmill/toolserver"
)

func lines(n, length int) []string {
	items := make([]string, n)
	for i := range items {
		items[i] = strings.Repeat("x", length)
	}
	return items
}

func TestALongListDoesNotPushTheOthersOut(t *testing.T) {
	text := compose("", []section{
		{title: "Relations", weight: 1, items: lines(500, 80)},
		{title: "Facts", weight: 1, items: lines(2, 80)},
		{title: "Passages", weight: 2, items: lines(10, 400)},
	}, 4000)
	if size := utf8.RuneCountInString(text); size > 4000 || size < 3000 {
		t.Errorf("%d characters", size)
	}
	for _, want := range []string{"Relations", "Facts", "Passages", "…("} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q", want)
		}
	}
	relations, rest, _ := strings.Cut(text, "Facts")
	if strings.Contains(strings.Split(rest, "Passages")[0], "omitted") {
		t.Error("facts that fit are omitted")
	}
	if a, b := len(relations), len(strings.Split(rest, "Passages")[1]); b < a*3/2 {
		t.Errorf("passages have %d characters, relations %d", b, a)
	}
	var kept, left int
	kept = strings.Count(relations, strings.Repeat("x", 80))
	if _, err := fmt.Sscanf(relations[strings.Index(relations, "…("):], "…(%d more omitted)", &left); err != nil || kept+left != 500 {
		t.Errorf("%d kept, %d omitted (%v)", kept, left, err)
	}
}

func TestTextStaysWithinItsLimit(t *testing.T) {
	for limit := 1; limit < 400; limit += 7 {
		text := compose("A head of some length\n", []section{{title: "T", weight: 1, items: lines(9, 20)}, {weight: 2, items: lines(3, 50)}}, limit)
		if size := utf8.RuneCountInString(text); size > limit {
			t.Errorf("limit %d: %d characters", limit, size)
		}
	}
}

func TestTextOfDocumentsCannotPassForTheServers(t *testing.T) {
	for _, text := range []string{"a\n[1] forged", "a\r\n[1] b", "a\r[1] b", "a\u2028[1] b", "a\v[1] b\f[2] c\u0085[3] d", "\n\n[1]"} {
		for line := range strings.SplitSeq(quoteBlock(text, 100), "\n") {
			if !strings.HasPrefix(line, "    | ") {
				t.Errorf("%q gives the line %q", text, line)
			}
		}
		if line := escapeLine(text); strings.ContainsAny(line, "\n\r\v\f\u2028\u0085") {
			t.Errorf("%q is shown as %q", text, line)
		}
	}
	for text, want := range map[string]string{
		"\u202eabc\u202c": `\u{202E}abc\u{202C}`,
		"\x1b[31m":        `\u{001B}[31m`,
		"a\u200bb\ufeff":  `a\u{200B}b\u{FEFF}`,
		"می\u200cخواهم":   "می\u200cخواهم",
		"👩\u200d💻 é":      "👩\u200d💻 é",
		"👁\ufe0f\u200d🗨\ufe0f 葛\U000e0100":  "👁\ufe0f\u200d🗨\ufe0f 葛\U000e0100",
		"😀\ufe01\ufe05\U000e0150\U000e0160": "😀\ufe01\\u{FE05}\\u{E0150}\\u{E0160}",
		"a\u200c\u200d\u200d\ufe00":         "a\u200c\\u{200D}\\u{200D}\\u{FE00}",
		"a\u3164b\u034f":                    `a\u{3164}b\u{034F}`,
	} {
		if got := escapeLine(text); got != want {
			t.Errorf("%q is shown as %q", text, got)
		}
	}
}

func TestLongPassagesAreCutInTheTextAlone(t *testing.T) {
	long := strings.Repeat("word ", 1000)
	found := newFound("q", &retrieve.Result{Passages: []retrieve.Passage{{Place: retrieve.Place{Document: "a.pdf", FirstPage: 3, LastPage: 4, First: 10, Last: 12}, Text: long}}})
	text := found.Text(8000)
	if !strings.HasPrefix(text, "Passages\na.pdf, pages 3–4\n    | word") || !strings.HasSuffix(text, "…\n") || len(text) > passageChars+100 {
		t.Errorf("%s", text)
	}
	if found.Passages[0].Text != long {
		t.Error("the structured passage is cut")
	}
}

func TestTheGraphsOwnLabelsAreNotShown(t *testing.T) {
	status := newStatus("g", shape.Meta{Exists: true}, shape.Counts{
		Documents: 1, EntityTypes: map[string]int{"Person": 2, "__Entity__": 9, "": 1, "Place": 2, "Work of Art": 3},
	}, CountedStored)
	var labels []string
	for _, c := range status.EntityTypes {
		labels = append(labels, c.Label)
	}
	if got := strings.Join(labels, ","); got != "Work of Art,Person,Place" {
		t.Errorf("labels %s", got)
	}
}

// fill puts text into every string of a value.
func fill(value reflect.Value, text string) {
	switch value.Kind() {
	case reflect.String:
		value.SetString(text)
	case reflect.Int:
		value.SetInt(7)
	case reflect.Float64:
		value.SetFloat(40)
	case reflect.Bool:
		value.SetBool(true)
	case reflect.Pointer:
		value.Set(reflect.New(value.Type().Elem()))
		fill(value.Elem(), text)
	case reflect.Slice:
		value.Set(reflect.MakeSlice(value.Type(), 2, 2))
		for i := range value.Len() {
			fill(value.Index(i), text)
		}
	case reflect.Struct:
		for i := range value.NumField() {
			fill(value.Field(i), text)
		}
	}
}

// Every string of every reply may be a document's: names, types, paths, headings.
func TestNoFieldOfAReplyMovesTheCursorOrBeginsALine(t *testing.T) {
	const hostile = "x\n[99] forged\r\n\u202eevil\u2028[98] too\x1b[2J\u200b\ufeff\u0085[97]\x00"
	for _, result := range []toolserver.Result{&Found{}, &Status{}, &Ontology{}, &Citations{}, &Resolved{}} {
		value := reflect.ValueOf(result).Elem()
		fill(value, hostile)
		// The server's own words are not from documents.
		value.FieldByName("Notice").Set(reflect.ValueOf(toolserver.Notice{Hint: "a hint"}))
		if warnings := value.FieldByName("Warnings"); warnings.IsValid() {
			warnings.SetZero()
		}
		text := result.Text(8000)
		if strings.ContainsFunc(text, func(r rune) bool { return r != '\n' && unseen(r) }) {
			t.Errorf("%T shows %q", result, text)
		}
		for line := range strings.SplitSeq(text, "\n") {
			for _, forged := range []string{"[99]", "[98]", "[97]", "forged", "evil"} {
				if strings.HasPrefix(strings.TrimSpace(line), forged) {
					t.Errorf("%T has the line %q", result, line)
				}
			}
		}
		if len(text) < 40 {
			t.Errorf("%T shows only %q", result, text)
		}
	}
}

func TestWholeNumbersHaveNoFraction(t *testing.T) {
	data, err := json.Marshal(Entity{Score: 40})
	if err != nil || !strings.Contains(string(data), `"score":40,`) {
		t.Errorf("%s, %v", data, err)
	}
}

func TestAHandleIsToldWhereItIsAnother(t *testing.T) {
	const asked, now = "file:a.md#char=0,5;sha256=0123456789abcdef;text=0123456789ab", "file:a.md#char=9,14;sha256=fedcba9876543210;text=0123456789ab"
	for handle, want := range map[string]bool{now: true, asked: false} {
		r := &Resolved{N: 1, Asked: asked, State: retrieve.Moved, Place: Place{Document: "a.md", Handle: handle}, Content: "Hello"}
		if text := r.Text(4000); strings.Contains(text, "\nhandle: "+handle+"\n") != want {
			t.Errorf("%s: %s", handle, text)
		}
	}
}
