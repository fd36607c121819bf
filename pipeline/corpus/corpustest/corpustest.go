// Package corpustest helps to test parsers: it writes a document down so that
// it can be read and compared, and compares real files with such texts.
package corpustest

import (
	"fmt"
	"strings"
	"testing"

	"graphmill/pipeline/corpus"
)

// Parse parses source and fails the test when that is an error or the document
// does not hold to what [corpus.Document] promises.
func Parse(t testing.TB, parser corpus.Parser, source string) *corpus.Document {
	t.Helper()
	return parse(t, parser, corpus.File{Path: "f"}, []byte(source))
}

func parse(t testing.TB, parser corpus.Parser, file corpus.File, source []byte) *corpus.Document {
	t.Helper()
	document, err := parser.Parse(t.Context(), file, source, corpus.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if err := document.Check(); err != nil {
		t.Fatalf("%v in %q", err, document.Text)
	}
	return document
}

// Expect parses source and compares the document's [Outline] with want, which
// may begin with an empty line.
func Expect(t testing.TB, parser corpus.Parser, source, want string) *corpus.Document {
	t.Helper()
	document := Parse(t, parser, source)
	if got := Outline(document); got != strings.TrimLeft(want, "\n") {
		t.Errorf("got\n%s\nwant%s", got, want)
	}
	return document
}

// Outline writes blocks as "kind depth: text", quoted, a line each; depth 0 is
// left out.
func Outline(document *corpus.Document) string {
	var b strings.Builder
	for _, block := range document.Blocks {
		quoted := fmt.Sprintf("%q", document.Text[block.Range.Start:block.Range.End])
		fmt.Fprintf(&b, "%s: %s\n", label(block), quoted[1:len(quoted)-1])
	}
	return b.String()
}

func label(block corpus.Block) string {
	if block.Depth > 0 {
		return fmt.Sprint(block.Kind, " ", block.Depth)
	}
	return string(block.Kind)
}
