package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"graphmill/pipeline/engine/enginetest"
	"graphmill/pipeline/falkor/conn"
	"graphmill/pipeline/falkor/cypher"
	"graphmill/pipeline/models"
)

// What graph builders are known to get wrong, each held here to the right value
// by the program as it is run. What concerns the reading of files stands in
// faults_files_test.go, what users report beside it in faults_reported_test.go.
// What is wrong on a smaller level has its test there: the splitting of sentences
// and overlaps in chunkers, windows and thresholds of models in extractors, killed
// processes in restart_test.go.

// faultsConfig finds people, societies, places and numbered things by their form,
// in any spelling, and what they do by cues.
const faultsConfig = `ontology: ontology.yaml
embedder: {kind: hash, dimension: 64}
plan:
  rules:
    - {match: "**", extractor: pattern, chunk_tokens: 64}
extractors:
  pattern:
    builtin: []
    rules:
      - name: names
        pattern: '\p{Lu}[\p{L}\p{M}\x{ad}]+(?:[\s\x{a0}\x{3000}]+\p{Lu}[\p{L}\p{M}]+)+|new_york'
        type: Person
        types: [{type: Organization, last_word: [Society]}]
      - {name: cities, pattern: '(?:lived in|city of) (\p{Lu}\p{Ll}+)', group: 1, type: Place}
      - {name: heroes, pattern: 'hero (\p{Lu}\p{Ll}+)', group: 1, type: Person}
      - {name: numbered, pattern: '(?:section|version) \d+\.\d+|CVE-\d+-\d+|January \d{4}', type: Reference}
`

const faultsOntology = `entities: [{label: Person}, {label: Organization}, {label: Place}, {label: Reference}]
relations:
  - {label: FOUNDED, patterns: [[Person, Organization]], cues: [founded]}
  - {label: LEADS, patterns: [[Person, Organization]], cues: [leads]}
  - {label: LIVED_IN, patterns: [[Person, Place]], cues: [lived in]}
`

// faultsWorld is a world whose graph can be asked.
type faultsWorld struct {
	*world
	client *conn.Client
}

func newFaultsWorld(t *testing.T) *faultsWorld {
	t.Helper()
	inFull(t)
	f := enginetest.Start(t)
	client, err := conn.Open(conn.Options{Socket: f.Address, Username: f.Reader.User, Password: f.Reader.Secret})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	w := &faultsWorld{worldIn(t, f.DataDir), client}
	w.configure(faultsConfig)
	writeFile(t, filepath.Join(filepath.Dir(w.config), "ontology.yaml"), faultsOntology)
	return w
}

// ask returns a statement's rows of the default graph as text, sorted.
func (w *faultsWorld) ask(statement cypher.Statement) []string {
	w.t.Helper()
	rows, err := w.client.Read(w.t.Context(), "knowledge_graph", statement, 0)
	if err != nil {
		w.t.Fatal(err)
	}
	var out []string
	for i := range rows.Len() {
		var cells []string
		for _, value := range rows.Row(i) {
			cells = append(cells, fmt.Sprint(value))
		}
		out = append(out, strings.Join(cells, " | "))
	}
	slices.Sort(out)
	return out
}

// want compares rows with what they should be.
func (w *faultsWorld) want(what string, got []string, want ...string) {
	w.t.Helper()
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		w.t.Errorf("%s:\n got %q\nwant %q", what, got, want)
	}
}

func (w *faultsWorld) entities() []string {
	w.t.Helper()
	return w.ask(cypher.New(`MATCH (e:__Entity__) RETURN e.type, e.name`, nil))
}

func (w *faultsWorld) relations() []string {
	w.t.Helper()
	return w.ask(cypher.New(`MATCH (a:__Entity__)-[r:RELATES]->(b:__Entity__) RETURN a.name, r.rel_type, b.name`, nil))
}

// size is how many nodes and edges of each kind there are, but for the ledger.
func (w *faultsWorld) size() []string {
	w.t.Helper()
	return append(w.ask(cypher.New(`MATCH (n) WHERE NOT n:__Run__ AND NOT n:__Change__ RETURN labels(n)[0], count(n)`, nil)),
		w.ask(cypher.New(`MATCH ()-[r]->() RETURN type(r), count(r)`, nil))...)
}

// texts is all that the graph says in words.
func (w *faultsWorld) texts() string {
	w.t.Helper()
	var all []string
	for _, statement := range []cypher.Statement{
		cypher.New(`MATCH (n) WHERE NOT n:__Run__ AND NOT n:__Meta__
RETURN n.id, n.name, n.name_key, n.aliases, n.description, n.text, n.context_header, n.search_text, n.title, n.path, n.folder, n.metadata`, nil),
		cypher.New(`MATCH ()-[r:RELATES]->() RETURN r.fact, r.description, r.evidence, r.src_name, r.tgt_name, r.evidence_src_names, r.evidence_tgt_names`, nil),
		cypher.New(`MATCH ()-[r:MENTIONED_IN]->() RETURN r.names, r.description`, nil),
	} {
		all = append(all, w.ask(statement)...)
	}
	return strings.Join(all, "\n")
}

