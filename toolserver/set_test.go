package toolserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"
)

type page struct {
	N    int    `json:"n,omitempty"`
	Text string `json:"text"`
}

type book struct {
	Pages []page   `json:"pages"`
	Words []string `json:"words"`
	Notice
}

func (b *book) Text(limit int) string {
	var text strings.Builder
	for _, p := range b.Pages {
		fmt.Fprintf(&text, "[%d] %s\n", p.N, p.Text)
	}
	out := []rune(text.String() + b.Hint)
	return string(out[:min(len(out), limit)])
}

type order struct {
	Title string `json:"title"`
	Pages int    `json:"pages"`
}

func schema() *jsonschema.Schema {
	return &jsonschema.Schema{
		Type: "object", Required: []string{"title"}, AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}},
		Properties: map[string]*jsonschema.Schema{
			"title": {Type: "string", MinLength: jsonschema.Ptr(1)},
			"pages": {Type: "integer", Minimum: jsonschema.Ptr(0.0), Maximum: jsonschema.Ptr(9.0)},
		},
	}
}

func newSet(t *testing.T, options Options, handler func(context.Context, order) (*book, error)) *Set {
	t.Helper()
	tool, err := NewTool(Spec{Name: "open_book", Input: schema()}, handler)
	if err != nil {
		t.Fatal(err)
	}
	set, err := NewSet([]*Tool{tool}, options)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func TestArgumentsReachTheHandlerOnlyWhenTheSchemaAdmitsThem(t *testing.T) {
	var got *order
	set := newSet(t, Options{}, func(_ context.Context, in order) (*book, error) { got = &in; return &book{}, nil })
	for arguments, want := range map[string]order{
		`{"title": "a"}`:                              {Title: "a"},
		`{"title": "a", "pages": 2.0}`:                {Title: "a", Pages: 2},
		`{"title": "a", "pages": 1, "title": "last"}`: {Title: "last", Pages: 1},
	} {
		got = nil
		if _, err := set.Call(t.Context(), "open_book", []byte(arguments)); err != nil || got == nil || *got != want {
			t.Errorf("%s: handler got %+v, error %v", arguments, got, err)
		}
	}
	for arguments, want := range map[string]string{
		`{}`:                           "title",
		``:                             "title",
		`null`:                         "title",
		`"a"`:                          "must be a JSON object",
		`{"title": "a"`:                "are not JSON",
		`{"title": 1}`:                 "title: type: 1",
		`{"title": ""}`:                "title: minLength",
		`{"title": "a", "pages": 10}`:  "pages: maximum: 10 is greater than 9.",
		`{"title": "a", "Pages": 1}`:   `did you mean "pages"? Hint: `,
		`{"title": "a", "zzzzzz": 1}`:  `hold "zzzzzz", which open_book does not take.`,
		`{"title": "a", "pages": 1.5}`: "integer",
	} {
		got = nil
		_, err := set.Call(t.Context(), "open_book", []byte(arguments))
		var told *Error
		if !errors.As(err, &told) || told.Kind != Usage || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "Hint: It takes title (string, required), pages (integer from 0 to 9).") {
			t.Errorf("%s: %v", arguments, err)
		}
		if got != nil {
			t.Errorf("%s reached the handler", arguments)
		}
	}
}

