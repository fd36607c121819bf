package main

import (
	"bytes"
	"compress/zlib"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"graphmill/pipeline"
	"graphmill/pipeline/engine/enginetest"
)

// hostile is a file that is there to break a run, and what becomes of it.
type hostile struct {
	name, text string
	status     pipeline.Status
	kind       string   // of a failure
	words      []string // in its reason
}

const honest = "Ada Lovelace met Charles Babbage in London.\n"

// hostileFiles all stand in one corpus.
func hostileFiles() []hostile {
	deep := strings.Repeat("<div>", 10_000) + honest
	page := []byte("BT /F1 12 Tf 72 700 Td (Ada Lovelace met Charles Babbage in London.) Tj ET")
	pdf := pagesOf(3, page, 1)
	files := []hostile{
		{"empty.txt", "", pipeline.Empty, "", []string{"no text"}},
		{"empty.md", "", pipeline.Empty, "", []string{"no text"}},
		{"empty.rst", "", pipeline.Empty, "", []string{"no text"}},
		{"empty.html", "", pipeline.Empty, "", []string{"no text"}},
		{"empty.pdf", "", pipeline.Empty, "", []string{"no text"}},
		{"blank.txt", " \n\t\r\n\f", pipeline.Empty, "", []string{"no text"}},
		{"unseen.txt", "\ufeff\u200b\u00a0\u2060", pipeline.Empty, "", []string{"no text"}},
		{"only-comments.html", "<!-- nothing --><script>var x</script>", pipeline.Empty, "", []string{"no text"}},

		{"bytes-ff.txt", strings.Repeat("\xff", 4000), pipeline.Ingested, "", []string{"decoded as"}},
		{"nul.txt", strings.Repeat("\x00", 4000), pipeline.Failed, "binary", []string{"NUL"}},
		{"one-nul.txt", strings.Repeat(honest, 40) + "\x00", pipeline.Ingested, "", []string{"dropped"}},
		{"surrogates.txt", "Ada Lovelace \xed\xa0\x80 met \xed\xbf\xbf Charles Babbage", pipeline.Ingested, "", []string{"2 invalid characters replaced"}},
		{"surrogates-16.txt", "\xff\xfeA\x00\x00\xd8d\x00a\x00", pipeline.Ingested, "", []string{"utf-16le", "1 invalid character replaced"}},
		{"line.txt", strings.Repeat("word ", 1_000_000), pipeline.Failed, "limit", []string{"max_chunks"}},
		{"word.md", strings.Repeat("w", 5_000_000), pipeline.Failed, "limit", []string{"max_chunks"}},

		{"half.pdf", pdf[:len(pdf)/2], pipeline.Failed, "damaged", []string{"cut off"}},
		{"no.pdf", "<html>404</html>", pipeline.Failed, "damaged", []string{"does not begin as a PDF"}},
		{"encrypted.pdf", encryptedPDF, pipeline.Failed, "encrypted", []string{"password"}},
		{"many-pages.pdf", pagesOf(20_001, page, 1), pipeline.Failed, "too_large", []string{"20001 pages", "corpus.max_pages"}},
		{"bomb.pdf", pagesOf(1, bytes.Repeat(page, 1<<10), 8<<10), pipeline.Failed, "damaged", []string{"PDF engine could not go on"}},
		{"honest.pdf", pdf, pipeline.Ingested, "", nil},

		{"deep.html", deep, pipeline.Ingested, "", []string{"nest deeper"}},
		{"deep-tables.html", strings.Repeat("<table><tr><td>", 10_000) + honest, pipeline.Ingested, "", nil},
		{"deep-quotes.md", strings.Repeat("> ", 10_000) + honest, pipeline.Ingested, "", nil},
		{"brackets.md", strings.Repeat("[", 20_000) + honest, pipeline.Ingested, "", nil},
		{"aliases.md", "---\na: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b]\nd: [*c,*c,*c,*c,*c,*c,*c,*c]\n---\n" + honest, pipeline.Ingested, "", nil},
		{"substitutions.rst", ".. |a| replace:: |b| |b|\n.. |b| replace:: |a| |a|\n\n|a| " + honest, pipeline.Ingested, "", nil},
		{"includes.rst", ".. include:: /etc/hostname\n\n" + honest, pipeline.Ingested, "", nil},
		{"cypher.md", "---\ntitle: \"'}) DETACH DELETE n //\"\n\"k`ey\\n'\": \"v\"\n---\n# `}) DETACH DELETE n //\n\nCYPHER x=1 MATCH (n) DETACH DELETE n\u2028\u202eAda Lovelace\u202c \\u0041 $rows\n", pipeline.Ingested, "", nil},
	}
	for _, name := range []string{
		"new\nline.txt", "quo\"te'.txt", "back`tick.txt", "back\\slash.txt", "em😀oji.txt", "st*r?.txt", "[a]{b,c}.txt", "-dash.txt", "--root.txt",
		"$(id);|&.txt", "%s%n.txt", " spaces .txt", "\x1b[31mred.txt", "\u202egpj.txt", "line\u2028.txt", strings.Repeat("n", 251) + ".txt", strings.Repeat("é", 125) + ".txt",
		strings.Repeat("deep/", 90) + "in.txt",
		// Paths that some file systems would take for one.
		"case.txt", "CASE.txt", "n\u00e9.txt", "ne\u0301.txt", "dot.txt", "dot..txt", "end.txt", "end .txt",
	} {
		files = append(files, hostile{name, honest, pipeline.Ingested, "", nil})
	}
	return files
}

