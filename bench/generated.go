package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"

	"graphmill/pipeline"
	"graphmill/pipeline/falkor/store"
	"graphmill/pipeline/graph"
	"graphmill/pipeline/models"
)

const (
	chunksEach   = 50 // of a generated document
	mentionsEach = 3  // entities that a generated chunk mentions
	chunkWords   = 80
	vocabulary   = 50_000
	// common is the rank from which on a word is no stop word: the first hundred
	// of English are articles, pronouns and the like.
	common = 100
)

// invented makes documents about things that do not exist. Words have the
// frequencies of a language (Zipf's law), so that a question's words stand in as
// many passages as they would in real ones. The same seed makes the same graph.
type invented struct {
	random   *rand.Rand
	zipf     *rand.Zipf
	entities int
}

func newInvented(entities int, seed uint64) *invented {
	random := rand.New(rand.NewPCG(seed, 7))
	return &invented{random: random, zipf: rand.NewZipf(random, 1.05, 2.7, vocabulary-1), entities: entities}
}

var (
	onsets = strings.Fields("b d f g h k l m n p r s t v w z br dr gl kr pl st tr ch")
	vowels = strings.Fields("a e i o u ai eo ia")
)

// syllables spells a number, each its own way.
func syllables(n int) string {
	var b strings.Builder
	for base := len(onsets) * len(vowels); ; n = n/base - 1 {
		b.WriteString(onsets[n%base/len(vowels)] + vowels[n%len(vowels)])
		if n < base {
			return b.String()
		}
	}
}

func (v *invented) word(from int) string {
	for {
		if rank := int(v.zipf.Uint64()); rank >= from {
			return syllables(rank)
		}
	}
}

// capital is a word with a capital letter, an end that no plain word has.
func capital(n int) string {
	word := syllables(n) + "n"
	return strings.ToUpper(word[:1]) + word[1:]
}

var inventedTypes = []string{"Person", "Organization", "Location", "Product", "Event"}

// entity is the i-th.
func (v *invented) entity(i int) graph.Entity {
	kind := inventedTypes[i%len(inventedTypes)]
	name := capital(i%1000) + " " + capital(1000+i/1000)
	return graph.Entity{ID: graph.NewEntityID(name, kind), Type: kind, Name: name, NameKey: graph.NameKey(name)}
}

// sentence says something about two things.
func (v *invented) sentence(a, b graph.Entity, words int) string {
	var text strings.Builder
	text.WriteString(a.Name)
	for i := range words {
		if i == words/2 {
			text.WriteString(" " + b.Name)
		}
		text.WriteString(" " + v.word(0))
	}
	return text.String() + "."
}

// question asks for two things that a passage mentions together, with a few words
// that are no stop words.
func (v *invented) question() string {
	i := v.random.IntN(v.entities)
	return fmt.Sprintf("What did %s have to do with the %s and the %s of %s, and why was it %s?",
		v.entity(i).Name, v.word(common), v.word(common), v.entity((i+1)%v.entities).Name, v.word(common))
}

// document is the i-th: entities are dealt out in turn, so that each is mentioned
// by as many chunks as the others.
func (v *invented) document(i int) store.Change {
	path := fmt.Sprintf("part%03d/d%06d.txt", i%100, i)
	id := graph.FileDocumentID(path)
	d := graph.DocumentGraph{Document: graph.Document{
		ID: id, Path: path, Title: capital(i), Format: "text", Status: "ingested", ChunkCount: chunksEach,
		Fingerprints: graph.Fingerprints{Content: graph.Hash(path), Plan: "p", Ontology: "o", Model: "m", Format: "f"},
	}}
	has := map[graph.EntityID]bool{}
	at := 0
	for k := range chunksEach {
		n := i*chunksEach + k
		parts := make([]graph.Entity, mentionsEach)
		for m := range parts {
			// Neighbours, and one from far away.
			parts[m] = v.entity((n + m*(1+m*n)) % v.entities)
			if !has[parts[m].ID] {
				has[parts[m].ID] = true
				d.Entities = append(d.Entities, parts[m])
			}
		}
		at = v.chunk(&d, k, at, parts)
	}
	return store.Change{Graph: d}
}

