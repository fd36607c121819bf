// Package retrieve finds what a graph says about a question: several search
// paths side by side, each a reading statement, fused by reciprocal rank. It
// numbers nothing and renders nothing.
package retrieve

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"graphmill/pipeline/falkor/conn"
	"graphmill/pipeline/falkor/cypher"
	"graphmill/pipeline/falkor/shape"
	"graphmill/pipeline/models"
)

// Path is a way to search that a caller may choose.
type Path string

// The paths.
const (
	Facts      Path = "facts"       // what relations state
	ExactNames Path = "exact_names" // entities that the question names
	FuzzyNames Path = "fuzzy_names" // entities whose names and descriptions are like the question
	Links      Path = "links"       // relations around the entities found
	Passages   Path = "passages"    // source text
)

// AllPaths lists the paths in the order of their reports.
func AllPaths() []Path { return []Path{Facts, ExactNames, FuzzyNames, Links, Passages} }

// MaxTopK bounds what one search returns of each kind.
const MaxTopK = 100

// Request is one question.
type Request struct {
	Question string
	TopK     int    // most passages, entities and facts each
	Paths    []Path // none means all
	Hops     int    // how far links walks; 0 means 1, the most is MaxHops
}

// MaxHops bounds how far links walks.
const MaxHops = 5

func (r Request) uses(path Path) bool { return len(r.Paths) == 0 || slices.Contains(r.Paths, path) }

// Store is what a search reads from: the reading store. Every statement is one
// that reads.
type Store interface {
	Query(ctx context.Context, graph string, statement cypher.Statement) (*conn.Rows, error)
}

// Searcher searches one graph.
type Searcher struct {
	Store Store
	Graph string
	// Embedder opens the embedding model, when a path first needs it.
	Embedder func(ctx context.Context) (models.Embedder, error)
}

// Result is what was found, best first.
type Result struct {
	Entities  []Entity
	Relations []Relation // around the entities; none that stands among the facts
	Facts     []Relation // found by what they state
	Passages  []Passage
	Trace     []Report
	// Empty says that nothing was found because the graph holds no passages.
	Empty bool
	// Pending says that rows changed since the last finalize, so that the newest
	// may be missing from some path.
	Pending bool
	// Changing says that documents changed during the search, each time it was
	// tried: what was found may be of two versions of one document.
	Changing bool
	// RoundTrips counts the statements that it took.
	RoundTrips int
}

// Report is how one search went.
type Report struct {
	Path   Path   `json:"path"`
	Search string `json:"search"` // "vector", "full text", "names", "neighbours", "mentions", "nearness"
	Hits   int    `json:"hits"`
	Error  string `json:"error,omitempty"` // why it found nothing or not everything
}

// MissingGraph is the error of a graph that was never written or was deleted.
type MissingGraph struct{ Graph string }

func (e *MissingGraph) Error() string { return fmt.Sprintf("graph %q does not exist", e.Graph) }

// NewerSchema is the error of a graph that a newer program laid out.
type NewerSchema struct {
	Graph        string
	Found, Known int
}

func (e *NewerSchema) Error() string {
	return fmt.Sprintf("graph %q has schema version %d, this program knows up to %d", e.Graph, e.Found, e.Known)
}

// CheckSchema refuses a graph whose layout this program does not know.
func CheckSchema(graph string, meta shape.Meta) error {
	if meta.Schema > shape.Schema {
		return &NewerSchema{Graph: graph, Found: meta.Schema, Known: shape.Schema}
	}
	return nil
}

// maxAttempts is how often a search is made while commits come in between its
// statements. A search takes a few milliseconds, a commit comes a few times a
// second while files are ingested.
const maxAttempts = 4

// Search asks the graph. A path that fails is told in the trace; an error is
// what keeps every path from working. All that is found is of one state of the
// graph, or Changing is set.
func (s *Searcher) Search(ctx context.Context, request Request) (*Result, error) {
	var trips atomic.Int64
	embedding, enough := context.WithCancel(ctx)
	asked := s.embed(embedding, request)
	defer asked.wait() // the model belongs to the caller
	defer enough()     // nobody asks for it any more
	for attempt := 1; ; attempt++ {
		run := &search{Searcher: s, Request: request, trips: &trips, commits: unread, asked: asked}
		result, err := run.once(ctx)
		if err != nil {
			throw(err)
			return nil, err
		}
		if result.Changing && attempt < maxAttempts {
			continue
		}
		result.RoundTrips = int(trips.Load())
		return result, nil
	}
}

