package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"graphmill/pipeline/engine"
	"graphmill/pipeline/falkor/conn"
	"graphmill/pipeline/falkor/cypher"
	"graphmill/pipeline/falkor/reader"
	"graphmill/pipeline/models"
	"graphmill/pipeline/models/local"
	"graphmill/queryd/retrieve"
)

// The peer's retrieval on the bench corpus' graph, graphrag-sdk 1.4.0, hash
// vectors, warm: 50 questions, p50, p95, and what one of them sends and returns.
const (
	peerP50, peerP95   = 286.0, 336.0 // ms
	peerTrips          = 26
	peerCharacters     = 31_000
	peerFirst, peerMem = 1600.0, 293.0 // ms, MB
)

// What retrieve shall keep to.
const (
	targetP50, targetP95, targetBesides = 40.0, 90.0, 25.0 // ms
	targetStatus, targetFirst           = 5.0, 500.0       // ms
	targetMemory                        = 300.0            // MB
	targetSpread                        = 20.0             // p99 over p50 under load
)

// questionCount is as many as the peer was asked.
const questionCount = 50

// asked is a graph with the questions for it.
type asked struct {
	name, graph string
	questions   []string
}

// benchRetrieval asks the corpus' graph and a generated one: the search alone,
// in this process, and then queryd, as its clients meet it.
func benchRetrieval(ctx context.Context, w *world, t *table) error {
	options := local.Options{Places: models.Places{DataDir: w.data}}
	embedder, err := options.OpenAlone()
	if err != nil {
		return err
	}
	defer embedder.Close()
	if err := w.buildQueryd(ctx); err != nil {
		return err
	}
	small, err := w.corpusToAsk(ctx, embedder)
	if err != nil {
		return err
	}
	large, err := w.generatedToAsk(ctx, embedder)
	if err != nil {
		return err
	}
	for _, a := range []asked{small, large} {
		if err := w.askLibrary(ctx, t, a, embedder); err != nil {
			return err
		}
		if err := w.askServer(ctx, t, a); err != nil {
			return err
		}
	}
	return nil
}

// corpusToAsk ingests the corpus by the rule, with hashes under the model's name,
// and makes questions of the names in it.
func (w *world) corpusToAsk(ctx context.Context, embedder models.Embedder) (asked, error) {
	a := asked{name: "corpus", graph: "asked"}
	if _, err := w.ingestByRule(ctx, a.graph, w.corpus); err != nil {
		return a, err
	}
	statement := cypher.New(`MATCH (m:__Meta__ {id: 'default'}) SET m.embedding_model = $model`, cypher.Params{"model": embedder.Model()})
	text, err := statement.Append(nil)
	if err == nil {
		err = w.client.Redis().Do(ctx, "GRAPH.QUERY", a.graph, text).Err()
	}
	if err != nil {
		return a, err
	}
	rows, err := w.client.Read(ctx, a.graph, cypher.New(`MATCH (e:__Entity__) WHERE e.mention_count > 1 RETURN e.name AS name ORDER BY e.id`, nil), 0)
	if err != nil {
		return a, err
	}
	if rows.Len() < 2 {
		return a, fmt.Errorf("the corpus' graph has %d entities to ask for", rows.Len())
	}
	random := rand.New(rand.NewPCG(3, 4))
	for range questionCount {
		a.questions = append(a.questions, fmt.Sprintf("What does the documentation say about %s, and how is it related to %s?",
			rows.String(random.IntN(rows.Len()), "name"), rows.String(random.IntN(rows.Len()), "name")))
	}
	return a, nil
}

func (w *world) generatedToAsk(ctx context.Context, embedder models.Embedder) (asked, error) {
	a := asked{name: fmt.Sprintf("%d chunks", w.size), graph: "generated"}
	hash, err := models.NewHashEmbedder(embedder.Dimension())
	if err != nil {
		return a, err
	}
	if err := w.generateGraph(ctx, a.graph, w.size, underName{hash, embedder.Model()}); err != nil {
		return a, err
	}
	v := newInvented(w.size, 2)
	for range questionCount {
		a.questions = append(a.questions, v.question())
	}
	return a, nil
}

