package store_test

import (
	"slices"
	"strings"
	"testing"

	"graphmill/pipeline/engine/enginetest"
	"graphmill/pipeline/falkor/conn"
	"graphmill/pipeline/falkor/cypher"
	"graphmill/pipeline/falkor/store"
	"graphmill/pipeline/graph"
)

const (
	adaTold      = "Ada knows Lovelace and London."
	lovelaceTold = "Lovelace knows Babbage."
	commonTold   = "Lovelace knows Babbage and London."
)

// joined is a graph in which a rule joined two names that are described.
func joined(t *testing.T, client *conn.Client, name string) (*store.Store, store.Description) {
	t.Helper()
	s := locked(t, client, name)
	if err := s.SaveOntology(t.Context(), smallOntology); err != nil {
		t.Fatal(err)
	}
	commit(t, s, document("a.txt", adaTold), document("b.txt", lovelaceTold))
	setMerges(t, s, merge("Lovelace", "Ada"))
	all, err := s.JoinedBy(t.Context(), "test")
	if err != nil || len(all) != 1 || all[0].ID != idOf("Lovelace") || !slices.Equal(all[0].Sentences, []string{adaTold, lovelaceTold}) || len(all[0].Origins) != 2 {
		t.Fatalf("%+v, %v", all, err)
	}
	return s, store.Description{ID: all[0].Description(), Entity: all[0].ID, Text: commonTold}
}

func describe(t *testing.T, s *store.Store, put, forget []store.Description) {
	t.Helper()
	if err := s.Describe(t.Context(), put, forget); err != nil {
		t.Fatal(err)
	}
}

// aboutLovelace is what a reader finds, and the sentence beside it.
func aboutLovelace(t *testing.T, client *conn.Client, name string) (about, sentence string) {
	t.Helper()
	rows, err := client.Read(t.Context(), name, cypher.New(`MATCH (e:__Entity__ {name: 'Lovelace'}) RETURN e.description AS about, e.sentence AS sentence`, nil), 0)
	if err != nil || rows.Len() != 1 {
		t.Fatal(rows.Len(), err)
	}
	return rows.String(0, "about"), rows.String(0, "sentence")
}

// TestADescriptionStandsUntilItsEntityIsTouched describes an entity, says more of
// it, describes it again and forgets that: no trace is left.
func TestADescriptionStandsUntilItsEntityIsTouched(t *testing.T) {
	client := connect(t, enginetest.Start(t))
	s, common := joined(t, client, "g")
	plain := digest(t, s)
	run := track(s, "described", 1<<20, 10)
	describe(t, s, []store.Description{common}, nil)
	if about, sentence := aboutLovelace(t, client, "g"); about != commonTold || sentence != lovelaceTold {
		t.Errorf("%q, %q", about, sentence)
	}
	if digest(t, s) == plain {
		t.Error("the digest does not see the description")
	}
	diff := diffOf(t, s, run.ID)
	if len(diff.Entities.Changed) != 1 || diff.Entities.Changed[0].Fields["description"] != (store.AlteredField{Before: lovelaceTold, After: commonTold}) {
		t.Errorf("%+v", diff.Entities)
	}
	meta, err := s.Meta(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	described := digest(t, s)
	describe(t, s, []store.Description{common}, nil)
	if again, err := s.Meta(t.Context()); err != nil || again.Commits != meta.Commits {
		t.Error("what is so already is written again", err)
	}
	cards, err := s.Cards(t.Context(), []graph.EntityID{idOf("Lovelace")})
	if err != nil || cards[idOf("Lovelace")].Description != lovelaceTold {
		t.Errorf("a judge would read %+v, %v", cards, err)
	}

	more := document("c.txt", "Lovelace knows Turing and a good many others whom nobody remembers.")
	commit(t, s, more)
	if about, sentence := aboutLovelace(t, client, "g"); about != lovelaceTold || sentence != "" {
		t.Errorf("after a commit: %q, %q", about, sentence)
	}
	if result := check(t, s); len(result.Found) != 0 {
		t.Errorf("between commit and finalize: %+v", result.Findings)
	}
	describe(t, s, []store.Description{common}, nil)
	if about, _ := aboutLovelace(t, client, "g"); about != commonTold {
		t.Errorf("%q", about)
	}
	if err := s.Remove(t.Context(), []graph.DocumentID{more.Graph.Document.ID}); err != nil {
		t.Fatal(err)
	}
	describe(t, s, []store.Description{common}, nil)
	if digest(t, s) != described {
		t.Error("the way to a description shows in the graph")
	}
	describe(t, s, nil, []store.Description{common})
	if digest(t, s) != plain {
		t.Error("a forgotten description leaves a trace")
	}
	describe(t, s, []store.Description{common}, nil)
	setMerges(t, s)
	if about, sentence := aboutLovelace(t, client, "g"); about != lovelaceTold || sentence != "" {
		t.Errorf("taken apart: %q, %q", about, sentence)
	}
}

// TestADamagedDescriptionIsFoundAndMended changes what is derived, in every place
// that holds it.
func TestADamagedDescriptionIsFoundAndMended(t *testing.T) {
	client := connect(t, enginetest.Start(t))
	s, common := joined(t, client, "whole")
	describe(t, s, []store.Description{common}, nil)
	finalize(t, s, hashModel)
	if result := check(t, s); len(result.Found) != 0 {
		t.Fatalf("%+v", result.Findings)
	}
	for _, put := range [][]store.Description{nil, {common}} {
		describe(t, s, put, []store.Description{common})
		if n, err := s.PendingCount(t.Context(), store.EntityVector); err != nil || n != 1 {
			t.Errorf("%d vectors are pending after a description changed, %v", n, err)
		}
		finalize(t, s, hashModel)
	}
	for name, c := range map[string]struct {
		damage          cypher.Statement
		about, sentence string
	}{
		"another description":    {cypher.New(`MATCH (e:__Entity__ {name: 'Lovelace'}) SET e.description = 'a spy'`, nil), commonTold, lovelaceTold},
		"another sentence":       {cypher.New(`MATCH (e:__Entity__ {name: 'Lovelace'}) SET e.sentence = 'a spy'`, nil), commonTold, lovelaceTold},
		"a lost description":     {cypher.New(`MATCH (e:__Entity__ {name: 'Lovelace'}) SET e.description = e.sentence, e.sentence = NULL`, nil), commonTold, lovelaceTold},
		"a lost record":          {cypher.New(`MATCH (d:__Description__) DELETE d`, nil), lovelaceTold, ""},
		"another entity's words": {cypher.New(`MATCH (e:__Entity__ {name: 'London'}) SET e.sentence = e.description, e.description = 'a spy'`, nil), commonTold, lovelaceTold},
	} {
		t.Run(name, func(t *testing.T) {
			broken := strings.ReplaceAll(name, " ", "-")
			copyGraph(t, client, "whole", broken)
			write(t, client, broken, c.damage)
			s := locked(t, client, broken)
			if got := kindsOf(check(t, s)); !slices.Contains(got, store.StaleEntity) {
				t.Errorf("found %v", got)
			}
			result, err := s.Repair(t.Context(), store.CheckOptions{}, nil)
			if err != nil || !result.Clean {
				t.Errorf("%+v, %v", result, err)
			}
			if about, sentence := aboutLovelace(t, client, broken); about != c.about || sentence != c.sentence {
				t.Errorf("mended to %q, %q", about, sentence)
			}
		})
	}
}
