package store_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"graphmill/pipeline/engine/enginetest"
	"graphmill/pipeline/falkor/cypher"
	"graphmill/pipeline/falkor/store"
	"graphmill/pipeline/graph"
)

// mergeNames are the names that the documents of these tests hold.
var mergeNames = []string{"Ada", "Babbage", "London", "Turing", "Engine", "Menlo Park", "Grace", "Zuse", "Hopper", "Lovelace"}

func kindOf(name string) string { return []string{"Person", "Place", "Odd Type"}[len(name)%3] }

func idOf(name string) graph.EntityID { return graph.NewEntityID(name, kindOf(name)) }

// merge is the record that takes a name for another.
func merge(kept, merged string) store.Merge {
	return store.Merge{
		ID: store.MergeID(idOf(kept), idOf(merged)), State: store.MergeActive, Kept: idOf(kept), Merged: idOf(merged), KeptName: kept, MergedName: merged,
		KeptType: kindOf(kept), MergedType: kindOf(merged), Rule: "test", Score: 0.5, Evidence: []store.MergePlace{{Name: merged, Path: "0.txt"}},
	}
}

func setMerges(t *testing.T, s *store.Store, merges ...store.Merge) store.Remerged {
	t.Helper()
	done, err := s.SetMerges(t.Context(), merges, "")
	if err != nil {
		t.Fatal(err)
	}
	return done
}

