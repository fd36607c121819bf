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

// Describer is the part of the store that common descriptions need.
type Describer interface {
	// JoinedBy reads the entities of which a rule joined names, sorted by id.
	JoinedBy(ctx context.Context, rule string) ([]store.Joined, error)
	Descriptions(ctx context.Context) (map[string]store.Description, error)
	// Describe records descriptions and has entities say them, and forgets others.
	Describe(ctx context.Context, put, forget []store.Description) error
}

// Described is what finalize asked a language model to make of several sentences.
type Described struct {
	Entities   int `json:"entities"`             // that got a common description
	Refused    int `json:"refused,omitempty"`    // the answer holds what the sentences do not, or is none; the most telling sentence stays
	Unanswered int `json:"unanswered,omitempty"` // no usable answer came
	Left       int `json:"left,omitempty"`       // not asked: more than max_llm_pairs of their document
}

// describeRecorded gives entities the descriptions that were made of the very
// sentences which documents say of them now, and forgets all others. It returns
// those that have none: a language model joined their names, and the names'
// sentences differ.
func describeRecorded(ctx context.Context, o FinalizeOptions) (lacking []store.Joined, err error) {
	joined, err := o.Store.JoinedBy(ctx, string(resolvers.Verified))
	if err != nil {
		return nil, err
	}
	recorded, err := o.Store.Descriptions(ctx)
	if err != nil || len(joined)+len(recorded) == 0 {
		return nil, err
	}
	var put, forget []store.Description
	for _, j := range joined {
		if len(j.Sentences) < 2 {
			continue
		}
		id := j.Description()
		if d, ok := recorded[id]; ok {
			put = append(put, d)
			delete(recorded, id)
		} else {
			lacking = append(lacking, j)
		}
	}
	for _, d := range recorded {
		forget = append(forget, d)
	}
	return lacking, o.Store.Describe(ctx, put, forget)
}

// describeJoined asks a language model for the descriptions that are lacking of
// entities which its documents name, at most as many for a document as pairs of
// names. What is answered is recorded at once; when the budget is spent, its
// error comes back.
func describeJoined(ctx context.Context, o FinalizeOptions, lacking []store.Joined, report *FinalizeReport) error {
	if len(lacking) == 0 {
		return nil
	}
	documents, err := o.Store.JudgedDocuments(ctx, judging)
	if err != nil || len(documents) == 0 {
		return err
	}
	if o.Chat == nil {
		return errors.New("describe entities: no language model is set")
	}
	chat, err := o.Chat()
	if err != nil {
		return err
	}
	describer := resolvers.NewDescriber(chat)
	done := &Described{}
	for n, d := range documents {
		o.Observer.Observe(Event{Kind: FinalizeStep, Step: "describe", Done: n, Total: len(documents)})
		var asked []store.Joined
		asked, lacking = namedIn(d, lacking)
		if len(asked) == 0 {
			continue
		}
		report.Described = done
		if room := max(0, d.MaxPairs); len(asked) > room {
			done.Left += len(asked) - room
			asked = asked[:room]
		}
		if err := describeOf(llm.WithFile(ctx, d.Path), o, describer, asked, done); err != nil {
			return fmt.Errorf("describe entities of %s: %w", d.Path, err)
		}
	}
	return nil
}

// namedIn divides entities into those that a document names and others.
func namedIn(d store.JudgedDocument, entities []store.Joined) (named, others []store.Joined) {
	for _, j := range entities {
		if slices.ContainsFunc(j.Origins, func(id graph.EntityID) bool {
			_, names := slices.BinarySearch(d.Entities, id)
			return names
		}) {
			named = append(named, j)
		} else {
			others = append(others, j)
		}
	}
	return named, others
}

func describeOf(ctx context.Context, o FinalizeOptions, describer *resolvers.Describer, asked []store.Joined, done *Described) error {
	entities := make([]resolvers.Described, len(asked))
	for i, j := range asked {
		entities[i] = resolvers.Described{Name: j.Name, Type: j.Type, Aliases: j.Aliases, Sentences: j.Sentences}
	}
	return describer.Describe(ctx, entities, func(from int, answers []resolvers.Telling) error {
		var put []store.Description
		for i, a := range answers {
			j := asked[from+i]
			switch {
			case !a.Answered:
				done.Unanswered++
				continue
			case a.Text == "":
				done.Refused++
			default:
				done.Entities++
			}
			put = append(put, store.Description{ID: j.Description(), Entity: j.ID, Text: a.Text, Refused: a.Refused})
		}
		// Dies before: these are asked about again, from the kept answers where there
		// are any. Dies after: they are described.
		return o.Store.Describe(ctx, put, nil)
	})
}
