package resolvers

import (
	"context"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"graphmill/pipeline/graph"
)

func mention(text, kind string) graph.Mention { return graph.Mention{Text: text, Type: kind} }

func TestExactJoinsByNameAndType(t *testing.T) {
	mentions := []graph.Mention{
		mention("Acme Corp", "Organization"), mention("ACME  Corp's", "Organization"), mention("acme corp", "Organization"),
		mention("Paris", "Location"), mention("Paris", "Person"), mention("---", "Person"), mention("O’Brien", "Person"), mention("O'Brien", "Person"),
	}
	r, err := Exact{}.Resolve(context.Background(), mentions)
	if err != nil {
		t.Fatal(err)
	}
	want := []graph.EntityID{
		"acme_corp__organization", "acme_corp__organization", "acme_corp__organization",
		"paris__location", "paris__person", "", "o'brien__person", "o'brien__person",
	}
	if !reflect.DeepEqual(r.Entities, want) {
		t.Errorf("entities %q", r.Entities)
	}
	merges := []Merge{
		{"ACME Corp", "Acme Corp", "Organization", "written alike but for case"},
		{"ACME Corp", "acme corp", "Organization", "written alike but for case"},
		{"O'Brien", "O’Brien", "Person", "written alike but for quotes or hyphens"},
	}
	if !reflect.DeepEqual(r.Merges, merges) {
		t.Errorf("merges %q", r.Merges)
	}
}

func TestExactDoesNotDependOnOrder(t *testing.T) {
	names := []string{"New York", "NEW YORK", "New\u00a0York", "new york's", "Ｎew York", "“New York”", "Zürich", "Zu\u0308rich", "x", "X", "…"}
	var mentions []graph.Mention
	for range 200 {
		mentions = append(mentions, mention(names[rand.IntN(len(names))], []string{"A", "B"}[rand.IntN(2)]))
	}
	first, _ := Exact{}.Resolve(context.Background(), mentions)
	order := rand.Perm(len(mentions))
	shuffled := make([]graph.Mention, len(mentions))
	for i, from := range order {
		shuffled[i] = mentions[from]
	}
	second, _ := Exact{}.Resolve(context.Background(), shuffled)
	for i, from := range order {
		if second.Entities[i] != first.Entities[from] {
			t.Fatalf("%q has the ids %q and %q", mentions[from].Text, first.Entities[from], second.Entities[i])
		}
	}
	if !reflect.DeepEqual(first.Merges, second.Merges) {
		t.Errorf("merges %q and %q", first.Merges, second.Merges)
	}
}

func TestExactStopsWhenCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := (Exact{}).Resolve(ctx, []graph.Mention{mention("a", "b")}); err == nil {
		t.Error("no error")
	}
}

func TestEveryResolverInTheCatalogueCanBeMade(t *testing.T) {
	for _, s := range Catalogue() {
		if _, err := New(s.Name); err != nil {
			t.Error(err)
		}
	}
	if _, err := New("fuzzy"); err == nil || !strings.Contains(err.Error(), "exact") {
		t.Errorf("error %v does not name the choices", err)
	}
}
