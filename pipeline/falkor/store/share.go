package store

import (
	"encoding/json"
	"math"
	"slices"
	"strings"

	"graphmill/pipeline/falkor/cypher"
	"graphmill/pipeline/falkor/shape"
	"graphmill/pipeline/graph"
)

// share is what some mentions say of one entity. Shares of disjoint sets of
// mentions merge by operations that are associative and do not mind the order,
// so that a share is a function of its set of mentions alone.
type share struct {
	kind     string // type; the smallest of spellings that differ in case
	key      string
	keys     []string // those of entities that were merged into it, sorted
	name     string   // the one that graph.Shows
	others   []string // further names, sorted, the smallest MaxAliases
	telling  float64
	about    string // the most telling sentence, then the smallest
	common   string // the description instead, of several names that a model joined; no merge of shares keeps it
	mentions int
	score    float64
	chunks   []string // where it is mentioned, sorted, the smallest MaxSourceChunks
}

// mention is one entity's occurrences in one chunk, as they are stored.
type mention struct {
	chunk   string
	origin  string // the entity that the document names, when that was merged into another
	kind    string // the origin's type
	names   []string
	about   string
	telling float64
	score   float64
	count   int
}

func (m mention) share() share {
	s := share{telling: m.telling, about: m.about, mentions: m.count, score: m.score, chunks: []string{m.chunk}}
	s.name, s.others = pickName(m.names)
	if m.origin != "" {
		s.keys = []string{graph.NameKey(s.name)}
	}
	return s
}

// described is the description that readers see.
func (s share) described() string { return or(s.common, s.about) }

// merge joins two shares. An empty share changes nothing.
func (s share) merge(o share) share {
	switch {
	case s.mentions == 0 && s.name == "":
		return s.identify(o, o)
	case o.mentions == 0 && o.name == "":
		return s.identify(o, s)
	}
	names := append(append([]string{s.name, o.name}, s.others...), o.others...)
	merged := share{mentions: s.mentions + o.mentions, score: max(s.score, o.score), telling: s.telling, about: s.about}
	merged.name, merged.others = pickName(names)
	if o.telling > s.telling || o.telling == s.telling && o.about < s.about {
		merged.telling, merged.about = o.telling, o.about
	}
	merged.chunks = smallest(append(slices.Clone(s.chunks), o.chunks...), shape.MaxSourceChunks)
	if len(s.keys)+len(o.keys) > 0 {
		merged.keys = append(slices.Clone(s.keys), o.keys...)
		merged.keys = smallest(merged.keys, len(merged.keys))
	}
	return s.identify(o, merged)
}

// identify gives merged the type and key of s and o.
func (s share) identify(o, merged share) share {
	merged.kind = smaller(s.kind, o.kind)
	merged.key = smaller(s.key, o.key)
	return merged
}

func smaller(a, b string) string {
	if a == "" || b != "" && b < a {
		return b
	}
	return a
}

// pickName chooses the display form among names and sorts the others. Dropping
// aliases beyond the cap before a merge or after it gives the same: the name is
// never among them.
func pickName(names []string) (name string, others []string) {
	for _, n := range names {
		if name == "" || graph.Shows(n, name) {
			name = n
		}
	}
	for _, n := range names {
		if n != name && n != "" {
			others = append(others, n)
		}
	}
	return name, smallest(others, shape.MaxAliases)
}

// smallest sorts list, drops what stands twice and keeps the first most.
func smallest(list []string, most int) []string {
	slices.Sort(list)
	list = slices.Compact(list)
	return list[:min(len(list), most)]
}

// edge is a relation with all of its evidence.
type edge struct {
	source, target, kind string
	evidence             []evidence // sorted, each once
	foreign              bool       // another program wrote it
}

type edgeKey struct{ source, target, kind string }

func (e edge) id() edgeKey { return edgeKey{e.source, e.target, e.kind} }

// evidence is one sentence that states a relation, with the names its document
// uses for the two ends.
type evidence struct {
	chunk, quote, method   string
	sourceName, targetName string
	// The entities that the document names, where they were merged into the
	// edge's ends; "" where they are its ends.
	sourceID, targetID string
	span               graph.Span
	score              float64
}

func compareEvidence(a, b evidence) int {
	for _, c := range []int{
		strings.Compare(a.chunk, b.chunk), a.span.Start - b.span.Start, a.span.End - b.span.End,
		strings.Compare(a.quote, b.quote), strings.Compare(a.method, b.method),
		strings.Compare(a.sourceName, b.sourceName), strings.Compare(a.targetName, b.targetName),
		strings.Compare(a.sourceID, b.sourceID), strings.Compare(a.targetID, b.targetID),
	} {
		if c != 0 {
			return c
		}
	}
	switch {
	case a.score < b.score:
		return -1
	case a.score > b.score:
		return 1
	}
	return 0
}

// with returns e with more evidence and without that of some chunks.
func (e edge) with(more []evidence, without map[string]bool) edge {
	kept := make([]evidence, 0, len(e.evidence)+len(more))
	for _, ev := range e.evidence {
		if !without[ev.chunk] {
			kept = append(kept, ev)
		}
	}
	kept = append(kept, more...)
	slices.SortFunc(kept, compareEvidence)
	e.evidence = slices.CompactFunc(kept, func(a, b evidence) bool { return compareEvidence(a, b) == 0 })
	return e
}

// statement is what an edge says on the whole.
type statement struct {
	sourceName, targetName string
	about                  string // the best sentence: highest score, then the smallest text
	score                  float64
}

func (e edge) statement() statement {
	var s statement
	for i, ev := range e.evidence {
		if i == 0 || graph.Shows(ev.sourceName, s.sourceName) {
			s.sourceName = ev.sourceName
		}
		if i == 0 || graph.Shows(ev.targetName, s.targetName) {
			s.targetName = ev.targetName
		}
		if i == 0 || ev.score > s.score || ev.score == s.score && ev.quote < s.about {
			s.score, s.about = ev.score, ev.quote
		}
	}
	return s
}

// fact is the edge as a sentence, as graphrag-sdk words it.
func (s statement) fact(kind string) string {
	return "(" + s.sourceName + ", " + kind + ", " + s.targetName + "): " + s.about
}

// spans is the JSON text {chunk: [{start, end}, …]}; the nth span of a chunk
// belongs to the nth entry of that chunk in source_chunk_ids.
func (e edge) spans() string {
	byChunk := map[string][]graph.Span{}
	for _, ev := range e.evidence {
		byChunk[ev.chunk] = append(byChunk[ev.chunk], ev.span)
	}
	text, err := json.Marshal(byChunk)
	if err != nil {
		return "{}" // strings and integers always marshal
	}
	return string(text)
}

// rounded keeps six decimals: the engine prints 15 digits, and a number must come
// back as it went.
func rounded(f float64) float64 {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return 0
	}
	return math.Round(f*1e6) / 1e6
}

// clean gives strings the form in which they come back from the graph, so that
// what is compared is what is stored.
func clean[S ~string](s S) string { return cypher.Clean(string(s)) }
