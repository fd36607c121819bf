package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"graphmill/pipeline/corpus"
	"graphmill/pipeline/corpus/htmldoc"
	"graphmill/pipeline/corpus/markdown"
	"graphmill/pipeline/corpus/plaintext"
	"graphmill/pipeline/corpus/rst"
	"graphmill/pipeline/falkor/cypher"
)

// The faults of faults_test.go that concern what is read of a file and how it is
// cut.

// passages are the default graph's passages of a file, in order.
func (w *faultsWorld) passages(path string) []string {
	w.t.Helper()
	rows, err := w.client.Read(w.t.Context(), "knowledge_graph", cypher.New(
		`MATCH (:Document {path: $path})-[p:PART_OF]->(c:Chunk) RETURN c.text AS text ORDER BY p.index`, cypher.Params{"path": path}), 0)
	if err != nil {
		w.t.Fatal(err)
	}
	texts := make([]string, rows.Len())
	for i := range texts {
		texts[i] = rows.String(i, "text")
	}
	return texts
}

// inUTF16 is text in UTF-16, the low byte first.
func inUTF16(text string) string {
	var b strings.Builder
	for _, unit := range utf16.Encode([]rune(text)) {
		b.WriteByte(byte(unit))
		b.WriteByte(byte(unit >> 8))
	}
	return b.String()
}

// inLatin1 is text in Latin-1, which has no character above U+00FF.
func inLatin1(text string) string {
	var b strings.Builder
	for _, r := range text {
		b.WriteByte(byte(r))
	}
	return b.String()
}

func TestUTF16AndLatin1FilesAreRead(t *testing.T) {
	w := newFaultsWorld(t)
	const text = "Käthe Müller founded the Größere Society in Köln."
	for name, data := range map[string]string{
		"utf-8.txt": text, "marked.txt": "\ufeff" + text, "utf-16.txt": "\xff\xfe" + inUTF16(text), "latin-1.txt": inLatin1(text), "latin-1.md": inLatin1(text),
		"latin-1.html": `<meta charset="iso-8859-1"><p>` + inLatin1(text), "utf-16.html": "\xff\xfe" + inUTF16("<p>"+text), "dos.txt": text + "\r\n\x1a",
	} {
		w.write(name, data)
	}
	report := w.ingest(0)
	for _, d := range report.Documents {
		if got := w.passages(d.Path); len(got) != 1 || got[0] != text {
			t.Errorf("%s (%s): %q", d.Path, d.Reason, got)
		}
	}
	w.want("edges", w.ask(cypher.New(`MATCH (a)-[r:RELATES]->(b) RETURN a.name, r.rel_type, b.name, size(r.evidence)`, nil)), "Käthe Müller | FOUNDED | Größere Society | 8")
	contains(t, row(t, report, "latin-1.txt").Reason, "windows-1252")
}

func TestAByteOrderMarkHidesNoBeginning(t *testing.T) {
	w := newFaultsWorld(t)
	w.write("front.md", "\ufeff---\r\ntitle: Of Marks\r\n---\r\n# First\r\n\r\nAda Lovelace was here.\r\n")
	w.write("heading.rst", "\ufeffFirst\n=====\n\nAda Lovelace was here.\n")
	w.write("page.html", "\ufeff<!doctype html><title>Of Marks</title><p>Ada Lovelace was here.")
	w.write("text.txt", "\ufeffAda Lovelace was here.")
	w.ingest(0)
	w.want("titles", w.ask(cypher.New(`MATCH (d:Document) RETURN d.path, d.title`, nil)),
		"front.md | Of Marks", "heading.rst | First", "page.html | Of Marks", "text.txt | Ada Lovelace was here.")
	w.want("sections", w.ask(cypher.New(`MATCH (s:__Section__) RETURN s.title`, nil)), "First", "First")
	if strings.Contains(w.texts(), "\ufeff") {
		t.Error("a mark is kept")
	}
	w.want("mentions", w.ask(cypher.New(`MATCH (e:__Entity__)-[m:MENTIONED_IN]->() RETURN e.name, m.count`, nil)),
		"Ada Lovelace | 1", "Ada Lovelace | 1", "Ada Lovelace | 1", "Ada Lovelace | 1")
}

func TestMarkupIsNoPartOfTheText(t *testing.T) {
	w := newFaultsWorld(t)
	w.write("a.html", "<!doctype html><html><head><title>T</title><style>p{}</style><script>var New = York</script></head><body><nav>Menu Entry</nav>"+
		"<main><p class=x>Ada&nbsp;<b>Lovelace</b> &amp; Charles\nBabbage&#39;s <a href='/Far/Away'>notes</a>.<!-- Hidden Remark --></main></body></html>")
	w.write("a.md", "Ada **Lovelace** &amp; Charles\nBabbage's [notes](/Far/Away \"Far Away\").<!-- Hidden Remark -->\n")
	w.write("a.rst", "Ada **Lovelace** & Charles\nBabbage's `notes </Far/Away>`_.\n\n.. Hidden Remark\n")
	w.ingest(0)
	for _, path := range []string{"a.html", "a.md", "a.rst"} {
		if got := strings.Join(w.passages(path), "¦"); got != "Ada Lovelace & Charles Babbage's notes." {
			t.Errorf("%s: %q", path, got)
		}
	}
	w.want("entities", w.entities(), "Person | Ada Lovelace", "Person | Charles Babbage")
}

