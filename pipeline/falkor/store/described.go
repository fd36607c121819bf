package store

import (
	"context"
	"slices"
	"strconv"
	"time"

	"graphmill/pipeline/falkor/conn"
	"graphmill/pipeline/falkor/cypher"
	"graphmill/pipeline/graph"
)

// Joined is an entity of which a rule joined names, with what documents say under
// each of them.
type Joined struct {
	ID         graph.EntityID
	Name, Type string
	Aliases    []string
	Origins    []graph.EntityID // as documents name it, sorted; itself too
	Sentences  []string         // the most telling under each of these names; sorted, each once
}

// Description is the id of the common description that is made of the entity's
// sentences, whatever their order.
func (j Joined) Description() string { return descriptionID(string(j.ID), j.Sentences) }

func descriptionID(entity string, sentences []string) string {
	parts := append([]string{"description", entity, strconv.Itoa(len(sentences))}, sentences...)
	return "d" + graph.Hash(parts...)[:24]
}

// Description records what a language model made of an entity's sentences.
type Description struct {
	ID      string // see [Joined.Description]
	Entity  graph.EntityID
	Text    string // "" of an answer that was refused
	Refused string // why it was
}

// JoinedBy reads the entities of which active merges by a rule joined names, by id.
func (s *Store) JoinedBy(ctx context.Context, rule string) ([]Joined, error) {
	records, err := s.Merges(ctx)
	if err != nil {
		return nil, err
	}
	kept := map[string]bool{}
	for _, m := range records {
		if m.applied && m.Rule == rule {
			kept[string(m.Kept)] = true
		}
	}
	ids := sortedKeys(kept)
	st := &standing{entities: map[string]share{}}
	if err := s.loadEntities(ctx, st, ids); err != nil {
		return nil, err
	}
	said := map[string]map[string]share{}
	err = eachPage(ctx, s, ids, mentionsOf, func(rows *conn.Rows) {
		for i := range rows.Len() {
			m, id := decodeMention(rows, i), rows.String(i, "entity")
			if said[id] == nil {
				said[id] = map[string]share{}
			}
			origin := or(m.origin, id)
			said[id][origin] = said[id][origin].merge(m.share())
		}
	})
	var joined []Joined
	for _, id := range ids {
		e, stands := st.entities[id]
		if !stands {
			continue
		}
		j := Joined{ID: graph.EntityID(id), Name: e.name, Type: e.kind, Aliases: e.others, Sentences: sentencesOf(said[id])}
		for _, origin := range sortedKeys(said[id]) {
			j.Origins = append(j.Origins, graph.EntityID(origin))
		}
		joined = append(joined, j)
	}
	return joined, err
}

// sentencesOf are the most telling sentence of each name.
func sentencesOf(names map[string]share) []string {
	var sentences []string
	for _, name := range names {
		if name.about != "" {
			sentences = append(sentences, name.about)
		}
	}
	return smallest(sentences, len(sentences))
}

// sentenceOf is the most telling sentence beside a common description; nil, which
// leaves the property out, where it is the description.
func sentenceOf(s share) any {
	if s.common == "" {
		return nil
	}
	return s.about
}

// Descriptions reads what is recorded, by id.
func (s *Store) Descriptions(ctx context.Context) (map[string]Description, error) {
	all := map[string]Description{}
	for after := ""; ; {
		rows, err := s.read(ctx, cypher.New(`MATCH (d:__Description__) WHERE d.id > $after WITH d ORDER BY d.id LIMIT $page
RETURN d.id AS id, d.entity AS entity, d.text AS text, d.refused AS refused ORDER BY id`, cypher.Params{"after": after, "page": mergePage}))
		if err != nil {
			return nil, err
		}
		for i := range rows.Len() {
			d := Description{ID: rows.String(i, "id"), Entity: graph.EntityID(rows.String(i, "entity")), Text: rows.String(i, "text"), Refused: rows.String(i, "refused")}
			all[d.ID], after = d, d.ID
		}
		if err := rows.Err(); err != nil {
			return nil, s.client.Wrap("read descriptions of graph "+s.options.Graph, err)
		}
		if rows.Len() == 0 {
			return all, nil
		}
	}
}

// describeEach is how many entities one statement describes.
const describeEach = 200

// Describe records descriptions, an entity's only one each, and has their entities
// say them; what is forgotten of others has its entity say its most telling
// sentence again. What is so already is not written.
//
// Dies anywhere: some entities are described and recorded so, the others are as
// they were.
func (s *Store) Describe(ctx context.Context, put, forget []Description) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	if err := s.prepare(ctx); err != nil {
		return err
	}
	recorded, err := s.Descriptions(ctx)
	if err != nil {
		return err
	}
	wanted, gone := map[string]Description{}, map[string][]string{}
	for _, d := range forget {
		gone[string(d.Entity)] = append(gone[string(d.Entity)], d.ID)
		wanted[string(d.Entity)] = Description{}
	}
	for _, d := range put {
		d.Text, d.Refused = clean(d.Text), clean(d.Refused)
		wanted[string(d.Entity)] = d
	}
	for ids := range slices.Chunk(sortedKeys(wanted), describeEach) {
		if err := s.describe(ctx, ids, wanted, gone, recorded); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) describe(ctx context.Context, ids []string, wanted map[string]Description, gone map[string][]string, recorded map[string]Description) error {
	st := &standing{entities: map[string]share{}}
	if err := s.loadEntities(ctx, st, ids); err != nil {
		return err
	}
	after := map[string]share{}
	var written []Description
	var forgotten []string
	for _, id := range ids {
		d := wanted[id]
		if now, stands := st.entities[id]; stands && now.common != d.Text {
			now.common = d.Text
			after[id] = now
		}
		if d.ID != "" && recorded[d.ID] != d {
			written = append(written, d)
		}
		forgotten = append(forgotten, slices.DeleteFunc(gone[id], func(old string) bool { return old == d.ID })...)
	}
	if len(after)+len(written)+len(forgotten) == 0 {
		return nil
	}
	t := &transaction{}
	t.begin()
	t.entities(after, st)
	t.forgetDescriptions(forgotten)
	t.descriptions(written)
	if s.tracking != nil {
		t.changes.entities(after, nil, st)
	}
	return s.execTracked(ctx, "describe entities", t, t.changes)
}

// descriptions writes records; the time of one that was there stays.
func (t *transaction) descriptions(list []Description) {
	rows := make([]cypher.Record, len(list))
	for i, d := range list {
		rows[i] = cypher.Record{{Name: "id", Value: d.ID}, {Name: "at", Value: stamp(time.Now())}, {Name: "p", Value: cypher.Record{
			{Name: "entity", Value: string(d.Entity)}, {Name: "text", Value: orNull(d.Text)}, {Name: "refused", Value: orNull(d.Refused)},
		}}}
	}
	t.add(len(rows), cypher.New(`UNWIND $rows AS row MERGE (d:__Description__ {id: row.id}) SET d += row.p, d.at = coalesce(d.at, row.at)`, over("rows", rows)))
}

func (t *transaction) forgetDescriptions(ids []string) {
	t.add(len(ids), cypher.New(`UNWIND $ids AS id MATCH (d:__Description__ {id: id}) DELETE d`, over("ids", ids)))
}
