package pipeline

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"graphmill/pipeline/falkor/store"
	"graphmill/pipeline/graph"
	"graphmill/pipeline/llm"
	"graphmill/resolvers"
)

// judging is the resolver whose documents' names a language model decides on.
const judging = "llm_verified"

// What finalize asks the vector index for: at most so many neighbours of an
// entity, nearer than this cosine distance.
const (
	nearEntities = 5
	nearDistance = 0.25
)

// maxPairs is recorded with documents whose names are judged.
func (w *work) maxPairs() int {
	if w.assignment.Resolver == judging {
		return w.assignment.MaxLLMPairs
	}
	return 0
}

// Judger is the part of the store that judging names needs.
type Judger interface {
	JudgedDocuments(ctx context.Context, resolver string) ([]store.JudgedDocument, error)
	Cards(ctx context.Context, ids []graph.EntityID) (map[graph.EntityID]store.EntityCard, error)
	Neighbours(ctx context.Context, ids []graph.EntityID, k int, distance float64) ([][2]graph.EntityID, error)
	// Decide records what was said of pairs.
	Decide(ctx context.Context, records []store.Merge) error
}

// Judged is what finalize asked a language model about names.
type Judged struct {
	Pairs      int `json:"pairs"`                // asked about
	Confirmed  int `json:"confirmed"`            // of them, taken for one thing's
	Unanswered int `json:"unanswered,omitempty"` // no usable answer came; not merged
	Left       int `json:"left,omitempty"`       // not asked: max_llm_pairs of their document are used up
}

// judge holds one finalize's questions.
type judge struct {
	o        FinalizeOptions
	entities []resolvers.Named
	index    map[graph.EntityID]int
	merged   map[graph.EntityID]graph.EntityID // into what
	decided  map[[2]graph.EntityID]bool
	askedFor map[string]int // pairs asked about for a version of a document
	apart    func(a, b int) bool
}

// judgeEntities asks a language model about pairs of names of the documents that
// want it, and records each answer as it comes: what was asked once is not asked
// again, whatever is merged or interrupted later. It reports whether an answer
// joins anything.
//
// When the budget is spent, its error comes back; what was answered is recorded.
func judgeEntities(ctx context.Context, o FinalizeOptions, report *FinalizeReport) (joins bool, err error) {
	documents, err := o.Store.JudgedDocuments(ctx, judging)
	if err != nil || len(documents) == 0 {
		return false, err
	}
	j, candidates, err := newJudge(ctx, o, documents)
	if err != nil || len(candidates) == 0 {
		return false, err
	}
	if o.Chat == nil {
		return false, errors.New("judge names: no language model is set")
	}
	chat, err := o.Chat()
	if err != nil {
		return false, err
	}
	report.Judged = &Judged{}
	for n, d := range documents {
		o.Observer.Observe(Event{Kind: FinalizeStep, Step: "judge names", Done: n, Total: len(documents)})
		yes, err := j.document(llm.WithFile(ctx, d.Path), resolvers.NewJudge(chat), d, candidates, report.Judged)
		joins = joins || yes
		if err != nil {
			return joins, fmt.Errorf("judge names of %s: %w", d.Path, err)
		}
	}
	return joins, nil
}

func newJudge(ctx context.Context, o FinalizeOptions, documents []store.JudgedDocument) (*judge, []resolvers.Candidate, error) {
	named, err := o.Store.NamedBy(ctx, merging)
	if err != nil {
		return nil, nil, err
	}
	records, err := o.Store.Merges(ctx)
	if err != nil {
		return nil, nil, err
	}
	j := &judge{
		o: o, index: map[graph.EntityID]int{}, merged: map[graph.EntityID]graph.EntityID{},
		decided: map[[2]graph.EntityID]bool{}, askedFor: map[string]int{},
	}
	for i, e := range named {
		j.entities = append(j.entities, resolvers.Named{ID: e.ID, Type: e.Type, Names: e.Names})
		j.index[e.ID] = i
	}
	for _, m := range records {
		switch m.State {
		case store.MergeActive:
			j.merged[m.Merged] = m.Kept
		case store.MergeConfirmed, store.MergeApart:
			j.decided[idPair(m.Kept, m.Merged)] = true
			j.askedFor[m.AskedFor]++
		}
	}
	j.apart = keptApart(j.entities, records, o.MustNotMerge)
	near, err := j.neighbours(ctx, documents)
	if err != nil {
		return nil, nil, err
	}
	proposals, _ := resolvers.Propose(j.entities)
	candidates := resolvers.Candidates(j.entities, proposals, near)
	return j, slices.DeleteFunc(candidates, func(c resolvers.Candidate) bool { return !j.open(c) }), nil
}

func idPair(a, b graph.EntityID) [2]graph.EntityID { return [2]graph.EntityID{min(a, b), max(a, b)} }