// timedEmbedder keeps how long the model took.
type timedEmbedder struct {
	models.Embedder
	spent time.Duration
}

func (e *timedEmbedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	began := time.Now()
	defer func() { e.spent = time.Since(began) }()
	return e.Embedder.Embed(ctx, texts)
}

// askLibrary asks one question after the other.
func (w *world) askLibrary(ctx context.Context, t *table, a asked, embedder models.Embedder) error {
	client, release, err := w.openReader(ctx)
	if err != nil {
		return err
	}
	defer release()
	model := &timedEmbedder{Embedder: embedder}
	searcher := &retrieve.Searcher{Store: reader.New(client, reader.Options{}), Graph: a.graph, Embedder: func(context.Context) (models.Embedder, error) { return model, nil }}
	var total, besides durations
	trips := 0
	for round := range w.rounds + 1 {
		for _, question := range a.questions {
			began := time.Now()
			result, err := searcher.Search(ctx, retrieve.Request{Question: question, TopK: 10})
			took := time.Since(began)
			if err != nil {
				return fmt.Errorf("ask %s: %w", a.name, err)
			}
			if err := worked(result); err != nil {
				return fmt.Errorf("ask %s: %s: %w", a.name, question, err)
			}
			if round == 0 {
				continue // warms up
			}
			total, besides = append(total, took), append(besides, took-model.spent)
			trips = max(trips, result.RoundTrips)
		}
	}
	p50, p95 := total.at(0.5), total.at(0.95)
	peer50, peer95, ratio := "", "", ""
	if a.name == "corpus" {
		peer50, peer95, ratio = milliseconds(peerP50), milliseconds(peerP95), times(peerP50/p50)
	}
	t.add(line{what: "retrieve, " + a.name + ", p50", ours: milliseconds(p50), limit: peer50, ratio: ratio, target: "≤ 40 ms", met: p50 <= targetP50, note: "query embedding included"})
	t.add(line{what: "the same, p95", ours: milliseconds(p95), limit: peer95, target: "≤ 90 ms", met: p95 <= targetP95})
	rest := besides.at(0.5)
	t.add(line{
		what: "the same, besides the model, p50", ours: milliseconds(rest), target: "≤ 25 ms", met: rest <= targetBesides,
		note: "p95 " + milliseconds(besides.at(0.95)),
	})
	t.add(line{what: "the same, round trips", ours: fmt.Sprint(trips), limit: fmt.Sprint(peerTrips), ratio: times(float64(peerTrips) / float64(trips)), note: "the most of any question"})
	return nil
}

// worked is an error when a search of a question did not: its time would be no
// time.
func worked(result *retrieve.Result) error {
	var errs []error
	for _, report := range result.Trace {
		if report.Error != "" {
			errs = append(errs, fmt.Errorf("%s (%s): %s", report.Path, report.Search, report.Error))
		}
	}
	return errors.Join(errs...)
}

// openReader connects as queryd does.
func (w *world) openReader(ctx context.Context) (*conn.Client, func(), error) {
	lease, err := engine.AcquireReader(ctx, engine.Options{DataDir: w.data})
	if err != nil {
		return nil, nil, err
	}
	login := lease.Credentials()
	client, err := conn.Open(conn.Options{Socket: lease.Address(), Username: login.User, Password: login.Secret})
	if err != nil {
		return nil, nil, errors.Join(err, lease.Release())
	}
	return client, func() { client.Close(); lease.Release() }, nil
}

type durations []time.Duration

// at is a quantile, in milliseconds.
func (d durations) at(q float64) float64 {
	if len(d) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(d))
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))].Seconds() * 1000
}

func milliseconds(ms float64) string {
	if ms < 10 {
		return fmt.Sprintf("%.1f ms", ms)
	}
	return fmt.Sprintf("%.0f ms", ms)
}
