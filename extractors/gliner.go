package extractors

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"graphmill/chunkers"
	"graphmill/pipeline/graph"
	"graphmill/pipeline/models"
	"graphmill/planner/catalogue"
)

// GLiNEROptions tune the extractor. Zero values take the model's own entry.
type GLiNEROptions struct {
	// Threshold is the score below which a mention is dropped.
	Threshold float64
	// UnknownThreshold is the score below which a mention is kept as Unknown.
	UnknownThreshold float64
	// Nested keeps mentions inside mentions ("University of [Oslo]").
	Nested bool
	// MultiLabel keeps several types of one span.
	MultiLabel bool
}

// GLiNER finds mentions with a span model that reads the types' names: any
// ontology works without training.
type GLiNER struct {
	model     *models.GLiNER
	threshold float64
	certain   float64
	decoding  decoding
	ent, sep  int64
}

// NewGLiNER makes an extractor of a loaded model, which stays the caller's to
// close.
func NewGLiNER(model *models.GLiNER, options GLiNEROptions) (*GLiNER, error) {
	if model == nil {
		return nil, errors.New("make gliner extractor: no model is loaded")
	}
	g := &GLiNER{
		model:     model,
		threshold: model.Entry.Threshold,
		certain:   model.Entry.UnknownThreshold,
		decoding:  decoding{nested: options.Nested, multiLabel: options.MultiLabel},
	}
	if options.Threshold != 0 {
		g.threshold = options.Threshold
		g.certain = max(g.certain, g.threshold)
	}
	if options.UnknownThreshold != 0 {
		g.certain = options.UnknownThreshold
	}
	if g.threshold <= 0 || g.certain > 1 || g.certain < g.threshold {
		return nil, fmt.Errorf("make gliner extractor: threshold %g and unknown_threshold %g must rise within 0 to 1", g.threshold, g.certain)
	}
	g.ent, _ = model.Tokenizer.TokenID(model.Config.EntToken)
	g.sep, _ = model.Tokenizer.TokenID(model.Config.SepToken)
	return g, nil
}

// GLiNERStrategy describes the extractor to the planner.
func GLiNERStrategy() catalogue.Strategy {
	return catalogue.Strategy{
		Kind: catalogue.Extractor,
		Name: "gliner",
		// 1: names settle each other's types, windows of whole sentences,
		// templates and pronouns among the cues. 2: no name over two rows.
		// 3: headings, items and rows that no mark ends are read by themselves.
		Version:     3,
		Description: "local zero-shot model for entities of the ontology's types (GLiNER span models)",
		Cheap:       true,
		Cost:        glinerCost,
	}
}

// label is a type as the model is asked for it.
type label struct {
	kind      string // the ontology's label
	prompt    string
	ids       []int64
	threshold float64
	certain   float64
	// empty tells answers that name nothing; nil for none.
	empty func(text string) bool
}

// labelsOf lists what to ask for. Types that would be asked for with the same
// words are asked once, for the first of them.
func (g *GLiNER) labelsOf(ontology *graph.Ontology) []label {
	var labels []label
	seen := map[string]bool{}
	for _, kind := range ontology.Entities {
		prompt := kind.Prompt
		if prompt == graph.NoPrompt {
			continue
		}
		if prompt == "" {
			prompt = g.model.Entry.Prompts[kind.Label]
		}
		if prompt == "" {
			prompt = spokenLabel(kind.Label)
		}
		if seen[prompt] {
			continue
		}
		seen[prompt] = true
		l := label{kind: kind.Label, prompt: prompt, threshold: g.threshold, certain: g.certain, empty: namesNothing(prompt)}
		if kind.Threshold > 0 {
			// Whoever sets a type's threshold means its mentions to have that type.
			l.threshold, l.certain = kind.Threshold, kind.Threshold
		}
		labels = append(labels, l)
	}
	return labels
}