// encryptedPDF is as much of an encrypted PDF as asks for a password.
var encryptedPDF = strings.Replace(pagesOf(1, nil, 1), "/Root 1 0 R", "/Root 1 0 R /ID [<00><00>] /Encrypt << /Filter /Standard /V 1 /R 2 /P -4 /O <"+
	strings.Repeat("41", 32)+"> /U <"+strings.Repeat("42", 32)+"> >>", 1)

// pagesOf is a PDF whose pages share one compressed content, which is a text
// some times over.
func pagesOf(pages int, content []byte, times int) string {
	var packed bytes.Buffer
	pack := zlib.NewWriter(&packed)
	for range times {
		pack.Write(content)
	}
	pack.Close()
	var out bytes.Buffer
	var places []int
	object := func(format string, args ...any) {
		places = append(places, out.Len())
		fmt.Fprintf(&out, "%d 0 obj\n"+format+"\nendobj\n", append([]any{len(places)}, args...)...)
	}
	out.WriteString("%PDF-1.5\n")
	var kids strings.Builder
	for i := range pages {
		fmt.Fprintf(&kids, "%d 0 R ", 5+i)
	}
	object("<</Type/Catalog/Pages 2 0 R>>")
	object("<</Type/Pages/Count %d/Kids[%s]>>", pages, kids.String())
	object("<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>")
	object("<</Length %d/Filter/FlateDecode>>stream\n%s\nendstream", packed.Len(), packed.String())
	for range pages {
		object("<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Resources<</Font<</F1 3 0 R>>>>/Contents 4 0 R>>")
	}
	table := out.Len()
	fmt.Fprintf(&out, "xref\n0 %d\n0000000000 65535 f \n", len(places)+1)
	for _, place := range places {
		fmt.Fprintf(&out, "%010d 00000 n \n", place)
	}
	fmt.Fprintf(&out, "trailer\n<</Size %d /Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n", len(places)+1, table)
	return out.String()
}

