package suggest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"

	"graphmill/chunkers"
	"graphmill/extractors"
	"graphmill/pipeline/graph"
	"graphmill/pipeline/llm"
	"graphmill/pipeline/ontology"
)

// Asked proposes what a language model makes of samples, one call each and so
// many side by side. Of an answer is taken what the sample bears out: names that
// stand in it, and relations between those with a quote that it holds; what is
// counted is the sample's. Labels are the model's, and base's where they are
// the same; descriptions and cues are never its own.
//
// A sample without a usable answer, or whose own budget is spent, is told to
// lost, and left out. Where the budget is spent the proposal is what was found
// before, with an [llm.ErrBudget]; every other error ends it.
func Asked(ctx context.Context, samples []Sample, base *graph.Ontology, chat llm.Chat, calls int, lost func(path string, err error)) (*Suggestion, error) {
	a := &asking{chat: chat, instructions: instructionsFor(base), lost: lost, answers: make([]*answer, len(samples))}
	group, working := errgroup.WithContext(ctx)
	group.SetLimit(max(calls, 1))
	for i, sample := range samples {
		group.Go(func() error { return a.ask(working, i, sample) })
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return a.suggestion(samples, base), a.spent
}

type asking struct {
	chat         llm.Chat
	instructions string
	answers      []*answer

	mu    sync.Mutex
	lost  func(path string, err error)
	spent error // the budget is
}

func (a *asking) ask(ctx context.Context, i int, sample Sample) error {
	a.mu.Lock()
	spent := a.spent != nil
	a.mu.Unlock()
	if spent {
		return nil
	}
	said, err := a.chat.Ask(llm.WithFile(ctx, sample.Path), question(a.instructions, sample))
	var parsed answer
	if err == nil {
		parsed, err = parseAnswer(said.Text)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	var budget *llm.BudgetError
	switch {
	case err == nil:
		a.answers[i] = &parsed
	case errors.Is(err, llm.ErrUnusable), errors.As(err, &budget) && budget.File != "":
		a.lost(sample.Path, err)
	case errors.Is(err, llm.ErrBudget):
		a.spent = err
	default:
		return fmt.Errorf("suggest an ontology from %s: %w", sample.Path, err)
	}
	return nil
}

// suggestion counts what the answers name.
func (a *asking) suggestion(samples []Sample, base *graph.Ontology) *Suggestion {
	labels := newSpellings(base)
	var read []*reading
	for i, said := range a.answers {
		if said != nil {
			read = append(read, readAnswer(samples[i], *said))
		}
	}
	for _, r := range read {
		for _, m := range r.mentions {
			labels.entities.add(m.Type)
		}
		for _, s := range r.statements {
			labels.relations.add(s.label)
		}
	}
	f := newFinder(base)
	f.open, f.least = true, leastFacts
	for _, r := range read {
		for i := range r.mentions {
			r.mentions[i].Type = labels.entities.of(r.mentions[i].Type)
			f.entity(r.sample.Path, r.mentions[i])
		}
		for _, s := range r.statements {
			f.statement(r, s, labels.relations.of(s.label))
		}
	}
	return f.suggestion(len(read))
}

// reading is what an answer says that its sample bears out.
type reading struct {
	sample     Sample
	mentions   []graph.Mention
	statements []statement
}

// statement joins two mentions of a reading.
type statement struct {
	source, target int
	label          string
	evidence       graph.Range
}

func readAnswer(sample Sample, said answer) *reading {
	r := &reading{sample: sample}
	quotes := extractors.NewQuotes(sample.Text)
	for _, e := range said.Entities[:min(len(said.Entities), mostTypes)] {
		label, ok := entityLabel(e.Type)
		if !ok {
			continue
		}
		for _, name := range e.Names[:min(len(e.Names), mostNames)] {
			if utf8.RuneCountInString(name) > longestName {
				continue
			}
			for _, at := range quotes.Names(name) {
				r.mentions = append(r.mentions, graph.Mention{Range: at, Text: sample.Text[at.Start:at.End], Type: label, Score: 1})
			}
		}
	}
	r.mentions = withoutInner(r.mentions)
	for _, s := range said.Relations[:min(len(said.Relations), mostStatements)] {
		label, ok := statedLabel(s.Type)
		if !ok {
			continue
		}
		at, ok := quotes.Sentences(s.Quote)
		source, target := r.mention(s.Source, at), r.mention(s.Target, at)
		if ok && source >= 0 && target >= 0 && graph.NameKey(s.Source) != graph.NameKey(s.Target) {
			r.statements = append(r.statements, statement{source, target, label, at})
		}
	}
	return r
}

// withoutInner keeps of mentions that overlap the longest, and of those of one
// place that of the type named first.
func withoutInner(mentions []graph.Mention) (kept []graph.Mention) {
	slices.SortStableFunc(mentions, func(a, b graph.Mention) int {
		return cmp.Or(a.Range.Start-b.Range.Start, b.Range.End-a.Range.End)
	})
	for _, m := range mentions {
		if len(kept) == 0 || m.Range.Start >= kept[len(kept)-1].Range.End {
			kept = append(kept, m)
		}
	}
	return kept
}

// mention is the first mention with that name in a range, else anywhere, else -1.
func (r *reading) mention(name string, within graph.Range) int {
	key, elsewhere := graph.NameKey(name), -1
	for i, m := range r.mentions {
		switch {
		case graph.NameKey(m.Text) != key:
		case m.Range.Overlaps(within):
			return i
		case elsewhere < 0:
			elsewhere = i
		}
	}
	return elsewhere
}

// statement counts a statement, and takes for a cue what stands between its two
// names, if it is a phrase that cues are made of.
func (f *finder) statement(r *reading, s statement, label string) {
	source, target := r.mentions[s.source], r.mentions[s.target]
	if _, declared := f.base.Relation(label); declared {
		count(f.known, label).add(r.sample, source, target, s.evidence)
		return
	}
	c := count(f.phrases, label)
	c.names[label]++
	c.add(r.sample, source, target, s.evidence)
	sentences := chunkers.Chunk{Text: r.sample.Text[s.evidence.Start:s.evidence.End], Range: s.evidence, Section: -1}
	for _, p := range extractors.Phrases(sentences, []graph.Mention{source, target}) {
		if p.First == 0 {
			c.cues[p.Cue]++
		} else {
			c.passive[p.Cue]++
		}
	}
}

// entityLabel is a type's label as an ontology takes it: a few words and no
// sentence, for it is what the next model is told to look for.
func entityLabel(label string) (string, bool) {
	label = strings.Join(strings.Fields(label), " ")
	return label, isLabel(label)
}

func statedLabel(label string) (string, bool) {
	label = relationLabel(label)
	return label, isLabel(label)
}

func isLabel(label string) bool {
	words := strings.FieldsFunc(label, func(r rune) bool { return r == '_' || r == '-' || unicode.IsSpace(r) })
	return utf8.RuneCountInString(label) <= longestLabel && len(words) <= mostWords && ontology.ValidateLabel(label) == nil
}
