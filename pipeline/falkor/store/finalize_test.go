package store_test

import (
	"context"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"graphmill/pipeline/engine/enginetest"
	"graphmill/pipeline/falkor/conn"
	"graphmill/pipeline/falkor/cypher"
	"graphmill/pipeline/falkor/fulltext"
	"graphmill/pipeline/falkor/shape"
	"graphmill/pipeline/falkor/store"
	"graphmill/pipeline/graph"
)

const dimension = 8

var hashModel = store.IndexOptions{Model: "hash@1", Dimension: dimension}

// embed makes a vector of a text, always the same.
func embed(text string, n int) []float32 {
	v := make([]float32, n)
	for i, r := range text {
		v[(i+int(r))%n] += float32(r%17) + 1
	}
	var sum float64
	for _, f := range v {
		sum += float64(f) * float64(f)
	}
	for i := range v {
		v[i] = float32(float64(v[i]) / math.Sqrt(sum))
	}
	return v
}

var kinds = []store.VectorKind{store.ChunkVector, store.EntityVector, store.RelationVector}

// finalize does what the pipeline does, and returns how many vectors it made.
func finalize(t testing.TB, s *store.Store, o store.IndexOptions) map[store.VectorKind]int {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(s.PrepareVectors(t.Context(), o))
	made := map[store.VectorKind]int{}
	for _, kind := range kinds {
		for {
			pending, err := s.PendingVectors(t.Context(), kind, 100)
			must(err)
			if len(pending) == 0 {
				break
			}
			vectors := make([]store.Vector, len(pending))
			for i, p := range pending {
				vectors[i] = store.Vector{Pending: p, Values: embed(p.Title+p.Text, o.Dimension)}
			}
			must(s.StoreVectors(t.Context(), kind, vectors))
			made[kind] += len(pending)
		}
	}
	must(s.EnsureIndexes(t.Context(), o))
	_, err := s.Finish(t.Context())
	must(err)
	return made
}

func TestFinalizeEmbedsWhatChangedAndNoMore(t *testing.T) {
	client := connect(t, enginetest.Start(t))
	s := locked(t, client, "g")
	commit(t, s, corpus...)
	first := finalize(t, s, hashModel)
	counts := map[store.VectorKind]int{store.ChunkVector: 7, store.EntityVector: 6, store.RelationVector: first[store.RelationVector]}
	if !reflect.DeepEqual(first, counts) || first[store.RelationVector] == 0 {
		t.Errorf("embedded %v, want %v", first, counts)
	}
	if again := finalize(t, s, hashModel); len(again) != 0 {
		t.Errorf("embedded again: %v", again)
	}
	// A new first paragraph moves the two that were there; one new entity.
	commit(t, s, document("a.txt", "Zoe Zimmer is new here\n\n"+corpus[0].Graph.Chunks[0].Text+"\n\n"+corpus[0].Graph.Chunks[1].Text))
	if made := finalize(t, s, hashModel); made[store.ChunkVector] != 1 || made[store.EntityVector] != 1 || made[store.RelationVector] != 0 {
		t.Errorf("after an insertion: embedded %v, want one chunk and one entity", made)
	}
	// The best evidence of two edges goes, a weaker one stays.
	if err := s.Remove(t.Context(), []graph.DocumentID{"file:a.txt"}); err != nil {
		t.Fatal(err)
	}
	made := finalize(t, s, hashModel)
	if made[store.ChunkVector] != 0 {
		t.Errorf("after a removal: embedded %v", made)
	}
	if n := count(t, client, "g", cypher.New(`MATCH (c:Chunk) WHERE c.embedding IS NULL OR c.embedding_pending IS NOT NULL RETURN count(c) AS n`, nil)); n != 0 {
		t.Errorf("%d chunks without a vector", n)
	}
}

func TestRewordedThingsAreEmbeddedAgain(t *testing.T) {
	client := connect(t, enginetest.Start(t))
	s := locked(t, client, "g")
	commit(t, s, corpus...)
	finalize(t, s, hashModel)
	// A better sentence for two entities and for the two relations between them.
	commit(t, s, document("z.txt", "Ada Lovelace knows Mary Somerville"))
	want := map[store.VectorKind]int{store.ChunkVector: 1, store.EntityVector: 2, store.RelationVector: 2}
	if made := finalize(t, s, hashModel); !reflect.DeepEqual(made, want) {
		t.Errorf("after a better sentence: embedded %v, want %v", made, want)
	}
	nearest := ask(t, client, "g", cypher.New(`CALL db.idx.vector.queryRelationships('RELATES', 'embedding', 1, vecf32($v)) YIELD relationship, score
RETURN relationship.fact AS fact`, cypher.Params{"v": embed("(Ada Lovelace, KNOWS, Mary Somerville): Ada Lovelace knows Mary Somerville", dimension)}))
	if !slices.Equal(nearest, []string{"(Ada Lovelace, KNOWS, Mary Somerville): Ada Lovelace knows Mary Somerville"}) {
		t.Errorf("nearest to the new fact is %q", nearest)
	}
	if err := s.Remove(t.Context(), []graph.DocumentID{"file:z.txt"}); err != nil {
		t.Fatal(err)
	}
	delete(want, store.ChunkVector)
	if made := finalize(t, s, hashModel); !reflect.DeepEqual(made, want) {
		t.Errorf("after its removal: embedded %v, want %v", made, want)
	}
}