func TestFailuresAreToldByKindAndMasked(t *testing.T) {
	const secret = "hunter2-hunter2"
	for _, c := range []struct {
		name    string
		handler func(context.Context, order) (*book, error)
		want    string
		kind    Kind
	}{
		{"an error of the tool's own", func(context.Context, order) (*book, error) {
			return nil, &Error{Kind: NoGraph, Message: "No graph at redis://u:" + secret + "@h", Hint: "Authorization: Bearer abcdefghij"}
		}, "No graph at redis://u:****@h. Hint: Authorization: Bearer ****.", NoGraph},
		{"an unexplained error", func(context.Context, order) (*book, error) { return nil, errors.New("secret text of a document") },
			"The tool failed for a reason of its own. Hint: The server's log says more.", Internal},
		{"a panic", func(context.Context, order) (*book, error) { panic(secret) }, "The tool failed for a reason of its own. Hint: The server's log says more.", Internal},
		{"a time-out", func(context.Context, order) (*book, error) { return nil, fmt.Errorf("x: %w", context.DeadlineExceeded) },
			"The call took too long. Hint: Ask for less, or raise queryd.query_timeout.", Timeout},
	} {
		set := newSet(t, Options{Secrets: func() []string { return []string{secret, ""} }}, c.handler)
		_, err := set.Call(t.Context(), "open_book", []byte(`{"title": "a"}`))
		var told *Error
		if !errors.As(err, &told) || err.Error() != c.want || told.Kind != c.kind {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestFailuresAreToldBriefly(t *testing.T) {
	set := newSet(t, Options{}, func(context.Context, order) (*book, error) { return &book{}, nil })
	long := strings.Repeat("x", 4<<20)
	for _, call := range [][2]string{
		{"open_book", `{"title": "a", "` + long + `": 1}`}, {"open_book", `{"title": ["` + long + `"]}`}, {"open_book", `{"title": "a", "pages": "` + long + `"}`}, {long, `{}`},
	} {
		start := time.Now()
		_, err := set.Call(t.Context(), call[0], []byte(call[1]))
		if err == nil || len(err.Error()) > 2000 || strings.Contains(err.Error(), "did you mean") {
			t.Errorf("%.60s is told in %d bytes: %.300v", call[1], len(fmt.Sprint(err)), err)
		}
		if took := time.Since(start); took > time.Second {
			t.Errorf("%.60s took %s", call[1], took)
		}
	}
	_, err := set.Call(t.Context(), "open_book", []byte(`{"title": null}`))
	if err == nil || !strings.Contains(err.Error(), `title: type: it has type "null", want "string"`) {
		t.Errorf("null: %v", err)
	}
}

func TestUnknownToolsNameTheNearest(t *testing.T) {
	set := newSet(t, Options{}, nil)
	if _, err := set.Call(t.Context(), "openbook", nil); err == nil || !strings.Contains(err.Error(), `did you mean "open_book"? Hint: The tools are `) {
		t.Error(err)
	}
	if _, err := NewSet(set.Tools(), Options{Include: []string{"open_bok"}}); err == nil || !strings.Contains(err.Error(), `did you mean "open_book"?`) {
		t.Error(err)
	}
}

func TestLongRepliesLoseTheLongestListFirst(t *testing.T) {
	for _, c := range []struct {
		name  string
		book  book
		limit int
		hint  string
	}{
		{"a list of words", book{Words: slices.Repeat([]string{"word"}, 5000), Pages: []page{{1, "short"}, {2, "short"}}}, 4000, "cut lists: words)"},
		{"long texts", book{Pages: []page{{1, strings.Repeat("long ", 3000)}, {2, "short"}}}, 4000, "cut lists: pages; long texts"},
		{"both", book{Words: slices.Repeat([]string{strings.Repeat("é", 500)}, 50), Pages: []page{{1, strings.Repeat("x", 20_000)}}}, 2000, "cut lists: words; long texts"},
		{"almost nothing left", book{Pages: []page{{1, strings.Repeat("\u202e", 5000)}}}, 700, "Shortened to fit"},
	} {
		var dropped []int
		set := newSet(t, Options{MaxReplyChars: c.limit, Drop: func(n []int) { dropped = append(dropped, n...) }},
			func(context.Context, order) (*book, error) { b := c.book; return &b, nil })
		reply, err := set.Call(t.Context(), "open_book", []byte(`{"title": "a"}`))
		if err != nil {
			t.Fatal(err)
		}
		if size := utf8.RuneCount(reply.JSON) + utf8.RuneCountInString(reply.Text); size > c.limit {
			t.Errorf("%s: %d characters of %d", c.name, size, c.limit)
		}
		var sent book
		if err := json.Unmarshal(reply.JSON, &sent); err != nil {
			t.Fatalf("%s: %v in %s", c.name, err, reply.JSON)
		}
		if !sent.Truncated || !strings.Contains(sent.Hint, c.hint) {
			t.Errorf("%s: hint %q", c.name, sent.Hint)
		}
		// What is in the reply whole keeps its number, all else is dropped.
		for _, original := range c.book.Pages {
			whole := slices.ContainsFunc(sent.Pages, func(p page) bool { return p.Text == original.Text })
			numbered := slices.ContainsFunc(sent.Pages, func(p page) bool { return p.N == original.N })
			if whole != numbered || numbered == slices.Contains(dropped, original.N) {
				t.Errorf("%s: page %d whole %v, numbered %v, dropped %v", c.name, original.N, whole, numbered, dropped)
			}
			if !numbered && strings.Contains(reply.Text, fmt.Sprintf("[%d]", original.N)) {
				t.Errorf("%s: the text cites what was dropped: %s", c.name, reply.Text)
			}
		}
	}
}

func TestShortRepliesStayAsTheyAre(t *testing.T) {
	set := newSet(t, Options{Drop: func([]int) { t.Error("something was dropped") }}, func(context.Context, order) (*book, error) {
		return &book{Pages: []page{{1, "a < b & \u202ec\u2028\u009b🙂\U000e0041"}}}, nil
	})
	reply, err := set.Call(t.Context(), "open_book", []byte(`{"title": "a"}`))
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"pages":[{"n":1,"text":"a < b & \u202ec\u2028\u009b🙂\udb40\udc41"}],"words":null}`; string(reply.JSON) != want {
		t.Errorf("%s", reply.JSON)
	}
	var back book
	if err := json.Unmarshal(reply.JSON, &back); err != nil || back.Pages[0].Text != "a < b & \u202ec\u2028\u009b🙂\U000e0041" {
		t.Errorf("%q comes back as %+v (%v)", reply.JSON, back.Pages, err)
	}
}

func TestMaskTakesCredentialsOut(t *testing.T) {
	for text, want := range map[string]string{
		"dial rediss://u:p4ss@host:1":      "dial rediss://u:****@host:1",
		"bearer AbCdEf123456":              "bearer ****",
		"key sk-abcdefgh12345 used":        "key **** used",
		`{"api_key": "abcd1234"}`:          `{"api_key": "****"}`,
		"password=letmein, user=x":         "password=****, user=x",
		"the token count is 512":           "the token count is 512",
		"my-own-secret and my-own-secret.": "**** and ****.",
	} {
		if got := Mask(text, []string{"my-own-secret", "a"}); got != want {
			t.Errorf("%q is shown as %q", text, got)
		}
	}
}

func FuzzShorten(f *testing.F) {
	f.Add(`{"pages":[{"n":1,"text":"abc"}],"words":["a"]}`, 30)
	f.Add(`{"a":{"b":[[1,2,[3]],"x"]},"hint":"h","truncated":false}`, 10)
	// The one has more bytes, the other more characters.
	f.Add(`{"a":"`+strings.Repeat("漢", 79)+`","b":"`+strings.Repeat("b", 200)+`"}`, 10)
	f.Fuzz(func(t *testing.T, data string, limit int) {
		var object map[string]any
		if json.Unmarshal([]byte(data), &object) != nil || object == nil || len(data) > 4000 {
			return
		}
		out, _, err := shorten([]byte(data), max(limit, 1), "")
		if err != nil {
			t.Fatal(err)
		}
		if json.Unmarshal(out, &object) != nil {
			t.Errorf("%s is no JSON", out)
		}
		if utf8.RuneCount(out) <= max(limit, 1) {
			return
		}
		walk(object, place{}, func(p place) {
			if p.path != "hint" && utf8.RuneCountInString(text(p.value)) > shortestCut || p.length() > 0 {
				t.Errorf("limit %d: %s is left in %s", limit, p.path, out)
			}
		})
	})
}
