// Package examples_test holds the demo's corpus to what its documents say of it.
package examples_test

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"graphmill/pipeline/corpus"
	"graphmill/pipeline/corpus/htmldoc"
	"graphmill/pipeline/corpus/markdown"
	"graphmill/pipeline/corpus/pdf"
	"graphmill/pipeline/corpus/plaintext"
	"graphmill/pipeline/corpus/rst"
	"graphmill/quality"
)

func TestEveryFileHasALicenceAndAModestSize(t *testing.T) {
	licences, err := os.ReadFile("corpus-LICENSES.md")
	if err != nil {
		t.Fatal(err)
	}
	total, files := int64(0), 0
	err = filepath.WalkDir("corpus", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		files++
		total += info.Size()
		name, _ := filepath.Rel("corpus", path)
		if !strings.Contains(string(licences), filepath.ToSlash(name)) {
			t.Errorf("corpus-LICENSES.md does not name %s", name)
		}
		if info.Size() > 150<<10 {
			t.Errorf("%s has %d bytes; the demo is to stay quick", name, info.Size())
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 25 || total > 1_300_000 {
		t.Errorf("%d files, %d bytes", files, total)
	}
}

func TestAnswersStandInTheFiles(t *testing.T) {
	questions, err := quality.LoadQuestions("questions.md")
	if err != nil {
		t.Fatal(err)
	}
	texts := documents(t)
	asked := map[string]bool{}
	for _, q := range questions {
		for _, a := range q.Answers {
			asked[a.Document] = true
			if n := strings.Count(texts[a.Document], a.Text); n != 1 {
				t.Errorf("question %d: %s holds %q %d times", q.Number, a.Document, a.Text, n)
			}
			for path, text := range texts {
				if path != a.Document && strings.Contains(text, a.Text) {
					t.Errorf("question %d: %s holds %q too", q.Number, path, a.Text)
				}
			}
		}
	}
	if len(questions) != 40 {
		t.Errorf("questions.md asks %d questions", len(questions))
	}
	for path := range texts {
		if !asked[path] {
			t.Errorf("no question asks for %s", path)
		}
	}
}

// documents are the corpus' texts by path, with single spaces.
func documents(t *testing.T) map[string]string {
	t.Helper()
	root, err := corpus.Open("corpus", corpus.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	parser := pdf.New(pdf.Options{CacheDir: t.TempDir(), Instances: 1})
	defer parser.Close()
	loader := corpus.NewLoader(root, map[corpus.Format]corpus.Parser{
		corpus.Text: plaintext.Parser{}, corpus.Markdown: markdown.Parser{}, corpus.RST: rst.Parser{},
		corpus.HTML: htmldoc.Parser{}, corpus.PDF: parser,
	}, corpus.Limits{})
	texts := map[string]string{}
	for entry, err := range root.List(context.Background()) {
		if err != nil || entry.Skipped != nil {
			t.Fatal(err, entry.Skipped)
		}
		document, _, err := loader.Load(context.Background(), entry.File)
		if err != nil {
			t.Error(err)
			continue
		}
		texts[entry.File.Path] = strings.Join(strings.Fields(document.Text), " ")
	}
	return texts
}
