package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"graphmill/chunkers"
	"graphmill/configs"
	"graphmill/extractors"
	"graphmill/pipeline"
	"graphmill/pipeline/graph"
	"graphmill/pipeline/llm"
	"graphmill/planner"
	"graphmill/planner/catalogue"
	"graphmill/resolvers"
)

// forecaster counts what strategies would ask of the configured model. It stands
// where the model stands, so the questions are the very ones of a run.
type forecaster struct {
	*wired
	client *llm.Client
	price  configs.Price
	// typical is what the model's answers took so far.
	typical map[llm.Purpose]llm.Typical

	mu    sync.Mutex
	asked map[string]bool // the questions of the whole plan: the second time the answer is kept
	taken taken
	// guessed are purposes whose answers' length is the catalogue's word.
	guessed map[llm.Purpose]bool
}

type taken struct {
	calls, cached int
	input, output float64
}

// tokensPerVerdict is what an answer says of one pair: its number, a word and a
// reason.
const tokensPerVerdict = 60

// tokensPerDescription is what an answer says of one entity: its number and 40
// words.
const tokensPerDescription = 80

// enoughAnswers is how many answers tell how long the next will be.
const enoughAnswers = 10

// newForecaster makes strategies of their own for a plan.
func newForecaster(ctx context.Context, cfg *configs.Config) (*forecaster, error) {
	w, err := newWired(cfg)
	if err != nil {
		return nil, err
	}
	f := &forecaster{wired: w, asked: map[string]bool{}, guessed: map[llm.Purpose]bool{}}
	if f.client, err = w.client(); err != nil {
		return nil, err
	}
	f.price, _ = cfg.Prices().Of(cfg.LLM.Model)
	f.typical, err = f.client.Typical(ctx)
	w.asking.instead = f
	return f, err
}

// errNotKept is the answer to a question that would have to be paid.
var errNotKept = errors.New("the answer is not kept")

type onlyKept struct{}

// Fingerprint implements [llm.Chat].
func (f *forecaster) Fingerprint() string { return f.client.Fingerprint() }

// Ask implements [llm.Chat]: it counts the question and answers it from what is
// kept, or not usably.
func (f *forecaster) Ask(ctx context.Context, r llm.Request) (llm.Answer, error) {
	text, kept := f.client.Kept(r)
	f.mu.Lock()
	defer f.mu.Unlock()
	key := graph.Hash(string(r.Purpose), r.System, r.User)
	switch {
	case kept:
		f.taken.cached++
		return llm.Answer{Text: text, Cached: true}, nil
	case ctx.Value(onlyKept{}) != nil:
		return llm.Answer{}, errNotKept
	case f.asked[key] && f.cfg.LLM.Cache:
		f.taken.cached++
	default:
		f.asked[key] = true
		f.count(r)
	}
	if r.Schema == nil {
		return llm.Answer{Text: strings.Repeat("word ", int(f.answer(r.Purpose)))}, nil
	}
	return llm.Answer{}, fmt.Errorf("a plan asks nothing: %w", llm.ErrUnusable)
}

// count adds a question that would be paid; f.mu is held.
func (f *forecaster) count(r llm.Request) {
	input, _ := f.client.Estimate(r)
	ratio := 1.0
	if t := f.typical[r.Purpose]; t.Answers >= enoughAnswers {
		ratio = t.InputRatio
	}
	f.taken.calls++
	f.taken.input += ratio * float64(input)
	f.taken.output += f.answer(r.Purpose)
}

// answering are the strategies whose catalogue knows how long answers are.
var answering = map[llm.Purpose]string{llm.Extract: "llm", llm.Verify: "verify", llm.Situate: "contextual", llm.Resolve: "llm_verified", llm.Describe: "llm_verified"}

// answer is how many tokens an answer has; f.mu is held.
func (f *forecaster) answer(purpose llm.Purpose) float64 {
	if t := f.typical[purpose]; t.Answers >= enoughAnswers {
		return t.OutputTokens
	}
	f.guessed[purpose] = true
	for _, s := range strategies() {
		if s.Name == answering[purpose] {
			return s.Cost.OutputTokensPerCall
		}
	}
	return 0
}

