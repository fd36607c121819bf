package store_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"graphmill/pipeline/engine/enginetest"
	"graphmill/pipeline/falkor/conn"
	"graphmill/pipeline/falkor/cypher"
	"graphmill/pipeline/falkor/store"
	"graphmill/pipeline/graph"
)

// synthetic makes about 1,200 chunks, 6,400 entities, 14,000 relations and
// 20,000 mentions in 199 documents: the size of the bench corpus.
func synthetic() []store.Change {
	r := rand.New(rand.NewPCG(1, 2))
	words := strings.Fields("lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor incididunt ut labore et dolore magna aliqua")
	var out []store.Change
	for d := range 199 {
		path := fmt.Sprintf("docs/part%d/file%03d.md", d%7, d)
		id := graph.FileDocumentID(path)
		g := graph.DocumentGraph{Document: graph.Document{ID: id, Path: path, Title: path, Status: "ingested", Fingerprints: graph.Fingerprints{Content: "x"}}}
		section := graph.Section{ID: graph.NewSectionID(id, 0, "s"), Title: "s", Depth: 1}
		entities := map[graph.EntityID]bool{}
		relations := map[string]*graph.Relation{}
		for c := range 6 {
			var text strings.Builder
			for text.Len() < 1500 {
				text.WriteString(words[r.IntN(len(words))] + " ")
			}
			span := graph.Span{Start: c * 2000, End: c*2000 + text.Len()}
			chunk := graph.Chunk{ID: graph.NewChunkID(id, span, text.String()), Index: c, Text: text.String(), Span: span, Header: "Some › Heading", ContentKey: graph.Hash(text.String())}
			g.Chunks = append(g.Chunks, chunk)
			section.Chunks = append(section.Chunks, chunk.ID)
			var before graph.EntityID
			seen := map[graph.EntityID]bool{}
			for range 17 {
				// A third of the mentions are of a few hundred names, the rest of many.
				n := r.IntN(400)
				if r.IntN(3) > 0 {
					n = 400 + r.IntN(6600)
				}
				name := "Name " + strconv.Itoa(n)
				kind := []string{"Person", "Concept", "Technology", "Organization"}[n%4]
				entity := graph.NewEntityID(name, kind)
				if seen[entity] {
					continue
				}
				seen[entity] = true
				if !entities[entity] {
					entities[entity] = true
					g.Entities = append(g.Entities, graph.Entity{ID: entity, Type: kind, Name: name, NameKey: graph.NameKey(name)})
				}
				g.Mentions = append(g.Mentions, graph.EntityMention{Entity: entity, Chunk: chunk.ID, Spans: []graph.Span{{Start: span.Start + 5, End: span.Start + 12}},
					Names: []string{name}, Score: 0.9, Method: "pattern", Description: text.String()[:120], Telling: r.Float64()})
				if before != "" {
					key := string(before) + "|" + string(entity)
					if relations[key] == nil {
						relations[key] = &graph.Relation{Source: before, Target: entity, SourceName: "A", TargetName: name, Type: "CO_OCCURS"}
					}
					relations[key].Evidence = append(relations[key].Evidence, graph.RelationEvidence{Chunk: chunk.ID, Span: graph.Span{Start: 1, End: 120}, Quote: text.String()[:120], Score: 0.5, Method: "neighbours"})
				}
				before = entity
			}
		}
		g.Sections = []graph.Section{section}
		for _, rel := range relations {
			g.Relations = append(g.Relations, *rel)
		}
		out = append(out, store.Change{Graph: g, Plan: "p"})
	}
	return out
}

// BenchmarkCommit writes the synthetic corpus in commits of 8 documents. Compare
// its rows/s with BenchmarkBareClient's.
func BenchmarkCommit(b *testing.B) {
	f := enginetest.Start(b)
	client := connect(b, f)
	changes := synthetic()
	rows := 0
	for i := 0; b.Loop(); i++ {
		name := fmt.Sprint("g", i)
		s := locked(b, client, name)
		for part := range slices.Chunk(changes, 8) {
			commit(b, s, part...)
		}
		b.StopTimer()
		for _, statement := range []cypher.Statement{
			cypher.New(`MATCH (n) RETURN count(n) AS n`, nil), cypher.New(`MATCH ()-[n:RELATES]->() RETURN count(n) AS n`, nil), cypher.New(`MATCH ()-[n:MENTIONED_IN]->() RETURN count(n) AS n`, nil),
		} {
			rows += count(b, client, name, statement)
		}
		b.StartTimer()
	}
	b.ReportMetric(float64(rows)/b.Elapsed().Seconds(), "rows/s")
}

// BenchmarkDigest hashes the synthetic corpus.
func BenchmarkDigest(b *testing.B) {
	client := connect(b, enginetest.Start(b))
	s := locked(b, client, "g")
	for part := range slices.Chunk(synthetic(), 16) {
		commit(b, s, part...)
	}
	for b.Loop() {
		digest(b, s)
	}
}

// BenchmarkBareClient sends the same rows as plain UNWIND statements.
func BenchmarkBareClient(b *testing.B) {
	client := connect(b, enginetest.Start(b))
	changes := synthetic()
	rows := 0
	for i := 0; b.Loop(); i++ {
		rows += bare(b, client, fmt.Sprint("bare", i), changes)
	}
	b.ReportMetric(float64(rows)/b.Elapsed().Seconds(), "rows/s")
}

