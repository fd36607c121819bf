package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"

	"github.com/google/jsonschema-go/jsonschema"

	"graphmill/queryd/evidence"
	"graphmill/queryd/retrieve"
	"graphmill/toolserver"
)

const retrieveName = "retrieve"

// maxQuestionChars bounds a question; a search takes no more from a longer one.
const maxQuestionChars = 4000

type retrieveInput struct {
	Question string          `json:"question"`
	TopK     int             `json:"top_k"`
	Paths    []retrieve.Path `json:"paths"`
	Hops     int             `json:"expand_hops"`
}

// Found is the reply of retrieve.
type Found struct {
	Question   string            `json:"question"`
	Entities   []Entity          `json:"entities"`
	Relations  []Relation        `json:"relations"`
	Facts      []Relation        `json:"facts"`
	Passages   []Passage         `json:"passages"`
	Paths      []retrieve.Report `json:"paths"`
	RoundTrips int               `json:"round_trips"` // statements that it took
	toolserver.Notice
}

// Entity is a thing that was found.
type Entity struct {
	N           int      `json:"n,omitempty"`
	Name        string   `json:"name"`
	Type        string   `json:"type"`
	Description string   `json:"description,omitempty"`
	Aliases     []string `json:"aliases,omitempty"`
	Mentions    int      `json:"mentions,omitempty"`
	Score       float64  `json:"score"`
	FoundBy     []string `json:"found_by"`
}

// Relation is an edge that was found, with sentences that state it.
type Relation struct {
	N          int      `json:"n,omitempty"`
	Source     string   `json:"source"`
	SourceType string   `json:"source_type"`
	Type       string   `json:"type"`
	Target     string   `json:"target"`
	TargetType string   `json:"target_type"`
	Statement  string   `json:"statement,omitempty"` // the best sentence, unless it is the first of Evidence
	Hop        int      `json:"hop,omitempty"`       // of links: 1 around the entities found, 2 around where those lead, …
	Support    int      `json:"support"`             // sentences that state it, in all documents
	Evidence   []Quote  `json:"evidence"`
	Score      float64  `json:"score"`
	FoundBy    []string `json:"found_by"`
}

// Place and Extent say where a text stands.
type (
	Place  = evidence.Place
	Extent = evidence.Extent
)

// Quote is a sentence of a document. Its pages and lines are those of the passage
// that it stands in.
type Quote struct {
	Place
	Text string `json:"text"`
}

// Passage is a piece of a document.
type Passage struct {
	N int `json:"n,omitempty"`
	Place
	Text    string   `json:"text"`
	Score   float64  `json:"score"`
	FoundBy []string `json:"found_by"`
}

func (k *kit) retrieveTool() (*toolserver.Tool, error) {
	topK, err := json.Marshal(k.TopK)
	if err != nil {
		return nil, err
	}
	var paths []any
	for _, p := range retrieve.AllPaths() {
		paths = append(paths, string(p))
	}
	return toolserver.NewTool(toolserver.Spec{
		Name:  retrieveName,
		Title: "Search the graph",
		Description: "Finds what the documents say about a question, by meaning and by words: entities, relations, facts and source passages, each with an evidence number to cite. " +
			"Give the question word for word. All search paths are used unless `paths` names a few: facts (what relations state), exact_names (entities named in the question), " +
			"fuzzy_names (entities with names or descriptions like it), links (relations around the entities found), passages (source text).",
		Input: object([]string{"question"}, map[string]*jsonschema.Schema{
			"question": {
				Type: "string", Description: "The question, or the names to look for.",
				MinLength: jsonschema.Ptr(1), MaxLength: jsonschema.Ptr(maxQuestionChars),
			},
			"top_k": {
				Type: "integer", Description: "The most passages, entities and facts that are returned, of each.",
				Minimum: jsonschema.Ptr(1.0), Maximum: jsonschema.Ptr(float64(retrieve.MaxTopK)), Default: topK,
			},
			"paths": {
				Type: "array", Description: "The search paths to use; left out, all of them.",
				Items: &jsonschema.Schema{Type: "string", Enum: paths}, MinItems: jsonschema.Ptr(1), UniqueItems: true,
			},
			"expand_hops": {
				Type: "integer", Description: "How far links walks: 1 for the relations of the entities found, 2 and 3 for what is linked to those, up to 5. " +
					"It returns 4 relations for each of top_k, 40 at most, and each hop has its share of them.",
				Minimum: jsonschema.Ptr(1.0), Maximum: jsonschema.Ptr(float64(retrieve.MaxHops)), Default: json.RawMessage("1"),
			},
		}),
	}, k.retrieve)
}

func (k *kit) retrieve(ctx context.Context, in retrieveInput) (*Found, error) {
	// Without a word there is nothing to compare: whatever came back would be chance.
	if !strings.ContainsFunc(in.Question, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
		return nil, &toolserver.Error{Kind: toolserver.Usage, Message: "The question is blank: it holds no letter or digit", Hint: "Give the question in words"}
	}
	if in.TopK == 0 {
		in.TopK = k.TopK
	}
	store, err := k.Reader(ctx)
	if err != nil {
		return nil, k.explain(err)
	}
	searcher := &retrieve.Searcher{Store: store, Graph: k.Graph(), Embedder: k.Embedder}
	result, err := searcher.Search(ctx, retrieve.Request{Question: in.Question, TopK: in.TopK, Paths: in.Paths, Hops: in.Hops})
	if err != nil {
		return nil, k.explain(err)
	}
	found := newFound(in.Question, result)
	k.number(found)
	return found, nil
}