// chunk adds a chunk with its mentions and a relation, and returns where the next
// one starts.
func (v *invented) chunk(d *graph.DocumentGraph, index, start int, parts []graph.Entity) int {
	first := v.sentence(parts[0], parts[1], 10)
	text := first + " " + v.sentence(parts[2], parts[0], chunkWords-10)
	span := graph.Span{Start: start, End: start + len(text)}
	c := graph.Chunk{
		ID: graph.NewChunkID(d.Document.ID, span, text), Index: index, Text: text, Span: span, FirstLine: index + 1, LastLine: index + 1,
		TokenCount: 2 * chunkWords, Header: d.Document.Title, ContentKey: graph.Hash(text),
	}
	d.Chunks = append(d.Chunks, c)
	seen := map[graph.EntityID]bool{}
	for _, e := range parts {
		if seen[e.ID] {
			continue
		}
		seen[e.ID] = true
		at := start + strings.Index(text, e.Name)
		d.Mentions = append(d.Mentions, graph.EntityMention{
			Entity: e.ID, Chunk: c.ID, Spans: []graph.Span{{Start: at, End: at + len(e.Name)}}, Names: []string{e.Name}, Score: 0.9, Method: "bench",
			Description: first, Telling: 0.5,
		})
	}
	if parts[0].ID != parts[1].ID {
		sentence := graph.Span{Start: start, End: start + len(first)}
		d.Relations = append(d.Relations, graph.Relation{
			Source: parts[0].ID, Target: parts[1].ID, SourceName: parts[0].Name, TargetName: parts[1].Name, SourceType: parts[0].Type, TargetType: parts[1].Type,
			Type: "RELATED_TO", Fact: fmt.Sprintf("(%s, RELATED_TO, %s): %s", parts[0].Name, parts[1].Name, first), Description: first, Score: 0.9,
			Evidence: []graph.RelationEvidence{{Chunk: c.ID, Span: sentence, Quote: first, Score: 0.9, Method: "bench"}},
		})
	}
	return span.End + 1
}

// underName passes an embedder off as another. A search's time depends on how
// many vectors there are and not on what they mean, and hashes are made in
// seconds where a model takes an hour.
type underName struct {
	models.Embedder
	name string
}

func (u underName) Model() string { return u.name }

// generate writes a graph of so many chunks and as many entities, as a first
// build writes it.
func (w *world) generateGraph(ctx context.Context, graphName string, chunks int, embedder models.Embedder) error {
	w.drop(ctx, graphName)
	v := newInvented(chunks, 1)
	return w.locked(ctx, graphName, func(s *store.Store) error {
		var batch []store.Change
		rows := 0
		for i := range (chunks + chunksEach - 1) / chunksEach {
			change := v.document(i)
			if rows+change.Rows() > pipeline.FirstRows && len(batch) > 0 {
				if err := s.Commit(ctx, batch); err != nil {
					return err
				}
				batch, rows = nil, 0
			}
			batch, rows = append(batch, change), rows+change.Rows()
		}
		if err := s.Commit(ctx, batch); err != nil {
			return err
		}
		_, err := pipeline.Finalize(ctx, pipeline.FinalizeOptions{Store: s, Embedder: embedder, Workers: runtime.NumCPU()})
		return err
	})
}

// locked opens a graph for writing.
func (w *world) locked(ctx context.Context, graphName string, do func(*store.Store) error) error {
	s, err := store.Open(ctx, w.client, store.Options{Graph: graphName})
	if err != nil {
		return err
	}
	owner, err := store.LocalOwner("bench")
	if err != nil {
		return err
	}
	lock, err := s.Acquire(ctx, owner, 0, 0)
	if err != nil {
		return err
	}
	defer lock.Release(ctx)
	return do(s)
}

// inventedOntology declares what an invented graph holds.
func inventedOntology() graph.Ontology {
	var o graph.Ontology
	for _, label := range inventedTypes {
		o.Entities = append(o.Entities, graph.EntityType{Label: label})
	}
	o.Relations = []graph.RelationType{{Label: "RELATED_TO"}}
	return o
}