func TestIngestingTwiceLeavesTheGraphAsItIs(t *testing.T) {
	w := newFaultsWorld(t)
	w.write("a.txt", strings.Repeat("Ada Lovelace founded the Analytical Society. ", 20))
	w.write("b.md", "# Notes\n\nAda Lovelace leads the Analytical Society.\n")
	w.ingest(0)
	size, digest := w.size(), w.digest()
	chunks := w.ask(cypher.New(`MATCH (c:Chunk) RETURN count(c)`, nil))
	if got := statuses(w.ingest(0)); got != "2 unchanged" {
		t.Errorf("the second run: %s", got)
	}
	// Neither does working it all through again, nor a file saved as it was.
	w.report(0, "reextract", "--root", w.corpus)
	w.write("a.txt", strings.Repeat("Ada Lovelace founded the Analytical Society. ", 20))
	w.ingest(0)
	w.want("sizes", w.size(), size...)
	w.want("entities", w.entities(), "Organization | Analytical Society", "Person | Ada Lovelace")
	w.want("chunks", w.ask(cypher.New(`MATCH (:Document)-[:PART_OF]->(c:Chunk) RETURN count(c)`, nil)), chunks...)
	if w.digest() != digest {
		t.Error("the graph is another one")
	}
}

func TestASecondRelationTypeBetweenTheSamePairIsKept(t *testing.T) {
	w := newFaultsWorld(t)
	w.write("a.txt", "Ada Lovelace founded the Analytical Society. Ada Lovelace leads the Analytical Society.")
	w.write("b.txt", "Ada Lovelace leads the Analytical Society, as everybody knows.")
	w.ingest(0)
	both := []string{"Ada Lovelace | FOUNDED | Analytical Society", "Ada Lovelace | LEADS | Analytical Society"}
	w.want("edges", w.relations(), both...)
	w.want("evidence", w.ask(cypher.New(`MATCH ()-[r:RELATES]->() RETURN r.rel_type, size(r.evidence)`, nil)), "FOUNDED | 1", "LEADS | 2")
	w.report(0, "forget", "a.txt")
	w.want("edges that b.txt states", w.relations(), both[1])
}

func TestAForgottenDocumentLeavesNothingOfWhatItSaid(t *testing.T) {
	w := newFaultsWorld(t)
	w.write("kept.txt", "Ada Lovelace leads the Analytical Society.")
	w.ingest(0)
	digest := w.digest()
	w.write("secret.md", "---\nauthor: Zanzibar\n---\n# Zanzibar\n\nAda  Lovelace is the well-known chair in Zanzibar of that society, a mathematician.\n"+
		"Ada Lovelace founded the Analytical Society in Zanzibar. Zanzibar Lovelace lived in Zanzibar.\n"+
		"In Zanzibar, Ada Lovelace leads the Analytical Society.\n")
	w.ingest(0)
	if n := strings.Count(w.texts(), "Zanzibar"); n < 10 {
		t.Fatalf("the word stands in %d places only", n)
	}
	w.want("evidence", w.ask(cypher.New(`MATCH ()-[r:RELATES {rel_type: 'LEADS'}]->() RETURN size(r.evidence)`, nil)), "2")
	w.report(0, "forget", "secret.md")
	if texts := w.texts(); strings.Contains(strings.ToLower(texts), "zanzibar") {
		t.Errorf("it left something:\n%s", texts)
	}
	if w.digest() != digest {
		t.Error("the graph is not the one it was before")
	}
}

func TestThingsOfOneNameAndTwoTypesKeepTheirOwnRelations(t *testing.T) {
	w := newFaultsWorld(t)
	w.write("city.txt", "Helen Sparta lived in Paris.")
	w.write("hero.txt", "The hero Paris founded the Trojan Society.")
	w.ingest(0)
	w.want("edges", w.ask(cypher.New(`MATCH (a)-[r:RELATES]->(b) RETURN a.type, a.name, r.rel_type, b.type, b.name`, nil)),
		"Person | Helen Sparta | LIVED_IN | Place | Paris", "Person | Paris | FOUNDED | Organization | Trojan Society")
	w.want("passages", w.ask(cypher.New(`MATCH (e:__Entity__ {name: 'Paris'})-[:MENTIONED_IN]->(c:Chunk) RETURN e.type, c.text`, nil)),
		"Person | The hero Paris founded the Trojan Society.", "Place | Helen Sparta lived in Paris.")
}

