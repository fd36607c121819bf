package pipeline

import (
	"context"
	"fmt"

	"graphmill/chunkers"
	"graphmill/pipeline/corpus"
	"graphmill/pipeline/falkor/store"
	"graphmill/pipeline/graph"
	"graphmill/planner"
)

// Asked is what strategies will ask of language models.
type Asked struct {
	Cached       int `json:"cached"` // answers that are kept already, and cost nothing
	InputTokens  int `json:"input_tokens"`
	OutputTokens int `json:"output_tokens"`
	// AtMostCalls and AtMostMoney come on top in the worst case: how many pairs of
	// names a resolver asks about is known only when the names are.
	AtMostCalls int     `json:"at_most_calls,omitempty"`
	AtMostMoney float64 `json:"at_most_money,omitempty"`
}

func (a *Asked) add(b Asked) {
	a.Cached += b.Cached
	a.InputTokens += b.InputTokens
	a.OutputTokens += b.OutputTokens
	a.AtMostCalls += b.AtMostCalls
	a.AtMostMoney += b.AtMostMoney
}

// Forecaster makes strategies that count what they would ask instead of asking
// it. They put the very questions of the real ones, so that what is counted is
// what will be paid, but for the length of answers.
type Forecaster interface {
	Strategies
	// Taken returns what was asked since it was called last: calls that would be
	// paid, their money, and the rest.
	Taken() (calls int, money float64, asked Asked)
	// Resolving is what the assignment's resolver may ask of a document at most.
	Resolving(planner.Assignment) (calls int, money float64)
}

// forecast parses and cuts the file, and has its questions counted.
func (p *planned) forecast(ctx context.Context, o Options, file corpus.File, stored graph.Fingerprints) error {
	data, hash, err := o.Root.Read(ctx, file)
	if err != nil {
		return err
	}
	p.current.Content = hash
	document, err := safely(func() (*corpus.Document, error) { return o.Loader.Parse(ctx, file, data) })
	if err != nil {
		return err
	}
	chunker, err := o.Forecaster.Chunker(p.Assignment)
	if err != nil {
		return setup(err)
	}
	chunks, err := chunker.Chunk(document)
	if err != nil {
		return fmt.Errorf("chunk: %w", err)
	}
	if err := o.Planner.CheckChunks(p.Assignment, len(chunks)); err != nil {
		return err
	}
	if situater, ok := chunker.(chunkers.Situater); ok {
		lines, err := situater.Situate(ctx, document, chunks)
		if err != nil {
			return err
		}
		for i := range lines {
			chunks[i].Context = lines[i].Line // a kept one: extraction reads it
		}
	}
	if situater, ok := chunker.(chunkers.Situater); ok && len(chunks) > 0 {
		lines, err := situater.Situate(ctx, document, chunks)
		if err != nil {
			return err
		}
		for i, line := range lines {
			chunks[i].Context = line.Line
		}
	}
	if err := p.askAbout(ctx, o, chunks, stored); err != nil {
		return err
	}
	tokens := 0
	for _, c := range chunks {
		tokens += c.Tokens
	}
	p.Estimate.Chunks, p.Estimate.Tokens = len(chunks), tokens
	p.Estimate.ModelCalls, p.Estimate.Money, p.asked = o.Forecaster.Taken()
	if len(chunks) > 0 {
		p.asked.AtMostCalls, p.asked.AtMostMoney = o.Forecaster.Resolving(p.Assignment)
	}
	return nil
}

// askAbout has the extractors ask about the chunks that a run would extract.
func (p *planned) askAbout(ctx context.Context, o Options, chunks []chunkers.Chunk, stored graph.Fingerprints) error {
	w := &work{path: p.Path, current: p.current}
	r := &run{Options: o, stored: map[string]store.StoredDocument{p.Path: {Fingerprints: stored}}}
	kept, _ := recalled(r.recall(w), chunkKeys(p.current, chunks), chunks)
	var missing []chunkers.Chunk
	for i := range chunks {
		if kept[i] == nil {
			missing = append(missing, chunks[i])
		}
	}
	if len(missing) == 0 {
		return nil
	}
	extractor, err := o.Forecaster.Extractor(p.Assignment)
	if err != nil {
		return setup(err)
	}
	_, err = safely(func() ([]graph.Extraction, error) { return extractor.Extract(ctx, missing, o.Ontology) })
	return err
}