// specialFiles puts what is no ordinary file into the corpus, and says what
// becomes of it.
func specialFiles(t *testing.T, w *world) []hostile {
	t.Helper()
	outside := filepath.Join(filepath.Dir(w.corpus), "outside")
	writeFile(t, filepath.Join(outside, "secret.txt"), "Nobody Reads This")
	for name, target := range map[string]string{
		"loop": "loop", "turn/round": "..", "out.txt": filepath.Join(outside, "secret.txt"), "out": outside, "up": "..", "none.txt": "nothing", "same.txt": "case.txt", "null.txt": "/dev/null",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(w.corpus, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, filepath.Join(w.corpus, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(w.corpus, "pipe.pdf"), 0o644); err != nil {
		t.Fatal(err)
	}
	// Sparse, so that it costs no disk.
	large, err := os.Create(filepath.Join(w.corpus, "60MiB.txt"))
	if err == nil {
		err = large.Truncate(60 << 20)
	}
	if err != nil {
		t.Fatal(err)
	}
	large.Close()
	w.write("name\xff\xfe.txt", honest)
	return []hostile{
		{name: "loop", status: pipeline.Skipped, words: []string{"cannot be followed"}},
		{name: "out.txt", status: pipeline.Skipped, words: []string{"leaves the files root"}},
		{name: "out", status: pipeline.Skipped, words: []string{"leaves the files root"}},
		{name: "up", status: pipeline.Skipped, words: []string{"leaves the files root"}},
		{name: "null.txt", status: pipeline.Skipped, words: []string{"leaves the files root"}},
		{name: "none.txt", status: pipeline.Skipped, words: []string{"link to nothing"}},
		{name: "pipe.pdf", status: pipeline.Skipped, words: []string{"named pipe"}},
		{name: "60MiB.txt", status: pipeline.Failed, kind: "too_large", words: []string{"62914560 bytes", "corpus.max_file_bytes"}},
		{name: "name\ufffd.txt", status: pipeline.Failed, kind: "read", words: []string{"not UTF-8"}},
	}
}

// A file without read permission has a test of its own, for root reads it all
// the same; so have files that vanish or change.
func TestHostileFilesHurtNobodyElse(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles the PDF reader, which takes seconds")
	}
	t.Parallel()
	w := newWorld(t)
	w.fill(12, 1)
	files := append(hostileFiles(), specialFiles(t, w)...)
	for _, f := range files {
		if f.text != "" || f.status == pipeline.Empty {
			w.write(f.name, f.text)
		}
	}
	var stdout bytes.Buffer
	megabytes := w.peakMemory(&stdout, 3, "run", "--root", w.corpus, "--jobs", "2", "--output", "json")
	t.Logf("%d MB at most", megabytes)
	if megabytes > 1300 {
		t.Errorf("%d MB at most; the PDF engine may have 512 of them", megabytes)
	}
	report := new(pipeline.Report)
	if err := json.Unmarshal(stdout.Bytes(), report); err != nil {
		t.Fatal(err)
	}
	if len(report.Documents) != 12+len(files) || report.Error != "" || report.Finalize == nil || !report.Finalize.Done {
		t.Errorf("%d rows for %d files; error %q, finalize %+v", len(report.Documents), 12+len(files), report.Error, report.Finalize)
	}
	for _, f := range files {
		d := row(t, report, f.name)
		if d.Status != f.status || d.Kind != f.kind || strings.Contains(d.Reason, "\n") {
			t.Errorf("%q: %+v", f.name, d)
		}
		contains(t, d.Reason, f.words...)
	}
	digest := w.digest()
	again := w.ingest(3, "--jobs", "1")
	for _, d := range again.Documents {
		was := row(t, report, d.Path)
		want := was.Status
		if want == pipeline.Ingested || want == pipeline.Empty {
			want = pipeline.Unchanged
		}
		if d.Status != want || d.Kind != was.Kind || d.Chunks != was.Chunks {
			t.Errorf("the second time: %+v, was %+v", d, was)
		}
	}
	if again.Finalize != nil || w.digest() != digest {
		t.Error("the second run wrote something")
	}
}

// A file may change or go between being listed and being read.
func TestFilesThatMoveWhileTheyAreRead(t *testing.T) {
	w := worldIn(t, enginetest.Start(t).DataDir)
	w.fill(60, 1)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			name := filepath.Join(w.corpus, fmt.Sprintf("z%d.txt", i%20))
			switch os.Remove(name); i % 7 {
			case 0:
				os.Mkdir(name, 0o755)
			case 1:
				os.Symlink("d001.txt", name)
			case 2:
			default:
				os.WriteFile(name, []byte(strings.Repeat(honest, i%50)), 0o644)
			}
			time.Sleep(time.Millisecond / 4)
		}
	}()
	e := w.run("run", "--root", w.corpus, "--output", "json", "--progress", "none")
	close(stop)
	<-stopped
	if e.code != 0 && e.code != 3 {
		t.Fatalf("%v", e)
	}
	for i := range 20 {
		os.RemoveAll(filepath.Join(w.corpus, fmt.Sprintf("z%d.txt", i)))
	}
	report := w.ingest(0)
	if got := report.Totals.Status[pipeline.Unchanged]; got != 60 {
		t.Errorf("of 60 files that nobody touched %d are in: %s", got, statuses(report))
	}
}

// Whoever reads the output may stop reading.
func TestReaderThatGoesAwayStopsNoRun(t *testing.T) {
	w := newWorld(t)
	w.fill(60, 1)
	run := w.command("run", "--root", w.corpus, "--progress", "json")
	pipe, err := run.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	pipe.Read(make([]byte, 10))
	pipe.Close()
	if code := exitOf(t, run.Wait()); code != 0 {
		t.Errorf("exit %d", code)
	}
	if got := statuses(w.ingest(0)); got != "60 unchanged" {
		t.Errorf("after it %s", got)
	}
	stopped(t, w)
}