func TestSpellingsOfOneNameAreOneEntity(t *testing.T) {
	w := newFaultsWorld(t)
	spellings := []string{"New York", "New  York", "New\nYork", "New\u00a0York", "NEW YORK", "Ｎｅｗ　Ｙｏｒｋ", "Ne\u00adw York"}
	for i, spelling := range spellings {
		w.write(fmt.Sprintf("n%d.txt", i), "so it was "+spelling+" then")
	}
	w.write("z0.txt", "die Stadt Zürich Nord")
	w.write("z1.txt", "die Stadt Zu\u0308rich Nord")
	w.write("under.txt", "the variable new_york is another thing")
	w.ingest(0)
	w.want("entities", w.ask(cypher.New(`MATCH (e:__Entity__) RETURN e.name_key, e.mention_count`, nil)),
		fmt.Sprintf("new york | %d", len(spellings)), "new_york | 1", "stadt zürich nord | 2")
}

func TestNamesThatDifferByANumberStayApart(t *testing.T) {
	w := newFaultsWorld(t)
	names := []string{"section 3.1", "section 3.2", "version 1.2", "version 1.3", "CVE-2023-1234", "CVE-2023-1243", "January 2023", "January 2024"}
	for i, name := range names {
		w.write(fmt.Sprintf("%d.txt", i), "It is said in "+name+" that it holds.")
	}
	w.write("all.txt", strings.Join(names, ", "))
	w.ingest(0)
	var want []string
	for _, name := range names {
		want = append(want, "Reference | "+name)
	}
	w.want("entities", w.entities(), want...)
}

// Spellings that are merged have every fact of either, and no nameless thing is
// left in their place.
func TestMergedSpellingsKeepTheFactsOfAllOfThem(t *testing.T) {
	w := newFaultsWorld(t)
	w.write("a.txt", "Ada Lovelace founded the Analytical Society.")
	w.write("b.txt", "ADA LOVELACE leads the Analytical Society.")
	w.write("c.txt", "Ada\u00a0Lovelace leads the Other Society. Ada Lovelace founded the ANALYTICAL Society.")
	w.ingest(0)
	w.want("entities", w.ask(cypher.New(`MATCH (e:__Entity__) RETURN e.name, e.aliases, e.type`, nil)),
		"Ada Lovelace | [ADA LOVELACE] | Person", "ANALYTICAL Society | [Analytical Society] | Organization", "Other Society | [] | Organization")
	w.want("edges", w.ask(cypher.New(`MATCH (a)-[r:RELATES]->(b) RETURN a.name_key, r.rel_type, b.name_key, size(r.evidence)`, nil)),
		"ada lovelace | FOUNDED | analytical society | 2", "ada lovelace | LEADS | analytical society | 1", "ada lovelace | LEADS | other society | 1")
	w.want("nameless things", w.ask(cypher.New(`MATCH (e:__Entity__) WHERE e.name IS NULL OR e.name = '' RETURN e.id`, nil)))
}

func TestRewordedFactsAndDescriptionsGetNewVectors(t *testing.T) {
	w := newFaultsWorld(t)
	w.write("a.txt", "Ada Lovelace founded the Analytical Society in winter.")
	w.write("b.txt", "The Analytical Society was a society of London that met for tea.")
	w.ingest(0)
	before := w.ask(cypher.New(`MATCH ()-[r:RELATES]->() RETURN r.fact`, nil))
	w.write("a.txt", "Ada Lovelace, a mathematician, quietly founded the Analytical Society after the war.")
	w.ingest(0)
	after := w.ask(cypher.New(`MATCH ()-[r:RELATES]->() RETURN r.fact`, nil))
	if len(before) != 1 || len(after) != 1 || before[0] == after[0] {
		t.Fatalf("facts %q, before %q", after, before)
	}
	w.want("chunks of old text", w.ask(cypher.New(`MATCH (c:Chunk) WHERE c.text CONTAINS 'winter' RETURN c.id`, nil)))
	embedder, err := models.NewHashEmbedder(64)
	if err != nil {
		t.Fatal(err)
	}
	near := func(text string) cypher.Params {
		vectors, err := embedder.Embed(t.Context(), []string{text})
		if err != nil {
			t.Fatal(err)
		}
		return cypher.Params{"v": vectors[0]}
	}
	w.want("relations with a vector of their fact", w.ask(cypher.New(`MATCH ()-[r:RELATES]->() WHERE vec.euclideanDistance(r.embedding, vecf32($v)) < 0.001 RETURN r.fact`, near(after[0]))), after...)
	chunk := w.ask(cypher.New(`MATCH (c:Chunk) WHERE c.text CONTAINS 'quietly' RETURN coalesce(c.context_header, '') + '\n' + c.text`, nil))
	w.want("chunks with a vector of their text", w.ask(cypher.New(`MATCH (c:Chunk) WHERE vec.euclideanDistance(c.embedding, vecf32($v)) < 0.001
RETURN coalesce(c.context_header, '') + '\n' + c.text`, near(chunk[0]))), chunk...)
}
