package quality

import (
	"cmp"
	"maps"
	"slices"

	"graphmill/pipeline/graph"
)

// Found is what a pipeline found in one passage. Resolved gives each mention
// its entity; a mention with "" was dropped.
type Found struct {
	Mentions  []graph.Mention // ranges in bytes of the passage's text
	Resolved  []graph.EntityID
	Relations []graph.RelationMention
}

// The measures.
const (
	// Mentions are right with the exact span and type.
	Mentions = "mentions"
	// Spans are mentions whatever their type, for information.
	Spans = "spans"
	// Entities are right when type and a mention agree with a labelled entity
	// that no other found entity stands for: of two entities found for one
	// thing, one is wrong.
	Entities = "entities"
	// Relations are right when type and both ends agree with a labelled one.
	Relations = "relations"
	// Stated leaves out the labelled relations that are anaphoric: what a reader
	// of single sentences could find.
	Stated = "stated relations"
)

// Measures lists all measures in the order of the table.
var Measures = [...]string{Mentions, Spans, Entities, Relations, Stated}

// The measures of single types, for information.
const (
	MentionTypes  = "mention types"
	RelationTypes = "relation types"
)

// Counts are how many were found, labelled, and both.
type Counts struct{ Right, Found, Labelled int }

func (c Counts) plus(d Counts) Counts {
	return Counts{c.Right + d.Right, c.Found + d.Found, c.Labelled + d.Labelled}
}

// Precision is the share of what was found that is right, 0 to 1.
func (c Counts) Precision() float64 { return ratio(c.Right, c.Found) }

// Recall is the share of what is labelled that was found.
func (c Counts) Recall() float64 { return ratio(c.Right, c.Labelled) }

// F1 is the harmonic mean of precision and recall.
func (c Counts) F1() float64 { return ratio(2*c.Right, c.Found+c.Labelled) }

func add(to map[string]Counts, key string, c Counts) { to[key] = to[key].plus(c) }

func ratio(part, whole int) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

// Miss is one difference between what was found and what is labelled.
type Miss struct {
	Passage, Measure string
	Extra            bool // found and not labelled, otherwise the reverse
	Text             string
}

// Measured are a passage's figures.
type Measured struct {
	Counts map[string]Counts // by measure
	// Mentions and Relations are by type.
	Mentions, Relations map[string]Counts
	Misses              []Miss
}

// Measure compares what was found in a passage with its labels.
func Measure(p Passage, found Found) Measured {
	m := measuring{passage: p, out: Measured{
		Counts: map[string]Counts{}, Mentions: map[string]Counts{}, Relations: map[string]Counts{},
	}}
	m.mentions(found)
	m.entities(found)
	m.relations(found)
	return m.out
}

type measuring struct {
	passage Passage
	out     Measured
	// labelled is, by span, the labelled mention there.
	labelled map[graph.Span]Mention
	// spans are those of the found mentions.
	spans []graph.Span
}

func (m *measuring) miss(measure string, extra bool, text string) {
	m.out.Misses = append(m.out.Misses, Miss{Passage: m.passage.ID, Measure: measure, Extra: extra, Text: text})
}

// agrees reports that found mention i is labelled with its span and type.
func (m *measuring) agrees(found Found, i int) (Mention, bool) {
	label, ok := m.labelled[m.spans[i]]
	return label, ok && label.Type == found.Mentions[i].Type
}

func (m *measuring) mentions(found Found) {
	offsets := graph.NewOffsets(m.passage.Text)
	m.labelled = map[graph.Span]Mention{}
	for _, l := range m.passage.Entities {
		m.labelled[l.Span] = l
	}
	exact := Counts{Found: len(found.Mentions), Labelled: len(m.passage.Entities)}
	spans := exact
	right := map[graph.Span]bool{}
	for i, f := range found.Mentions {
		m.spans = append(m.spans, offsets.Span(f.Range))
		label, same := m.agrees(found, i)
		if label.Text != "" {
			spans.Right++
		}
		one := Counts{Found: 1}
		if same {
			exact.Right++
			one.Right++
			right[label.Span] = true
		} else {
			m.miss(Mentions, true, f.Text+"/"+f.Type)
		}
		add(m.out.Mentions, f.Type, one)
	}
	for _, l := range m.passage.Entities {
		add(m.out.Mentions, l.Type, Counts{Labelled: 1})
		if !right[l.Span] {
			m.miss(Mentions, false, l.Text+"/"+l.Type)
		}
	}
	m.out.Counts[Mentions], m.out.Counts[Spans] = exact, spans
}

