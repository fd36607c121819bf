package store_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"graphmill/pipeline/engine/enginetest"
	"graphmill/pipeline/falkor/conn"
	"graphmill/pipeline/falkor/cypher"
	"graphmill/pipeline/falkor/store"
	"graphmill/pipeline/graph"
)

// TestEngineKilledWhileMergingGoesOn kills the engine at several moments of
// merging 150 entities in three statements. What is merged then is recorded so,
// and going on gives the graph of an undisturbed run.
func TestEngineKilledWhileMergingGoesOn(t *testing.T) {
	f := enginetest.Start(t)
	var documents []store.Change
	var merges []store.Merge
	for i := range 150 {
		long, short := "Firm "+letters(i), "House "+letters(i)
		documents = append(documents, document(fmt.Sprintf("d%03d.txt", i), long+" knows Ada and "+short+".\n\n"+short+" knows London."))
		merges = append(merges, merge(long, short))
	}
	undisturbed := locked(t, connect(t, f), "undisturbed")
	commit(t, undisturbed, documents...)
	setMerges(t, undisturbed, merges...)
	want := digest(t, undisturbed)
	partly := 0
	for round := range 5 {
		name := fmt.Sprint("g", round)
		client := connect(t, f)
		s := opened(t, client, name)
		if _, err := s.Acquire(t.Context(), owner(t), 0, 0); err != nil {
			t.Fatal(err)
		}
		commit(t, s, documents...)
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = s.SetMerges(context.Background(), merges, "")
		}()
		awaitRecords(t, client, name, round > 1)
		time.Sleep(time.Duration(round) * time.Millisecond)
		f.Kill()
		<-done
		f.Restart()

		client = connect(t, f)
		if err := client.Redis().Del(t.Context(), "graphmill:{"+name+"}:lock").Err(); err != nil {
			t.Fatal(err)
		}
		again := locked(t, client, name)
		recorded := activeMerges(t, again)
		if recorded > 0 && recorded < len(merges) {
			partly++
		}
		counted, err := again.Finish(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if whole := 2*len(merges) + 2 - recorded; counted.Entities != whole {
			t.Errorf("round %d: %d merges are recorded and %d entities stand, not %d", round, recorded, counted.Entities, whole)
		}
		setMerges(t, again, merges...)
		if digest(t, again) != want {
			t.Errorf("round %d: going on gives another graph than an undisturbed run", round)
		}
	}
	if partly == 0 {
		t.Error("no kill fell between two statements")
	}
}

// awaitRecords waits, if it shall, until the first merges are recorded.
func awaitRecords(t *testing.T, client *conn.Client, name string, wait bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); wait; {
		rows, err := client.Read(t.Context(), name, cypher.New(`MATCH (m:__Merge__) RETURN count(m) AS n`, nil), 0)
		switch {
		case err != nil:
			t.Fatal(err)
		case rows.Int(0, "n") > 0:
			return
		case time.Now().After(deadline):
			t.Fatal("nothing is merged")
		}
	}
}

func activeMerges(t *testing.T, s *store.Store) int {
	t.Helper()
	records, err := s.Merges(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	named := map[graph.EntityID]bool{}
	for _, m := range records {
		named[m.Merged] = true
	}
	return len(named)
}
