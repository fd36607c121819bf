package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"graphmill/pipeline/engine/enginetest"
	"graphmill/pipeline/falkor/store"
	"graphmill/pipeline/models"
	"graphmill/queryd/retrieve"
)

// words are passages that a full-text index finds only with some help, and two
// things of one name.
var words = note{path: "words.txt", title: "Words", format: "text", passages: []string{
	"Chuck Berry played rock-n-roll on a Gibson.",
	"The first e-mail went out in 1971.",
	"C++ and C# are taught there, Node.js is not.",
	"AT&T paid for it.",
	"Über den Wolken muss die Freiheit wohl grenzenlos sein.",
	"東京タワーは東京にあります。",
	"Paris lies on the Seine.",
	"Prince Paris took Helen away.",
	"Version 3.1 is not version 31.",
}, entities: [][2]string{{"Paris", "Place"}, {"Seine", "Place"}, {"Paris", "Person"}, {"Helen", "Person"}}}

// homographs is the graph of words with the relations of either Paris: names do
// not tell them apart, so that they are given by type here.
func homographs() store.Change {
	c := words.change()
	for _, r := range []struct {
		kind, source, target, name string
		passage                    int
	}{{"LIES_ON", "Place", "Place", "Seine", 6}, {"TOOK", "Person", "Person", "Helen", 7}} {
		n := note{entities: [][2]string{{"Paris", r.source}, {r.name, r.target}}, relations: [][3]string{{"Paris", r.kind, r.name}}, passages: words.passages[r.passage : r.passage+1], path: words.path}
		relations := n.change().Graph.Relations
		relations[0].Evidence[0].Chunk, relations[0].Evidence[0].Span = c.Graph.Chunks[r.passage].ID, c.Graph.Chunks[r.passage].Span
		c.Graph.Relations = append(c.Graph.Relations, relations...)
	}
	return c
}

// testFaults holds retrieval to what goes wrong elsewhere.
func testFaults(t *testing.T, f *enginetest.Fixture) {
	embedder, err := models.NewHashEmbedder(384)
	must(t, err)
	write(t, writerConnection(t, f), "words", func(s *store.Store) {
		must(t, s.Commit(t.Context(), []store.Change{homographs()}))
		finalize(t, s, embedder, embedder.Model())
	})
	s, watched := searcher(t, f, "words")
	t.Run("vector search returns the nearest first", func(t *testing.T) {
		watched.refuse = "fulltext"
		defer func() { watched.refuse = "" }()
		for _, passage := range words.passages {
			result := search(t, s, "Words › Part\n"+passage, retrieve.Passages)
			if len(result.Passages) < 2 || result.Passages[0].Text != passage {
				t.Errorf("%s finds %+v first", passage, result.Passages[:1])
			}
		}
	})
	t.Run("full text finds names with signs, hyphens, accents and no spaces", func(t *testing.T) {
		for question, passage := range map[string]int{
			"rock-n-roll": 0, "rock'n'roll": 0, "rock n roll": 0, "e-mail": 1, "email": 1, "E-Mail?": 1, "C++": 2, "C#": 2, "Node.js": 2, "nodejs": 2,
			"AT&T": 3, "uber": 4, "über": 4, "東京": 5, "タワー": 5, "3.1": 8,
		} {
			foundByWords(t, s, question, words.passages[passage])
		}
	})
	t.Run("full text finds a whole question", func(t *testing.T) {
		for question, passage := range map[string]int{
			"Who was it that played rock-n-roll on his Gibson guitar?":      0,
			"When (roughly) was the very first e-mail sent - 1970 or 1971?": 1,
			"Is C++, or \"C#\", taught there?":                              2,
		} {
			foundByWords(t, s, question, words.passages[passage])
		}
	})
	t.Run("ids handed from one search to the next match", func(t *testing.T) {
		result := search(t, s, "Helen")
		for _, report := range result.Trace {
			if (report.Search == "neighbours" || report.Search == "mentions" || report.Search == "nearness") && (report.Hits == 0 || report.Error != "") {
				t.Errorf("%+v", report)
			}
		}
		if !slices.ContainsFunc(result.Passages, func(p retrieve.Passage) bool {
			return p.Text == words.passages[7] && slices.Contains(p.FoundBy, "passages: mentions")
		}) {
			t.Errorf("passages %+v", result.Passages)
		}
	})
	t.Run("two things of one name keep their own relations", func(t *testing.T) { testHomographs(t, s) })
}

func testHomographs(t *testing.T, s *retrieve.Searcher) {
	relations := func(question string) []string {
		var list []string
		for _, r := range search(t, s, question, retrieve.ExactNames, retrieve.Links).Relations {
			list = append(list, fmt.Sprintf("%s (%s) %s %s: %s", r.Source, r.SourceType, r.Type, r.Target, r.Evidence[0].Text))
		}
		slices.Sort(list)
		return list
	}
	place, person := "Paris (Place) LIES_ON Seine: Paris lies on the Seine.", "Paris (Person) TOOK Helen: Prince Paris took Helen away."
	for question, want := range map[string][]string{"Paris": {person, place}, "the Seine": {place}, "Helen": {person}} {
		if got := relations(question); !slices.Equal(got, want) {
			t.Errorf("%s: %q", question, got)
		}
	}
}

// foundByWords asks the full-text search alone.
func foundByWords(t *testing.T, s *retrieve.Searcher, question, passage string) {
	t.Helper()
	result := search(t, s, question, retrieve.Passages)
	found := slices.ContainsFunc(result.Passages, func(p retrieve.Passage) bool {
		return p.Text == passage && slices.Contains(p.FoundBy, "passages: full text")
	})
	if !found {
		var texts []string
		for _, p := range result.Passages {
			texts = append(texts, p.Text+" "+strings.Join(p.FoundBy, ","))
		}
		t.Errorf("%s does not find %q by its words but %q", question, passage, texts)
	}
}
