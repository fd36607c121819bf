package extractors

import (
	"slices"
	"strings"
	"sync/atomic"

	"graphmill/chunkers"
	"graphmill/pipeline/graph"
)

// cueMethod is what relations read by cues carry as their method.
const cueMethod = "cues"

// Scores of what cues read: the grammar's certainty, which is then multiplied
// by the score of the less certain of the two mentions. Chosen by hand on the
// sentences of the tests, not fitted.
const (
	directScore  = 0.95 // cue next to both entities
	tokenPenalty = 0.02 // for each token between
	guessPenalty = 0.10 // a side reached over a parenthesis or by "and"
	leastScore   = 0.50
)

// maxEvidenceBytes bounds the evidence of a relation; of a longer sentence the
// part around its two names is taken.
const maxEvidenceBytes = 1200

// maxSentenceTokens bounds what is read as a sentence: beyond it is a list or a
// table that no full stop divides.
const maxSentenceTokens = 400

// Cues reads relations without a model: a sentence that holds two entities of a
// declared pattern and one of the relation type's cue phrases, with nothing
// between them but what belongs to the same statement. It prefers missing a
// relation to inventing one. It reads
//
//	subject, verb, object          "A founded B", "B was founded in 1998 by A"
//	lists                          "A and B founded C", "founded C and D"
//	apposition and relative clause "A, CEO of B", "A, who founded B,"
//	possessives and compounds      "B's CEO A", "B CEO A"
//	fronted phrases                "Founded by A, B is …", "The CEO of B is A"
//	shared subjects                "A studied at B and joined C"
//
// and takes no statement from a negation, a question, a condition, a modal or a
// denial.
type Cues struct {
	sentences func(text string) []graph.Range
	cached    atomic.Pointer[cueSet]
}

// NewCues makes a reader of cues; sentences may be nil for chunkers.Sentences.
func NewCues(sentences func(text string) []graph.Range) *Cues {
	if sentences == nil {
		sentences = chunkers.Sentences
	}
	return &Cues{sentences: sentences}
}

// Relate adds to an extraction of the chunk the relations that its sentences
// state between its mentions.
func (c *Cues) Relate(chunk chunkers.Chunk, ontology *graph.Ontology, e *graph.Extraction) {
	c.relate(c.compiled(ontology.Canonical()), chunk, e)
	sortMentions(e)
}

// compiled returns the trie of an ontology in canonical form, keeping the last.
func (c *Cues) compiled(canonical *graph.Ontology) *cueSet {
	if set := c.cached.Load(); set != nil && sameCues(set.ontology, canonical) {
		return set
	}
	set := compileCues(canonical)
	c.cached.Store(set)
	return set
}

func sameCues(a, b *graph.Ontology) bool {
	return slices.EqualFunc(a.Relations, b.Relations, func(x, y graph.RelationType) bool {
		return x.Label == y.Label && slices.Equal(x.Patterns, y.Patterns) && slices.Equal(x.Cues, y.Cues) && slices.Equal(x.PassiveCues, y.PassiveCues)
	}) && slices.EqualFunc(a.Entities, b.Entities, func(x, y graph.EntityType) bool { return x.Label == y.Label })
}

func (c *Cues) relate(set *cueSet, chunk chunkers.Chunk, e *graph.Extraction) {
	if len(e.Mentions) == 0 || set.root.next == nil && len(set.named)+len(set.worded) == 0 {
		return
	}
	placed := outermost(chunk, e.Mentions)
	speakers := &discourse{person: set.person, mentions: e.Mentions, last: nobody}
	for _, r := range c.sentences(chunk.Text) {
		first, _ := slices.BinarySearchFunc(placed, r.Start, func(p placedMention, start int) int { return p.at.Start - start })
		last := first
		for last < len(placed) && placed[last].at.Start < r.End {
			last++
		}
		speakers.enter(chunk, r)
		if last == first && speakers.last.mention < 0 || last-first < 2 && set.person == "" {
			continue
		}
		if strings.HasSuffix(chunk.Text[r.Start:r.End], "?") {
			speakers.last = nobody
			continue
		}
		c.readSentence(set, chunk, r, placed[first:last], speakers, e)
	}
}

