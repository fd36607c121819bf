package tools

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"graphmill/pipeline/falkor/conn"
	"graphmill/pipeline/falkor/cypher"
	"graphmill/pipeline/falkor/reader"
	"graphmill/pipeline/falkor/shape"
	"graphmill/queryd/evidence"
	"graphmill/toolserver"
)

const statusName = "status"

// Status is the reply of status.
type Status struct {
	N              int      `json:"n,omitempty"`
	Graph          string   `json:"graph"`
	Documents      int      `json:"documents"`
	Chunks         int      `json:"chunks"`
	Entities       int      `json:"entities"`
	Relations      int      `json:"relations"`
	EntityTypes    []Count  `json:"entity_types"`
	RelationTypes  []Count  `json:"relation_types"`
	CountedAt      string   `json:"counted_at"` // CountedStored or CountedLive
	Finalized      bool     `json:"finalized"`  // nothing changed since the last finalize
	EmbeddingModel string   `json:"embedding_model,omitempty"`
	Dimension      int      `json:"dimension,omitempty"`
	Warnings       []string `json:"warnings,omitempty"`
	toolserver.Notice
}

// Values of Status.CountedAt.
const (
	CountedStored = "commit" // by each commit, and again by finalize
	CountedLive   = "now"
)

// Count is a type and how many things there are of it.
type Count struct {
	Label string `json:"label"`
	Count int    `json:"count"`
}

func (k *kit) statusTool() (*toolserver.Tool, error) {
	return toolserver.NewTool(toolserver.Spec{
		Name:  statusName,
		Title: "Status of the graph",
		Description: "What the graph holds: counts of documents, chunks, entities and relations, and every entity type and relation type with its count. " +
			"For questions about the graph itself. The result carries one evidence number.",
		Input: object(nil, nil),
	}, k.status)
}

func (k *kit) status(ctx context.Context, _ struct{}) (*Status, error) {
	store, meta, err := k.open(ctx)
	if err != nil {
		return nil, err
	}
	counts, at := meta.Counts, CountedStored
	if !meta.Exists || counts.Documents == 0 && counts.Chunks == 0 && meta.FinalizePending {
		at = CountedLive
		if counts, err = countLive(ctx, store, k.Graph()); err != nil {
			return nil, k.explain(err)
		}
	}
	out := newStatus(k.Graph(), meta, counts, at)
	out.Warnings = k.Warnings()
	out.N = k.Ledger.Add(evidence.Item{Tool: statusName, Kind: evidence.Graph, Content: out.Text(1 << 20)})[0]
	return out, nil
}

func newStatus(name string, meta shape.Meta, counts shape.Counts, at string) *Status {
	out := &Status{
		Graph: name, Documents: counts.Documents, Chunks: counts.Chunks, Entities: counts.Entities, Relations: counts.Relations,
		EntityTypes: ranked(counts.EntityTypes), RelationTypes: ranked(counts.RelationTypes), CountedAt: at,
		Finalized: meta.Exists && !meta.FinalizePending, EmbeddingModel: meta.EmbeddingModel, Dimension: meta.Dimension,
	}
	switch {
	case !meta.Exists:
		out.Hint = "Another program wrote this graph, so its counts were made now."
	case counts.Documents == 0 && counts.Chunks == 0:
		out.Hint = "The graph is empty: no document was ingested, or all were forgotten. `ingestd run --root DIR` fills it."
	case meta.FinalizePending:
		out.Hint = "The graph changed since the last finalize (a run may be going on): the newest passages may be missing from searches. " +
			"`ingestd finalize` completes it."
	}
	return out
}

// ranked sorts counts by number, then label, the graph's own labels left out.
func ranked(counts map[string]int) []Count {
	out := make([]Count, 0, len(counts))
	for label, n := range counts {
		if label != "" && !internal(label) {
			out = append(out, Count{label, n})
		}
	}
	slices.SortFunc(out, func(a, b Count) int { return cmp.Or(b.Count-a.Count, cmp.Compare(a.Label, b.Label)) })
	return out
}

// countLive counts what no finalize has counted, each statement bounded by the
// reader's time-out.
func countLive(ctx context.Context, store *reader.Reader, name string) (shape.Counts, error) {
	counts := shape.Counts{EntityTypes: map[string]int{}, RelationTypes: map[string]int{}}
	group, ctx := errgroup.WithContext(ctx)
	count := func(statement cypher.Statement, take func(rows *conn.Rows, i int)) {
		group.Go(func() error {
			rows, err := store.Query(ctx, name, statement)
			if err != nil {
				return err
			}
			for i := range rows.Len() {
				take(rows, i)
			}
			return rows.Err()
		})
	}
	count(cypher.New(`MATCH (n:Document) RETURN count(n) AS n`, nil), func(rows *conn.Rows, i int) { counts.Documents = rows.Int(i, "n") })
	count(cypher.New(`MATCH (n:Chunk) RETURN count(n) AS n`, nil), func(rows *conn.Rows, i int) { counts.Chunks = rows.Int(i, "n") })
	count(cypher.New(`MATCH (n:__Entity__) RETURN n.type AS type, count(n) AS n`, nil), func(rows *conn.Rows, i int) {
		counts.Entities += rows.Int(i, "n")
		counts.EntityTypes[rows.String(i, "type")] = rows.Int(i, "n")
	})
	count(cypher.New(`MATCH ()-[r:RELATES]->() RETURN r.rel_type AS type, count(r) AS n`, nil), func(rows *conn.Rows, i int) {
		counts.Relations += rows.Int(i, "n")
		counts.RelationTypes[rows.String(i, "type")] = rows.Int(i, "n")
	})
	return counts, group.Wait()
}

// Text tells the counts.
func (s *Status) Text(limit int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%sGraph %s: %d documents, %d chunks, %d entities, %d relations\n", number(s.N), escapeLine(s.Graph), s.Documents, s.Chunks, s.Entities, s.Relations)
	if s.EmbeddingModel != "" {
		fmt.Fprintf(&b, "Vectors: %s, %d dimensions\n", escapeLine(s.EmbeddingModel), s.Dimension)
	}
	warnings := section{weight: 1}
	for _, w := range s.Warnings {
		warnings.items = append(warnings.items, "\nWarning: "+w)
	}
	return compose(b.String(), []section{
		{title: "Entity types", weight: 1, items: counted(s.EntityTypes)},
		{title: "Relation types", weight: 1, items: counted(s.RelationTypes)},
		warnings, hint(s.Notice),
	}, limit)
}

func counted(counts []Count) []string {
	items := make([]string, len(counts))
	for i, c := range counts {
		items[i] = fmt.Sprintf("  %s: %d", escapeLine(c.Label), c.Count)
	}
	return items
}