func TestVectorOfChangedTextIsNotTaken(t *testing.T) {
	client := connect(t, enginetest.Start(t))
	s := locked(t, client, "g")
	commit(t, s, corpus[0])
	if err := s.PrepareVectors(t.Context(), hashModel); err != nil {
		t.Fatal(err)
	}
	pending, err := s.PendingVectors(t.Context(), store.EntityVector, 100)
	if err != nil {
		t.Fatal(err)
	}
	commit(t, s, document("b.txt", "Ada Lovelace."))
	vectors := make([]store.Vector, len(pending))
	for i, p := range pending {
		vectors[i] = store.Vector{Pending: p, Values: embed(p.Text, dimension)}
	}
	if err := s.StoreVectors(t.Context(), store.EntityVector, vectors); err != nil {
		t.Fatal(err)
	}
	left, err := s.PendingVectors(t.Context(), store.EntityVector, 100)
	if err != nil || len(left) != 1 || left[0].Title != "Ada Lovelace" || left[0].Text != "Ada Lovelace." {
		t.Errorf("pending %+v, %v", left, err)
	}
	left[0].Text += "?"
	if err := s.StoreVectors(t.Context(), store.EntityVector, []store.Vector{{Pending: left[0]}}); err != nil {
		t.Fatal(err)
	}
	if n, err := s.PendingCount(t.Context(), store.EntityVector); n != 1 || err != nil {
		t.Errorf("pending %d, %v", n, err)
	}
}

func TestTextWithNothingToEmbedIsPendingNoMore(t *testing.T) {
	client := connect(t, enginetest.Start(t))
	s := locked(t, client, "g")
	commit(t, s, corpus[0])
	if err := s.PrepareVectors(t.Context(), hashModel); err != nil {
		t.Fatal(err)
	}
	for _, kind := range kinds {
		pending, err := s.PendingVectors(t.Context(), kind, 100)
		if err != nil || len(pending) == 0 {
			t.Fatal(kind, err)
		}
		vectors := make([]store.Vector, len(pending))
		for i, p := range pending {
			vectors[i] = store.Vector{Pending: p}
		}
		if err := s.StoreVectors(t.Context(), kind, vectors); err != nil {
			t.Fatal(err)
		}
		if n, err := s.PendingCount(t.Context(), kind); n != 0 || err != nil {
			t.Errorf("%s: pending %d, %v", kind, n, err)
		}
	}
}

