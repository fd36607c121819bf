package main

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"graphmill/pipeline/engine/enginetest"
	"graphmill/pipeline/falkor/store"
	"graphmill/pipeline/models"
	"graphmill/queryd/retrieve"
)

// trees is a chain of six, of which the first two have many leaves.
func trees() note {
	chain := []string{"Alder", "Birch", "Cedar", "Dogwood", "Elm", "Fir"}
	n := note{path: "trees.txt", title: "Trees", format: "text"}
	add := func(source, target string) {
		n.passages = append(n.passages, source+" shades "+target+".")
		n.relations = append(n.relations, [3]string{source, "SHADES", target})
	}
	for i, tree := range chain {
		n.entities = append(n.entities, [2]string{tree, "Tree"})
		if i > 0 {
			add(chain[i-1], tree)
		}
	}
	for i := range 60 {
		leaf := fmt.Sprintf("Leaf-%02d", i)
		n.entities = append(n.entities, [2]string{leaf, "Leaf"})
		add(chain[i%2], leaf)
	}
	return n
}

func testHops(t *testing.T, f *enginetest.Fixture) {
	embedder, err := models.NewHashEmbedder(384)
	must(t, err)
	writer := writerConnection(t, f)
	write(t, writer, "trees", func(s *store.Store) {
		commit(t, s, trees())
		finalize(t, s, embedder, embedder.Model())
	})
	t.Run("a busy first hop does not crowd the deeper ones out", func(t *testing.T) { testDeeperHops(t, f) })
	t.Run("without vectors what is stated more comes first", func(t *testing.T) { testHopsWithoutVectors(t, f) })
	t.Run("a hop or a ranking that fails is told and not fatal", func(t *testing.T) { testFailingRounds(t, f) })
	if !testing.Short() {
		t.Run("a hub of 50,000 relations answers in time", func(t *testing.T) { testHub(t, f) })
	}
}

func testDeeperHops(t *testing.T, f *enginetest.Fixture) {
	s, _ := searcher(t, f, "trees")
	for hops := 1; hops <= retrieve.MaxHops; hops++ {
		ask := func() *retrieve.Result {
			result, err := s.Search(t.Context(), retrieve.Request{Question: "Alder", TopK: 5, Hops: hops, Paths: []retrieve.Path{retrieve.ExactNames, retrieve.Links}})
			must(t, err)
			return result
		}
		result := ask()
		count := map[int]int{}
		chain := map[int]string{}
		for _, r := range result.Relations {
			count[r.Hop]++
			if !strings.HasPrefix(r.Target, "Leaf") {
				chain[r.Hop] = r.Source + " " + r.Target
			}
			if r.Hop < 1 || r.Hop > hops {
				t.Errorf("%d hops: a relation of hop %d", hops, r.Hop)
			}
		}
		// The third and the deeper hops have one relation each, the chain's: what they
		// leave goes to the first two.
		if len(result.Relations) != 20 || count[1] < 20/hops || hops > 1 && count[2] < 20/hops {
			t.Errorf("%d hops: %d relations, by hop %v", hops, len(result.Relations), count)
		}
		for hop, want := range []string{2: "Birch Cedar", 3: "Cedar Dogwood", 4: "Dogwood Elm", 5: "Elm Fir"}[:hops+1] {
			if want != "" && chain[hop] != want && chain[2] == "Birch Cedar" {
				t.Errorf("%d hops: hop %d leads over %q, not %s", hops, hop, chain[hop], want)
			}
		}
		if hops > 2 && count[hops] == 0 {
			t.Errorf("%d hops: none of the last, by hop %v", hops, count)
		}
		if again := ask(); !reflect.DeepEqual(again.Relations, result.Relations) {
			t.Errorf("%d hops: another answer to the same question", hops)
		}
	}
}

func testHopsWithoutVectors(t *testing.T, f *enginetest.Fixture) {
	s, _ := searcher(t, f, "pending")
	result, err := s.Search(t.Context(), retrieve.Request{Question: "Ada Lovelace", TopK: 5, Hops: 2})
	must(t, err)
	var found []string
	for _, r := range result.Relations {
		found = append(found, fmt.Sprintf("%d %s", r.Hop, r.Type))
	}
	if strings.Join(found, ", ") != "1 WORKED_WITH, 2 DESIGNED" {
		t.Errorf("relations %v", found)
	}
}

func testHub(t *testing.T, f *enginetest.Fixture) {
	writer := writerConnection(t, f)
	embedder, err := models.NewHashEmbedder(384)
	must(t, err)
	write(t, writer, "hub", func(s *store.Store) {
		commit(t, s, notes[0])
		finalize(t, s, embedder, embedder.Model())
	})
	for i := range 10 {
		must(t, writer.Redis().Do(t.Context(), "GRAPH.QUERY", "hub", fmt.Sprintf(`MATCH (h:__Entity__ {id: 'charles_babbage__person'}) MATCH (c:Chunk) WITH h, c ORDER BY c.id LIMIT 1
UNWIND range(%d, %d) AS i CREATE (e:__Entity__:Person {id: 'n' + i, name: 'Node ' + i, name_key: 'node ' + i, type: 'Person'})
CREATE (h)-[:RELATES {rel_type: 'KNOWS', fact: 'f', description: 'He knows ' + i, source_chunk_ids: [c.id], evidence: ['He knows ' + i], evidence_scores: [0.5], score: 0.5}]->(e)`,
			i*5000, i*5000+4999)).Err())
	}
	s, _ := searcher(t, f, "hub")
	for hops := 1; hops <= 3; hops++ {
		start := time.Now()
		result, err := s.Search(t.Context(), retrieve.Request{Question: "Whom did Charles Babbage know?", TopK: 10, Hops: hops})
		must(t, err)
		t.Logf("%d hops: %v, %d relations", hops, time.Since(start).Round(time.Millisecond), len(result.Relations))
		for _, report := range result.Trace {
			switch {
			case report.Path != retrieve.Links && report.Error != "":
				t.Errorf("%+v", report)
			case report.Path == retrieve.Links && (report.Hits < 40 || report.Error != "of 50002 relations of an entity 10000 were looked at"):
				t.Errorf("%+v", report)
			}
		}
	}
}

func testFailingRounds(t *testing.T, f *enginetest.Fixture) {
	for _, c := range []struct {
		refuse string
		search string
	}{{"indegree(", "neighbours"}, {"UNION ALL", "nearness"}, {"MENTIONED_IN]->(c:Chunk)\nWITH c, count", "mentions"}} {
		s, store := searcher(t, f, "knowledge_graph")
		store.refuse = c.refuse
		result, err := s.Search(t.Context(), retrieve.Request{Question: "Who worked with Charles Babbage?", TopK: 5, Hops: 2})
		must(t, err)
		if len(result.Passages) == 0 || len(result.Entities) == 0 || len(result.Facts) == 0 {
			t.Errorf("without %s nothing is found: %+v", c.search, result)
		}
		told := false
		for _, report := range result.Trace {
			told = told || report.Search == c.search && report.Error != ""
		}
		if !told {
			t.Errorf("that %s failed is not told: %+v", c.search, result.Trace)
		}
	}
}
