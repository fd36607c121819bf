package store

import (
	"context"

	"graphmill/pipeline/falkor/cypher"
	"graphmill/pipeline/graph"
)

// ReadFromFile reports whether a document of that id stands in the graph and was
// read from a file, whoever wrote it: it carries a loader's name, has a path other
// than its id, or is a table. A file's own document whose path is that id counts
// as well, for the two could not be told apart by path.
func (s *Store) ReadFromFile(ctx context.Context, id graph.DocumentID) (bool, error) {
	ids := []string{string(id), string(graph.FileDocumentID(string(id)))}
	rows, err := s.read(ctx, cypher.New(`UNWIND $ids AS id MATCH (d:Document {id: id})
RETURN d.id AS id, d.path AS path, d.loader AS loader, d.format AS format, d.source_type AS source_type, d.content_type AS content_type, d.table AS table`,
		cypher.Params{"ids": ids}))
	if err != nil {
		return false, err
	}
	for i := range rows.Len() {
		path, of := rows.String(i, "path"), rows.String(i, "id")
		table := rows.String(i, "table") != ""
		for _, property := range []string{"format", "source_type", "content_type"} {
			table = table || rows.String(i, property) == "table"
		}
		if of != string(id) || rows.String(i, "loader") != "" || path != "" && path != of || table {
			return true, nil
		}
	}
	return false, rows.Err()
}