// once searches once. The commits are counted before the first statement and
// with the last.
func (s *search) once(ctx context.Context) (*Result, error) {
	if err := s.look(ctx); err != nil {
		return nil, err
	}
	if err := s.first(ctx); err != nil {
		return nil, err
	}
	if err := s.second(ctx); err != nil {
		return nil, err
	}
	if err := s.failedWholly(); err != nil {
		return nil, err
	}
	return s.result(ctx)
}

// unread is no count of commits.
const unread = -1

// search is the state of one Search.
type search struct {
	*Searcher
	Request

	meta    shape.Meta
	indexes []shape.Index
	asked   *question
	checked sync.Once // that asked can be compared with this graph's vectors
	vectorE error     // why it cannot

	commits int // as the last statement saw them, or unread
	trips   *atomic.Int64
	tasks   []*task
	// hits of the second round depend on these
	entities []Entity
}

// look reads what the graph says of itself.
func (s *search) look(ctx context.Context) (err error) {
	s.meta, s.indexes, err = shape.ReadState(ctx, s.send, s.Graph)
	if conn.KindOf(err) == conn.NoGraph {
		return &MissingGraph{s.Graph}
	}
	if err != nil {
		return err
	}
	return CheckSchema(s.Graph, s.meta)
}

// send counts the statements on their way to the store.
func (s *search) send(ctx context.Context, graph string, statement cypher.Statement) (*conn.Rows, error) {
	if s.trips != nil {
		s.trips.Add(1)
	}
	return s.Store.Query(ctx, graph, statement)
}

// question is the question's vector, which is made while searches that need none
// go on. Its fields may be read once done is closed.
type question struct {
	done   chan struct{}
	vector []float32 // nil when no search needs it
	model  string    // that made it
	err    error     // why there is none
}

func (q *question) wait() { <-q.done }

// embed begins to make the question's vector if a search needs it.
func (s *Searcher) embed(ctx context.Context, r Request) *question {
	q := &question{done: make(chan struct{})}
	if !r.uses(Passages) && !r.uses(Facts) && !r.uses(FuzzyNames) && !r.uses(Links) {
		close(q.done)
		return q
	}
	go func() {
		defer close(q.done)
		q.err = contained(func() error {
			embedder, err := s.Embedder(ctx)
			if err != nil {
				return err
			}
			vectors, err := embedder.Embed(ctx, []string{r.Question})
			if err != nil {
				return fmt.Errorf("embed the question: %w", err)
			}
			q.vector, q.model = vectors[0], embedder.Model()
			return nil
		})
	}()
	return q
}

// vector waits for the question's vector. It is nil without an error when no
// search needs one; the error says why it cannot be compared with the graph's.
func (s *search) vector() ([]float32, error) {
	s.asked.wait()
	s.checked.Do(func() {
		if s.vectorE = s.asked.err; s.vectorE == nil && s.asked.vector != nil {
			s.vectorE = sameModel(s.meta, s.asked.model, len(s.asked.vector))
		}
	})
	return s.asked.vector, s.vectorE
}

// sameModel compares the question's vector with those of the graph.
func sameModel(meta shape.Meta, model string, dimension int) error {
	switch {
	case meta.Exists && meta.EmbeddingModel == "":
		return errors.New("the graph has no vectors yet; run `ingestd finalize`")
	case meta.Exists && meta.EmbeddingModel != model,
		!meta.Exists && meta.EmbeddingModel != "" && !models.SameModel(meta.EmbeddingModel, model),
		meta.Dimension != 0 && meta.Dimension != dimension:
		return &OtherModel{Graph: meta.EmbeddingModel, GraphDimension: meta.Dimension, Question: model, QuestionDimension: dimension, Foreign: !meta.Exists}
	}
	return nil
}

