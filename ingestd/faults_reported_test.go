package main

import (
	"fmt"
	"strings"
	"testing"

	"graphmill/pipeline/falkor/cypher"
)

// What users of other graph builders report, beyond the faults of
// faults_test.go.

func TestFilesOfOneNameOrOneContentAreDocumentsOfTheirOwn(t *testing.T) {
	w := newFaultsWorld(t)
	const text = "Ada Lovelace founded the Analytical Society."
	paths := []string{"a/readme.md", "b/readme.md", "b/README.md", "readme.md", "readme.txt", "readme.html", "corpus/corpus.txt", "copy 1.txt", "copy 2.txt"}
	for _, path := range paths {
		w.write(path, text)
	}
	w.ingest(0)
	edges := cypher.New(`MATCH ()-[r:RELATES]->() RETURN r.rel_type, size(r.evidence), size(r.source_chunk_ids)`, nil)
	documents := cypher.New(`MATCH (d:Document)-[:PART_OF]->(c:Chunk) RETURN d.path, c.text`, nil)
	want := func(paths []string) {
		t.Helper()
		var rows []string
		for _, path := range paths {
			rows = append(rows, path+" | "+text)
		}
		w.want("documents", w.ask(documents), rows...)
		w.want("edges", w.ask(edges), fmt.Sprintf("FOUNDED | %d | %d", len(paths), len(paths)))
	}
	want(paths)
	w.report(0, "forget", "copy 1.txt", "b/readme.md")
	want([]string{"a/readme.md", "b/README.md", "readme.md", "readme.txt", "readme.html", "corpus/corpus.txt", "copy 2.txt"})
}

// A file under another name is a new one; the old one is named as missing until
// it is forgotten, and then nothing tells that it was ever there.
func TestAMovedFileIsNamedAsMissingAndForgottenWithoutATrace(t *testing.T) {
	w := newFaultsWorld(t)
	w.write("old name.txt", "Ada Lovelace founded the Analytical Society.")
	w.ingest(0)
	w.remove("old name.txt")
	w.write("new/name.txt", "Ada Lovelace founded the Analytical Society.")
	report := w.ingest(0)
	if statuses(report) != "1 ingested" || strings.Join(report.Missing, " ") != "old name.txt" {
		t.Errorf("%s, missing %q", statuses(report), report.Missing)
	}
	w.report(0, "forget", "old name.txt")
	w.ingest(0, "--graph", "fresh")
	if w.digest() != w.digest("--graph", "fresh") {
		t.Error("the graph is not the one of a first run")
	}
}

func TestWhatExtractorsSeparateTheirAnswersByIsTextInATextOnly(t *testing.T) {
	w := newFaultsWorld(t)
	text := `Ada Lovelace <|> Charles Babbage ## ("entity"<|#|>Grace Hopper<|COMPLETE|>Mary Somerville) {tuple_delimiter} {input_text} </s> [INST] %s $rows ` +
		"`}) detach delete n // \\u0041\\n Ada Lovelace founded the \"Analytical Society\"."
	w.write("a.txt", text)
	w.ingest(0)
	if got := strings.Join(w.passages("a.txt"), " "); got != text {
		t.Errorf("passages: %q", got)
	}
	w.want("entities", w.entities(), "Organization | Analytical Society", "Person | Ada Lovelace", "Person | Charles Babbage", "Person | Grace Hopper", "Person | Mary Somerville")
	w.want("edges", w.relations(), "Ada Lovelace | FOUNDED | Analytical Society")
}

