package pdf

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klippa-app/go-pdfium/requests"

	"graphmill/pipeline/corpus"
)

// manualGlobs are where Debian's documentation packages put their PDFs
// (debian-faq, debian-history, debian-reference-en, developers-reference,
// debian-policy, gnuplot-doc, libtasn1-doc, bash-doc, zsh-doc, groff, valgrind).
var manualGlobs = []string{
	"/usr/share/doc/debian/FAQ/*.en.pdf.gz", "/usr/share/doc/debian-history/docs/*.pdf",
	"/usr/share/debian-reference/*.pdf", "/usr/share/developers-reference/*.pdf",
	"/usr/share/doc/debian-policy/*.pdf.gz", "/usr/share/doc/gnuplot/*.pdf", "/usr/share/doc/libtasn1-doc/*.pdf",
	"/usr/share/doc/bash/*.pdf", "/usr/share/doc/zsh-common/*.pdf", "/usr/share/doc/groff-base/pdf/*.pdf.gz",
	"/usr/share/doc/valgrind/*.pdf.gz",
}

// TestManualsMatchPdftotext compares with the installed pdftotext on whatever
// PDFs are there, and on those in the folder that GRAPHMILL_TEST_PDFS names.
func TestManualsMatchPdftotext(t *testing.T) {
	if _, err := exec.LookPath("pdftotext"); err != nil {
		t.Skip("pdftotext is not installed")
	}
	globs := manualGlobs
	if dir := os.Getenv("GRAPHMILL_TEST_PDFS"); dir != "" {
		globs = []string{filepath.Join(dir, "*.pdf")}
	}
	files := 0
	for _, glob := range globs {
		names, _ := filepath.Glob(glob)
		for _, name := range names {
			files++
			t.Run(filepath.Base(name), func(t *testing.T) { compareManual(t, name) })
		}
	}
	if files == 0 {
		t.Skip("no documentation package with PDFs is installed")
	}
}

func compareManual(t *testing.T, name string) {
	data, err := os.ReadFile(name)
	if err != nil {
		t.Skip(err) // a link to a file that is not installed
	}
	if strings.HasSuffix(name, ".gz") {
		unpacked, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		if data, err = io.ReadAll(unpacked); err != nil {
			t.Fatal(err)
		}
	}
	if len(data) > maxManualBytes && os.Getenv("GRAPHMILL_TEST_PDFS") == "" {
		t.Skip("a long manual; name its folder in GRAPHMILL_TEST_PDFS to compare it too")
	}
	command := exec.Command("pdftotext", "-", "-")
	command.Stdin = bytes.NewReader(data)
	out, err := command.Output()
	if err != nil {
		t.Skip(err)
	}
	start := time.Now()
	r, err := shared.read(context.Background(), corpus.File{Path: name}, &requests.OpenDocument{File: &data}, corpus.Limits{}.WithDefaults(), wholeFile)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.check(corpus.File{}); err != nil {
		t.Skip(err)
	}
	all := fragmentWords(r.pages)
	document := r.document(corpus.File{Path: name}, inspect(context.Background(), data, 1<<29).bookmarks)
	took := time.Since(start)
	theirs := wordsIn(string(out))
	// What was dropped on purpose is not lost.
	ours := append(wordsIn(document.Text), dropped(all, fragmentWords(r.pages))...)
	words := agreement(theirs, ours)
	t.Logf("%d pages, %.0f a second; words %.4f, neighbouring pairs %.4f; %d sections; notes %q", len(document.Pages),
		float64(len(document.Pages))/took.Seconds(), words, agreement(pairs(theirs), pairs(ours)), len(document.Sections), document.Notes)
	if words < 0.97 {
		t.Errorf("words agree to %.4f with pdftotext, want 0.97", words)
	}
}

// maxManualBytes keeps the test quick where large packages are installed.
const maxManualBytes = 300 << 10

func dropped(all, kept []string) []string {
	left := map[string]int{}
	for _, w := range kept {
		left[w]++
	}
	var gone []string
	for _, w := range all {
		if left[w]--; left[w] < 0 {
			gone = append(gone, w)
		}
	}
	return gone
}

func fragmentWords(pages []rawPage) []string {
	var words []string
	for _, page := range pages {
		for _, f := range page.fragments {
			words = append(words, wordsIn(f.text)...)
		}
	}
	return words
}