// OtherModel is the error of vectors that cannot be compared: the question's are
// of another model than the graph's, or have another dimension.
type OtherModel struct {
	Graph, Question                   string // the models
	GraphDimension, QuestionDimension int    // 0 when not known
	Foreign                           bool   // another program wrote the graph
}

func (e *OtherModel) Error() string {
	return fmt.Sprintf("the graph's vectors were made with %s, the question's with %s; %s",
		named(e.Graph, e.GraphDimension), named(e.Question, e.QuestionDimension), e.Hint())
}

// Hint says what to do about it.
func (e *OtherModel) Hint() string {
	if e.Foreign {
		return "give queryd that model (embedder.model_dir, in a folder called as the graph calls it), or have the other program make its vectors with queryd's"
	}
	return e.settings() + ", or run `ingestd finalize --reembed`"
}

// settings are those of queryd that differ from what the graph's vectors were made
// with, as far as the models' names tell.
func (e *OtherModel) settings() string {
	const hash = "hash-" // of embedder.kind hash, which has no model
	dimension := ""
	if e.GraphDimension > 0 {
		dimension = fmt.Sprintf(" to %d", e.GraphDimension)
	}
	graph, question := strings.HasPrefix(e.Graph, hash), strings.HasPrefix(e.Question, hash)
	switch {
	case graph && question:
		return "set embedder.dimension" + dimension
	case graph:
		return "set embedder.kind to hash and embedder.dimension" + dimension
	case question:
		return "set embedder.kind to the graph's: onnx, or openai with embedder.model"
	}
	return "set embedder.kind, embedder.model_dir or embedder.model, and models.engine to the graph's"
}

func named(model string, dimension int) string {
	if model == "" {
		model = "a model that the graph does not name"
	}
	if dimension == 0 {
		return model
	}
	return fmt.Sprintf("%s (%d dimensions)", model, dimension)
}

// usable reports what keeps the index of a property from being asked, one of
// vectors once the question's is there; incomplete
// tells of one that is still being built. It has to be looked at: asked for an
// index that is not there, the engine finds nothing, or scans.
func (s *search) usable(label, property, kind string) (incomplete string, err error) {
	for _, index := range s.indexes {
		switch {
		case index.Label != label || !index.Has(property, kind):
		case kind == "VECTOR" && index.Dimension != 0 && index.Dimension != len(s.asked.vector):
			return "", &OtherModel{
				Graph: s.meta.EmbeddingModel, GraphDimension: index.Dimension, Question: s.asked.model, QuestionDimension: len(s.asked.vector), Foreign: !s.meta.Exists,
			}
		case index.Operational:
			return "", nil
		default:
			return fmt.Sprintf("the index is being built (%d of %d); hits may be missing", index.Done, index.Total), nil
		}
	}
	if !s.meta.Exists {
		return "", errors.New("the graph, which another program wrote, has no index for it")
	}
	return "", errors.New("the graph has no index for it yet; run `ingestd finalize`")
}

// fatal are the kinds of error that no other search could avoid.
func fatal(err error) bool {
	switch conn.KindOf(err) {
	case conn.Unreachable, conn.Auth, conn.Loading, conn.NoGraph:
		return true
	}
	return errors.Is(err, context.Canceled) || errors.As(err, new(*panicked))
}

// failedWholly is the first error when no search worked.
func (s *search) failedWholly() error {
	var errs []error
	for _, t := range s.tasks {
		if t.err == nil {
			return nil
		}
		errs = append(errs, t.err)
	}
	if len(errs) == 0 {
		return nil
	}
	return &AllPathsFailed{Reports: s.reports(), Err: errors.Join(errs...)}
}

// AllPathsFailed says that no search of the request worked.
type AllPathsFailed struct {
	Reports []Report
	Err     error
}

func (e *AllPathsFailed) Error() string {
	text := "no search path worked"
	for _, r := range e.Reports {
		text += fmt.Sprintf("; %s (%s): %s", r.Path, r.Search, r.Error)
	}
	return text
}

// Unwrap gives all causes.
func (e *AllPathsFailed) Unwrap() error { return e.Err }