// at is the entity that another's name stands with.
func (j *judge) at(i int) graph.EntityID {
	id := j.entities[i].ID
	if kept, ok := j.merged[id]; ok {
		return kept
	}
	return id
}

// open reports whether a pair is neither decided nor one already.
func (j *judge) open(c resolvers.Candidate) bool {
	return j.at(c.A) != j.at(c.B) && !j.decided[idPair(j.entities[c.A].ID, j.entities[c.B].ID)] && !j.apart(c.A, c.B)
}

// neighbours asks the vector index about the entities of the documents.
func (j *judge) neighbours(ctx context.Context, documents []store.JudgedDocument) ([][2]int, error) {
	wanted := map[graph.EntityID]bool{}
	var ids []graph.EntityID
	for _, d := range documents {
		for _, id := range d.Entities {
			if _, known := j.index[id]; known && !wanted[id] && j.merged[id] == "" {
				wanted[id] = true
				ids = append(ids, id)
			}
		}
	}
	slices.Sort(ids)
	pairs, err := j.o.Store.Neighbours(ctx, ids, nearEntities, nearDistance)
	var near [][2]int
	for _, pair := range pairs {
		a, knownA := j.index[pair[0]]
		b, knownB := j.index[pair[1]]
		if knownA && knownB {
			near = append(near, [2]int{a, b})
		}
	}
	return near, err
}

// document asks about the pairs of one document that none before it asked about.
func (j *judge) document(ctx context.Context, judge *resolvers.Judge, d store.JudgedDocument, candidates []resolvers.Candidate, done *Judged) (joins bool, err error) {
	version := d.Path + "@" + d.Content[:min(12, len(d.Content))]
	room := d.MaxPairs - j.askedFor[version]
	var pairs []resolvers.Candidate
	for _, c := range candidates {
		a, b := j.entities[c.A].ID, j.entities[c.B].ID
		_, first := slices.BinarySearch(d.Entities, a)
		_, second := slices.BinarySearch(d.Entities, b)
		if !first && !second || !j.open(c) {
			continue
		}
		if len(pairs) >= room {
			done.Left++
			continue
		}
		pairs = append(pairs, c)
	}
	questions, err := j.questions(ctx, pairs)
	if err != nil || len(pairs) == 0 {
		return false, err
	}
	verdicts, failed := judge.Judge(ctx, questions)
	var records []store.Merge
	for i, v := range verdicts {
		c := pairs[i]
		if !v.Answered {
			if failed == nil {
				done.Unanswered++
			}
			continue
		}
		done.Pairs++
		state := store.MergeApart
		if v.Same {
			state, joins = store.MergeConfirmed, true
			done.Confirmed++
		}
		records = append(records, j.verdict(c, state, v.Why, version))
	}
	// Dies before: the pairs are asked about again, from the kept answers where
	// there are any. Dies after: they are decided.
	return joins, errors.Join(failed, j.o.Store.Decide(ctx, records))
}

func (j *judge) verdict(c resolvers.Candidate, state store.MergeState, why, version string) store.Merge {
	a, b := j.entities[c.A], j.entities[c.B]
	j.decided[idPair(a.ID, b.ID)] = true
	return store.Merge{
		ID: store.VerdictID(a.ID, b.ID), State: state, Kept: a.ID, Merged: b.ID, Rule: string(resolvers.Verified),
		KeptName: resolvers.DisplayForm(a.Names), MergedName: resolvers.DisplayForm(b.Names), KeptType: a.Type, MergedType: b.Type,
		Explanation: why, AskedFor: version,
	}
}

// questions shows what the graph says of each name's entity.
func (j *judge) questions(ctx context.Context, pairs []resolvers.Candidate) ([]resolvers.Question, error) {
	wanted := map[graph.EntityID]bool{}
	var ids []graph.EntityID
	for _, c := range pairs {
		for _, id := range []graph.EntityID{j.at(c.A), j.at(c.B)} {
			if !wanted[id] {
				wanted[id] = true
				ids = append(ids, id)
			}
		}
	}
	cards, err := j.o.Store.Cards(ctx, ids)
	questions := make([]resolvers.Question, len(pairs))
	for i, c := range pairs {
		questions[i] = resolvers.Question{A: j.subject(c.A, cards), B: j.subject(c.B, cards)}
	}
	return questions, err
}

func (j *judge) subject(i int, cards map[graph.EntityID]store.EntityCard) resolvers.Subject {
	e, card := j.entities[i], cards[j.at(i)]
	s := resolvers.Subject{Name: resolvers.DisplayForm(e.Names), Type: e.Type, About: card.Description}
	for _, name := range append([]string{card.Name}, card.Aliases...) {
		if name != s.Name && name != "" {
			s.Aliases = append(s.Aliases, name)
		}
	}
	return s
}