// Taken implements [pipeline.Forecaster].
func (f *forecaster) Taken() (calls int, money float64, asked pipeline.Asked) {
	f.mu.Lock()
	defer f.mu.Unlock()
	t := f.taken
	f.taken = taken{}
	asked = pipeline.Asked{Cached: t.cached, InputTokens: int(t.input + 0.5), OutputTokens: int(t.output + 0.5)}
	return t.calls, f.price.Cost(asked.InputTokens, asked.OutputTokens), asked
}

// Resolving implements [pipeline.Forecaster].
func (f *forecaster) Resolving(a planner.Assignment) (calls int, money float64) {
	for _, s := range strategies() {
		if s.Kind == catalogue.Resolver && s.Name == a.Resolver && s.Cost.ModelCallsPerChunk > 0 {
			// Every pair in calls of several, and each once more by itself, which is what
			// a yes about two types takes; then a description of what each joined.
			together := (a.MaxLLMPairs + resolvers.PairsPerCall - 1) / resolvers.PairsPerCall
			described := (a.MaxLLMPairs + resolvers.DescriptionsPerCall - 1) / resolvers.DescriptionsPerCall
			calls = together + a.MaxLLMPairs + described
			tokens := s.Cost.TokensPerCall * (float64(together+described) + float64(a.MaxLLMPairs)/resolvers.PairsPerCall)
			return calls, f.price.Cost(int(tokens), a.MaxLLMPairs*(2*tokensPerVerdict+tokensPerDescription))
		}
	}
	return 0, 0
}

// Extractor implements [pipeline.Strategies]: what asks the model counts its
// questions. Local models do not run, so what they find is not known.
func (f *forecaster) Extractor(a planner.Assignment) (extractors.Extractor, error) {
	x := &countingExtractor{of: f}
	finds := !slices.Contains(a.Extractors, "gliner")
	if finds {
		exact, err := f.wired.Extractor(a)
		if err != nil {
			return nil, err
		}
		x.exact = exact
	}
	methods := []extractors.Extractor{nothing{}} // verify wants another before it
	for _, name := range a.Extractors {
		switch name {
		case "llm":
			methods = append(methods, extractors.NewLLM(f).Counting())
		case "verify":
			methods = append(methods, extractors.NewVerify(f).Counting())
			x.known = finds // what it is asked about is found without asking
		}
	}
	var err error
	x.counting, err = extractors.Combine(methods, extractors.CombineOptions{NoCues: true})
	return x, err
}

// nothing finds nothing.
type nothing struct{}

func (nothing) Extract(_ context.Context, chunks []chunkers.Chunk, _ *graph.Ontology) ([]graph.Extraction, error) {
	return make([]graph.Extraction, len(chunks)), nil
}

// countingExtractor has the questions about chunks counted.
type countingExtractor struct {
	of *forecaster
	// exact puts a run's own questions, also those that follow from answers; nil
	// where what is found is not known.
	exact    extractors.Extractor
	known    bool
	counting extractors.Extractor
}

// Extract implements [extractors.Extractor]. Chunks whose answers are all kept
// are asked about as in a run; of the others the second question's size alone
// is known.
func (x *countingExtractor) Extract(ctx context.Context, chunks []chunkers.Chunk, ontology *graph.Ontology) ([]graph.Extraction, error) {
	out := make([]graph.Extraction, len(chunks))
	if x.known {
		_, err := x.exact.Extract(ctx, chunks, ontology)
		return out, err
	}
	rest := chunks
	if x.exact != nil {
		rest = nil
		for i := range chunks {
			before := x.of.taken
			if _, err := x.exact.Extract(context.WithValue(ctx, onlyKept{}, true), chunks[i:i+1], ontology); err != nil {
				if !errors.Is(err, errNotKept) {
					return nil, err
				}
				x.of.taken = before // nothing is under way between questions of a plan
				rest = append(rest, chunks[i])
			}
		}
	}
	if len(rest) == 0 {
		return out, nil
	}
	_, err := x.counting.Extract(ctx, rest, ontology)
	return out, err
}