// readSentence reads a sentence with all its mentions, and once more without
// those that are words of a cue or common nouns: "founder" may be a Role and
// part of "the founder of" as well.
func (c *Cues) readSentence(set *cueSet, chunk chunkers.Chunk, within graph.Range, placed []placedMention, speakers *discourse, e *graph.Extraction) {
	tokens, since, next := speakers.resolve(tokenise(chunk.Text, within, placed), within)
	defer func() { speakers.last = next }()
	reader := cueReader{
		sentence: sentence{tokens: tokens, mentions: e.Mentions}, since: since,
		set: set, chunk: chunk, within: within, out: e,
		seen: map[graph.RelationMention]bool{},
	}
	if len(reader.tokens) > maxSentenceTokens {
		return
	}
	reader.read()
	reader.readTemplates()
	names := make([]placedMention, 0, len(placed))
	for _, p := range placed {
		if !set.describes(e.Mentions[p.index].Text) {
			names = append(names, p)
		}
	}
	if len(names) < len(placed) && len(names) >= 1 {
		reader.tokens, _, _ = speakers.resolve(tokenise(chunk.Text, within, names), within)
		reader.last = clause{}
		reader.read()
	}
}

// outermost lists the mentions that lie in no other, by start, in bytes of the
// chunk's text.
func outermost(chunk chunkers.Chunk, mentions []graph.Mention) []placedMention {
	placed := make([]placedMention, 0, len(mentions))
	for i, m := range mentions {
		at := graph.Range{Start: m.Range.Start - chunk.Range.Start, End: m.Range.End - chunk.Range.Start}
		if at.Start < 0 || at.End > len(chunk.Text) || at.Len() <= 0 {
			continue
		}
		placed = append(placed, placedMention{index: i, at: at})
	}
	slices.SortStableFunc(placed, func(a, b placedMention) int {
		if a.at.Start != b.at.Start {
			return a.at.Start - b.at.Start
		}
		return b.at.End - a.at.End
	})
	kept := placed[:0]
	end := 0
	for _, p := range placed {
		if p.at.Start >= end {
			kept = append(kept, p)
			end = p.at.End
		}
	}
	return kept
}

// cueReader reads one sentence.
type cueReader struct {
	sentence
	set    *cueSet
	chunk  chunkers.Chunk
	within graph.Range
	out    *graph.Extraction
	last   clause
	// since is where what the sentence speaks of begins: before it, when a
	// pronoun means somebody named before.
	since int
	seen  map[graph.RelationMention]bool
}

func (r *cueReader) read() {
	for i := range r.tokens {
		if r.tokens[i].kind != wordToken {
			continue
		}
		cues := r.set.matchAt(r.tokens, i)
		stated := false
		var misses []graph.Pruned
		for _, c := range cues {
			pairs := r.pairs(i, c)
			for _, p := range pairs {
				if miss, ok := r.emit(c, p); ok {
					stated = true
				} else if miss != nil {
					misses = append(misses, *miss)
				}
			}
		}
		// One phrase may be a cue of several relations: the others are missing
		// nothing when one of them is stated.
		if !stated {
			for _, miss := range misses {
				r.out.Pruned.Add(miss)
			}
		}
	}
}

// pair is a subject's and an object's entity token with their certainty.
type pair struct {
	subject, object int
	score           float64
}