func TestNothingIsNamelessOrRelatedToItselfOrTwice(t *testing.T) {
	w := newFaultsWorld(t)
	w.configure(strings.Replace(faultsConfig, "types: [{type: Organization, last_word: [Society]}]", "neighbours: NEAR", 1) +
		"      - {name: signs, pattern: '[*#|«»…“”—-]+', type: Reference, neighbours: NEAR}\n")
	w.write("signs.txt", "*** — ### | « … » “” --- Ada Lovelace ***")
	w.write("self.txt", "Ada Lovelace and ADA LOVELACE and Ada  Lovelace met Ada\nLovelace.")
	w.write("there.txt", "Ada Lovelace met Charles Babbage. Ada Lovelace met Charles Babbage. So said Ada Lovelace.")
	w.write("back.txt", "Charles Babbage met Ada Lovelace.")
	w.ingest(0)
	w.want("entities", w.entities(), "Person | Ada Lovelace", "Person | Charles Babbage")
	w.want("edges", w.relations(), "Ada Lovelace | NEAR | Charles Babbage", "Charles Babbage | NEAR | Ada Lovelace")
}

func TestKindsOfLineEndsMakeNoDifference(t *testing.T) {
	w := newFaultsWorld(t)
	text := "# Über\n\nAda Lovelace\nmet Charles\nBabbage.\n\n- one\n- two\n\n```\ncode\n\n  more\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nEnd.\n"
	for _, format := range []string{"md", "txt", "rst", "html"} {
		w.write("unix."+format, text)
		w.write("dos."+format, strings.ReplaceAll(text, "\n", "\r\n"))
		w.write("mac."+format, strings.ReplaceAll(text, "\n", "\r"))
	}
	w.ingest(0)
	for _, format := range []string{"md", "txt", "rst", "html"} {
		rows := func(name string) []string {
			return w.ask(cypher.New(`MATCH (:Document {path: $path})-[:PART_OF]->(c:Chunk)
RETURN c.index, c.start_char, c.end_char, c.first_line, c.last_line, replace(c.context_header, $name, ''), c.text`, cypher.Params{"path": name + "." + format, "name": name}))
		}
		unix := rows("unix")
		w.want("dos."+format, rows("dos"), unix...)
		w.want("mac."+format, rows("mac"), unix...)
		if len(unix) == 0 || strings.Contains(unix[0], "\r") {
			t.Errorf("unix.%s: %q", format, unix)
		}
	}
}

// Nothing that is kept of an entity grows with the number of documents that
// mention it, but for the edges to them.
func TestWhatIsKeptOfACommonEntityIsBounded(t *testing.T) {
	w := newFaultsWorld(t)
	spelling := []byte("ada lovelace of the analytical engine")
	long := strings.Repeat(" and so on", 500)
	for i := range 300 {
		for j := range spelling { // 300 spellings of one name
			if j == 0 || spelling[j-1] == ' ' || i>>(j%9)&1 == 1 {
				spelling[j] = strings.ToUpper(string(spelling[j]))[0]
			} else {
				spelling[j] = strings.ToLower(string(spelling[j]))[0]
			}
		}
		w.write(fmt.Sprintf("d%03d.txt", i), fmt.Sprintf("It is %d that %s is the one with which all begins%s.", i, spelling, long))
	}
	w.write("long.txt", "So came "+strings.Repeat("Verylong Name ", 100)+"at last.")
	w.configure(strings.Replace(faultsConfig, "chunk_tokens: 64", "chunk_tokens: 512", 1) +
		"      - {name: engine, pattern: 'ada lovelace of the analytical engine', flags: i, type: Reference}\n")
	w.ingest(0)
	w.want("the entity", w.ask(cypher.New(`MATCH (e:__Entity__ {name_key: 'ada lovelace of the analytical engine'})
RETURN e.mention_count, size(e.aliases) <= 64, size(e.source_chunk_ids) <= 256, size(e.description) <= 500`, nil)), "300 | true | true | true")
	w.want("ids over 200 bytes", w.ask(cypher.New(`MATCH (e) WHERE size(e.id) > 200 RETURN e.id`, nil)))
	w.want("the long name", w.ask(cypher.New(`MATCH (e:__Entity__) WHERE e.name STARTS WITH 'Verylong' RETURN size(e.name) > 1000, size(e.description) <= 500`, nil)), "true | true")
}
