//go:build unix

package corpus_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"graphmill/pipeline/corpus"
	"graphmill/pipeline/corpus/htmldoc"
	"graphmill/pipeline/corpus/markdown"
	"graphmill/pipeline/corpus/plaintext"
	"graphmill/pipeline/corpus/rst"
)

func parsers() map[corpus.Format]corpus.Parser {
	return map[corpus.Format]corpus.Parser{
		corpus.Text: plaintext.Parser{}, corpus.Markdown: markdown.Parser{}, corpus.RST: rst.Parser{}, corpus.HTML: htmldoc.Parser{},
	}
}

// library opens a root that holds the files, by name and content.
func library(t *testing.T, files map[string]string) (*corpus.Root, []corpus.File) {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	root, err := corpus.Open(dir, corpus.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	var listed []corpus.File
	for entry, err := range root.List(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		listed = append(listed, entry.File)
	}
	return root, listed
}

func TestLoadGivesTheSameDocumentFromEveryFormat(t *testing.T) {
	root, files := library(t, map[string]string{
		"a.md":   "# Title\n\nSome *words*.\n\n- one\n- two\n\n```\ncode\n```\n",
		"b.rst":  "Title\n=====\n\nSome *words*.\n\n- one\n- two\n\n::\n\n   code\n",
		"c.html": "<h1>Title</h1><p>Some <i>words</i>.<ul><li>one<li>two</ul><pre>code</pre>",
	})
	loader := corpus.NewLoader(root, parsers(), corpus.Limits{})
	for i, file := range files {
		document, sum, err := loader.Load(t.Context(), file)
		if err != nil {
			t.Fatal(err)
		}
		if want := "Title\n\nSome words.\n\n- one\n- two\n\ncode"; document.Text != want {
			t.Errorf("%s: got %q", file.Path, document.Text)
		}
		if document.Title != "Title" || len(document.Sections) != 1 || document.File != file || document.Format != file.Format || len(sum) != 64 {
			t.Errorf("%d: %+v", i, document)
		}
	}
}

func TestTablesKnowWhatNamesTheirColumns(t *testing.T) {
	const head, rows = "Part No. | Made By", "\nP1 | Acme\nP2 | Bolt & Co"
	root, files := library(t, map[string]string{
		"a.md":          "| Part No. | **Made** By |\n|---|---|\n| P1 | Acme |\n| P2 | Bolt &amp; Co |\n",
		"b.html":        "<table><thead><tr><td>Part No.<td>Made By</thead><tr><td>P1<td>Acme<tr><td>P2<td>Bolt &amp; Co</table>",
		"c.html":        "<table><tr><th>Part No.<th>Made By<tr><th>P1<td>Acme<tr><th>P2<td>Bolt &amp; Co</table>",
		"d.rst":         "======== =======\nPart No. Made By\n======== =======\nP1       Acme\nP2       Bolt & Co\n======== =======\n",
		"e.rst":         "+----------+-----------+\n| Part No. | Made By   |\n+==========+===========+\n| P1       | Acme      |\n+----------+-----------+\n| P2       | Bolt & Co |\n+----------+-----------+\n",
		"f.rst":         ".. list-table::\n   :header-rows: 1\n\n   * - Part No.\n     - Made By\n   * - P1\n     - Acme\n   * - P2\n     - Bolt & Co\n",
		"g.rst":         ".. csv-table::\n   :header: Part No., Made By\n\n   P1, Acme\n   P2, Bolt & Co\n",
		"headless.html": "<table><tr><td>Part No.<td>Made By<tr><td>P1<td>Acme<tr><td>P2<td>Bolt &amp; Co</table>",
		"headless.rst":  "======== =======\nPart No. Made By\nP1       Acme\nP2       Bolt & Co\n======== =======\n",
	})
	loader := corpus.NewLoader(root, parsers(), corpus.Limits{})
	for _, file := range files {
		document, _, err := loader.Load(t.Context(), file)
		if err != nil {
			t.Fatal(err)
		}
		want := head
		if strings.HasPrefix(file.Path, "headless") {
			want = ""
		}
		if at := document.Blocks[0].Head; document.Text != head+rows || document.Text[at.Start:at.End] != want {
			t.Errorf("%s: the head of %q is %q", file.Path, document.Text, document.Text[at.Start:at.End])
		}
	}
}

func TestTextThatNobodySeesIsNone(t *testing.T) {
	const unseen = "\u00a0\u200b\ufeff\u3000\u2060\u202e\n\u00ad"
	root, files := library(t, map[string]string{"a.md": unseen, "b.rst": unseen, "c.html": "<p>" + unseen, "d.txt": unseen})
	loader := corpus.NewLoader(root, parsers(), corpus.Limits{})
	for _, file := range files {
		document, _, err := loader.Load(t.Context(), file)
		if err != nil || document.Text != "" || len(document.Blocks) != 0 {
			t.Errorf("%s: %+v, %v", file.Path, document, err)
		}
	}
}

// broken is a parser that fails as parsers of others can.
type broken struct{ how string }

func (b broken) Parse(context.Context, corpus.File, []byte, corpus.Limits) (*corpus.Document, error) {
	switch b.how {
	case "panics":
		var nothing []int
		_ = nothing[1]
	case "lies":
		return &corpus.Document{Text: "in no block"}, nil
	}
	return nil, errors.New("unexpected end")
}

func TestLoadMakesEveryFailureTheFilesOwn(t *testing.T) {
	root, files := library(t, map[string]string{"a.md": "x", "b.txt": "\x00\x00\x00\x00", "c.rst": "x", "d.html": "x", "e.pdf": "x"})
	for _, how := range []string{"panics", "lies", "fails"} {
		all := parsers()
		all[corpus.Markdown] = broken{how}
		delete(all, corpus.PDF)
		loader := corpus.NewLoader(root, all, corpus.Limits{})
		for i, want := range []error{corpus.ErrDamaged, corpus.ErrBinary, nil, nil, corpus.ErrFormat} {
			document, sum, err := loader.Load(t.Context(), files[i])
			if !errors.Is(err, want) || (err == nil) != (document != nil) || sum == "" {
				t.Errorf("%s when the parser %s: %v", files[i].Path, how, err)
			}
			if err != nil && !strings.Contains(err.Error(), files[i].Path) {
				t.Errorf("%v does not name the file", err)
			}
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := corpus.NewLoader(root, parsers(), corpus.Limits{}).Load(ctx, files[0]); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled load gives %v", err)
	}
}

func TestLimitsOnTextHoldForEveryFormat(t *testing.T) {
	// Decoded, each is within the limit; what is made of it is not always.
	root, files := library(t, map[string]string{"a.md": strings.Repeat("word ", 100), "b.rst": strings.Repeat("word ", 100), "c.html": strings.Repeat("word ", 100), "d.txt": strings.Repeat("word ", 100)})
	loader := corpus.NewLoader(root, parsers(), corpus.Limits{MaxTextBytes: 300})
	for _, file := range files {
		if _, _, err := loader.Load(t.Context(), file); !errors.Is(err, corpus.ErrTooLarge) || !strings.Contains(err.Error(), "corpus.max_text_bytes") {
			t.Errorf("%s: %v", file.Path, err)
		}
	}
}

func TestPreviewReadsTheMiddle(t *testing.T) {
	var long strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&long, "Sentence number %d of the text stands in line.\n\n", i)
	}
	var wide strings.Builder
	wide.WriteString("\xff\xfe")
	for _, r := range long.String()[:200_000] {
		wide.Write([]byte{byte(r), 0})
	}
	root, files := library(t, map[string]string{
		"a.txt": long.String(), "b.md": "# Short\n\ntext", "c.txt": wide.String(), "d.txt": strings.Repeat("日本語", 100_000), "e.md": "", "f.html": "<body><p>" + strings.ReplaceAll(long.String(), "\n\n", "<p>"),
	})
	loader := corpus.NewLoader(root, parsers(), corpus.Limits{})
	for i, test := range []struct {
		inside    string
		estimated bool
		chars     int
	}{
		{"Sentence number 10", true, long.Len()}, {"Short\n\ntext", false, 11}, {"Sentence number 2", true, 200_000}, {"日本語", true, 300_000}, {"", false, 0}, {"Sentence number 10", true, long.Len()},
	} {
		sample, err := loader.Preview(t.Context(), files[i], 500)
		if err != nil {
			t.Fatalf("%s: %v", files[i].Path, err)
		}
		if n := utf8.RuneCountInString(sample.Text); n > 500 || test.estimated && n < 300 || !utf8.ValidString(sample.Text) || strings.Contains(sample.Text, "\ufffd") {
			t.Errorf("%s: %d characters: %q", files[i].Path, n, sample.Text)
		}
		if !strings.Contains(sample.Text, test.inside) || sample.CharsEstimated != test.estimated {
			t.Errorf("%s: estimated %v, %q", files[i].Path, sample.CharsEstimated, sample.Text)
		}
		if diff := sample.Chars - test.chars; diff*20 > test.chars || -diff*20 > test.chars {
			t.Errorf("%s: %d characters, not about %d", files[i].Path, sample.Chars, test.chars)
		}
	}
}

