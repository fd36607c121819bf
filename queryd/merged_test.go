package main

import (
	"slices"
	"testing"

	"graphmill/pipeline/engine/enginetest"
	"graphmill/pipeline/falkor/store"
	"graphmill/pipeline/graph"
	"graphmill/pipeline/models"
	"graphmill/queryd/retrieve"
)

// testMerged asks for an entity by the name of one that was merged into it: what
// documents say under either name is found, and counts once.
func testMerged(t *testing.T, f *enginetest.Fixture) {
	embedder, err := models.NewHashEmbedder(384)
	must(t, err)
	long, short := graph.NewEntityID("International Business Machines", "Company"), graph.NewEntityID("IBM", "Company")
	write(t, writerConnection(t, f), "merged", func(s *store.Store) {
		commit(t, s,
			note{path: "a.txt", title: "A", format: "text", passages: []string{"International Business Machines and IBM bought Lotus."},
				entities:  [][2]string{{"International Business Machines", "Company"}, {"IBM", "Company"}, {"Lotus", "Company"}},
				relations: [][3]string{{"International Business Machines", "OWNS", "Lotus"}, {"IBM", "OWNS", "Lotus"}}},
			note{path: "b.txt", title: "B", format: "text", passages: []string{"IBM bought Rational."},
				entities: [][2]string{{"IBM", "Company"}, {"Rational", "Company"}}, relations: [][3]string{{"IBM", "OWNS", "Rational"}}})
		_, err := s.SetMerges(t.Context(), []store.Merge{{ID: store.MergeID(long, short), Kept: long, Merged: short,
			KeptName: "International Business Machines", MergedName: "IBM", KeptType: "Company", MergedType: "Company", Rule: "acronym", Score: 0.85}}, "")
		must(t, err)
		finalize(t, s, embedder, embedder.Model())
	})
	s, _ := searcher(t, f, "merged")
	for _, question := range []string{"What does IBM own?", "What does International Business Machines own?", "IBM, International Business Machines"} {
		result := search(t, s, question, retrieve.ExactNames, retrieve.Links, retrieve.Passages)
		if names := namesOf(result); !slices.Equal(names, []string{"International Business Machines"}) {
			t.Errorf("%s finds %q", question, names)
		}
		for _, r := range result.Relations {
			if len(r.Evidence) != 1 || r.Support != 1 {
				t.Errorf("%s: %s has %d quotes, support %d", question, r.Target, len(r.Evidence), r.Support)
			}
		}
		if len(result.Relations) != 2 || len(result.Passages) != 2 {
			t.Errorf("%s: %d relations, %d passages", question, len(result.Relations), len(result.Passages))
		}
	}
}
