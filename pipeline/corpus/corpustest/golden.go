package corpustest

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"graphmill/pipeline/corpus"
)

var update = flag.Bool("update", false, "rewrite the .golden files beside the tests' documents")

// Golden parses every file of a folder and compares what is read of it with the
// file of its name and ".golden", which -update writes anew. A README and files
// without a reader's text (.golden, .sentences) are no documents.
func Golden(t *testing.T, parser corpus.Parser, dir string) {
	t.Helper()
	for _, path := range Files(t, dir) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			Compare(t, path+".golden", Describe(Load(t, parser, path)))
		})
	}
}

// Files lists the documents of a folder of the tests'.
func Files(t testing.TB, dir string) []string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	documents := slices.DeleteFunc(all, func(path string) bool {
		return filepath.Base(path) == "README.md" || slices.Contains([]string{".golden", ".sentences"}, filepath.Ext(path))
	})
	if len(documents) == 0 {
		t.Fatalf("no documents in %s", dir)
	}
	return documents
}

// Load parses a file of the tests' documents.
func Load(t testing.TB, parser corpus.Parser, path string) *corpus.Document {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, parser, corpus.File{Path: filepath.Base(path), Size: int64(len(data))}, data)
}

// Compare compares got with what stands in a file; with -update it writes the
// file.
func Compare(t testing.TB, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; -update writes it", err)
	}
	if got == string(want) {
		return
	}
	have, wanted := strings.Split(got, "\n"), strings.Split(string(want), "\n")
	at := 0
	for at < len(have) && at < len(wanted) && have[at] == wanted[at] {
		at++
	}
	t.Errorf("%s differs from line %d on (-update rewrites it):\n got: %s\nwant: %s", path, at+1, excerpt(have, at), excerpt(wanted, at))
}

func excerpt(lines []string, at int) string {
	return strings.Join(lines[min(at, len(lines)):min(at+3, len(lines))], "\n      ")
}

// Describe writes down all that a parser says of a file, to be read by people:
// what it states about itself, then its blocks, each with its kind before it
// and its further lines indented, with pages where they begin.
func Describe(document *corpus.Document) string {
	var b strings.Builder
	fmt.Fprintf(&b, "title: %s\n", document.Title)
	if document.Date != "" {
		fmt.Fprintf(&b, "date: %s\n", document.Date)
	}
	for _, key := range slices.Sorted(maps.Keys(document.Metadata)) {
		fmt.Fprintf(&b, "metadata %s: %s\n", key, document.Metadata[key])
	}
	for _, note := range document.Notes {
		fmt.Fprintf(&b, "note: %s\n", note)
	}
	b.WriteByte('\n')
	page := 0
	for _, block := range document.Blocks {
		at := block.Range.Start
		fmt.Fprintf(&b, "[%s] ", label(block))
		for ; page < len(document.Pages) && document.Pages[page].Range.Start < block.Range.End; page++ {
			start := max(at, document.Pages[page].Range.Start)
			b.WriteString(shown(document.Text[at:start]))
			fmt.Fprintf(&b, "⟦page %d%s⟧", document.Pages[page].Number, pageLabel(document.Pages[page]))
			at = start
		}
		b.WriteString(shown(document.Text[at:block.Range.End]))
		b.WriteByte('\n')
	}
	return b.String()
}

func pageLabel(page corpus.Page) string {
	if page.Label == "" || page.Label == fmt.Sprint(page.Number) {
		return ""
	}
	return fmt.Sprintf(" %q", page.Label)
}

// shown indents all lines but the first, and shows what cannot be seen.
func shown(text string) string {
	var b strings.Builder
	for i, r := range text {
		switch {
		case r == '\n' && strings.HasPrefix(text[i+1:], "\n"):
			b.WriteByte('\n')
		case r == '\n':
			b.WriteString("\n    ")
		case r == '\f' || r == '\u00a0' || unicode.Is(unicode.Cf, r) || unicode.IsControl(r) && r != '\t':
			fmt.Fprintf(&b, "⟨U+%04X⟩", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
