package resolvers

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"graphmill/pipeline/graph"
)

// found are the merges among names, as "kept ← merged (rule)".
func found(entities []Named, apart func(a, b int) bool) []string {
	proposals, _ := Propose(slices.Clone(entities))
	var list []string
	proposals = Settle(proposals, func(Proposal) Need { return NeedDocument })
	for _, j := range Cluster(entities, proposals, apart) {
		list = append(list, fmt.Sprintf("%s ← %s (%s)", entities[j.Kept].Names[0], entities[j.Merged].Names[0], j.Rule))
	}
	slices.Sort(list)
	return list
}

func namedAll(names ...string) []Named {
	var list []Named
	for _, name := range names {
		list = append(list, named(name))
	}
	return list
}

func TestSimilarJoinsWhatAllMembersAgreeOn(t *testing.T) {
	for about, c := range map[string]struct {
		names []string
		want  []string
	}{
		"a company under four names": {
			[]string{"IBM", "IBM Corp.", "International Business Machines", "International Business Machines Corporation"},
			[]string{
				"International Business Machines Corporation ← IBM (acronym)", "International Business Machines Corporation ← IBM Corp. (acronym)",
				"International Business Machines Corporation ← International Business Machines (legal form)",
			},
		},
		"a name short for two companies":          {[]string{"Acme", "Acme Inc.", "Acme GmbH"}, nil},
		"an acronym of two":                       {[]string{"CIA", "Central Intelligence Agency", "Culinary Institute of America"}, nil},
		"initials of two":                         {[]string{"J. R. Smith", "John Robert Smith", "James Robert Smith"}, nil},
		"a name that a chain would lead astray":   {[]string{"Dr. Ann Lee", "Ann Lee", "Ann Lee Inc.", "Ann Lee GmbH"}, []string{"Dr. Ann Lee ← Ann Lee (title)"}},
		"numbers":                                 {[]string{"World War I", "World War II", "W.W. I"}, nil},
		"the same acronym twice, and its meaning": {[]string{"N.A.S.A.", "NASA", "National Aeronautics and Space Administration"}, []string{"National Aeronautics and Space Administration ← N.A.S.A. (acronym)", "National Aeronautics and Space Administration ← NASA (acronym)"}},
	} {
		if got := found(namedAll(c.names...), nil); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q", about, got)
		}
	}
}

func TestSimilarJoinsNothingOfTwoTypes(t *testing.T) {
	a, b := named("Acme Inc."), named("Acme")
	b.Type, b.ID = "Person", graph.NewEntityID("Acme", "Person")
	if got := found([]Named{a, b}, nil); got != nil {
		t.Errorf("%q", got)
	}
}

func TestClusterKeepsApartWhatMustNotBeJoined(t *testing.T) {
	entities := namedAll("IBM", "International Business Machines", "IBM Corp.")
	got := found(entities, func(a, b int) bool { return a+b == 1 })
	if want := []string{"IBM Corp. ← IBM (legal form)"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// randomNames are names with many that are alike.
func randomNames(r *rand.Rand, n int) []Named {
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	seen := map[graph.EntityID]bool{}
	var list []Named
	for len(list) < n {
		first, second, last := pick("John", "J.", "James", "Joan", "José", "Jose"), pick("", "Robert ", "R. ", "Quincy "), pick("Smith", "Adams", "Garcia", "Müller")
		name := pick("", "Dr. ", "Mr. ", "Mrs. ", "The ") + first + " " + second + last + pick("", " Inc.", ", Inc", " GmbH", " II", " Jr.", " Company")
		if r.IntN(5) == 0 {
			name = pick("JRS", "J.R.S.", "JA", "JRA", "JQA")
		}
		e := named(name)
		if !seen[e.ID] {
			seen[e.ID] = true
			list = append(list, e)
		}
	}
	return list
}

func TestSimilarDoesNotDependOnOrder(t *testing.T) {
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 7))
		entities := randomNames(r, 60)
		want := found(entities, nil)
		if len(want) == 0 {
			t.Fatal("nothing is joined")
		}
		shuffled := slices.Clone(entities)
		r.Shuffle(len(shuffled), func(i, k int) { shuffled[i], shuffled[k] = shuffled[k], shuffled[i] })
		if got := found(shuffled, nil); !slices.Equal(got, want) {
			t.Fatalf("seed %d: got\n%q\nwant\n%q", seed, got, want)
		}
	}
}

// TestBlocksMissNoPair compares every two names, blocks or not.
func TestBlocksMissNoPair(t *testing.T) {
	entities := randomNames(rand.New(rand.NewPCG(1, 2)), 150)
	for _, p := range namePairs(t) {
		entities = append(entities, named(p.a), named(p.b))
	}
	taken := make([]written, len(entities))
	for i, e := range entities {
		taken[i] = take(e.Names[0])
	}
	for i, a := range taken {
		for k, b := range taken[i+1:] {
			if _, ok := compare(a, b); ok && !slices.ContainsFunc(features(a), func(f string) bool { return slices.Contains(features(b), f) }) {
				t.Errorf("%q and %q compare and share no feature", entities[i].Names[0], entities[i+1+k].Names[0])
			}
		}
	}
}

func TestComparingIsSymmetric(t *testing.T) {
	for _, p := range namePairs(t) {
		x, okX := compare(take(p.a), take(p.b))
		y, okY := compare(take(p.b), take(p.a))
		if okX != okY || x.rule != y.rule || x.short != -y.short {
			t.Errorf("%q and %q: %v, and the other way round %v", p.a, p.b, x, y)
		}
	}
}

func TestManyNamesAreComparedInTime(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var entities []Named
	for i := range 20000 {
		entities = append(entities, named(fmt.Sprintf("%c%c%d Systems %c", 'A'+rune(r.IntN(26)), 'a'+rune(r.IntN(26)), i, 'A'+rune(r.IntN(26)))))
	}
	started := time.Now()
	if _, skipped := Propose(entities); skipped > 0 {
		t.Errorf("%d groups too large", skipped)
	}
	if took := time.Since(started); took > time.Minute {
		t.Errorf("20,000 names took %s", took)
	}
}

func TestJaroWinkler(t *testing.T) {
	for pair, want := range map[[2]string]float64{
		{"martha", "marhta"}: 0.9611, {"dixon", "dicksonx"}: 0.8133, {"dwayne", "duane"}: 0.84, {"a", "b"}: 0, {"", "x"}: 0, {"same", "same"}: 1,
	} {
		if got := jaroWinkler(pair[0], pair[1]); got < want-0.0001 || got > want+0.0001 {
			t.Errorf("%q: %.4f, want %.4f", pair, got, want)
		}
	}
}

// TestTextsSettleWhatNamesCannot gives one meaning of an acronym in brackets.
func TestTextsSettleWhatNamesCannot(t *testing.T) {
	entities := namedAll("AI", "Artificial Intelligence", "Amnesty International", "CIA", "Central Intelligence Agency", "Culinary Institute of America")
	proposals, _ := Propose(entities)
	settled := Settle(proposals, func(p Proposal) Need {
		if p.A == 0 && p.B == 1 || p.A == 3 && p.B == 4 {
			return NeedBeside
		}
		return NeedNothing
	})
	var got []string
	for _, j := range Cluster(entities, settled, nil) {
		got = append(got, fmt.Sprintf("%s ← %s %.2f", entities[j.Kept].Names[0], entities[j.Merged].Names[0], j.Score))
	}
	if want := []string{"Artificial Intelligence ← AI 0.98", "Central Intelligence Agency ← CIA 0.98"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