func TestPreviewPages(t *testing.T) {
	contents := make(map[string]string)
	for i := range 45 {
		contents[fmt.Sprintf("f%02d.txt", i)] = strings.Repeat("some words ", 300)
	}
	contents["f10.txt"] = "\x00\x00\x00\x00"
	root, files := library(t, contents)
	loader := corpus.NewLoader(root, parsers(), corpus.Limits{})
	var seen []string
	failures := 0
	for offset := 0; ; {
		page, err := loader.PreviewFiles(t.Context(), files, offset, 0)
		if err != nil {
			t.Fatal(err)
		}
		chars := 0
		for _, sample := range page.Files {
			seen = append(seen, sample.Path)
			chars += utf8.RuneCountInString(sample.Text)
			if sample.Error != "" {
				failures++
			}
		}
		if chars > corpus.MaxPreviewChars || len(page.Files) == 0 {
			t.Fatalf("a page of %d files and %d characters", len(page.Files), chars)
		}
		if page.NextOffset == nil {
			break
		}
		offset = *page.NextOffset
	}
	if len(seen) != len(files) || failures != 1 {
		t.Errorf("saw %d of %d files, %d failures", len(seen), len(files), failures)
	}
	if _, err := loader.PreviewFiles(t.Context(), files, 99, 0); err == nil {
		t.Error("an offset beyond the end was accepted")
	}
}