// bare sends the rows of the finished graph as plain UNWIND statements of 500
// rows, as a client that knows everything beforehand would.
func bare(t testing.TB, client *conn.Client, name string, changes []store.Change) int {
	var chunks, entities, mentions, relations []cypher.Record
	seen := map[graph.EntityID]bool{}
	for _, c := range changes {
		for _, k := range c.Graph.Chunks {
			chunks = append(chunks, cypher.Record{{Name: "id", Value: k.ID}, {Name: "text", Value: k.Text}, {Name: "index", Value: k.Index}, {Name: "start_char", Value: k.Span.Start}, {Name: "end_char", Value: k.Span.End}, {Name: "context_header", Value: k.Header}, {Name: "content_key", Value: k.ContentKey}, {Name: "embedding_pending", Value: 1}})
		}
		for _, e := range c.Graph.Entities {
			if !seen[e.ID] {
				seen[e.ID] = true
				entities = append(entities, cypher.Record{{Name: "id", Value: e.ID}, {Name: "name", Value: e.Name}, {Name: "name_key", Value: e.NameKey}, {Name: "type", Value: e.Type}, {Name: "description", Value: strings.Repeat("x", 120)}, {Name: "telling", Value: 0.5}, {Name: "mention_count", Value: 3}, {Name: "source_chunk_ids", Value: []string{"c1234567890123456789012345678901", "c2234567890123456789012345678901"}}, {Name: "embedding_pending", Value: 1}})
			}
		}
		for _, m := range c.Graph.Mentions {
			mentions = append(mentions, cypher.Record{{Name: "e", Value: m.Entity}, {Name: "c", Value: m.Chunk}, {Name: "p", Value: cypher.Record{{Name: "spans", Value: `[{"start":1,"end":5}]`}, {Name: "names", Value: m.Names}, {Name: "count", Value: 1}, {Name: "score", Value: 0.9}, {Name: "method", Value: m.Method}, {Name: "description", Value: m.Description}, {Name: "telling", Value: 0.1}}}})
		}
		for _, r := range c.Graph.Relations {
			e := r.Evidence[0]
			relations = append(relations, cypher.Record{{Name: "s", Value: r.Source}, {Name: "t", Value: r.Target}, {Name: "p", Value: cypher.Record{{Name: "rel_type", Value: r.Type}, {Name: "fact", Value: "(A, B, C): " + e.Quote}, {Name: "description", Value: e.Quote}, {Name: "src_name", Value: "A"}, {Name: "tgt_name", Value: "B"}, {Name: "score", Value: 0.5}, {Name: "source_chunk_ids", Value: []string{string(e.Chunk)}}, {Name: "spans", Value: `{"c1234567890123456789012345678901":[{"start":1,"end":5}]}`}, {Name: "evidence", Value: []string{e.Quote}}, {Name: "evidence_scores", Value: []float64{0.5}}, {Name: "evidence_methods", Value: []string{"n"}}, {Name: "evidence_src_names", Value: []string{"A"}}, {Name: "evidence_tgt_names", Value: []string{"B"}}, {Name: "embedding_pending", Value: 1}}}})
		}
	}
	send := func(s cypher.Statement) {
		text, err := s.Append(nil)
		if err == nil {
			err = client.Redis().Do(t.Context(), "GRAPH.QUERY", name, text).Err()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range []cypher.Statement{
		cypher.New(`CREATE INDEX FOR (n:Chunk) ON (n.id)`, nil), cypher.New(`CREATE INDEX FOR (n:__Entity__) ON (n.id)`, nil), cypher.New(`CREATE INDEX FOR (n:__Entity__) ON (n.name_key)`, nil),
		cypher.New(`CREATE INDEX FOR (n:Chunk) ON (n.embedding_pending)`, nil), cypher.New(`CREATE INDEX FOR (n:__Entity__) ON (n.embedding_pending)`, nil),
		cypher.New(`CREATE INDEX FOR ()-[n:RELATES]-() ON (n.source_chunk_ids)`, nil), cypher.New(`CREATE INDEX FOR ()-[n:RELATES]-() ON (n.embedding_pending)`, nil),
	} {
		send(s)
	}
	part := func(rows []cypher.Record, make func(p cypher.Params) cypher.Statement) {
		for i := 0; i < len(rows); i += 500 {
			send(make(cypher.Params{"rows": rows[i:min(i+500, len(rows))]}))
		}
	}
	part(chunks, func(p cypher.Params) cypher.Statement {
		return cypher.New(`UNWIND $rows AS row CREATE (c:Chunk) SET c = row`, p)
	})
	part(entities, func(p cypher.Params) cypher.Statement {
		return cypher.New(`UNWIND $rows AS row CREATE (c:__Entity__:Concept) SET c = row`, p)
	})
	part(mentions, func(p cypher.Params) cypher.Statement {
		return cypher.New(`UNWIND $rows AS row MATCH (e:__Entity__ {id: row.e}) MATCH (c:Chunk {id: row.c}) CREATE (e)-[m:MENTIONED_IN]->(c) SET m = row.p`, p)
	})
	part(relations, func(p cypher.Params) cypher.Statement {
		return cypher.New(`UNWIND $rows AS row MATCH (e:__Entity__ {id: row.s}) MATCH (c:__Entity__ {id: row.t}) CREATE (e)-[m:RELATES]->(c) SET m = row.p`, p)
	})
	return len(chunks) + len(entities) + len(mentions) + len(relations)
}
