package suggest

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"

	"graphmill/chunkers"
	"graphmill/extractors"
	"graphmill/pipeline/graph"
)

// Local proposes what an extractor finds in samples: the types of base that
// occur, and relations from the verb phrases between entities that no relation
// of base reads. It works on so many samples at once, and what it returns does
// not depend on that.
func Local(ctx context.Context, samples []Sample, base *graph.Ontology, extractor extractors.Extractor, workers int) (*Suggestion, error) {
	found := make([]graph.Extraction, len(samples))
	group, working := errgroup.WithContext(ctx)
	group.SetLimit(max(workers, 1))
	for i, sample := range samples {
		group.Go(func() error {
			extractions, err := extractor.Extract(working, []chunkers.Chunk{sample.chunk()}, base)
			if err != nil {
				return fmt.Errorf("suggest an ontology from %s: %w", sample.Path, err)
			}
			found[i] = extractions[0]
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	f := newFinder(base)
	for i, sample := range samples {
		f.read(sample, found[i])
	}
	return f.suggestion(len(samples)), nil
}

// chunk is the sample as one passage: extractors cut what is too long for them.
func (s Sample) chunk() chunkers.Chunk {
	return chunkers.Chunk{Text: s.Text, Range: graph.Range{End: len(s.Text)}, Tokens: chunkers.EstimateTokens(s.Text), Section: -1}
}

// finder counts what samples hold.
type finder struct {
	base     *graph.Ontology
	cues     map[string][]cueOf // by root
	entities map[string]*entityCount
	known    map[string]*relationCount // by label of base
	phrases  map[string]*relationCount // by root, or by a label that base does not have
	// open says that entities holds types that base does not have. least is how
	// many facts speak for a relation, or a pair, that it does not have.
	open  bool
	least int
}

// cueOf says that a relation of base has a cue of some root.
type cueOf struct {
	relation graph.RelationType
	// swapped says that the cue names the target first.
	swapped bool
}

func newFinder(base *graph.Ontology) *finder {
	f := &finder{
		base: base, least: leastReads, cues: map[string][]cueOf{}, entities: map[string]*entityCount{},
		known: map[string]*relationCount{}, phrases: map[string]*relationCount{},
	}
	for _, r := range base.Canonical().Relations {
		for _, cue := range r.Cues {
			f.addCue(cue, cueOf{r, false})
		}
		for _, cue := range r.PassiveCues {
			f.addCue(cue, cueOf{r, true})
		}
	}
	return f
}

func (f *finder) addCue(cue string, of cueOf) {
	if p, ok := extractors.CuePhrase(cue); ok {
		key := phraseKey(p)
		f.cues[key] = append(f.cues[key], of)
	}
}

func phraseKey(p extractors.Phrase) string {
	if p.Passive {
		return p.Root + " by"
	}
	return p.Root
}

func (f *finder) read(sample Sample, e graph.Extraction) {
	for _, m := range e.Mentions {
		f.entity(sample.Path, m)
	}
	stated := map[[2]int]bool{}
	for _, r := range e.Relations {
		stated[[2]int{r.Source, r.Target}], stated[[2]int{r.Target, r.Source}] = true, true
		count(f.known, r.Type).add(sample, e.Mentions[r.Source], e.Mentions[r.Target], r.Evidence)
	}
	for _, p := range extractors.Phrases(sample.chunk(), e.Mentions) {
		first, second := e.Mentions[p.First], e.Mentions[p.Second]
		if stated[[2]int{p.First, p.Second}] || first.Type == graph.UnknownType || second.Type == graph.UnknownType ||
			graph.NameKey(first.Text) == graph.NameKey(second.Text) {
			continue
		}
		f.phrase(sample, p, first, second)
	}
}

// phrase counts a phrase: for the relation of base that has it as a cue, though
// not for this pair of types, or for one of its own.
func (f *finder) phrase(sample Sample, p extractors.Phrase, first, second graph.Mention) {
	if of, ok := f.nearest(f.cues[phraseKey(p)], first.Type, second.Type); ok {
		if of.swapped {
			first, second = second, first
		}
		count(f.known, of.relation.Label).add(sample, first, second, p.Evidence)
		return
	}
	c := count(f.phrases, p.Root)
	if p.Passive {
		c.passive[p.Cue]++
		first, second = second, first
	} else {
		c.cues[p.Cue]++
	}
	c.names[p.Name]++
	c.add(sample, first, second, p.Evidence)
}

// nearest is the relation whose pairs have most in common with the two types.
func (f *finder) nearest(cues []cueOf, first, second string) (best cueOf, ok bool) {
	most := -1
	for _, of := range cues {
		source, target := first, second
		if of.swapped {
			source, target = second, first
		}
		common := 0
		for _, pattern := range of.relation.Patterns {
			if pattern[0] == source || pattern[1] == target {
				common++
			}
		}
		if common > most {
			most, best, ok = common, of, true
		}
	}
	return best, ok
}

func (f *finder) entity(path string, m graph.Mention) {
	c := f.entities[m.Type]
	if c == nil {
		c = newEntityCount()
		f.entities[m.Type] = c
	}
	c.add(path, m.Text)
}