// pairs reads the statements that the cue at token i makes.
func (r *cueReader) pairs(i int, c *cue) []pair {
	if c.possessive {
		return r.owned(i, c)
	}
	if !r.inflected(i, c) {
		return nil
	}
	end := i + c.length
	if !c.gapOnly {
		return r.statement(i, end, c)
	}
	for j := end; j < len(r.tokens) && j-end <= maxGap; j++ {
		t := r.at(j)
		if t.pronoun {
			return nil
		}
		if j == end && c.implied && t.kind == wordToken && determiners[t.lower] {
			// "moved his company to": the verb has an object of its own.
			return nil
		}
		if t.kind == punctToken && t.lower == "," && j > end && r.isEntity(j-1) && (r.isEntity(j+1) || r.isWord(j+1, prepositions)) {
			continue
		}
		if t.kind == punctToken && t.lower != "'s" || t.kind == wordToken && (conjunctions[t.lower] || pronouns[t.lower] || isNegation(t.lower) || j > end && beForms[t.lower]) {
			return nil
		}
		if j > end && t.kind == wordToken && t.lower == c.tail {
			if found := r.statement(i, j+1, c); len(found) > 0 && r.suitable(c, found[0]) {
				return found
			}
		}
	}
	return nil
}

// inflected refuses the base form of a verb that the cue has with an ending,
// unless several do it: "plans to join" and "a work at" state nothing.
func (r *cueReader) inflected(i int, c *cue) bool {
	word := r.at(i).lower
	if word == c.first {
		return true
	}
	_, base := stem(word)
	_, cueBase := stem(c.first)
	if !base || cueBase {
		return true
	}
	g, ok := r.subject(i, c, nil)
	return ok && len(g.tokens) > 1
}

// statement reads the cue from token i to end with what stands at its sides.
func (r *cueReader) statement(i, end int, c *cue) []pair {
	subjects, fact := r.subject(i, c, &r.last)
	if !fact {
		return nil
	}
	objects, ok := r.object(end, func(kind string) bool { return r.takes(c, kind) })
	if !ok {
		return nil
	}
	if len(subjects.tokens) == 0 {
		return r.fronted(i, c, objects)
	}
	if subjects.tokens[0] == objects.tokens[0] {
		return nil
	}
	r.last = clause{subject: subjects, end: objects.tokens[len(objects.tokens)-1] + 1}
	return product(subjects, objects)
}

func product(subjects, objects group) []pair {
	score := directScore - tokenPenalty*float64(subjects.skipped+objects.skipped)
	if subjects.guessed {
		score -= guessPenalty
	}
	var out []pair
	for _, s := range subjects.tokens {
		for _, o := range objects.tokens {
			out = append(out, pair{subject: s, object: o, score: max(score, leastScore)})
		}
	}
	return out
}

// fronted reads phrases that come before the subject they are about: "Founded
// by A, B …", "The CEO of B, A, …", "The CEO of B is A".
func (r *cueReader) fronted(i int, c *cue, objects group) []pair {
	start := i
	for start > 0 && (r.isWord(start-1, determiners) || r.isPlain(start-1) && !looksLikeVerb(r.at(start-1).lower)) && i-start < 3 {
		start--
	}
	if !c.reduced || start > 0 && !r.isPunct(start-1, ",;:") || r.denied(start) {
		return nil
	}
	j := objects.tokens[len(objects.tokens)-1] + 1
	nominal := r.at(i+c.length-1).lower == "of"
	comma := r.isPunct(j, ",")
	switch {
	case nominal && r.isWord(j, beForms):
		j++
	case comma:
		j++
	case !nominal:
		return nil
	}
	if comma && !nominal && r.isEntity(j) && r.kindOf(j) == r.kindOf(j-2) && r.isPunct(j+1, ",") {
		// The object's own region: "Born in Ulm, Germany, …".
		j += 2
	}
	for k := 0; k < 3 && (r.isWord(j, determiners) || comma && !nominal && r.isPlain(j)); k++ {
		j++
	}
	if !r.isEntity(j) || r.at(j+1).lower == "'s" {
		return nil
	}
	if nominal && comma && !r.isPunct(j+1, ",.;)") {
		return nil
	}
	subject := group{tokens: []int{j}, skipped: 1, guessed: true}
	r.last = clause{subject: group{tokens: []int{j}}, end: j + 1}
	return product(subject, objects)
}