func TestAFileThatBecameEmptyLosesItsOldContent(t *testing.T) {
	w := newFaultsWorld(t)
	w.write("kept.txt", "Ada Lovelace was here.")
	w.write("a.md", "# Old Heading\n\nGrace Hopper founded the Naval Society. Ada Lovelace leads the Naval Society.")
	w.ingest(0)
	full := w.digest()
	for _, nothing := range []string{"", " \n\r\n\t", "---\ntitle: x\n---\n", "<!-- Grace Hopper -->"} {
		w.write("a.md", nothing)
		report := w.ingest(0)
		if d := row(t, report, "a.md"); d.Status != "empty" || d.Reason == "" {
			t.Errorf("%q: %+v", nothing, d)
		}
		w.want("entities", w.entities(), "Person | Ada Lovelace")
		w.want("passages", w.ask(cypher.New(`MATCH (c:Chunk) RETURN c.text`, nil)), "Ada Lovelace was here.")
		w.want("sections and edges", append(w.ask(cypher.New(`MATCH (s:__Section__) RETURN s.title`, nil)), w.relations()...))
		if got := statuses(w.ingest(0)); got != "2 unchanged" {
			t.Errorf("%q, the next time: %s", nothing, got)
		}
	}
	w.write("a.md", "# Old Heading\n\nGrace Hopper founded the Naval Society. Ada Lovelace leads the Naval Society.")
	if got := statuses(w.ingest(0)); got != "1 updated, 1 unchanged" || w.digest() != full {
		t.Errorf("what it was again: %s", got)
	}
}

func TestALongTableIsSplitAndEveryPartKeepsItsHeader(t *testing.T) {
	w := newFaultsWorld(t)
	var md, html strings.Builder
	md.WriteString("# Members\n\n| Member no | full name |\n| --- | --- |\n")
	html.WriteString("<h1>Members</h1><table><tr><th>Member no<th>full name")
	for i := range 3000 {
		fmt.Fprintf(&md, "| M%04d | Ada Lovelace |\n", i)
		if i < 300 {
			fmt.Fprintf(&html, "<tr><td>M%04d<td>Ada Lovelace", i)
		}
	}
	w.write("t.md", md.String())
	w.write("t.html", html.String())
	w.ingest(0)
	for path, rows := range map[string]int{"t.md": 3000, "t.html": 300} {
		parts := w.passages(path)
		lines := strings.Split(strings.Join(parts, "\n"), "\n")
		if len(parts) < rows/20 || len(lines) != rows+3 || lines[len(lines)-1] != fmt.Sprintf("M%04d | Ada Lovelace", rows-1) {
			t.Errorf("%s: %d parts with %d lines", path, len(parts), len(lines))
		}
	}
	w.want("passages without their columns", w.ask(cypher.New(
		`MATCH (c:Chunk) WHERE NOT (coalesce(c.context_header, '') + c.text) CONTAINS 'Member no | full name' RETURN c.text`, nil)))
	w.want("passages over the cap", w.ask(cypher.New(`MATCH (c:Chunk) WHERE c.token_count > 64 RETURN c.text`, nil)))
	w.want("entities", w.ask(cypher.New(`MATCH (e:__Entity__) RETURN e.name, e.mention_count`, nil)), "Ada Lovelace | 3300")
}

func TestAVeryLongSentenceIsSplitAndReadToItsEnd(t *testing.T) {
	w := newFaultsWorld(t)
	w.write("a.txt", strings.Repeat("and then so it went on and on, ", 2800)+"until Ada Lovelace came")
	w.write("b.txt", strings.Repeat("それから", 5000)+"終")
	w.configure(strings.Replace(faultsConfig, "chunk_tokens: 64", "chunk_tokens: 256", 1))
	w.ingest(0)
	for path, least := range map[string]int{"a.txt": 80, "b.txt": 70} {
		parts := w.passages(path)
		source, _ := os.ReadFile(filepath.Join(w.corpus, path))
		if joined := strings.Join(parts, ""); len(parts) < least || len(strings.Join(strings.Fields(joined), "")) != len(strings.Join(strings.Fields(string(source)), "")) {
			t.Errorf("%s: %d parts", path, len(parts))
		}
	}
	w.want("passages over the cap", w.ask(cypher.New(`MATCH (c:Chunk) WHERE c.token_count > 256 RETURN c.text`, nil)))
	w.want("entities", w.entities(), "Person | Ada Lovelace")
}

