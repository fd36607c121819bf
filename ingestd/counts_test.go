package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"graphmill/pipeline/engine"
	"graphmill/pipeline/engine/enginetest"
	"graphmill/pipeline/falkor/conn"
	"graphmill/pipeline/falkor/cypher"
	"graphmill/pipeline/falkor/store"
)

// told are the counts that status tells.
func (w *world) told() store.Counts {
	w.t.Helper()
	var status struct {
		Counts    store.Counts
		Documents []struct{}
	}
	if err := json.Unmarshal([]byte(w.must("status", "--output", "json")), &status); err != nil {
		w.t.Fatal(err)
	}
	if status.Counts.Documents != len(status.Documents) {
		w.t.Errorf("status counts %d documents and lists %d", status.Counts.Documents, len(status.Documents))
	}
	return status.Counts
}

// counted are the counts of what stands in the graph; sections and mentions are
// counted by finalize alone.
func (w *world) counted() store.Counts {
	w.t.Helper()
	lease, err := engine.Acquire(w.t.Context(), enginetest.Options(w.t, w.data))
	if err != nil {
		w.t.Fatal(err)
	}
	defer lease.Release()
	client, err := conn.Open(conn.Options{Socket: lease.Address(), Username: lease.Credentials().User, Password: lease.Credentials().Secret})
	if err != nil {
		w.t.Fatal(err)
	}
	defer client.Close()
	if err := client.WaitReady(w.t.Context(), func(time.Duration) {}); err != nil {
		w.t.Fatal(err)
	}
	tally := func(query cypher.Statement) map[string]int {
		rows, err := client.Read(w.t.Context(), "knowledge_graph", query, 0)
		if err != nil {
			w.t.Fatal(err)
		}
		found := map[string]int{}
		for i := range rows.Len() {
			found[rows.String(i, "kind")] = rows.Int(i, "n")
		}
		return found
	}
	sum := func(kinds map[string]int) (n int) {
		for _, count := range kinds {
			n += count
		}
		return n
	}
	counts := store.Counts{
		Documents:     sum(tally(cypher.New(`MATCH (n:Document) RETURN 'all' AS kind, count(n) AS n`, nil))),
		Chunks:        sum(tally(cypher.New(`MATCH (n:Chunk) RETURN 'all' AS kind, count(n) AS n`, nil))),
		EntityTypes:   tally(cypher.New(`MATCH (n:__Entity__) RETURN n.type AS kind, count(n) AS n`, nil)),
		RelationTypes: tally(cypher.New(`MATCH (:__Entity__)-[r:RELATES]->() RETURN r.rel_type AS kind, count(r) AS n`, nil)),
	}
	counts.Entities, counts.Relations = sum(counts.EntityTypes), sum(counts.RelationTypes)
	return counts
}

// killedVerbs kills verbs that write, or the engine below them, and holds what
// status tells after each to what stands in the graph.
func killedVerbs(t *testing.T, files int, seed uint64, enough func(kills int) bool) {
	w := newWorld(t)
	w.configure(fastConfig + "commit: {max_rows: 60, max_documents: 2}\n")
	w.fill(files, 1)
	w.ingest(0)
	random := rand.New(rand.NewPCG(seed, 1))
	inMidst := 0
	for kills := 0; !enough(kills); kills++ {
		w.fill(files/2, uint64(kills)+100)
		verb := [][]string{
			{"run", "--root", w.corpus}, {"forget", "notes"}, {"finalize"},
			{"run", "--root", w.corpus, "--no-finalize"}, {"reextract", "--root", w.corpus, "**"}, {"forget", "d0*.txt"},
		}[random.IntN(6)]
		command := w.command(append(verb, "--quiet")...)
		if err := command.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(20+random.IntN(400)) * time.Millisecond)
		if victim := victims[random.IntN(len(victims))]; victim == "ingestd" {
			command.Process.Kill()
		} else {
			killEngine(t, w.data)
			if victim == "both" {
				command.Process.Kill()
			}
		}
		if command.Wait() != nil {
			inMidst++
		}
		told, counted := w.told(), w.counted()
		counted.Sections, counted.Mentions = told.Sections, told.Mentions
		if !reflect.DeepEqual(told, counted) {
			t.Fatalf("kill %d, %v: status tells %+v, the graph holds %+v", kills, verb, told, counted)
		}
	}
	t.Logf("%d of the verbs had not finished", inMidst)
	w.fill(files, 1)
	w.ingest(0)
	calm := newWorld(t)
	calm.fill(files, 1)
	calm.ingest(0)
	if w.digest() != calm.digest() {
		t.Error("after all the graph is another one")
	}
	if got, want := fmt.Sprint(w.told()), fmt.Sprint(calm.told()); got != want {
		t.Errorf("status tells %s, undisturbed %s", got, want)
	}
}

func TestKilledVerbsKeepTheCounts(t *testing.T) {
	inFull(t)
	killedVerbs(t, 12, 7, func(kills int) bool { return kills >= 8 })
}

func TestSoakKilledVerbs(t *testing.T) {
	long := soakTime(t)
	for seed, until := uint64(1), time.Now().Add(long); time.Now().Before(until); seed++ {
		killedVerbs(t, 30, seed, func(kills int) bool { return kills >= 100 || time.Now().After(until) })
	}
}
