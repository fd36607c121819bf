package store

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"graphmill/pipeline/falkor/conn"
	"graphmill/pipeline/falkor/cypher"
	"graphmill/pipeline/graph"
)

// NamedEntity is an entity as documents name it, whatever it is merged into.
type NamedEntity struct {
	ID    graph.EntityID
	Type  string
	Names []string // as documents show them, sorted
}

// NamedPlace is a chunk that names an entity.
type NamedPlace struct {
	Path, Chunk string
	Name        string
	Spans       []graph.Span
}

// namedDocuments is how many documents' names one statement reads.
const namedDocuments = 16

// NamedBy reads the entities that documents with one of the resolvers name, by
// id.
func (s *Store) NamedBy(ctx context.Context, resolvers []string) ([]NamedEntity, error) {
	rows, err := s.read(ctx, cypher.New(`UNWIND $resolvers AS resolver MATCH (d:Document {resolver: resolver}) RETURN d.id AS id`,
		cypher.Params{"resolvers": resolvers}))
	if err != nil {
		return nil, err
	}
	documents := make([]string, rows.Len())
	for i := range documents {
		documents[i] = rows.String(i, "id")
	}
	slices.Sort(documents)
	found := map[graph.EntityID]*NamedEntity{}
	for part := range slices.Chunk(documents, namedDocuments) {
		rows, err := s.read(ctx, cypher.New(`UNWIND $ids AS document MATCH (d:Document {id: document})-[:PART_OF]->(:Chunk)<-[m:MENTIONED_IN]-(e:__Entity__)
RETURN DISTINCT coalesce(m.origin, e.id) AS named, coalesce(m.origin_type, e.type) AS type, m.names AS names`, over("ids", part)))
		if err != nil {
			return nil, err
		}
		for i := range rows.Len() {
			id := graph.EntityID(rows.String(i, "named"))
			e := found[id]
			if e == nil {
				e = &NamedEntity{ID: id}
				found[id] = e
			}
			e.Type = smaller(e.Type, rows.String(i, "type"))
			for _, name := range rows.Strings(i, "names") {
				if at, have := slices.BinarySearch(e.Names, name); !have {
					e.Names = slices.Insert(e.Names, at, name)
				}
			}
		}
		if err := rows.Err(); err != nil {
			return nil, s.client.Wrap("read names of graph "+s.options.Graph, err)
		}
	}
	out := make([]NamedEntity, 0, len(found))
	for _, e := range found {
		if len(e.Names) > 0 {
			out = append(out, *e)
		}
	}
	slices.SortFunc(out, func(a, b NamedEntity) int { return cmp.Compare(a.ID, b.ID) })
	return out, nil
}

// PlacesOf reads where documents name entities, by path and chunk.
func (s *Store) PlacesOf(ctx context.Context, ids []graph.EntityID) (map[graph.EntityID][]NamedPlace, error) {
	merged, err := s.merged(ctx)
	if err != nil {
		return nil, err
	}
	rows := make([]cypher.Record, len(ids))
	for i, id := range ids {
		at, _ := merged.of(string(id))
		rows[i] = cypher.Record{{Name: "e", Value: at}, {Name: "o", Value: string(id)}}
	}
	places := map[graph.EntityID][]NamedPlace{}
	err = eachPage(ctx, s, rows, placesOf, func(rows *conn.Rows) {
		for i := range rows.Len() {
			p := NamedPlace{Path: rows.String(i, "path"), Chunk: rows.String(i, "chunk")}
			if names := rows.Strings(i, "names"); len(names) > 0 {
				p.Name = names[0]
			}
			if json.Unmarshal([]byte(rows.String(i, "spans")), &p.Spans) != nil || len(p.Spans) == 0 {
				continue // another program's
			}
			id := graph.EntityID(rows.String(i, "origin"))
			places[id] = append(places[id], p)
		}
	})
	for _, list := range places {
		slices.SortFunc(list, func(a, b NamedPlace) int {
			return cmp.Or(cmp.Compare(a.Path, b.Path), a.Spans[0].Start-b.Spans[0].Start, cmp.Compare(a.Chunk, b.Chunk))
		})
	}
	return places, err
}

func placesOf(rows []cypher.Record) cypher.Statement {
	return cypher.New(`UNWIND $rows AS row MATCH (e:__Entity__ {id: row.e})-[m:MENTIONED_IN]->(c:Chunk)
WHERE coalesce(m.origin, row.e) = row.o MATCH (d:Document)-[:PART_OF]->(c)
RETURN row.o AS origin, d.path AS path, c.id AS chunk, m.spans AS spans, m.names AS names`, cypher.Params{"rows": rows})
}