func TestChunkTextIsASubstringOfTheSource(t *testing.T) {
	w := newFaultsWorld(t)
	texts := map[string]string{
		"a.txt":  "Dr. Ada Lovelace  met\nCharles Babbage in the U.S.\n\n\n\t– “Zürich”, 東京へ行った。 それは😀 e\u0301t.\r\n\r\nThe  end.",
		"b.md":   "# Über\n\nAda *Lovelace* &amp; co.\\\nA [link](x). `code  here`\n\n| a | ü |\n|---|---|\n| 1 | 東京 |\n\n1. one\n   two\n2. 😀\n",
		"c.rst":  "Über\n====\n\nAda *Lovelace* and ``code  here`` [1]_.\n\n* 東京\n* 😀\n\n.. [1] A note.\n",
		"d.html": "<h1>Über</h1><p>Ada <i>Lovelace</i>&hellip; &#x1F600;<pre>a\n  b</pre><ul><li>東京<li>x</ul>",
	}
	for name, text := range texts {
		w.write(name, strings.Repeat(text+"\n\n", 5))
	}
	root, err := corpus.Open(w.corpus, corpus.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	loader := corpus.NewLoader(root, map[corpus.Format]corpus.Parser{
		corpus.Text: plaintext.Parser{}, corpus.Markdown: markdown.Parser{}, corpus.RST: rst.Parser{}, corpus.HTML: htmldoc.Parser{}}, corpus.Limits{})
	for _, chunker := range []string{"structural, chunk_tokens: 16", "sentence, chunk_tokens: 16, overlap_sentences: 1", "fixed, chunk_tokens: 16, overlap_tokens: 6"} {
		w.configure(strings.Replace(faultsConfig, "chunk_tokens: 64", "chunker: "+chunker, 1))
		w.ingest(0)
		for entry, err := range root.List(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			document, _, err := loader.Load(t.Context(), entry.File)
			if err != nil {
				t.Fatal(err)
			}
			w.checkSlices(chunker, document)
		}
	}
}

// checkSlices holds the positions of a document's passages and mentions, which
// count code points, to its text, and the passages to the whole of it.
func (w *faultsWorld) checkSlices(chunker string, document *corpus.Document) {
	w.t.Helper()
	text, path := []rune(document.Text), document.File.Path
	rows, err := w.client.Read(w.t.Context(), "knowledge_graph", cypher.New(`MATCH (:Document {path: $path})-[p:PART_OF]->(c:Chunk)
RETURN c.text AS text, c.start_char AS start, c.end_char AS end ORDER BY p.index`, cypher.Params{"path": path}), 0)
	if err != nil {
		w.t.Fatal(err)
	}
	covered, last := 0, -1
	for i := range rows.Len() {
		start, end := rows.Int(i, "start"), rows.Int(i, "end")
		if got := rows.String(i, "text"); end > len(text) || string(text[start:end]) != got || !utf8.ValidString(got) {
			w.t.Errorf("%s, %s: passage %d is %q, not the text at %d:%d", chunker, path, i, got, start, end)
		}
		if end <= covered || start <= last {
			w.t.Errorf("%s, %s: passage %d at %d:%d lies inside the one before", chunker, path, i, start, end)
		}
		if lost := strings.TrimSpace(string(text[min(covered, start):start])); lost != "" {
			w.t.Errorf("%s, %s: %q is in no passage", chunker, path, lost)
		}
		covered, last = end, start
	}
	if rows.Len() < 4 || strings.TrimSpace(string(text[covered:])) != "" {
		w.t.Errorf("%s, %s: %d passages to %d of %d", chunker, path, rows.Len(), covered, len(text))
	}
}

func TestFrontMatterCannotOverwriteWhatADocumentIs(t *testing.T) {
	w := newFaultsWorld(t)
	w.write("a.md", "Ada Lovelace was here.\n")
	w.ingest(0)
	own := cypher.New(`MATCH (d:Document {path: 'a.md'}) RETURN d.id, d.path, d.folder, d.format, d.plan, d.plan_hash, d.format_hash, d.chunk_count, d.status`, nil)
	before := w.ask(own)
	var front strings.Builder
	for _, key := range []string{"id", "path", "folder", "format", "plan", "plan_hash", "format_hash", "content_hash", "chunk_count", "status", "size_bytes", "embedding", "labels", "metadata", "__proto__"} {
		fmt.Fprintf(&front, "%s: evil\n", key)
	}
	w.remove("a.md")
	w.report(0, "forget", "a.md")
	w.write("a.md", "---\n"+front.String()+"---\nAda Lovelace was here.\n")
	w.ingest(0)
	w.want("the document", w.ask(own), before...)
	if got := w.ask(cypher.New(`MATCH (d:Document) RETURN d.metadata`, nil)); len(got) != 1 || !strings.Contains(got[0], `"id":"evil"`) {
		t.Errorf("metadata: %q", got)
	}
	if got := statuses(w.ingest(0)); got != "1 unchanged" {
		t.Errorf("the next run: %s", got)
	}
}
