package main

import (
	"encoding/json"
	"testing"

	"graphmill/commandline"
	"graphmill/pipeline/engine/enginetest"
	"graphmill/pipeline/falkor/conn"
	"graphmill/pipeline/falkor/store"
)

// The kinds of damage each have their test in the store; here a graph is damaged
// in many ways at once, mended, and run over again.
func TestADamagedGraphIsMended(t *testing.T) {
	inFull(t)
	f := enginetest.Start(t)
	w := worldIn(t, f.DataDir)
	w.fill(12, 1)
	w.ingest(0)
	digest := w.digest()
	contains(t, w.must("check"), "no broken invariant in 12 documents")
	client, err := conn.Open(conn.Options{Socket: f.Address, Username: f.Writer.User, Password: f.Writer.Secret})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for _, damage := range []string{
		`MATCH (:Document)-[p:PART_OF]->(:Chunk) WITH p LIMIT 2 DELETE p`,
		`MATCH (c:Chunk) WITH c SKIP 5 LIMIT 2 DETACH DELETE c`,
		`MATCH ()-[m:MENTIONED_IN]->() WITH m SKIP 10 LIMIT 3 SET m.spans = '[{"start":0,"end":1}]'`,
		`MATCH ()-[m:MENTIONED_IN]->() WITH m SKIP 20 LIMIT 3 DELETE m`,
		`MATCH ()-[r:RELATES]->() WITH r SKIP 3 LIMIT 3 DELETE r`,
		`MATCH (e:__Entity__) WITH e SKIP 7 LIMIT 2 SET e.embedding = NULL, e.name_key = 'x'`,
		`CREATE (:__Entity__ {id: 'ghost'})`,
		`MATCH (m:__Meta__) SET m.counts = replace(m.counts, '1', '2')`,
	} {
		if err := client.Redis().Do(t.Context(), "GRAPH.QUERY", "knowledge_graph", damage).Err(); err != nil {
			t.Fatal(err)
		}
	}
	var found store.CheckResult
	e := w.run("check", "--output", "json")
	if err := json.Unmarshal([]byte(e.stdout), &found); err != nil || e.code != commandline.ExitSomeFailed || found.Clean || len(found.Findings) == 0 {
		t.Fatalf("check of a damaged graph: %v, %v", e, err)
	}
	for _, kind := range []store.FindingKind{store.OrphanChunk, store.MentionSpan, store.DocumentCounts, store.UnmentionedThing, store.WrongCounts, store.MissingVector} {
		if found.Found[kind] == 0 {
			t.Errorf("%s is not found: %v", kind, found.Found)
		}
	}
	if e := w.run("check", "--quiet"); e.code != commandline.ExitSomeFailed {
		t.Errorf("%v", e)
	} else {
		contains(t, e.stdout, "check --repair")
	}
	repaired := w.must("check", "--repair")
	contains(t, repaired, "repaired: ", "no broken invariant", "waiting: ")
	if report := w.ingest(0); report.Totals.Status["unchanged"] == 0 || report.Totals.Status["failed"] != 0 {
		t.Errorf("the run after it: %s", statuses(report))
	}
	contains(t, w.must("check"), "no broken invariant in 12 documents")
	if w.digest() != digest {
		t.Errorf("it is another graph; %s", repaired)
	}
	contains(t, w.must("runs"), "check --repair")
}