// spokenLabel writes a label as words: "WorkOfArt" and "work_of_art" are asked
// for as "work of art".
func spokenLabel(name string) string {
	runes := []rune(name)
	var b strings.Builder
	for i, r := range runes {
		if r == '_' || r == '-' {
			r = ' '
		}
		if i > 0 && unicode.IsUpper(r) && (unicode.IsLower(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1]) && unicode.IsUpper(runes[i-1])) {
			b.WriteByte(' ')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// Extract implements [Extractor]. Every type of the ontology is asked for, in
// several calls when the model takes fewer at once, and the answers compete as
// if they came from one.
func (g *GLiNER) Extract(ctx context.Context, chunks []chunkers.Chunk, ontology *graph.Ontology) ([]graph.Extraction, error) {
	out := make([]graph.Extraction, len(chunks))
	if ontology == nil || len(ontology.Entities) == 0 {
		return out, nil
	}
	asked, err := g.ask(g.labelsOf(ontology))
	if err != nil {
		return nil, err
	}
	for i, chunk := range chunks {
		words, candidates, err := g.candidates(ctx, chunk.Text, asked, belowShare)
		if err != nil {
			return nil, fmt.Errorf("extract with gliner from chunk %d: %w", chunk.Index, err)
		}
		out[i] = g.extraction(chunk, words, candidates, asked.labels)
	}
	return out, nil
}

// belowShare is the share of a type's threshold from which on a span counts as
// found and dropped; further down the model says nothing.
const belowShare = 0.5

// extraction turns scored spans into mentions and counts what is left out.
func (g *GLiNER) extraction(chunk chunkers.Chunk, words []modelWord, candidates []candidate, labels []label) graph.Extraction {
	var accepted, weak []candidate
	breaks := breaksBefore(chunk.Text, words)
	for _, c := range candidates {
		if slices.Contains(breaks[c.start+1:c.end+1], true) {
			continue
		}
		if c.score > labels[c.label].threshold {
			accepted = append(accepted, c)
		} else {
			weak = append(weak, c)
		}
	}
	var out graph.Extraction
	chosen := g.decoding.choose(accepted)
	for _, c := range chosen {
		at := graph.Range{Start: words[c.start].at.Start, End: words[c.end].at.End}
		out.Mentions = append(out.Mentions, labels[c.label].mentions(chunk, at, c.score)...)
	}
	for _, m := range out.Mentions {
		if m.Type == graph.UnknownType {
			out.Pruned.UnknownEntities++
		}
	}
	for _, c := range g.decoding.choose(weak) {
		if !g.decoding.conflicts(c, chosen) {
			out.Pruned.BelowThreshold++
		}
	}
	return out
}

// mentions turns what the model chose at a range of the chunk's text into
// mentions: one, none, or the two dates of a period.
func (l *label) mentions(chunk chunkers.Chunk, at graph.Range, score float64) []graph.Mention {
	parts := []graph.Range{at}
	if l.prompt == "date" {
		parts = splitPeriod(chunk.Text, at)
	}
	var out []graph.Mention
	for _, part := range parts {
		part, ok := tidyMention(chunk.Text, part)
		if text := chunk.Text[part.Start:part.End]; !ok || l.empty != nil && l.empty(text) {
			continue
		}
		mention := graph.Mention{
			Range:  graph.Range{Start: chunk.Range.Start + part.Start, End: chunk.Range.Start + part.End},
			Text:   chunk.Text[part.Start:part.End],
			Type:   l.kind,
			Score:  score,
			Method: "gliner",
		}
		if score < l.certain {
			mention.Type = graph.UnknownType
		}
		out = append(out, mention)
	}
	return out
}

// tidyMention takes punctuation off a name's ends, except the full stop of an
// abbreviation; ok is false when no letter or digit is left. Articles stay: of
// 1,324 mentions in encyclopedia articles two began with one, and both owned it
// ("The Netherlands").
func tidyMention(text string, at graph.Range) (graph.Range, bool) {
	name := text[at.Start:at.End]
	if !strings.ContainsFunc(name, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
		return at, false
	}
	const edge = " \t\n,;:!?…\"'“”‘’«»"
	kept := strings.TrimLeft(name, edge)
	start := at.Start + len(name) - len(kept)
	return graph.Range{Start: start, End: start + len(strings.TrimRight(kept, edge))}, true
}
