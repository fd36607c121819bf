package extractors

import (
	"errors"

	"graphmill/chunkers"
	"graphmill/pipeline/graph"
)

// noType is the correction of what is nothing of any type.
const noType = "none"

// verifyAnswer is the answer to the second call.
type verifyAnswer struct {
	Corrections []struct {
		Entity int
		Type   string
	}
	Relations []statedRelation
	Other     []statedRelation
}

type statedRelation struct {
	Source int
	Type   string
	Target int
	Quote  string
}

func checkVerified(text string) error {
	var answer verifyAnswer
	err := decode(text, &answer)
	if err == nil && (answer.Corrections == nil || answer.Relations == nil) {
		err = errors.New(`it lacks a list "corrections" or "relations"`)
	}
	return err
}

// thing is what the second call is shown as one entry: all mentions of a name
// and type.
type thing struct {
	kind, name string
	mentions   []int
}

// thingsOf groups mentions, in the order in which the passage first has them.
func thingsOf(mentions []graph.Mention) (things []thing) {
	known := map[[2]string]int{}
	for i, m := range mentions {
		key := [2]string{m.Type, graph.NameKey(m.Text)}
		place, ok := known[key]
		if !ok {
			place = len(things)
			known[key] = place
			things = append(things, thing{kind: m.Type, name: graph.DisplayName(m.Text)})
		}
		things[place].mentions = append(things[place].mentions, i)
	}
	return things
}

// verifying applies one answer to what was found in one chunk.
type verifying struct {
	chunk    chunkers.Chunk
	ontology *graph.Ontology
	things   []thing
	found    graph.Extraction
	passage  *passage
	out      graph.Extraction
	place    []int // of a found mention in out; -1 for one that was taken out
}

func readVerified(text string, chunk chunkers.Chunk, found graph.Extraction, things []thing, ontology *graph.Ontology) graph.Extraction {
	var answer verifyAnswer
	if err := decode(text, &answer); err != nil {
		return graph.Extraction{Failed: shortened(err.Error(), mostReason)}
	}
	v := &verifying{chunk: chunk, ontology: ontology, things: things, found: found, passage: newPassage(chunk.Text)}
	v.out.Pruned.Add(found.Pruned)
	v.correct(answer)
	for _, r := range found.Relations {
		if r.Source, r.Target = v.place[r.Source], v.place[r.Target]; r.Source >= 0 && r.Target >= 0 {
			v.out.Relations = append(v.out.Relations, r)
		}
	}
	for i, r := range answer.Relations {
		if i == mostItems {
			v.out.Pruned.Capped += len(answer.Relations) - mostItems
			break
		}
		v.relate(r)
	}
	for _, other := range answer.Other[:min(len(answer.Other), mostOther)] {
		if v.first(other.Source) >= 0 && v.first(other.Target) >= 0 {
			v.out.Pruned.Add(graph.Pruned{RelationTypes: map[string]int{undeclared(other.Type): 1}})
		}
	}
	countUnknown(&v.out)
	sortMentions(&v.out)
	return v.out
}

// correct keeps the mentions, with the types that the answer gives them.
func (v *verifying) correct(answer verifyAnswer) {
	kinds := make([]string, len(v.found.Mentions))
	for i, m := range v.found.Mentions {
		kinds[i] = m.Type
	}
	for _, c := range answer.Corrections {
		if c.Entity < 1 || c.Entity > len(v.things) {
			continue
		}
		_, declared := v.ontology.Entity(c.Type)
		if !declared && c.Type != noType {
			v.out.Pruned.Add(graph.Pruned{EntityTypes: map[string]int{undeclared(c.Type): 1}})
			continue
		}
		for _, i := range v.things[c.Entity-1].mentions {
			// What has a form is certain, whatever a model thinks of it.
			if v.found.Mentions[i].Method != patternMethod {
				kinds[i] = c.Type
			}
		}
	}
	v.place = make([]int, len(kinds))
	for i, m := range v.found.Mentions {
		if v.place[i] = -1; kinds[i] == noType {
			v.out.Pruned.Rejected++
			continue
		}
		m.Type = kinds[i]
		v.place[i] = len(v.out.Mentions)
		v.out.Mentions = append(v.out.Mentions, m)
	}
}

// first is the first kept mention of a numbered thing, or -1.
func (v *verifying) first(number int) int {
	if number < 1 || number > len(v.things) {
		return -1
	}
	for _, i := range v.things[number-1].mentions {
		if v.place[i] >= 0 {
			return v.place[i]
		}
	}
	return -1
}

// relate takes a stated relation whose ends were found, which the ontology
// allows and whose quote the passage holds.
func (v *verifying) relate(r statedRelation) {
	source, target := v.first(r.Source), v.first(r.Target)
	switch _, declared := v.ontology.Relation(r.Type); {
	case !declared:
		v.out.Pruned.Add(graph.Pruned{RelationTypes: map[string]int{undeclared(r.Type): 1}})
		return
	case source < 0 || target < 0:
		v.out.Pruned.Add(graph.Pruned{UnknownEndpoints: map[string]int{r.Type: 1}})
		return
	case source == target:
		return
	}
	a, b := v.out.Mentions[source], v.out.Mentions[target]
	quote, ok := v.passage.locate(r.Quote)
	switch {
	case !ok:
		v.out.Pruned.UnquotedRelations++
	case v.ontology.Allows(a.Type, r.Type, b.Type):
		v.state(source, target, r.Type, quote)
	default:
		v.out.Pruned.Add(prunedRelation(v.ontology, a.Type, r.Type, b.Type, a.Text, b.Text))
	}
}

// state adds a relation, with whole sentences for evidence.
func (v *verifying) state(source, target int, kind string, quote quoted) {
	at := v.sentences(quote.at)
	evidence := graph.Range{Start: v.chunk.Range.Start + at.Start, End: v.chunk.Range.Start + at.End}
	for _, r := range v.out.Relations {
		if r.Source == source && r.Target == target && r.Type == kind && r.Evidence == evidence {
			return
		}
	}
	v.out.Relations = append(v.out.Relations, graph.RelationMention{
		Source: source, Target: target, Type: kind, Evidence: evidence, Score: llmScore * quote.similarity, Method: llmMethod,
	})
}

// sentences widens a quote to the sentences that it touches.
func (v *verifying) sentences(quote graph.Range) graph.Range {
	return sentencesAround(v.chunk.Text, quote)
}
