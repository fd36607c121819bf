package store

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"graphmill/pipeline/falkor/cypher"
)

// Diff is what a run changed in the graph, from before its first transaction to
// after its last.
type Diff struct {
	Documents Altered `json:"documents"`
	Entities  Altered `json:"entities"`
	Relations Altered `json:"relations"`
	Merges    Altered `json:"merges"`
	// Complete is false when the run changed more than is recorded, or something was
	// forgotten since: the lists are then those of its first transactions, or
	// empty, and the counts add up transactions.
	Complete bool `json:"complete"`
}

// Altered are the things of one kind that a run changed, by type and name.
type Altered struct {
	Added   []AlteredThing `json:"added"`
	Changed []AlteredThing `json:"changed"`
	Removed []AlteredThing `json:"removed"`
	// Counts of them, and of things that are only said more or less often than
	// before, which are not listed.
	Counts AlteredCounts `json:"counts"`
}

// AlteredCounts count what a run changed.
type AlteredCounts struct {
	Added   int `json:"added"`
	Changed int `json:"changed"`
	Removed int `json:"removed"`
	Support int `json:"support"`
}

// AlteredThing is a thing and what of it is another.
type AlteredThing struct {
	ID     string                  `json:"id"`
	Type   string                  `json:"type,omitempty"`
	Name   string                  `json:"name"`
	Fields map[string]AlteredField `json:"fields,omitempty"` // of a changed one, and the path of a document that moved
}

// AlteredField is a property before and after.
type AlteredField struct {
	Before string `json:"before"`
	After  string `json:"after"`
}

// Diff reads what a run changed; ok is false when there is no record of it.
func (s *Store) Diff(ctx context.Context, run string) (diff Diff, ok bool, err error) {
	rows, err := s.read(ctx, cypher.New(`MATCH (x:__Change__) WHERE x.run = $run
RETURN x.seq AS seq, x.counts AS counts, x.data AS data ORDER BY seq`, cypher.Params{"run": run}))
	if err != nil {
		return diff, false, err
	}
	diff.Complete = true
	counts, net := map[string]int{}, map[[2]string]altered{}
	for i := range rows.Len() {
		one := map[string]int{}
		if err := json.Unmarshal([]byte(rows.String(i, "counts")), &one); err != nil {
			return diff, false, s.client.Wrap("read changes of run "+run, err)
		}
		for key, n := range one {
			counts[key] += n
		}
		text := rows.String(i, "data")
		if text == "" {
			diff.Complete = false
			continue
		}
		changes, err := unpacked(text)
		if err != nil {
			return diff, false, s.client.Wrap("read changes of run "+run, err)
		}
		for _, change := range changes {
			key := [2]string{change.Kind, change.ID}
			if had, ok := net[key]; ok {
				change = had.then(change)
			}
			net[key] = change
		}
	}
	diff.fill(net)
	if !diff.Complete {
		diff.count(counts)
	}
	return diff, rows.Len() > 0, rows.Err()
}

// then is what two changes of one thing amount to.
func (one altered) then(next altered) altered {
	out := next
	out.Before = one.Before
	out.Fields = map[string][2]string{}
	for field, pair := range one.Fields {
		out.Fields[field] = pair
	}
	for field, pair := range next.Fields {
		if had, ok := out.Fields[field]; ok {
			pair[0] = had[0]
		}
		out.Fields[field] = pair
	}
	for field, pair := range out.Fields {
		if pair[0] == pair[1] {
			delete(out.Fields, field)
		}
	}
	return out
}

func (d *Diff) parts() map[string]*Altered {
	return map[string]*Altered{"d": &d.Documents, "e": &d.Entities, "r": &d.Relations, "m": &d.Merges}
}

func (d *Diff) fill(net map[[2]string]altered) {
	for kind, part := range d.parts() {
		*part = Altered{Added: []AlteredThing{}, Changed: []AlteredThing{}, Removed: []AlteredThing{}}
		for key, one := range net {
			if key[0] == kind {
				part.take(one)
			}
		}
		for _, list := range [][]AlteredThing{part.Added, part.Changed, part.Removed} {
			slices.SortFunc(list, func(a, b AlteredThing) int {
				return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
			})
		}
		part.Counts.Added, part.Counts.Changed, part.Counts.Removed = len(part.Added), len(part.Changed), len(part.Removed)
	}
}

func (p *Altered) take(one altered) {
	thing := AlteredThing{ID: one.ID, Type: one.Type, Name: one.Name}
	switch {
	case !one.Before && !one.After, one.Before && one.After && len(one.Fields) == 0: // there and back again
	case !one.Before:
		if from, moved := one.Fields[fieldPath]; moved {
			thing.Fields = map[string]AlteredField{fieldPath: {from[0], from[1]}}
		}
		p.Added = append(p.Added, thing)
	case !one.After:
		p.Removed = append(p.Removed, thing)
	case one.sign() == "=":
		p.Counts.Support++
	default:
		thing.Fields = map[string]AlteredField{}
		for field, pair := range one.Fields {
			thing.Fields[field] = AlteredField{pair[0], pair[1]}
		}
		p.Changed = append(p.Changed, thing)
	}
}

// count takes the counts of transactions where not all of them are listed.
func (d *Diff) count(counts map[string]int) {
	for kind, part := range d.parts() {
		part.Counts = AlteredCounts{Added: counts[kind+"+"], Changed: counts[kind+"~"], Removed: counts[kind+"-"], Support: counts[kind+"="]}
	}
}
