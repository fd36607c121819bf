package htmldoc

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"graphmill/pipeline/corpus"
)

func parseText(t testing.TB, source string) *corpus.Document {
	t.Helper()
	document, err := Parser{}.Parse(context.Background(), corpus.File{Path: "f", Format: corpus.HTML}, []byte(source), corpus.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if err := document.Check(); err != nil {
		t.Fatalf("%v in %q", err, document.Text)
	}
	return document
}

// outline writes blocks as "kind depth: text", quoted, a line each; depth 0 is
// left out.
func outline(document *corpus.Document) string {
	var b strings.Builder
	for _, block := range document.Blocks {
		kind := string(block.Kind)
		if block.Depth > 0 {
			kind += fmt.Sprint(" ", block.Depth)
		}
		quoted := fmt.Sprintf("%q", document.Text[block.Range.Start:block.Range.End])
		fmt.Fprintf(&b, "%s: %s\n", kind, quoted[1:len(quoted)-1])
	}
	return b.String()
}

func expect(t *testing.T, source, want string) *corpus.Document {
	t.Helper()
	document := parseText(t, source)
	if got := outline(document); got != strings.TrimLeft(want, "\n") {
		t.Errorf("got\n%s\nwant%s", got, want)
	}
	return document
}
