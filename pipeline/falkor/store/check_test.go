package store_test

import (
	"context"
	"slices"
	"testing"

	"graphmill/pipeline/engine/enginetest"
	"graphmill/pipeline/falkor/conn"
	"graphmill/pipeline/falkor/cypher"
	"graphmill/pipeline/falkor/shape"
	"graphmill/pipeline/falkor/store"
	"graphmill/pipeline/graph"
)

var smallOntology = graph.Ontology{Entities: []graph.EntityType{{Label: "Person"}, {Label: "Place"}}}

// whole makes a finished graph with an ontology.
func whole(t testing.TB, client *conn.Client, name string) *store.Store {
	t.Helper()
	s := locked(t, client, name)
	if err := s.SaveOntology(t.Context(), smallOntology); err != nil {
		t.Fatal(err)
	}
	commit(t, s, corpus...)
	finalize(t, s, hashModel)
	return s
}

// write changes a graph as nothing that ingestd does would.
func write(t testing.TB, client *conn.Client, name string, statements ...cypher.Statement) {
	t.Helper()
	for _, statement := range statements {
		text, err := statement.Render()
		if err != nil {
			t.Fatal(err)
		}
		reply, err := client.Redis().Do(t.Context(), "GRAPH.QUERY", name, text, "--compact").Result()
		if err == nil {
			_, err = conn.Decode(reply)
		}
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
}

func check(t testing.TB, s *store.Store) *store.CheckResult {
	t.Helper()
	result, err := s.Check(t.Context(), store.CheckOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func kindsOf(result *store.CheckResult) []store.FindingKind {
	var kinds []store.FindingKind
	for kind := range result.Found {
		kinds = append(kinds, kind)
	}
	slices.Sort(kinds)
	return kinds
}

// nextRun does what a run does: documents whose fingerprints are not theirs are
// committed again, vectors that are pending are made.
func nextRun(t testing.TB, s *store.Store) {
	t.Helper()
	stored, err := s.Documents(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range corpus {
		if d := c.Graph.Document; stored[d.Path].Fingerprints != d.Fingerprints {
			commit(t, s, c)
		}
	}
	finalize(t, s, hashModel)
}

// damages are statements that break a graph in one way each, and the kinds that a
// check must at least name.
var damages = []struct {
	name   string
	kinds  []store.FindingKind
	damage []cypher.Statement
}{
	{"a chunk without a document", []store.FindingKind{store.OrphanChunk, store.DocumentCounts, store.ChunkOrder}, one(cypher.New(
		`MATCH (:Document {path: 'a.txt'})-[p:PART_OF {index: 0}]->(:Chunk) DELETE p`, nil))},
	{"a chunk that is gone", []store.FindingKind{store.DanglingFact, store.StaleEntity, store.DocumentCounts}, one(cypher.New(
		`MATCH (:Document {path: 'b.txt'})-[:PART_OF {index: 1}]->(c:Chunk) DETACH DELETE c`, nil))},
	{"a document that is gone", []store.FindingKind{store.OrphanChunk, store.OrphanSection, store.WrongCounts}, one(cypher.New(
		`MATCH (d:Document {path: 'b.txt'}) DETACH DELETE d`, nil))},
	{"a chunk of two documents", []store.FindingKind{store.SharedChunk}, one(cypher.New(
		`MATCH (d:Document {path: 'a.txt'}) MATCH (:Document {path: 'c.txt'})-[:PART_OF]->(c:Chunk) CREATE (d)-[:PART_OF {index: 7}]->(c)`, nil))},
	{"two versions", []store.FindingKind{store.TwoVersions}, one(cypher.New(
		`MATCH (d:Document {path: 'a.txt'}) CREATE (d)-[:PART_OF {index: 0}]->(:Chunk {id: 'old', index: 0, text: 'x', start_char: 0, end_char: 1, content_key: 'k'})`, nil))},
	{"a document twice", []store.FindingKind{store.DuplicateID}, one(cypher.New(
		`MATCH (d:Document {path: 'a.txt'}) CREATE (e:Document) SET e = d`, nil))},
	{"a chunk twice", []store.FindingKind{store.DuplicateID, store.OrphanChunk}, one(cypher.New(
		`MATCH (:Document {path: 'a.txt'})-[:PART_OF {index: 0}]->(c:Chunk) CREATE (o:Chunk {id: c.id, text: c.text})`, nil))},
	{"an entity twice", []store.FindingKind{store.DuplicateID}, one(cypher.New(
		`MATCH (e:__Entity__ {name: 'Ada Lovelace'})-[m:MENTIONED_IN]->(c:Chunk) WITH e, m, c ORDER BY c.id LIMIT 1
CREATE (o:__Entity__) SET o = e CREATE (o)-[n:MENTIONED_IN]->(c) SET n = m DELETE m`, nil))},
	{"an entity that nothing mentions", []store.FindingKind{store.UnmentionedThing}, one(cypher.New(
		`MATCH (e:__Entity__ {name: 'Blaise Pascal'})-[m:MENTIONED_IN]->() DELETE m`, nil))},
	{"a ghost", []store.FindingKind{store.UnmentionedThing}, one(cypher.New(`CREATE (:__Entity__ {id: 'ghost'})`, nil))},
	{"a node without a label", []store.FindingKind{store.StrayNode}, one(cypher.New(`CREATE ({x: 1})`, nil))},
	{"an entity that lost its label", []store.FindingKind{store.StrayNode, store.DocumentCounts}, one(cypher.New(
		`MATCH (e:__Entity__ {name: 'Blaise Pascal'}) REMOVE e:__Entity__`, nil))},
	{"a mention that is gone", []store.FindingKind{store.StaleEntity}, one(cypher.New(
		`MATCH (:__Entity__ {name: 'London'})-[m:MENTIONED_IN]->(c:Chunk) WITH m ORDER BY c.id LIMIT 1 DELETE m`, nil))},
	{"a mention in what is no chunk", []store.FindingKind{store.DanglingMention}, one(cypher.New(
		`MATCH (e:__Entity__ {name: 'London'}) MATCH (d:Document {path: 'a.txt'}) CREATE (e)-[:MENTIONED_IN {spans: '[]'}]->(d)`, nil))},
	{"a mention twice", []store.FindingKind{store.DoubledMention}, one(cypher.New(
		`MATCH (e:__Entity__ {name: 'London'})-[m:MENTIONED_IN]->(c:Chunk) WITH e, m, c ORDER BY c.id LIMIT 1 CREATE (e)-[o:MENTIONED_IN]->(c) SET o = m`, nil))},
	{"a span that is off", []store.FindingKind{store.MentionSpan}, one(cypher.New(
		`MATCH (e:__Entity__ {name: 'London'})-[m:MENTIONED_IN]->(c:Chunk) WITH m ORDER BY c.id LIMIT 1 SET m.spans = '[{"start":1,"end":7}]'`, nil))},
	{"a span beyond its chunk", []store.FindingKind{store.MentionSpan}, one(cypher.New(
		`MATCH (e:__Entity__ {name: 'London'})-[m:MENTIONED_IN]->(c:Chunk) WITH m ORDER BY c.id LIMIT 1 SET m.spans = '[{"start":1000,"end":1006}]'`, nil))},
	{"a text that was changed", []store.FindingKind{store.ChunkText}, one(cypher.New(
		`MATCH (:Document {path: 'c.txt'})-[:PART_OF {index: 0}]->(c:Chunk) SET c.text = replace(c.text, 'Pascal', 'Rascal')`, nil))},
	{"a text that was cut", []store.FindingKind{store.ChunkText}, one(cypher.New(
		`MATCH (:Document {path: 'c.txt'})-[:PART_OF {index: 0}]->(c:Chunk) SET c.text = left(c.text, 20)`, nil))},
	{"a place that is wrong", []store.FindingKind{store.ChunkOrder}, one(cypher.New(
		`MATCH (:Document {path: 'a.txt'})-[p:PART_OF {index: 1}]->(:Chunk) SET p.index = 5`, nil))},
	{"a broken chain", []store.FindingKind{store.ChunkOrder}, one(cypher.New(
		`MATCH (:Document {path: 'a.txt'})-[:PART_OF]->(:Chunk)-[n:NEXT_CHUNK]->() DELETE n`, nil))},
	{"a section without its chunks", []store.FindingKind{store.SectionCover}, one(cypher.New(
		`MATCH (:Document {path: 'a.txt'})-[:HAS_SECTION]->(:__Section__)-[r:COVERS]->() DELETE r`, nil))},
	{"a section of another document's chunk", []store.FindingKind{store.SectionCover}, one(cypher.New(
		`MATCH (:Document {path: 'a.txt'})-[:HAS_SECTION]->(s:__Section__ {order: 0}) MATCH (:Document {path: 'c.txt'})-[:PART_OF]->(c:Chunk) CREATE (s)-[:COVERS]->(c)`, nil))},
	{"a section without a document", []store.FindingKind{store.OrphanSection}, one(cypher.New(
		`MATCH (:Document {path: 'a.txt'})-[r:HAS_SECTION]->(s:__Section__ {order: 1}) DELETE r`, nil))},
	{"a fact without a source", []store.FindingKind{store.SourcelessFact, store.DocumentCounts}, one(cypher.New(
		`MATCH (:__Entity__ {name: 'Charles Babbage'})-[r:RELATES {rel_type: 'KNOWS'}]->() SET r.source_chunk_ids = [], r.evidence = []`, nil))},
	{"a fact that lost a part of its evidence", []store.FindingKind{store.SourcelessFact}, one(cypher.New(
		`MATCH (:__Entity__ {name: 'Charles Babbage'})-[r:RELATES {rel_type: 'KNOWS'}]->() SET r.evidence = []`, nil))},
	{"a fact of a chunk that is not there", []store.FindingKind{store.DanglingFact}, one(cypher.New(
		`MATCH (:__Entity__ {name: 'Charles Babbage'})-[r:RELATES {rel_type: 'KNOWS'}]->()
SET r.source_chunk_ids = r.source_chunk_ids + ['nothing'], r.evidence = r.evidence + ['x'], r.evidence_scores = r.evidence_scores + [0.5],
    r.evidence_methods = r.evidence_methods + ['cues']`, nil))},
	{"a fact twice", []store.FindingKind{store.DoubledRelation}, one(cypher.New(
		`MATCH (a:__Entity__ {name: 'Charles Babbage'})-[r:RELATES {rel_type: 'KNOWS'}]->(b) CREATE (a)-[o:RELATES]->(b) SET o = r`, nil))},
	{"evidence that stands elsewhere", []store.FindingKind{store.FactSpan}, one(cypher.New(
		`MATCH (:__Entity__ {name: 'Charles Babbage'})-[r:RELATES {rel_type: 'KNOWS'}]->() SET r.evidence = ['something else']`, nil))},
	{"a relation that is gone", []store.FindingKind{store.DocumentCounts, store.WrongCounts}, one(cypher.New(
		`MATCH (:__Entity__ {name: 'Charles Babbage'})-[r:RELATES {rel_type: 'KNOWS'}]->() DELETE r`, nil))},
	{"a stale fact", []store.FindingKind{store.StaleFact}, one(cypher.New(
		`MATCH (:__Entity__ {name: 'Charles Babbage'})-[r:RELATES {rel_type: 'KNOWS'}]->() SET r.fact = 'old', r.src_name = 'Old'`, nil))},
	{"a wrong name_key", []store.FindingKind{store.WrongNameKey}, one(cypher.New(`MATCH (e:__Entity__ {name: 'London'}) SET e.name_key = 'paris'`, nil))},
	{"a stale description", []store.FindingKind{store.StaleEntity}, one(cypher.New(
		`MATCH (e:__Entity__ {name: 'London'}) SET e.description = 'It is gone.', e.mention_count = 99, e.search_text = 'x'`, nil))},
	{"a wrong label", []store.FindingKind{store.EntityLabels}, one(cypher.New(`MATCH (e:__Entity__ {name: 'London'}) SET e:Wrong`, nil))},
	{"a chunk without its vector", []store.FindingKind{store.MissingVector}, one(cypher.New(`MATCH (c:Chunk) WITH c LIMIT 1 SET c.embedding = NULL`, nil))},
	{"a relation without its vector", []store.FindingKind{store.MissingVector}, one(cypher.New(`MATCH ()-[r:RELATES]->() WITH r LIMIT 1 SET r.embedding = NULL`, nil))},
	{"a vector of another length", []store.FindingKind{store.VectorLength}, one(cypher.New(`MATCH (e:__Entity__ {name: 'London'}) SET e.embedding = vecf32([1.0, 2.0])`, nil))},
	{"a relation's vector of another length", []store.FindingKind{store.VectorLength}, one(cypher.New(
		`MATCH ()-[r:RELATES]->() WITH r LIMIT 1 SET r.embedding = vecf32([1.0, 2.0])`, nil))},
	{"a mark that nobody will see to", []store.FindingKind{store.PendingVector}, one(cypher.New(`MATCH (e:__Entity__ {name: 'London'}) SET e.embedding_pending = 1`, nil))},
	{"counts that disagree", []store.FindingKind{store.WrongCounts}, one(cypher.New(
		`MATCH (m:__Meta__) SET m.counts = '{"documents":9,"chunks":7,"entities":6,"relations":1,"entity_types":{"Person":1},"relation_types":{}}'`, nil))},
	{"a chunk's text that is a number", wrongTypes, one(cypher.New(`MATCH (:Document {path: 'a.txt'})-[:PART_OF {index: 0}]->(c:Chunk) SET c.text = 5, c.start_char = 'x'`, nil))},
	{"a chunk's id that is a list", wrongTypes, one(cypher.New(`MATCH (:Document {path: 'a.txt'})-[:PART_OF {index: 0}]->(c:Chunk) SET c.id = [1]`, nil))},
	{"a chunk without an id", wrongTypes, one(cypher.New(`MATCH (:Document {path: 'a.txt'})-[:PART_OF {index: 0}]->(c:Chunk) SET c.id = NULL`, nil))},
	{"a vector that is none", wrongTypes, one(cypher.New(`MATCH (:Document {path: 'a.txt'})-[:PART_OF {index: 0}]->(c:Chunk) SET c.embedding = [1, 2]`, nil))},
	{"a relation's vector that is none", wrongTypes, one(cypher.New(`MATCH ()-[r:RELATES]->() WITH r LIMIT 1 SET r.embedding = 'x'`, nil))},
	{"a document's id that is a number", wrongTypes, one(cypher.New(`MATCH (d:Document {path: 'a.txt'}) SET d.id = 7`, nil))},
	{"a document without an id", wrongTypes, one(cypher.New(`MATCH (d:Document {path: 'a.txt'}) SET d.id = NULL`, nil))},
	{"a document's path that is a list", wrongTypes, one(cypher.New(`MATCH (d:Document {path: 'a.txt'}) SET d.path = ['a', 'b']`, nil))},
	{"a document's numbers that are words", wrongTypes, one(cypher.New(`MATCH (d:Document {path: 'a.txt'}) SET d.size_bytes = 'x', d.chunk_count = 'many'`, nil))},
	{"a section's id that is a number", wrongTypes, one(cypher.New(`MATCH (s:__Section__ {order: 1}) WITH s LIMIT 1 SET s.id = 9, s.title = 3`, nil))},
	{"an entity's name that is a number", wrongTypes, one(cypher.New(`MATCH (e:__Entity__ {name: 'London'}) SET e.name = 5, e.aliases = 'x', e.mention_count = 'y', e.score = [1]`, nil))},
	{"an entity's aliases that are numbers", wrongTypes, one(cypher.New(`MATCH (e:__Entity__ {name: 'London'}) SET e.aliases = ['a', 1]`, nil))},
	{"an entity's id that is a number", wrongTypes, one(cypher.New(`MATCH (e:__Entity__ {name: 'London'}) SET e.id = 5`, nil))},
	{"an entity without an id", wrongTypes, one(cypher.New(`MATCH (e:__Entity__ {name: 'London'}) SET e.id = NULL`, nil))},
	{"an entity without a type", wrongTypes, one(cypher.New(`MATCH (e:__Entity__ {name: 'London'}) SET e.type = NULL`, nil))},
	{"an entity's type that can be no label", wrongTypes, one(cypher.New("MATCH (e:__Entity__ {name: 'London'}) SET e.type = 'a`b'", nil))},
	{"a relation's lists that are texts", wrongTypes, one(cypher.New(
		`MATCH ()-[r:RELATES]->() WITH r LIMIT 1 SET r.source_chunk_ids = 'q', r.evidence = 3, r.rel_type = 5, r.fact = 3`, nil))},
	{"a relation without a type", []store.FindingKind{store.SourcelessFact}, one(cypher.New(`MATCH ()-[r:RELATES]->() WITH r LIMIT 1 SET r.rel_type = NULL`, nil))},
	{"a mention's origin that is a number", []store.FindingKind{store.MentionSpan}, one(cypher.New(
		`MATCH (:__Entity__ {name: 'London'})-[m:MENTIONED_IN]->(c:Chunk) WITH m ORDER BY c.id LIMIT 1 SET m.origin = 4`, nil))},
	{"an index that is gone", []store.FindingKind{store.MissingIndex}, one(
		cypher.New(`DROP INDEX FOR (n:__Entity__) ON (n.name_key)`, nil), cypher.New(`DROP VECTOR INDEX FOR (n:Chunk) ON (n.embedding)`, nil))},
}

var wrongTypes = []store.FindingKind{store.WrongType}

func one(statements ...cypher.Statement) []cypher.Statement { return statements }

func TestEveryDamageIsNamedAndMended(t *testing.T) {
	client := connect(t, enginetest.Start(t))
	base := whole(t, client, "base")
	if result := check(t, base); !result.Clean || result.Checked.Chunks != 7 || result.Checked.Relations == 0 || result.Checked.Mentions == 0 {
		t.Fatalf("undamaged: %+v", result)
	}
	want := digest(t, base)
	for i, d := range damages {
		t.Run(d.name, func(t *testing.T) {
			name := "g" + string(rune('a'+i/26)) + string(rune('a'+i%26))
			copyGraph(t, client, "base", name)
			write(t, client, name, d.damage...)
			s := locked(t, client, name)
			damaged := check(t, s)
			for _, kind := range d.kinds {
				if damaged.Found[kind] == 0 {
					t.Errorf("%s is not found, but %v: %+v", kind, kindsOf(damaged), damaged.Findings)
				}
			}
			after, err := s.Repair(t.Context(), store.CheckOptions{}, func(context.Context) error { return s.SaveOntology(t.Context(), smallOntology) })
			if err != nil {
				t.Fatal(err)
			}
			if !after.Clean {
				t.Errorf("after the repair %+v there is %+v", after.Repaired, after.Findings)
			}
			if len(after.Repaired) == 0 {
				t.Error("the repair says that it did nothing")
			}
			nextRun(t, s)
			if result := check(t, s); !result.Clean || result.Waiting != 0 {
				t.Errorf("after the next run: %+v", result)
			}
			if digest(t, s) != want {
				t.Errorf("after the next run it is another graph; repaired: %+v", after.Repaired)
			}
		})
	}
}

// copyGraph copies a graph with its ontology. The copy has the original's indexes.
func copyGraph(t testing.TB, client *conn.Client, from, to string) {
	t.Helper()
	for _, name := range []func(string) string{func(s string) string { return s }, shape.OntologyGraph} {
		if err := client.Redis().Do(t.Context(), "GRAPH.COPY", name(from), name(to)).Err(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestCheckOfNothingIsClean(t *testing.T) {
	client := connect(t, enginetest.Start(t))
	if result := check(t, opened(t, client, "never")); !result.Clean || result.Checked.Documents != 0 {
		t.Errorf("a graph that is not there: %+v", result)
	}
	if keys := client.Redis().Keys(t.Context(), "*").Val(); len(keys) != 0 {
		t.Errorf("checking made %v", keys)
	}
}

func TestALostOntologyIsNamed(t *testing.T) {
	client := connect(t, enginetest.Start(t))
	s := whole(t, client, "g")
	want := digest(t, s)
	if err := client.Redis().Do(t.Context(), "GRAPH.DELETE", shape.OntologyGraph("g")).Err(); err != nil {
		t.Fatal(err)
	}
	if result := check(t, s); result.Found[store.MissingOntology] != 1 {
		t.Errorf("%+v", result)
	}
	if after, err := s.Repair(t.Context(), store.CheckOptions{}, func(context.Context) error { return s.SaveOntology(t.Context(), smallOntology) }); err != nil || !after.Clean {
		t.Errorf("after the repair: %+v, %v", after, err)
	}
	if digest(t, s) != want {
		t.Error("it is another graph")
	}
}

// Every state that commits, removals and half a finalize leave is clean.
func TestWhatCommitsLeaveIsClean(t *testing.T) {
	client := connect(t, enginetest.Start(t))
	s := locked(t, client, "g")
	if err := s.SaveOntology(t.Context(), smallOntology); err != nil {
		t.Fatal(err)
	}
	clean := func(when string) {
		t.Helper()
		if result := check(t, s); !result.Clean {
			t.Errorf("%s: %+v", when, result.Findings)
		}
	}
	commit(t, s, corpus[:2]...)
	clean("after a first commit")
	if err := s.PrepareVectors(t.Context(), hashModel); err != nil {
		t.Fatal(err)
	}
	clean("before the first vector")
	commit(t, s, corpus[2:]...)
	finalize(t, s, hashModel)
	clean("finalized")
	commit(t, s, document("a.txt", "Ada Lovelace knows Paris.\n\nIn Berne, Ada Lovelace knows Zed. London."))
	clean("with a document replaced")
	if err := s.Remove(t.Context(), []graph.DocumentID{graph.FileDocumentID("d.txt")}); err != nil {
		t.Fatal(err)
	}
	clean("with a document removed")
	finalize(t, s, hashModel)
	clean("finalized again")
}
