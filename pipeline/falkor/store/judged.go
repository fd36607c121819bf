package store

import (
	"context"
	"slices"

	"graphmill/pipeline/falkor/conn"
	"graphmill/pipeline/falkor/cypher"
	"graphmill/pipeline/graph"
)

// JudgedDocument is a document whose names a language model may be asked about.
type JudgedDocument struct {
	Path, Content string
	MaxPairs      int
	Entities      []graph.EntityID // as the document names them
}

// JudgedDocuments reads the documents with a resolver, by path.
func (s *Store) JudgedDocuments(ctx context.Context, resolver string) ([]JudgedDocument, error) {
	rows, err := s.read(ctx, cypher.New(`MATCH (d:Document {resolver: $resolver})
OPTIONAL MATCH (d)-[:PART_OF]->(:Chunk)<-[m:MENTIONED_IN]-(e:__Entity__)
RETURN d.path AS path, d.content_hash AS content, d.max_llm_pairs AS most, collect(DISTINCT coalesce(m.origin, e.id)) AS entities ORDER BY path`,
		cypher.Params{"resolver": resolver}))
	if err != nil {
		return nil, err
	}
	documents := make([]JudgedDocument, rows.Len())
	for i := range documents {
		documents[i] = JudgedDocument{Path: rows.String(i, "path"), Content: rows.String(i, "content"), MaxPairs: rows.Int(i, "most")}
		for _, id := range rows.Strings(i, "entities") {
			documents[i].Entities = append(documents[i].Entities, graph.EntityID(id))
		}
		slices.Sort(documents[i].Entities)
	}
	return documents, s.client.Wrap("read documents of graph "+s.options.Graph, rows.Err())
}

// EntityCard is what the graph says of an entity, of what was merged into it too. Its
// description is a sentence of a document, never a model's words.
type EntityCard struct {
	Name, Type, Description string
	Aliases                 []string
}

// Cards reads entities that have nodes.
func (s *Store) Cards(ctx context.Context, ids []graph.EntityID) (map[graph.EntityID]EntityCard, error) {
	cards := map[graph.EntityID]EntityCard{}
	err := eachPage(ctx, s, ids, func(ids []graph.EntityID) cypher.Statement {
		return cypher.New(`UNWIND $ids AS id MATCH (e:__Entity__ {id: id})
RETURN id, e.name AS name, e.type AS type, coalesce(e.sentence, e.description) AS about, e.aliases AS aliases`, over("ids", ids))
	}, func(rows *conn.Rows) {
		for i := range rows.Len() {
			cards[graph.EntityID(rows.String(i, "id"))] = EntityCard{
				Name: rows.String(i, "name"), Type: rows.String(i, "type"), Description: rows.String(i, "about"), Aliases: rows.Strings(i, "aliases"),
			}
		}
	})
	return cards, err
}

// neighboursPage is how many entities one statement looks up in the vector index.
const neighboursPage = 100

// Neighbours reads, for entities that have vectors, up to k others whose vectors
// are nearer than a cosine distance. It is empty without a vector index.
func (s *Store) Neighbours(ctx context.Context, ids []graph.EntityID, k int, distance float64) ([][2]graph.EntityID, error) {
	if !s.vectors.indexed["__Entity__"] {
		return nil, nil
	}
	if err := s.awaitIndexes(ctx, nil); err != nil {
		return nil, err
	}
	var pairs [][2]graph.EntityID
	for part := range slices.Chunk(ids, neighboursPage) {
		rows, err := s.read(ctx, cypher.New(`UNWIND $ids AS id MATCH (e:__Entity__ {id: id}) WHERE e.embedding IS NOT NULL
CALL db.idx.vector.queryNodes('__Entity__', 'embedding', $k, e.embedding) YIELD node, score
WITH id, node.id AS other, score WHERE other <> id AND score < $distance RETURN id, other`, cypher.Params{"ids": part, "k": k + 1, "distance": distance}))
		if err != nil {
			return nil, err
		}
		for i := range rows.Len() {
			pairs = append(pairs, [2]graph.EntityID{graph.EntityID(rows.String(i, "id")), graph.EntityID(rows.String(i, "other"))})
		}
		if err := rows.Err(); err != nil {
			return nil, s.client.Wrap("look up vectors of graph "+s.options.Graph, err)
		}
	}
	return pairs, nil
}
