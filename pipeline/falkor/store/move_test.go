package store_test

import (
	"reflect"
	"strings"
	"testing"

	"graphmill/pipeline/engine/enginetest"
	"graphmill/pipeline/falkor/store"
	"graphmill/pipeline/graph"
)

const textOfB = "London is where Mary Somerville wrote.\n\nAda Lovelace knows Mary Somerville."

func moved(c store.Change, from string) store.Change {
	c.Moved = graph.FileDocumentID(from)
	return c
}

// A document under another path is the same graph as one that was always there,
// at the price of no vector.
func TestAMovedDocumentTakesItsVectorsAlong(t *testing.T) {
	client := connect(t, enginetest.Start(t))
	s := locked(t, client, "g")
	commit(t, s, corpus...)
	finalize(t, s, hashModel)
	change := moved(document("new/b.txt", textOfB), "b.txt")
	for range 2 { // a commit that is done again changes nothing
		commit(t, s, change)
		if made := finalize(t, s, hashModel); len(made) != 0 {
			t.Errorf("embedded %v", made)
		}
	}
	fresh := locked(t, client, "fresh")
	commit(t, fresh, corpus[0], document("new/b.txt", textOfB), corpus[2], corpus[3])
	finalize(t, fresh, hashModel)
	if digest(t, s) != digest(t, fresh) {
		t.Error("the graph is not that of the documents as they are")
	}
}

func TestAMoveKeepsTheCounts(t *testing.T) {
	client := connect(t, enginetest.Start(t))
	s := locked(t, client, "g")
	commit(t, s, corpus...)
	commit(t, s, moved(document("new/b.txt", textOfB), "b.txt"), moved(document("new/x.txt", "Ada Lovelace knows London."), "never.txt"))
	meta, err := s.Meta(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	counted, err := s.Finish(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	kept := meta.Counts
	if kept.Sections, kept.Mentions = counted.Sections, counted.Mentions; !reflect.DeepEqual(kept, counted) || kept.Documents != 5 {
		t.Errorf("kept %+v, counted %+v", kept, counted)
	}
}

func TestAMoveFromADocumentOfTheSameCommitIsRefused(t *testing.T) {
	client := connect(t, enginetest.Start(t))
	s := locked(t, client, "g")
	commit(t, s, corpus...)
	before := digest(t, s)
	err := s.Commit(t.Context(), []store.Change{moved(document("new/b.txt", textOfB), "a.txt"), document("a.txt", "Ada.")})
	if err == nil || !strings.Contains(err.Error(), "file:a.txt") || digest(t, s) != before {
		t.Errorf("got %v", err)
	}
}
