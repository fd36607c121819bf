package evidence

import (
	"strings"
	"testing"

	"graphmill/pipeline/graph"
)

func TestHandlesComeBack(t *testing.T) {
	hash := graph.Hash("document")
	for _, id := range []string{"file:reports/q1.pdf", "file:a b/ü#?%;=.md", "file:x\u202ey\x01.txt", "file:日本/語.md", "text:note"} {
		text := NewHandle(graph.DocumentID(id), hash, graph.Span{Start: 3, End: 8}, "héllo")
		if strings.ContainsAny(text, " \u202e\x01") {
			t.Errorf("%q shows %q", id, text)
		}
		h, err := ParseHandle(text)
		if err != nil || string(h.Document) != id || h.Span != (graph.Span{Start: 3, End: 8}) || !h.Names("héllo") || h.Names("hello") ||
			!h.FromContent(hash) || h.FromContent(graph.Hash("other")) {
			t.Errorf("%q is read as %+v, %v", text, h, err)
		}
	}
	if got := NewHandle("file:reports/q1.pdf", hash, graph.Span{Start: 3, End: 8}, "héllo"); !strings.HasPrefix(got, "file:reports/q1.pdf#char=3,8;sha256=") {
		t.Errorf("handle %s", got)
	}
}

func TestWhatHasNoPlaceHasNoHandle(t *testing.T) {
	for name, got := range map[string]string{
		"no document": NewHandle("", graph.Hash("d"), graph.Span{Start: 0, End: 1}, "a"),
		"no hash":     NewHandle("file:a", "", graph.Span{Start: 0, End: 1}, "a"),
		"no span":     NewHandle("file:a", graph.Hash("d"), graph.Span{}, ""),
		"other text":  NewHandle("file:a", graph.Hash("d"), graph.Span{Start: 0, End: 1}, "ab"),
	} {
		if got != "" {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestWhatIsNoHandleIsRefused(t *testing.T) {
	good := NewHandle("file:a", graph.Hash("d"), graph.Span{Start: 0, End: 1}, "a")
	for _, text := range []string{"", "3", "[3]", "file:a", good + "x", "x " + good, strings.Replace(good, "0,1", "1,1", 1), strings.Replace(good, "0,1", "1,99999999999999", 1),
		strings.Replace(good, "file:a", "%zz", 1), strings.Replace(good, "file:a", "%ff", 1), strings.Repeat("a", 2000) + good} {
		if h, err := ParseHandle(text); err == nil {
			t.Errorf("%.80q is read as %+v", text, h)
		}
	}
	if _, err := ParseHandle(" " + good + "\n"); err != nil {
		t.Error(err)
	}
}