func TestUnusableVectorsAreRefused(t *testing.T) {
	client := connect(t, enginetest.Start(t))
	s := locked(t, client, "g")
	commit(t, s, corpus[0])
	pending, err := s.PendingVectors(t.Context(), store.ChunkVector, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.StoreVectors(t.Context(), store.ChunkVector, nil); err == nil {
		t.Error("vectors are taken before a model was agreed on")
	}
	if err := s.PrepareVectors(t.Context(), hashModel); err != nil {
		t.Fatal(err)
	}
	nan := embed("x", dimension)
	nan[3] = float32(math.NaN())
	for name, values := range map[string][]float32{"too short": embed("x", 7), "zero": make([]float32, dimension), "not a number": nan} {
		if err := s.StoreVectors(t.Context(), store.ChunkVector, []store.Vector{{Pending: pending[0], Values: values}}); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
}

func TestOtherModelIsRefusedOrReplacesAllVectors(t *testing.T) {
	client := connect(t, enginetest.Start(t))
	s := locked(t, client, "g")
	commit(t, s, corpus...)
	first := finalize(t, s, hashModel)
	other := store.IndexOptions{Model: "hash@2", Dimension: 5}
	err := s.PrepareVectors(t.Context(), other)
	if err == nil || !strings.Contains(err.Error(), "hash@1 (8 dimensions)") || !strings.Contains(err.Error(), "hash@2 (5)") || !strings.Contains(err.Error(), "--reembed") {
		t.Errorf("PrepareVectors() = %v", err)
	}
	other.Reembed = true
	if made := finalize(t, s, other); !reflect.DeepEqual(made, first) {
		t.Errorf("made %v vectors, want all %v", made, first)
	}
	rows, err := client.Read(t.Context(), "g", cypher.New(`CALL db.idx.vector.queryNodes('Chunk', 'embedding', 3, vecf32($v)) YIELD node, score RETURN node.id AS id, score`,
		cypher.Params{"v": embed("All"+corpus[0].Graph.Chunks[0].Text, 5)}), 0)
	if err != nil || rows.Len() != 3 {
		t.Errorf("search with the new dimension: %v", err)
	}
}

func TestIndexesFindAndAreMadeOnce(t *testing.T) {
	client := connect(t, enginetest.Start(t))
	s := locked(t, client, "g")
	text := "Written in C++ and Node.js at AT&T, by e-mail, in Zürich. Rock-n-roll too. 東京都に住む."
	commit(t, s, append(slices.Clone(corpus), document("w.txt", text))...)
	var told int
	o := hashModel
	o.Progress = func(store.IndexProgress) { told++ }
	finalize(t, s, o)
	indexes, err := shape.ReadIndexes(t.Context(), reads(client), "g")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range [][3]string{
		{"Chunk", "embedding", "VECTOR"}, {"__Entity__", "embedding", "VECTOR"}, {"RELATES", "embedding", "VECTOR"},
		{"Chunk", "text", "FULLTEXT"}, {"__Entity__", "name", "FULLTEXT"}, {"__Entity__", "description", "FULLTEXT"}, {"__Entity__", "name_key", "RANGE"},
	} {
		if !slices.ContainsFunc(indexes, func(x shape.Index) bool { return x.Label == want[0] && x.Has(want[1], want[2]) && x.Operational }) {
			t.Errorf("no %s index on %s(%s)", want[2], want[0], want[1])
		}
	}
	if err := s.EnsureIndexes(t.Context(), hashModel); err != nil {
		t.Errorf("again: %v", err)
	}
	for _, question := range []string{"C++", "node.js", "nodejs", "AT&T", "e-mail?", "email", "zurich", "rock-n-roll", "東京", "What was written at AT&T in C++ (by e-mail)?"} {
		found := ask(t, client, "g", cypher.New(`CALL db.idx.fulltext.queryNodes('Chunk', $q) YIELD node, score RETURN node.text AS text ORDER BY score DESC LIMIT 1`,
			cypher.Params{"q": fulltext.Query(question)}))
		if !slices.Contains(found, text) {
			t.Errorf("%q (%s) finds %q", question, fulltext.Query(question), found)
		}
	}
	for _, statement := range []cypher.Statement{
		cypher.New(`CALL db.idx.vector.queryNodes('__Entity__', 'embedding', 2, vecf32($v)) YIELD node, score RETURN node.id AS id`, cypher.Params{"v": embed("x", dimension)}),
		cypher.New(`CALL db.idx.vector.queryRelationships('RELATES', 'embedding', 2, vecf32($v)) YIELD relationship, score RETURN relationship.fact AS id`, cypher.Params{"v": embed("x", dimension)}),
		cypher.New(`CALL db.idx.fulltext.queryNodes('__Entity__', 'lovelace') YIELD node RETURN node.id AS id`, nil),
	} {
		if len(ask(t, client, "g", statement)) == 0 {
			t.Errorf("%s finds nothing", statement.Text())
		}
	}
}

func reads(client *conn.Client) shape.Query {
	return func(ctx context.Context, graph string, statement cypher.Statement) (*conn.Rows, error) {
		return client.Read(ctx, graph, statement, 0)
	}
}

func TestFinishCountsAndMarks(t *testing.T) {
	client := connect(t, enginetest.Start(t))
	s := locked(t, client, "g")
	commit(t, s, corpus...)
	if meta, err := s.Meta(t.Context()); err != nil || !meta.FinalizePending {
		t.Errorf("after a commit: %+v, %v", meta, err)
	}
	finalize(t, s, hashModel)
	meta, err := s.Meta(t.Context())
	if err != nil || meta.FinalizePending || meta.EmbeddingModel != "hash@1" || meta.Dimension != dimension {
		t.Errorf("after finalize: %+v, %v", meta, err)
	}
	c := meta.Counts
	if c.Documents != 4 || c.Chunks != 7 || c.Sections != 8 || c.Entities != 6 || c.EntityTypes["Person"]+c.EntityTypes["Place"]+c.EntityTypes["Odd Type"] != 6 || c.RelationTypes["KNOWS"] == 0 {
		t.Errorf("counts %+v", c)
	}
	got := ask(t, client, "g", cypher.New(`MATCH (g:__GraphRAGConfig__ {id: 'default'}) RETURN g.embedding_model + ' ' + g.embedding_dimension`, nil))
	if !slices.Equal(got, []string{"hash@1 8"}) {
		t.Errorf("configuration node: %q", got)
	}
	commit(t, s, document("e.txt", "More about Ada Lovelace."))
	if meta, err := s.Meta(t.Context()); err != nil || !meta.FinalizePending {
		t.Errorf("after another commit: %+v, %v", meta, err)
	}
}

func TestReplacedOntologyLeavesNothingOfTheFormer(t *testing.T) {
	client := connect(t, enginetest.Start(t))
	s := locked(t, client, "g")
	former := graph.Ontology{
		Entities:  []graph.EntityType{{Label: "City", Properties: []graph.Property{{Name: "size", Type: graph.IntegerProperty}}}, {Label: "Person"}},
		Relations: []graph.RelationType{{Label: "LIVES_IN", Patterns: []graph.Pattern{{"Person", "City"}}, Cues: []string{"lives in"}}},
	}
	next := graph.Ontology{Entities: []graph.EntityType{{Label: "City"}}}
	if err := s.SaveOntology(t.Context(), former); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.ReplaceOntology(t.Context(), next); err != nil {
			t.Fatal(err)
		}
		if got, err := s.LoadOntology(t.Context()); err != nil || !reflect.DeepEqual(got, next) {
			t.Errorf("got %+v, %v", got, err)
		}
	}
}

func TestOntologyComesBackAndOnlyGrows(t *testing.T) {
	client := connect(t, enginetest.Start(t))
	s := locked(t, client, "g")
	first := graph.Ontology{
		Entities: []graph.EntityType{
			{Label: "Person", Description: "a human \"being\"", Prompt: "person", Threshold: 0.4, Properties: []graph.Property{{Name: "age", Type: graph.IntegerProperty, Description: "years", Required: true}}},
			{Label: "Place"},
		},
		Relations: []graph.RelationType{
			{Label: "LIVES_IN", Description: "dwells", Patterns: []graph.Pattern{{"Person", "Place"}}, Cues: []string{"lives in"}, PassiveCues: []string{"is home of"}, Properties: []graph.Property{{Name: "since", Type: graph.DateProperty}}},
			{Label: "OPEN"},
		},
	}
	if err := s.SaveOntology(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	if got, err := s.LoadOntology(t.Context()); err != nil || !reflect.DeepEqual(got, first) {
		t.Errorf("loaded %+v, %v, want %+v", got, err, first)
	}
	more := graph.Ontology{Relations: []graph.RelationType{
		{Label: "LIVES_IN", Description: "dwells", Patterns: []graph.Pattern{{"Person", "Person"}}, Cues: []string{"lives in"}, PassiveCues: []string{"is home of"}},
		{Label: "OPEN", Patterns: []graph.Pattern{{"Place", "Planet"}}},
	}}
	if err := s.SaveOntology(t.Context(), more); err != nil {
		t.Fatal(err)
	}
	want := graph.Ontology{
		Entities: []graph.EntityType{first.Entities[0], first.Entities[1], {Label: "Planet"}},
		Relations: []graph.RelationType{
			{Label: "LIVES_IN", Description: "dwells", Patterns: []graph.Pattern{{"Person", "Person"}, {"Person", "Place"}}, Cues: []string{"lives in"}, PassiveCues: []string{"is home of"}, Properties: first.Relations[0].Properties},
			{Label: "OPEN", Patterns: []graph.Pattern{{"Place", "Planet"}}},
		},
	}
	slices.SortFunc(want.Entities, func(a, b graph.EntityType) int { return strings.Compare(a.Label, b.Label) })
	if got, err := s.LoadOntology(t.Context()); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("loaded %+v, %v, want %+v", got, err, want)
	}
	// The peer asks for it like this.
	got := ask(t, client, "g__ontology", cypher.New(`MATCH (r:Relation)-[:SOURCE]->(s:Entity), (r)-[:TARGET]->(t:Entity) RETURN s.label + r.label + t.label`, nil))
	if !slices.Equal(got, []string{"PersonLIVES_INPerson", "PersonLIVES_INPlace", "PlaceOPENPlanet"}) {
		t.Errorf("patterns %q", got)
	}
}

func TestDurabilityIsConfirmedOnTheLocalEngine(t *testing.T) {
	client := connect(t, enginetest.Start(t))
	d, err := opened(t, client, "g").Durability(t.Context())
	if err != nil || !d.Confirmed {
		t.Errorf("Durability() = %+v, %v", d, err)
	}
}
