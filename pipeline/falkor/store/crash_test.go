package store_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"graphmill/pipeline/engine/enginetest"
	"graphmill/pipeline/falkor/conn"
	"graphmill/pipeline/falkor/cypher"
	"graphmill/pipeline/falkor/store"
)

// versions are two versions of many documents that share entities.
func versions(n int) (first, second []store.Change) {
	for i := range n {
		path := fmt.Sprintf("d%02d.txt", i)
		var old, new strings.Builder
		for k := range 12 {
			fmt.Fprintf(&old, "Ada Lovelace met Person %s in Place %s.\n\n", letters(i*12+k), letters(k))
			fmt.Fprintf(&new, "Charles Babbage knows Person %s of Place %s.\n\n", letters(i*12+k+5), letters(k+3))
		}
		first = append(first, document(path, strings.TrimSpace(old.String())))
		second = append(second, document(path, strings.TrimSpace(new.String())))
	}
	return first, second
}

// letters spells a number as a capitalised word.
func letters(n int) string {
	word := ""
	for n += 1; n > 0; n /= 5 {
		word += string(rune('a' + n%5))
	}
	return strings.ToUpper(word[:1]) + word[1:] + "x"
}

// whole says, document by document, what a reader sees of it: its version, and
// whether everything of it is there.
func torn(rows *conn.Rows) string {
	for i := range rows.Len() {
		if rows.Int(i, "want") != rows.Int(i, "have") || rows.Int(i, "mentioned") == 0 {
			return fmt.Sprint(rows.Row(i)...)
		}
	}
	return ""
}

func looking() cypher.Statement {
	return cypher.New(`MATCH (d:Document) OPTIONAL MATCH (d)-[:PART_OF]->(c:Chunk) OPTIONAL MATCH (c)<-[m:MENTIONED_IN]-(:__Entity__)
RETURN d.id AS id, d.chunk_count AS want, count(DISTINCT c) AS have, count(m) AS mentioned`, nil)
}

func TestReaderSeesOldOrNewButNeverHalf(t *testing.T) {
	client := connect(t, enginetest.Start(t))
	s := locked(t, client, "g")
	first, second := versions(6)
	commit(t, s, first...)
	ctx, cancel := context.WithCancel(t.Context())
	var readers sync.WaitGroup
	looks := 0
	readers.Go(func() {
		for ctx.Err() == nil {
			rows, err := client.Read(context.Background(), "g", looking(), 0)
			if err != nil {
				t.Error(err)
				return
			}
			if half := torn(rows); half != "" {
				t.Errorf("a reader saw %s", half)
				return
			}
			looks++
		}
	})
	for range 4 {
		for i := range second {
			commit(t, s, second[i])
		}
		commit(t, s, first...)
	}
	cancel()
	readers.Wait()
	if looks == 0 {
		t.Error("the reader never looked")
	}
}

func TestEngineKilledWhileCommittingLosesNoWholeDocument(t *testing.T) {
	f := enginetest.Start(t)
	first, second := versions(8)
	undisturbed := locked(t, connect(t, f), "undisturbed")
	commit(t, undisturbed, second...)
	want := digest(t, undisturbed)
	for round := range 3 {
		name := fmt.Sprint("g", round)
		client := connect(t, f)
		s := opened(t, client, name)
		if _, err := s.Acquire(t.Context(), owner(t), 0, 0); err != nil {
			t.Fatal(err)
		}
		commit(t, s, first...)
		confirmed := make(chan int, len(second))
		done := make(chan struct{})
		go func() {
			defer close(done)
			for i := range second {
				if s.Commit(context.Background(), second[i:i+1]) != nil {
					return
				}
				confirmed <- i
			}
		}()
		for range round {
			<-confirmed
		}
		time.Sleep(time.Duration(round+1) * 2 * time.Millisecond)
		f.Kill()
		<-done
		f.Restart()

		client = connect(t, f)
		rows, err := client.Read(t.Context(), name, looking(), 0)
		if err != nil {
			t.Fatal(err)
		}
		if half := torn(rows); half != "" {
			t.Errorf("round %d: after the restart %s", round, half)
		}
		// The lock of this very process stands still: its key survived.
		if err := client.Redis().Del(t.Context(), "graphmill:{"+name+"}:lock").Err(); err != nil {
			t.Fatal(err)
		}
		again := locked(t, client, name)
		documents, err := again.Documents(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		close(confirmed)
		for i := range confirmed {
			d := second[i].Graph.Document
			if documents[d.Path].Fingerprints != d.Fingerprints {
				t.Errorf("round %d: %s was confirmed and is not there", round, d.Path)
			}
		}
		for i := range second {
			d := second[i].Graph.Document
			if documents[d.Path].Fingerprints != d.Fingerprints {
				commit(t, again, second[i])
			}
		}
		if digest(t, again) != want {
			t.Errorf("round %d: going on gives another graph than an undisturbed run", round)
		}
	}
}
