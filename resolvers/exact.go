package resolvers

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"graphmill/pipeline/graph"
	"graphmill/planner/catalogue"
)

// Exact takes mentions for one entity when their normalised names (see
// [graph.NameKey]) and their types are equal, and never otherwise. A mention
// whose name has no letter or digit belongs to no entity: its id is "".
type Exact struct{}

// Resolve implements [Resolver]. It takes time linear in the mentions.
func (Exact) Resolve(ctx context.Context, mentions []graph.Mention) (Resolution, error) {
	out := Resolution{Entities: make([]graph.EntityID, len(mentions))}
	spellings := map[graph.EntityID]*spelled{}
	known := map[[2]string]graph.EntityID{}
	for i, m := range mentions {
		if i%4096 == 0 && ctx.Err() != nil {
			return Resolution{}, ctx.Err()
		}
		written := [2]string{m.Text, m.Type}
		id, seen := known[written]
		if !seen {
			id = graph.NewEntityID(m.Text, m.Type)
			known[written] = id
			if id != "" {
				addSpelling(spellings, id, m)
			}
		}
		out.Entities[i] = id
	}
	for _, s := range spellings {
		out.Merges = append(out.Merges, s.merges()...)
	}
	slices.SortFunc(out.Merges, func(a, b Merge) int {
		return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(a.Kept, b.Kept), cmp.Compare(a.Merged, b.Merged))
	})
	return out, nil
}

// spelled is one entity's display forms.
type spelled struct {
	kind  string
	names map[string]string // display form → the least text that shows so
}

func addSpelling(all map[graph.EntityID]*spelled, id graph.EntityID, m graph.Mention) {
	s := all[id]
	if s == nil {
		s = &spelled{kind: m.Type, names: map[string]string{}}
		all[id] = s
	}
	s.kind = min(s.kind, m.Type)
	shown := graph.DisplayName(m.Text)
	if have, ok := s.names[shown]; !ok || m.Text < have {
		s.names[shown] = m.Text
	}
}

func (s *spelled) merges() []Merge {
	names := make([]string, 0, len(s.names))
	for name := range s.names {
		names = append(names, name)
	}
	kept := DisplayForm(names)
	var merges []Merge
	for _, name := range names {
		if name != kept {
			merges = append(merges, Merge{Kept: kept, Merged: name, Type: s.kind, Reason: "written alike but for " + graph.NameDifference(kept, name)})
		}
	}
	return merges
}

// DisplayForm chooses the name that an entity is shown by, see [graph.Shows].
func DisplayForm(names []string) string {
	var best string
	for _, name := range names {
		if best == "" || graph.Shows(name, best) {
			best = name
		}
	}
	return best
}

// New returns the resolver that rules call name.
func New(name string) (Resolver, error) {
	switch name {
	case "exact", "":
		return Exact{}, nil
	case "similar":
		return Similar{}, nil
	case "llm_verified":
		return LLMVerified{}, nil
	}
	var names []string
	for _, s := range Catalogue() {
		names = append(names, s.Name)
	}
	return nil, fmt.Errorf("make resolver %q: there is none of this name; choose one of %s", name, strings.Join(names, ", "))
}

// Catalogue lists the resolvers for the planner.
func Catalogue() []catalogue.Strategy {
	return []catalogue.Strategy{{
		Kind: catalogue.Resolver,
		Name: "exact",
		// 1: names of several lines, and of scripts without spaces.
		Version:     1,
		Description: "one entity for each normalised name and type (Unicode form, case, spaces, quotes, trailing possessive do not count)",
		Cheap:       true,
		Cost:        catalogue.Cost{Source: "no model; under 2 µs a mention"},
	}, {
		Kind:        catalogue.Resolver,
		Name:        "similar",
		Version:     1,
		Description: "exact, and across documents names that are written alike: punctuation, legal forms, titles, initials, acronyms, slips",
		Cheap:       true,
		Cost:        catalogue.Cost{Source: "no model; finalize compares names, under 0.1 ms a name"},
	}, {
		Kind:        catalogue.Resolver,
		Name:        "llm_verified",
		Version:     1,
		Description: "similar, and a language model decides on names that could be one thing's: at most max_llm_pairs of a document, eight a call, a second time across types; it describes in common what it joined, four a call",
		Cost: catalogue.Cost{
			ModelCallsPerChunk: 0.25, TokensPerCall: 1200,
			Source: "a guess: two pairs a chunk, eight a call of 150 tokens a pair; max_llm_pairs bounds it",
		},
	}}
}