// standing drops the merges whose entities no document names.
func standing(merges []store.Merge, texts map[string]string) []store.Merge {
	named := map[graph.EntityID]bool{}
	for path, text := range texts {
		for _, e := range document(path, text).Graph.Entities {
			named[e.ID] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(merges), func(m store.Merge) bool { return !named[m.Kept] || !named[m.Merged] })
}

// TestMergesAreAFunctionOfDocumentsAndRecords commits, replaces, removes, merges
// and takes apart at random. Whatever the way, the graph is that of the documents
// committed once and the last merges made once; without merges that of no merges
// ever; and its counts are right at every step.
func TestMergesAreAFunctionOfDocumentsAndRecords(t *testing.T) {
	client := connect(t, enginetest.Start(t))
	for seed := range uint64(3) {
		random := rand.New(rand.NewPCG(seed, 11))
		s := locked(t, client, fmt.Sprintf("random%d", seed))
		texts := map[string]string{}
		var merges []store.Merge
		for step := range 20 {
			path := fmt.Sprintf("%d.txt", random.IntN(5))
			switch random.IntN(5) {
			case 0:
				if err := s.Remove(t.Context(), []graph.DocumentID{graph.FileDocumentID(path)}); err != nil {
					t.Fatal(err)
				}
				delete(texts, path)
			case 1, 2:
				merges = standing(randomMerges(random), texts)
				setMerges(t, s, merges...)
			default:
				texts[path] = randomText(random)
				commit(t, s, document(path, texts[path]))
			}
			checkCounts(t, s, step)
		}
		merges = standing(merges, texts)
		setMerges(t, s, merges...)
		if got := setMerges(t, s, merges...); got != (store.Remerged{}) {
			t.Errorf("seed %d: merging twice did %+v", seed, got)
		}
		once := locked(t, client, fmt.Sprintf("once%d", seed))
		for path, text := range texts {
			commit(t, once, document(path, text))
		}
		plain := digest(t, once)
		setMerges(t, once, merges...)
		if digest(t, s) != digest(t, once) {
			t.Errorf("seed %d: the graph depends on the way to it", seed)
		}
		setMerges(t, s)
		if digest(t, s) != plain {
			t.Errorf("seed %d: undone merges leave a trace", seed)
		}
	}
}

func randomText(random *rand.Rand) string {
	pick := func() string { return mergeNames[random.IntN(len(mergeNames))] }
	text := ""
	for range 1 + random.IntN(3) {
		text += pick() + " knows " + pick() + " and " + pick() + ".\n\n"
	}
	return text
}

// randomMerges merges some names into others, none of which is merged itself.
func randomMerges(random *rand.Rand) []store.Merge {
	var merges []store.Merge
	names := slices.Clone(mergeNames)
	random.Shuffle(len(names), func(i, k int) { names[i], names[k] = names[k], names[i] })
	for _, merged := range names[4:] {
		if random.IntN(3) > 0 {
			merges = append(merges, merge(names[random.IntN(4)], merged))
		}
	}
	return merges
}

func checkCounts(t *testing.T, s *store.Store, step int) {
	t.Helper()
	meta, err := s.Meta(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	counted, err := s.Finish(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	kept := meta.Counts
	if meta.Commits == 0 {
		return
	}
	if kept.Sections, kept.Mentions = counted.Sections, counted.Mentions; !reflect.DeepEqual(kept, store.Counts(counted)) {
		t.Fatalf("step %d: kept %+v, counted %+v", step, kept, counted)
	}
}

// TestMergedEntityHoldsWhatBothSaid looks at one merge from all sides.
func TestMergedEntityHoldsWhatBothSaid(t *testing.T) {
	client := connect(t, enginetest.Start(t))
	s := locked(t, client, "g")
	commit(t, s, document("a.txt", "Ada knows Lovelace and London."), document("b.txt", "Lovelace knows Babbage."))
	if done := setMerges(t, s, merge("Lovelace", "Ada")); done != (store.Remerged{Merged: 1}) {
		t.Errorf("%+v", done)
	}
	rows, err := client.Read(t.Context(), "g", cypher.New(`MATCH (e:__Entity__) WHERE 'ada' IN e.alias_keys
OPTIONAL MATCH (e)-[m:MENTIONED_IN]->() WITH e, collect(m.origin) AS origins, count(m) AS mentions
OPTIONAL MATCH (e)-[r:RELATES]->(o) RETURN e.id AS id, e.name AS name, e.aliases AS aliases, e.mention_count AS count, mentions, origins,
collect(r.rel_type + ' ' + o.name) AS relations, size([(e)-[w:__WITHIN__]->(e) | 1]) AS within`, nil), 0)
	if err != nil || rows.Len() != 1 {
		t.Fatal(err, rows.Len())
	}
	if rows.String(0, "id") != string(idOf("Lovelace")) || rows.String(0, "name") != "Lovelace" || !slices.Equal(rows.Strings(0, "aliases"), []string{"Ada"}) ||
		rows.Int(0, "count") != 3 || rows.Int(0, "mentions") != 3 || !slices.Equal(rows.Strings(0, "origins"), []string{string(idOf("Ada"))}) {
		t.Errorf("%v", rows.Row(0))
	}
	relations := rows.Strings(0, "relations")
	slices.Sort(relations)
	if want := []string{"KNOWS Babbage", "KNOWS London", "NEAR Babbage", "NEAR London"}; !slices.Equal(relations, want) || rows.Int(0, "within") != 2 {
		t.Errorf("%q, %d of itself", relations, rows.Int(0, "within"))
	}
	if rows, err := client.Read(t.Context(), "g", cypher.New(`MATCH (e:__Entity__ {id: $id}) RETURN e.id AS id`, cypher.Params{"id": string(idOf("Ada"))}), 0); err != nil || rows.Len() != 0 {
		t.Error("the merged entity stands still", err)
	}
	// A later document that names the merged one says it of the kept one.
	commit(t, s, document("c.txt", "Ada knows Turing."))
	if rows, err := client.Read(t.Context(), "g", cypher.New(`MATCH (e:__Entity__ {name: 'Lovelace'})-[r:RELATES]->(o {name: 'Turing'}) RETURN count(r) AS n`, nil), 0); err != nil || rows.Int(0, "n") != 2 {
		t.Error("what a later document says of the merged name does not stand with the kept one", err)
	}
	list, err := s.Merges(t.Context())
	if err != nil || len(list) != 1 || list[0].At == "" || list[0].Rule != "test" || !reflect.DeepEqual(list[0].Evidence, merge("Lovelace", "Ada").Evidence) {
		t.Errorf("%+v, %v", list, err)
	}
}

// TestCheckFindsNothingWrongWithMerges checks a graph of merges, one of which
// leaves a relation of an entity to itself.
func TestCheckFindsNothingWrongWithMerges(t *testing.T) {
	client := connect(t, enginetest.Start(t))
	s := locked(t, client, "g")
	if err := s.SaveOntology(t.Context(), smallOntology); err != nil {
		t.Fatal(err)
	}
	commit(t, s, document("a.txt", "Ada knows Lovelace and London."), document("b.txt", "Lovelace knows Babbage and Ada.\n\nAda knows Babbage."))
	setMerges(t, s, merge("Lovelace", "Ada"), merge("London", "Babbage"))
	commit(t, s, document("c.txt", "Babbage knows Ada and Lovelace."))
	finalize(t, s, hashModel)
	if result := check(t, s); len(result.Found) != 0 {
		t.Errorf("%+v", result.Findings)
	}
}

// Between a commit that takes the names of an entity away and the finalize that
// takes apart what was merged into it, the entity stands under the others' names.
func TestAnEntityOfWhichOnlyMergedNamesAreLeftKeepsItsKey(t *testing.T) {
	client := connect(t, enginetest.Start(t))
	s := locked(t, client, "g")
	if err := s.SaveOntology(t.Context(), smallOntology); err != nil {
		t.Fatal(err)
	}
	commit(t, s, document("a.txt", "Lovelace knows Babbage."), document("b.txt", "Ada knows Turing."))
	setMerges(t, s, merge("Lovelace", "Ada"))
	finalize(t, s, hashModel)
	want := digest(t, s)
	if err := s.Remove(t.Context(), []graph.DocumentID{graph.FileDocumentID("a.txt")}); err != nil {
		t.Fatal(err)
	}
	if result := check(t, s); len(result.Found) != 0 {
		t.Errorf("%+v", result.Findings)
	}
	if result, err := s.Repair(t.Context(), store.CheckOptions{}, nil); err != nil || len(result.Repaired) != 0 {
		t.Errorf("%+v, %v", result, err)
	}
	// And a key that was changed all the same is set to that of the id.
	write(t, client, "g", cypher.New(`MATCH (e:__Entity__ {id: $id}) SET e.name_key = 'ada'`, cypher.Params{"id": string(idOf("Lovelace"))}))
	commit(t, s, document("a.txt", "Lovelace knows Babbage."))
	if result, err := s.Repair(t.Context(), store.CheckOptions{}, nil); err != nil || len(result.Repaired) != 1 || result.Repaired[0].Kind != store.WrongNameKey {
		t.Errorf("%+v, %v", result, err)
	}
	finalize(t, s, hashModel)
	if digest(t, s) != want {
		t.Error("it is another graph")
	}
}