// entities joins found entities to labelled ones, those with the most mentions
// in common first.
func (m *measuring) entities(found Found) {
	type link struct {
		entity graph.EntityID
		label  string
	}
	shared := map[link]int{}
	all := map[graph.EntityID]string{}
	for i, id := range found.Resolved {
		if id == "" {
			continue
		}
		all[id] = found.Mentions[i].Text + "/" + found.Mentions[i].Type
		if label, ok := m.agrees(found, i); ok {
			shared[link{id, label.Entity}]++
		}
	}
	links := slices.SortedFunc(maps.Keys(shared), func(a, b link) int {
		return cmp.Or(cmp.Compare(shared[b], shared[a]), cmp.Compare(a.label, b.label), cmp.Compare(a.entity, b.entity))
	})
	taken, stands := map[string]bool{}, map[graph.EntityID]bool{}
	for _, l := range links {
		if !taken[l.label] && !stands[l.entity] {
			taken[l.label], stands[l.entity] = true, true
		}
	}
	names := m.names()
	m.out.Counts[Entities] = Counts{Right: len(taken), Found: len(all), Labelled: len(names)}
	for _, id := range slices.Sorted(maps.Keys(all)) {
		if !stands[id] {
			m.miss(Entities, true, all[id])
		}
	}
	for _, label := range slices.Sorted(maps.Keys(names)) {
		if !taken[label] {
			m.miss(Entities, false, names[label])
		}
	}
}

// names gives each labelled entity its first mention.
func (m *measuring) names() map[string]string {
	names := map[string]string{}
	for _, l := range m.passage.Entities {
		if names[l.Entity] == "" {
			names[l.Entity] = l.Text
		}
	}
	return names
}

// symmetric relations hold in both directions, and count once.
var symmetric = map[string]bool{"FAMILY_OF": true, "PARTNER_OF": true}

// key is what tells a relation of a passage from the others.
func (r Relation) key() Relation {
	if r.Anaphoric = false; symmetric[r.Type] && r.Source > r.Target {
		r.Source, r.Target = r.Target, r.Source
	}
	return r
}

func (m *measuring) relations(found Found) {
	names := m.names()
	labels := map[Relation]bool{} // → is anaphoric
	for _, r := range m.passage.Relations {
		labels[r.key()] = r.Anaphoric
	}
	seen := map[Relation]bool{}
	all, stated := Counts{Labelled: len(labels)}, Counts{}
	for _, r := range found.Relations {
		f := Relation{Source: m.end(found, r.Source), Type: r.Type, Target: m.end(found, r.Target)}.key()
		if seen[f] {
			continue
		}
		seen[f] = true
		all.Found++
		anaphoric, ok := labels[f]
		one := Counts{Found: 1}
		if ok {
			all.Right++
			one.Right++
		} else {
			m.miss(Relations, true, found.Mentions[r.Source].Text+" "+r.Type+" "+found.Mentions[r.Target].Text)
		}
		add(m.out.Relations, r.Type, one)
		if !ok || !anaphoric {
			stated.Found++
		}
		if ok && !anaphoric {
			stated.Right++
		}
	}
	for _, r := range m.passage.Relations {
		add(m.out.Relations, r.Type, Counts{Labelled: 1})
		if !r.Anaphoric {
			stated.Labelled++
		}
		if !seen[r.key()] {
			how := ""
			if r.Anaphoric {
				how = " (anaphoric)"
			}
			m.miss(Relations, false, names[r.Source]+" "+r.Type+" "+names[r.Target]+how)
		}
	}
	m.out.Counts[Relations], m.out.Counts[Stated] = all, stated
}

// end is the labelled entity that a found mention belongs to, or a name that no
// label has.
func (m *measuring) end(found Found, i int) string {
	if label, ok := m.agrees(found, i); ok {
		return label.Entity
	}
	return "found:" + string(found.Resolved[i])
}