// owned reads "B's CEO A" and "B CEO A" for the cue "is CEO of".
func (r *cueReader) owned(i int, c *cue) []pair {
	end := i + c.length
	j := i - 1
	for k := 0; k < 2 && r.isPlain(j); k++ {
		j--
	}
	possessed := r.isPunct(j, "'") || r.at(j).kind == punctToken && r.at(j).lower == "'s"
	switch {
	case possessed:
		j--
	case j != i-1:
		return nil
	}
	if !r.isEntity(j) || r.denied(j) {
		return nil
	}
	if possessed && r.isPunct(end, ",") {
		end++
	}
	if !r.isEntity(end) {
		return nil
	}
	return product(group{tokens: []int{end}}, group{tokens: []int{j}, skipped: i - 1 - j})
}

// takes reports whether the cue's relation can have an object of the type.
func (r *cueReader) takes(c *cue, kind string) bool {
	side := 1
	if c.passive {
		side = 0
	}
	relation, _ := r.set.ontology.Relation(c.relation)
	if len(relation.Patterns) == 0 {
		return r.set.declared[kind]
	}
	return slices.ContainsFunc(relation.Patterns, func(p graph.Pattern) bool { return p[side] == kind })
}

func (r *cueReader) suitable(c *cue, p pair) bool {
	source, target := r.ends(c, p)
	return r.set.allows(source.Type, c.relation, target.Type)
}

// ends orders a pair by the cue's voice.
func (r *cueReader) ends(c *cue, p pair) (source, target graph.Mention) {
	s, o := r.mentions[r.tokens[p.subject].mention], r.mentions[r.tokens[p.object].mention]
	if c.passive {
		return o, s
	}
	return s, o
}

// emit adds the relation if it is declared. ok is true also for one that was
// added before; miss is what to count otherwise, nil for nothing.
func (r *cueReader) emit(c *cue, p pair) (miss *graph.Pruned, ok bool) {
	source, target := r.ends(c, p)
	if graph.NameKey(source.Text) == graph.NameKey(target.Text) {
		return nil, false
	}
	if !r.set.allows(source.Type, c.relation, target.Type) {
		pruned := prunedRelation(r.set.ontology, source.Type, c.relation, target.Type, source.Text, target.Text)
		return &pruned, false
	}
	from, to := r.tokens[p.subject], r.tokens[p.object]
	relation := graph.RelationMention{Source: from.mention, Target: to.mention, Type: c.relation}
	if c.passive {
		relation.Source, relation.Target = relation.Target, relation.Source
	}
	if r.seen[relation] {
		return nil, true
	}
	r.seen[relation] = true
	relation.Evidence = r.evidence(min(from.start, to.start), max(from.end, to.end))
	relation.Score = p.score * min(source.Score, target.Score)
	if from.pronoun || to.pronoun {
		relation.Score *= pronounShare
		relation.Evidence.Start = min(relation.Evidence.Start, r.since+r.chunk.Range.Start)
	}
	relation.Method = cueMethod
	r.out.Relations = append(r.out.Relations, relation)
	return nil, true
}

// evidence is the sentence, or of a very long one the part around start to end,
// cut between words.
func (r *cueReader) evidence(start, end int) graph.Range {
	at := r.within
	if at.Len() > maxEvidenceBytes {
		margin := max(0, maxEvidenceBytes-(end-start)) / 2
		if from := start - margin; from > at.Start {
			at.Start = start
			for _, t := range r.tokens {
				if t.start >= from && t.start <= start {
					at.Start = t.start
					break
				}
			}
		}
		if to := end + margin; to < at.End {
			at.End = end
			for _, t := range r.tokens {
				if t.end >= end && t.end <= to {
					at.End = t.end
				}
			}
		}
	}
	return graph.Range{Start: at.Start + r.chunk.Range.Start, End: at.End + r.chunk.Range.Start}
}
