package store_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"graphmill/pipeline/engine/enginetest"
	"graphmill/pipeline/falkor/conn"
	"graphmill/pipeline/falkor/cypher"
	"graphmill/pipeline/falkor/reader"
	"graphmill/pipeline/falkor/store"
	"graphmill/pipeline/graph"
)

// looks are what a reader asks about one document, each in one statement.
var looks = []func(cypher.Params) cypher.Statement{
	func(p cypher.Params) cypher.Statement {
		return cypher.New(`MATCH (d:Document {id: $id}) OPTIONAL MATCH (d)-[p:PART_OF]->(c:Chunk)
RETURN d.content_hash, d.chunk_count, d.entity_count, d.relation_count, p.index AS place, c.id, c.index, c.text, c.start_char, c.end_char ORDER BY place`, p)
	},
	func(p cypher.Params) cypher.Statement {
		return cypher.New(`MATCH (d:Document {id: $id})-[:PART_OF]->(c:Chunk)<-[m:MENTIONED_IN]-(e:__Entity__) RETURN c.id, e.id, m.spans, m.names, m.count, d.content_hash`, p)
	},
	func(p cypher.Params) cypher.Statement {
		return cypher.New(`MATCH (d:Document {id: $id})-[:PART_OF]->(c:Chunk) WITH d, c MATCH (s:__Entity__)-[r:RELATES]->(t:__Entity__) WHERE c.id IN r.source_chunk_ids
RETURN c.id, s.id, r.rel_type, t.id, d.content_hash`, p)
	},
	func(p cypher.Params) cypher.Statement {
		return cypher.New(`MATCH (d:Document {id: $id})-[:HAS_SECTION]->(s:__Section__) OPTIONAL MATCH (s)-[:COVERS]->(c:Chunk)
RETURN s.id, s.title, s.order, c.id, d.content_hash`, p)
	},
	func(p cypher.Params) cypher.Statement {
		return cypher.New(`MATCH (d:Document {id: $id})-[:PART_OF]->(a:Chunk)-[:NEXT_CHUNK]->(b:Chunk) RETURN a.id, b.id, d.content_hash`, p)
	},
}

// answer is a statement's rows as text, in no order of the engine's.
func answer(rows *conn.Rows) string {
	lines := make([]string, rows.Len())
	for i := range lines {
		lines[i] = fmt.Sprintf("%v", rows.Row(i))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// readingFor is how long readers read: five seconds, and the whole time of a soak.
func readingFor(t *testing.T) time.Duration {
	if long, err := time.ParseDuration(os.Getenv("GRAPHMILL_SOAK")); err == nil {
		return max(min(long, 10*time.Minute), time.Minute)
	}
	if testing.Short() {
		return time.Second
	}
	return 5 * time.Second
}

// While a document is replaced, removed and added again, among commits of others,
// readers with queryd's login see one of its versions, whole, in every answer.
func TestSoakEveryAnswerIsOfOneVersion(t *testing.T) {
	f := enginetest.Start(t)
	s := locked(t, connect(t, f), "g")
	first, second := versions(8)
	commit(t, s, first...)
	client, err := conn.Open(conn.Options{Socket: f.Address, Username: f.Reader.User, Password: f.Reader.Secret})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	r := reader.New(client, reader.Options{Timeout: time.Minute})
	id := first[0].Graph.Document.ID
	params := cypher.Params{"id": string(id)}
	ask := func(k int) string {
		rows, err := r.Query(context.Background(), "g", looks[k](params))
		if err != nil {
			t.Error(err)
			return ""
		}
		return answer(rows)
	}
	// What the answers may be, asked while nothing happens.
	allowed := make([]map[string]string, len(looks))
	for k := range allowed {
		allowed[k] = map[string]string{"": "none"}
	}
	for _, version := range []store.Change{second[0], first[0]} {
		commit(t, s, version)
		for k := range looks {
			text := ask(k)
			if !strings.Contains(text, version.Graph.Document.Fingerprints.Content) || allowed[k][text] != "" {
				t.Fatalf("look %d at rest: %s", k, text)
			}
			allowed[k][text] = version.Graph.Document.Fingerprints.Content
		}
		if got := strings.Count(ask(0), "\n") + 1; got != len(version.Graph.Chunks) {
			t.Fatalf("%d rows of %d chunks", got, len(version.Graph.Chunks))
		}
	}
	var asked atomic.Int64
	seen := sync.Map{}
	ctx, cancel := context.WithTimeout(t.Context(), readingFor(t))
	defer cancel()
	var readers sync.WaitGroup
	for n := range 3 {
		readers.Go(func() {
			for i := n; ctx.Err() == nil && !t.Failed(); i++ {
				k := i % len(looks)
				text := ask(k)
				version, ok := allowed[k][text]
				if !ok && !t.Failed() {
					t.Errorf("look %d: an answer of no version:\n%s", k, text)
				}
				seen.Store(version, true)
				asked.Add(1)
			}
		})
	}
	replaced := 0
	for ; ctx.Err() == nil && !t.Failed(); replaced++ {
		commit(t, s, second[0])
		commit(t, s, second[1+replaced%7], first[1+(replaced+3)%7])
		commit(t, s, first[0], second[1+(replaced+1)%7])
		if replaced%3 == 2 {
			if err := s.Remove(t.Context(), []graph.DocumentID{id}); err != nil {
				t.Fatal(err)
			}
			commit(t, s, first[1+replaced%7])
		}
	}
	cancel()
	readers.Wait()
	t.Logf("%d answers, %d replacements", asked.Load(), replaced)
	for _, version := range []string{first[0].Graph.Document.Fingerprints.Content, second[0].Graph.Document.Fingerprints.Content} {
		if _, ok := seen.Load(version); !ok {
			t.Errorf("no reader saw version %s", version)
		}
	}
}