func newFound(question string, result *retrieve.Result) *Found {
	found := &Found{
		Question: question, Entities: []Entity{}, Relations: relations(result.Relations), Facts: relations(result.Facts),
		Passages: []Passage{}, Paths: result.Trace, RoundTrips: result.RoundTrips,
	}
	for _, e := range result.Entities {
		found.Entities = append(found.Entities, Entity{
			Name: e.Name, Type: e.Type, Description: e.Description, Aliases: e.Aliases, Mentions: e.Mentions, Score: e.Score, FoundBy: e.FoundBy,
		})
	}
	for _, p := range result.Passages {
		found.Passages = append(found.Passages, Passage{Place: place(p.Place, p.Text), Text: p.Text, Score: p.Score, FoundBy: p.FoundBy})
	}
	hints := troubles(found.Paths)
	switch {
	case result.Empty:
		hints = append(hints, "The graph is empty; `ingestd run --root DIR` fills it.")
	case len(found.Entities)+len(found.Relations)+len(found.Facts)+len(found.Passages) == 0:
		hints = append(hints, "Nothing was found; try other words, exact names, or all paths.")
	}
	if result.Changing {
		hints = append(hints, "Documents changed while they were searched; of one document, what stands here may be of two versions. Ask again.")
	}
	if result.Pending {
		hints = append(hints, "The graph changed since its last finalize; what is newest may be missing.")
	}
	found.Hint = strings.Join(hints, " ")
	return found
}

// troubles tells what searches could not do, what several of them share once.
func troubles(reports []retrieve.Report) []string {
	var order []string
	searches := map[string][]string{}
	for _, r := range reports {
		if r.Error == "" {
			continue
		}
		if searches[r.Error] == nil {
			order = append(order, r.Error)
		}
		searches[r.Error] = append(searches[r.Error], fmt.Sprintf("%s (%s)", r.Path, r.Search))
	}
	if len(order) == 0 {
		return nil
	}
	hints := []string{"Not every search worked, so that something may be missing."}
	for _, trouble := range order {
		hints = append(hints, strings.Join(searches[trouble], ", ")+": "+strings.TrimRight(escapeLine(trouble), ".")+".")
	}
	return hints
}

func relations(from []retrieve.Relation) []Relation {
	out := make([]Relation, 0, len(from))
	for _, r := range from {
		relation := Relation{
			Source: r.Source, SourceType: r.SourceType, Type: r.Type, Target: r.Target, TargetType: r.TargetType,
			Statement: r.Statement, Hop: r.Hop, Support: r.Support, Evidence: []Quote{}, Score: r.Score, FoundBy: r.FoundBy,
		}
		for _, q := range r.Evidence {
			quote := Quote{Place: place(q.Place, q.Text), Text: q.Text}
			if strings.HasPrefix(quote.Headings, quote.Title) {
				quote.Title = "" // the trail begins with it, and there are many
			}
			relation.Evidence = append(relation.Evidence, quote)
		}
		if len(r.Evidence) > 0 && r.Evidence[0].Text == r.Statement {
			relation.Statement = ""
		}
		out = append(out, relation)
	}
	return out
}

// place is where text stands.
func place(p retrieve.Place, text string) Place {
	out := Place{Handle: p.Handle(text), Document: p.Document, Title: p.Title, Headings: p.Headings, Pages: extent(p.FirstPage, p.LastPage), Lines: extent(p.First, p.Last)}
	if p.Span.End > p.Span.Start {
		out.Span = &p.Span
	}
	return out
}

func extent(first, last int) *Extent {
	if first == 0 {
		return nil
	}
	return &Extent{First: first, Last: max(first, last)}
}

// number gives everything that was found its evidence number.
func (k *kit) number(found *Found) {
	var items []evidence.Item
	var places []*int
	add := func(n *int, item evidence.Item) {
		item.Tool = retrieveName
		items, places = append(items, item), append(places, n)
	}
	for i := range found.Entities {
		e := &found.Entities[i]
		add(&e.N, evidence.Item{Kind: evidence.Entity, Content: e.content()})
	}
	for i := range found.Relations {
		r := &found.Relations[i]
		add(&r.N, r.item(evidence.Relation))
	}
	for i := range found.Facts {
		r := &found.Facts[i]
		add(&r.N, r.item(evidence.Fact))
	}
	for i := range found.Passages {
		p := &found.Passages[i]
		add(&p.N, evidence.Item{Kind: evidence.Passage, Content: p.Text, Place: p.Place})
	}
	for i, n := range k.Ledger.Add(items...) {
		*places[i] = n
	}
}

func (e *Entity) content() string {
	return strings.Join(append([]string{e.Name, e.Type, e.Description}, e.Aliases...), "\n")
}

func (r *Relation) item(kind evidence.Kind) evidence.Item {
	item := evidence.Item{Kind: kind, Content: fmt.Sprintf("%s (%s) %s %s (%s)\n%s", r.Source, r.SourceType, r.Type, r.Target, r.TargetType, r.Statement)}
	for _, q := range r.Evidence {
		item.Content += "\n" + q.Text
	}
	if len(r.Evidence) > 0 {
		item.Place = r.Evidence[0].Place
	}
	return item
}
