package retrieve

import (
	"encoding/json"
	"slices"
	"strings"

	"graphmill/pipeline/falkor/conn"
	"graphmill/pipeline/graph"
	"graphmill/queryd/evidence"
)

// Entity is a thing that the graph knows.
type Entity struct {
	ID          string
	Name, Type  string
	Description string
	Aliases     []string
	Mentions    int
	FoundBy     []string
	Score       float64 // of the fusion

	told string // the chunk that Description stands in, when that was looked up
}

// Relation is an edge with sentences that state it.
type Relation struct {
	SourceID, TargetID     string
	Source, Type, Target   string
	SourceType, TargetType string
	Statement              string // the best sentence
	Support                int    // sentences that state it, in all documents
	Evidence               []Quote
	Hop                    int // of links: how many relations away from an entity found; 0 for facts
	FoundBy                []string
	Score                  float64

	evidence []quoteAt // best first, before their places are known
}

func (r Relation) key() string { return r.SourceID + "\x00" + r.Type + "\x00" + r.TargetID }

// Place is where a text stands.
type Place struct {
	Document    string // path
	Title       string
	Span        graph.Span // code points of the document's text
	First, Last int        // lines of the passage around it; 0 when not known
	FirstPage   int        // 0 for formats without pages
	LastPage    int
	Headings    string // "Title › Heading › Subheading"

	id   graph.DocumentID
	hash string // of the document's content
}

// Handle names text, which stands at the place, for good; "" in a graph that does
// not say enough of its places.
func (p Place) Handle(text string) string { return evidence.NewHandle(p.id, p.hash, p.Span, text) }

// Quote is a sentence that states a relation.
type Quote struct {
	Place
	Text string
}

// Passage is a piece of a document.
type Passage struct {
	ID string
	Place
	Text    string
	FoundBy []string
	// Score is its closeness to the question, or that of the fusion where the graph
	// has no vectors to compare.
	Score float64
}

type quoteAt struct {
	chunk, text string
	span        graph.Span
	score       float64
}

// placeColumns are what [readPassage] reads of a document d and a chunk c, besides
// its id and text.
const placeColumns = `coalesce(d.path, d.id) AS path, d.title AS title, d.id AS document, d.content_hash AS hash,
       c.start_char AS start, c.end_char AS end, c.first_line AS first_line, c.last_line AS last_line,
       c.first_page AS first_page, c.last_page AS last_page, c.context_header AS headings`

func readPassage(rows *conn.Rows, i int) Passage {
	p := Passage{ID: rows.String(i, "id"), Text: rows.String(i, "text"), Place: Place{
		Document: rows.String(i, "path"), Title: rows.String(i, "title"), id: graph.DocumentID(rows.String(i, "document")), hash: rows.String(i, "hash"),
		First: rows.Int(i, "first_line"), Last: rows.Int(i, "last_line"),
		FirstPage: rows.Int(i, "first_page"), LastPage: rows.Int(i, "last_page"), Headings: rows.String(i, "headings"),
	}}
	p.Span.Start, p.Span.End = rows.Int(i, "start"), rows.Int(i, "end")
	return p
}

func readEntity(rows *conn.Rows, i int) Entity {
	return Entity{
		ID: rows.String(i, "id"), Name: rows.String(i, "name"), Type: rows.String(i, "type"),
		Description: rows.String(i, "description"), Aliases: rows.Strings(i, "aliases"), Mentions: rows.Int(i, "mentions"),
	}
}

// quotesEach bounds the sentences that are shown for one relation.
const quotesEach = 3

func readRelation(rows *conn.Rows, i int) Relation {
	r := Relation{
		SourceID: rows.String(i, "source_id"), TargetID: rows.String(i, "target_id"),
		Source: rows.String(i, "source"), Target: rows.String(i, "target"), Type: rows.String(i, "rel_type"),
		SourceType: rows.String(i, "source_type"), TargetType: rows.String(i, "target_type"),
		Statement: rows.String(i, "statement"),
	}
	if r.Statement == "" {
		// graphrag-sdk may leave the description out and say it in the fact alone.
		_, r.Statement, _ = strings.Cut(rows.String(i, "fact"), "): ")
	}
	chunks, quotes, scores := rows.Strings(i, "chunks"), rows.Strings(i, "quotes"), rows.Floats(i, "scores")
	spans := map[string][]graph.Span{}
	if text := rows.String(i, "spans"); text != "" && json.Unmarshal([]byte(text), &spans) != nil {
		clear(spans) // another program's spans may be of another form
	}
	// A sentence that names an end by two names of a merged entity is there twice.
	known := map[quoteAt]bool{}
	for k, chunk := range chunks {
		q := quoteAt{chunk: chunk}
		if k < len(quotes) {
			q.text = quotes[k]
		}
		if k < len(scores) {
			q.score = scores[k]
		}
		if list := spans[chunk]; len(list) > 0 {
			q.span, spans[chunk] = list[0], list[1:]
		}
		if !known[q] || q.span == (graph.Span{}) {
			known[q] = true
			r.evidence = append(r.evidence, q)
		}
	}
	r.Support = len(r.evidence)
	slices.SortStableFunc(r.evidence, func(a, b quoteAt) int {
		switch {
		case a.score != b.score && a.score > b.score:
			return -1
		case a.score != b.score:
			return 1
		}
		return strings.Compare(a.text, b.text)
	})
	r.evidence = r.evidence[:min(len(r.evidence), quotesEach)]
	return r
}
