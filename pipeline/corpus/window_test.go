//go:build linux

package corpus_test

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"graphmill/pipeline/corpus"
	"graphmill/pipeline/corpus/pdf"
)

// readSoFar is how many bytes this process has read, as the kernel counts them.
func readSoFar(t *testing.T) (n int64) {
	t.Helper()
	data, err := os.ReadFile("/proc/self/io")
	if err != nil {
		t.Skipf("the kernel does not tell what is read: %v", err)
	}
	if _, err := fmt.Sscanf(string(data), "rchar: %d", &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestPreviewNeverReadsALargeFileWhole asks the kernel how much of forty megabytes
// a preview reads.
func TestPreviewNeverReadsALargeFileWhole(t *testing.T) {
	dir := t.TempDir()
	writeLong := func(name string, size int, head, line, foot string) {
		file, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		out := bufio.NewWriter(file)
		out.WriteString(head)
		for n := len(head); n < size; n += len(line) {
			out.WriteString(line)
		}
		out.WriteString(foot)
		if err := out.Flush(); err != nil {
			t.Fatal(err)
		}
		file.Close()
	}
	const large = 40 << 20
	writeLong("a.txt", large, "", "A sentence that stands in line.\n\n", "")
	writeLong("b.md", large, "# Title\n\n", "A sentence that stands in line.\n\n", "")
	writeLong("c.html", large, "<title>T</title><body>", "<p>A sentence that stands in line.</p>\n", "</body>")
	writeLong("d.rst", large, "Title\n=====\n\n", "A sentence that stands in line.\n\n", "")
	writePaddedPDF(t, filepath.Join(dir, "e.pdf"), 200, large/200, "")
	// Without its list of objects, a file would be searched from end to end.
	writePaddedPDF(t, filepath.Join(dir, "f.pdf"), 200, large/200, "9")
	writePaddedPDF(t, filepath.Join(dir, "g.pdf"), 3, 10, "")
	parser := pdf.New(pdf.Options{CacheDir: t.TempDir(), Instances: 1})
	t.Cleanup(func() { parser.Close() })
	all := parsers()
	all[corpus.PDF] = parser
	root, err := corpus.Open(dir, corpus.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	loader := corpus.NewLoader(root, all, corpus.Limits{})
	files, unmatched, err := root.Match(t.Context(), []string{"*"})
	if err != nil || len(unmatched) > 0 {
		t.Fatal(err, unmatched)
	}
	// Starting the engine reads it.
	if sample, err := loader.Preview(t.Context(), files[len(files)-1], 100); err != nil || !strings.Contains(sample.Text, "page 2") {
		t.Fatalf("%v: %q", err, sample.Text)
	}
	for _, file := range files[:len(files)-1] {
		if file.Path == "f.pdf" {
			if _, err := loader.Preview(t.Context(), file, 100); err == nil || !strings.Contains(err.Error(), "a preview would read more than") {
				t.Errorf("%s: error %v", file.Path, err)
			}
			continue
		}
		before := readSoFar(t)
		sample, err := loader.Preview(t.Context(), file, 300)
		read := readSoFar(t) - before
		if err != nil || len(sample.Text) == 0 || !sample.CharsEstimated {
			t.Fatalf("%s: %v, %+v", file.Path, err, sample)
		}
		t.Logf("%s: %d of %d bytes read", file.Path, read, file.Size)
		if read > 4<<20 {
			t.Errorf("%s: %d of %d bytes were read for %d characters", file.Path, read, file.Size, len(sample.Text))
		}
		if file.Format == corpus.PDF && !strings.Contains(sample.Text, "page 103") {
			t.Errorf("not from the middle: %q", sample.Text)
		}
	}
}

// writePaddedPDF writes pages that say "page N", each with padding behind. damage
// stands before the place of the list of objects.
func writePaddedPDF(t *testing.T, path string, pages, padding int, damage string) {
	t.Helper()
	var out strings.Builder
	var offsets []int
	object := func(body string) {
		offsets = append(offsets, out.Len())
		fmt.Fprintf(&out, "%d 0 obj\n%s\nendobj\n", len(offsets), body)
	}
	out.WriteString("%PDF-1.4\n")
	object("<< /Type /Catalog /Pages 2 0 R >>")
	var kids strings.Builder
	for i := range pages {
		fmt.Fprintf(&kids, "%d 0 R ", 4+2*i)
	}
	object(fmt.Sprintf("<< /Type /Pages /Count %d /Kids [%s] >>", pages, kids.String()))
	object("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>")
	pad := "%" + strings.Repeat("x", padding) + "\n"
	for i := range pages {
		object(fmt.Sprintf("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents %d 0 R /Resources << /Font << /F1 3 0 R >> >> >>", 5+2*i))
		content := fmt.Sprintf("BT /F1 12 Tf 72 700 Td (This is page %d of a padded file.) Tj ET\n%s", i+1, pad)
		object(fmt.Sprintf("<< /Length %d >>\nstream\n%s\nendstream", len(content), content))
	}
	xref := out.Len()
	fmt.Fprintf(&out, "xref\n0 %d\n0000000000 65535 f \n", len(offsets)+1)
	for _, offset := range offsets {
		fmt.Fprintf(&out, "%010d 00000 n \n", offset)
	}
	fmt.Fprintf(&out, "trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%s%d\n%%%%EOF\n", len(offsets)+1, damage, xref)
	if err := os.WriteFile(path, []byte(out.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}
