package store_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"graphmill/pipeline/engine/enginetest"
	"graphmill/pipeline/falkor/conn"
	"graphmill/pipeline/falkor/cypher"
	"graphmill/pipeline/falkor/store"
	"graphmill/pipeline/graph"
)

func track(s *store.Store, id string, bytes int64, runs int) store.Run {
	run := store.Run{ID: id, Verb: "run", Started: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Totals: map[string]int{}}
	s.Track(run, store.DiffLimits{Bytes: bytes, Runs: runs})
	return run
}

func diffOf(t *testing.T, s *store.Store, run string) store.Diff {
	t.Helper()
	diff, ok, err := s.Diff(t.Context(), run)
	if err != nil || !ok {
		t.Fatal(err, ok)
	}
	return diff
}

// stands are the graph's entities and relations, with what a diff shows of them.
func stands(t *testing.T, client *conn.Client) map[string]string {
	t.Helper()
	out := map[string]string{}
	for prefix, statement := range map[string]cypher.Statement{
		"e ": cypher.New(`MATCH (e:__Entity__) RETURN e.id AS id, e.name + '|' + e.description AS said, e.mention_count AS n, reduce(all = '', a IN e.aliases | all + a + ';') AS more`, nil),
		"r ": cypher.New(`MATCH (s)-[r:RELATES]->(t) RETURN s.id + '␟' + r.rel_type + '␟' + t.id AS id, r.description AS said, size(r.evidence) AS n, '' AS more`, nil),
		"d ": cypher.New(`MATCH (d:Document) RETURN d.id AS id, d.content_hash AS said, 0 AS n, '' AS more`, nil),
	} {
		rows, err := client.Read(t.Context(), "g", statement, 0)
		if conn.KindOf(err) == conn.NoGraph {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		for i := range rows.Len() {
			out[prefix+rows.String(i, "id")] = rows.String(i, "said") + "|" + rows.String(i, "more")
		}
	}
	return out
}

// Whatever a run commits, replaces, moves and removes, its record is the
// difference between the graph before and after.
func TestARunsRecordIsWhatItChanged(t *testing.T) {
	client := connect(t, enginetest.Start(t))
	s := locked(t, client, "g")
	random := rand.New(rand.NewPCG(5, 8))
	names := []string{"Ada", "Babbage", "London", "Turing", "Engine", "Menlo Park", "Grace"}
	text := func() string {
		var b string
		for range 1 + random.IntN(3) {
			b += names[random.IntN(len(names))] + " knows " + names[random.IntN(len(names))] + " and " + names[random.IntN(len(names))] + ".\n\n"
		}
		return strings.TrimSpace(b)
	}
	listed := 0
	for round := range 12 {
		before := stands(t, client)
		run := track(s, fmt.Sprintf("run%02d", round), 1<<20, 100)
		for range 1 + random.IntN(4) {
			path := fmt.Sprintf("%d.txt", random.IntN(5))
			switch random.IntN(4) {
			case 0:
				if err := s.Remove(t.Context(), []graph.DocumentID{graph.FileDocumentID(path)}); err != nil {
					t.Fatal(err)
				}
			case 1:
				commit(t, s, moved(document("m"+path, text()), path))
			default:
				commit(t, s, document(path, text()), document("other.txt", text()))
			}
		}
		after := stands(t, client)
		diff, ok, err := s.Diff(t.Context(), run.ID)
		if err != nil || !ok && !reflect.DeepEqual(before, after) {
			t.Fatal(err, ok)
		}
		var got, want []string
		for prefix, part := range map[string]store.Altered{"e ": diff.Entities, "r ": diff.Relations, "d ": diff.Documents} {
			for sign, list := range map[string][]store.AlteredThing{"+": part.Added, "~": part.Changed, "-": part.Removed} {
				for _, thing := range list {
					got = append(got, sign+prefix+thing.ID)
				}
			}
		}
		for id, said := range after {
			if was, stood := before[id]; !stood {
				want = append(want, "+"+id)
			} else if was != said {
				want = append(want, "~"+id)
			}
		}
		for id := range before {
			if _, stands := after[id]; !stands {
				want = append(want, "-"+id)
			}
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) || ok && !diff.Complete {
			t.Fatalf("round %d:\n got %q\nwant %q", round, got, want)
		}
		listed += len(got)
	}
	if listed < 100 {
		t.Errorf("only %d changes were listed: the test tests little", listed)
	}
}

func TestTheRecordOfChangesIsBounded(t *testing.T) {
	client := connect(t, enginetest.Start(t))
	s := locked(t, client, "g")
	var ids []string
	for i := range 4 {
		run := track(s, fmt.Sprintf("run%d", i), 1<<20, 2)
		ids = append(ids, run.ID)
		commit(t, s, document("a.txt", fmt.Sprintf("Ada knows Person %c.", 'A'+i)))
		run.Status, run.Ended = store.RunDone, run.Started.Add(time.Second)
		if err := s.SaveRun(t.Context(), run); err != nil {
			t.Fatal(err)
		}
	}
	for i, id := range ids {
		if _, ok, err := s.Diff(t.Context(), id); err != nil || ok != (i >= 2) {
			t.Errorf("run %d: a record %t, %v", i, ok, err)
		}
	}
	// What is beyond the bytes of a run is counted.
	track(s, "small", 1, 2)
	commit(t, s, document("b.txt", "Grace knows London."))
	diff := diffOf(t, s, "small")
	if diff.Complete || len(diff.Entities.Added) != 0 || diff.Entities.Counts.Added != 2 || diff.Documents.Counts.Added != 1 {
		t.Errorf("%+v", diff)
	}
	// The graph's content is not concerned by any of it.
	fresh := locked(t, client, "fresh")
	commit(t, fresh, document("b.txt", "Grace knows London."), document("a.txt", "Ada knows Person D."))
	if digest(t, s) != digest(t, fresh) {
		t.Error("another graph than without a record")
	}
}

// What is forgotten on request is in no record, neither of this run nor of those
// before.
func TestAForgetLeavesNoListOfWhatItRemoved(t *testing.T) {
	client := connect(t, enginetest.Start(t))
	s := locked(t, client, "g")
	track(s, "one", 1<<20, 5)
	commit(t, s, document("a.txt", "Ada knows Grace."))
	track(s, "two", 1<<20, 5)
	s.Unlisted()
	if err := s.Remove(t.Context(), []graph.DocumentID{"file:a.txt"}); err != nil {
		t.Fatal(err)
	}
	for run, counts := range map[string]store.AlteredCounts{"one": {Added: 2}, "two": {Removed: 2}} {
		if diff := diffOf(t, s, run); diff.Complete || len(diff.Entities.Added)+len(diff.Entities.Removed) != 0 || diff.Entities.Counts != counts {
			t.Errorf("%s: %+v", run, diff)
		}
	}
	track(s, "three", 1<<20, 5)
	commit(t, s, document("b.txt", "Ada knows Grace."))
	if diff := diffOf(t, s, "three"); !diff.Complete || len(diff.Entities.Added) != 2 {
		t.Errorf("%+v", diff)
	}
}

// A run that dies has a line, and the next one says so.
func TestARunThatDiesIsInTheLedger(t *testing.T) {
	client := connect(t, enginetest.Start(t))
	s := locked(t, client, "g")
	track(s, "one", 1<<20, 2)
	commit(t, s, document("a.txt", "Ada knows Grace."))
	status := func() (out []string) {
		runs, err := s.Runs(t.Context(), 10)
		if err != nil {
			t.Fatal(err)
		}
		for _, run := range runs {
			out = append(out, run.ID+" "+run.Status)
		}
		slices.Sort(out)
		return out
	}
	if got := status(); !slices.Equal(got, []string{"one running"}) {
		t.Errorf("%q", got)
	}
	track(s, "two", 1<<20, 2)
	commit(t, s, document("a.txt", "Ada knows London."))
	if got := status(); !slices.Equal(got, []string{"one died", "two running"}) {
		t.Errorf("%q", got)
	}
}
