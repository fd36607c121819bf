package extractors

import (
	"context"
	"fmt"

	"graphmill/pipeline/models"
	"graphmill/planner/catalogue"
)

var glinerCost = catalogue.Cost{
	LocalSecondsPerKToken: 0.2,
	Source:                "gliner-minilm-en, 10 types, 94 KB of biography in windows of 96 word pieces: 4.3 s of two cores",
}

// question is a set of labels as the ontology's calls ask for them.
type question struct {
	labels []label
	groups []labelGroup
	limits limits
}

// labelGroup is what one call asks for.
type labelGroup struct {
	first, count int     // in question.labels
	prompt       []int64 // the special tokens and labels that stand before the words
}

// sharedWords is how many words neighbouring windows share besides the longest
// span on each side of the seam, to see it in context. 0, 8 and 16 gave the same
// F1 within half a point on sentences strung together.
const sharedWords = 8

// ask prepares the labels: their pieces, and how many fit a call beside the
// text. At least half of a call is the text's.
func (g *GLiNER) ask(labels []label) (*question, error) {
	before, after := g.model.Tokenizer.Wrapper()
	room := g.model.Entry.Positions - len(before) - len(after)
	q := &question{labels: labels}
	longest, total := 0, 0
	for i := range labels {
		labels[i].ids = pieceIDs(g.model.Tokenizer, labels[i].prompt)
		n := len(labels[i].ids) + 1
		total, longest = total+n, max(longest, n)
		if n+1 > room/2 {
			return nil, fmt.Errorf("ask gliner for entity type %s: its prompt is %d word pieces, and at most %d fit; give the type a shorter prompt", labels[i].kind, n-1, room/2-2)
		}
	}
	calls := (len(labels) + g.model.Config.MaxTypes - 1) / g.model.Config.MaxTypes
	for ; ; calls++ {
		if q.groups = g.group(labels, calls); longestPrompt(q.groups) <= room/2 {
			break
		}
	}
	q.limits = limits{
		pieces:  min(room-longestPrompt(q.groups), g.model.Entry.Window),
		words:   g.model.Config.MaxLen,
		overlap: 2*g.model.Config.MaxWidth + sharedWords,
	}
	return q, nil
}

// group cuts labels into runs of about equal length.
func (g *GLiNER) group(labels []label, calls int) []labelGroup {
	groups := make([]labelGroup, 0, calls)
	for i := range calls {
		first, end := i*len(labels)/calls, (i+1)*len(labels)/calls
		group := labelGroup{first: first, count: end - first}
		for _, l := range labels[first:end] {
			group.prompt = append(append(group.prompt, g.ent), l.ids...)
		}
		group.prompt = append(group.prompt, g.sep)
		groups = append(groups, group)
	}
	return groups
}

func longestPrompt(groups []labelGroup) int {
	longest := 0
	for _, group := range groups {
		longest = max(longest, len(group.prompt))
	}
	return longest
}

// candidates scores every span of text for every label of q and returns those
// above share of their label's threshold.
func (g *GLiNER) candidates(ctx context.Context, text string, q *question, share float64) ([]modelWord, []candidate, error) {
	words := modelWords(text, g.model.Tokenizer, q.limits.pieces/2)
	if len(words) == 0 {
		return nil, nil, nil
	}
	var windows []window
	starts, blocks := sentenceStarts(text, words), blockStarts(text, words)
	for group := range q.groups {
		for _, w := range windowsOfBlocks(words, starts, blocks, q.limits) {
			w.group = group
			windows = append(windows, w)
		}
	}
	var found []candidate
	for _, batch := range batches(windows, g.model.OneTextACall) {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		logits, err := g.run(ctx, words, batch, q.groups[batch[0].group])
		if err != nil {
			return nil, nil, err
		}
		for row, w := range batch {
			found = g.read(found, logits, row, w, q, share)
		}
	}
	return words, found, nil
}

// run calls the model for windows that ask for the same labels.
func (g *GLiNER) run(ctx context.Context, words []modelWord, batch []window, group labelGroup) (models.Tensor, error) {
	outputs, err := g.model.Session.Run(ctx, g.inputs(words, batch, group))
	if err != nil {
		return models.Tensor{}, err
	}
	name := g.model.Session.Outputs()[0]
	logits := outputs[name]
	longest := 0
	for _, w := range batch {
		longest = max(longest, w.end-w.start)
	}
	want := []int64{int64(len(batch)), int64(longest), int64(g.model.Config.MaxWidth), int64(group.count)}
	if len(logits.Shape) != 4 || logits.Shape[0] != want[0] || logits.Shape[1] != want[1] || logits.Shape[2] != want[2] || logits.Shape[3] < want[3] {
		return models.Tensor{}, fmt.Errorf("model output %s has shape %v, want %v: the model is no GLiNER span model", name, logits.Shape, want)
	}
	return logits, nil
}

// inputs lays out a batch: a row is the special start, the labels, the words
// and the special end; words_mask numbers the words' first pieces from 1.
func (g *GLiNER) inputs(words []modelWord, batch []window, group labelGroup) map[string]models.Tensor {
	before, after := g.model.Tokenizer.Wrapper()
	fixed := len(before) + len(group.prompt) + len(after)
	longest, most := 0, 0
	for _, w := range batch {
		longest, most = max(longest, fixed+w.pieces), max(most, w.end-w.start)
	}
	rows := len(batch)
	ids, attention, mask := make([]int64, rows*longest), make([]int64, rows*longest), make([]int64, rows*longest)
	lengths := make([]int64, rows)
	for row, w := range batch {
		at := row * longest
		end := at + longest
		at += copy(ids[at:], before)
		at += copy(ids[at:], group.prompt)
		for i, word := range words[w.start:w.end] {
			mask[at] = int64(i + 1)
			at += copy(ids[at:], word.ids)
		}
		at += copy(ids[at:], after)
		for i := row * longest; i < at; i++ {
			attention[i] = 1
		}
		for ; at < end; at++ {
			ids[at] = g.model.Tokenizer.Pad()
		}
		lengths[row] = int64(w.end - w.start)
	}
	spans, spanMask := spanInputs(lengths, most, g.model.Config.MaxWidth)
	sequence := []int64{int64(rows), int64(longest)}
	return map[string]models.Tensor{
		"input_ids":      {Shape: sequence, Int64: ids},
		"attention_mask": {Shape: sequence, Int64: attention},
		"words_mask":     {Shape: sequence, Int64: mask},
		"text_lengths":   {Shape: []int64{int64(rows), 1}, Int64: lengths},
		"span_idx":       {Shape: []int64{int64(rows), int64(len(spanMask) / rows), 2}, Int64: spans},
		"span_mask":      {Shape: []int64{int64(rows), int64(len(spanMask) / rows)}, Bool: spanMask},
	}
}

// spanInputs lists all spans of up to width words; those that leave the row's
// words are masked and point at its first word.
func spanInputs(lengths []int64, most, width int) ([]int64, []bool) {
	spans := make([]int64, len(lengths)*most*width*2)
	mask := make([]bool, len(lengths)*most*width)
	at := 0
	for _, length := range lengths {
		for start := range int64(most) {
			for end := start; end < start+int64(width); end++ {
				if end < length {
					spans[2*at], spans[2*at+1] = start, end
					mask[at] = true
				}
				at++
			}
		}
	}
	return spans, mask
}

// read appends a row's spans that the window owns and that score above share of
// their label's threshold.
func (g *GLiNER) read(found []candidate, logits models.Tensor, row int, w window, q *question, share float64) []candidate {
	group := q.groups[w.group]
	words, width, classes := int(logits.Shape[1]), int(logits.Shape[2]), int(logits.Shape[3])
	floors := make([]float32, group.count)
	for i := range floors {
		floors[i] = float32(logit(share * q.labels[group.first+i].threshold))
	}
	for start := max(w.own, w.start); start < min(w.ownEnd, w.end); start++ {
		for span := range min(width, w.end-start) {
			at := ((row*words+start-w.start)*width + span) * classes
			for i, floor := range floors {
				if x := logits.Float32[at+i]; x > floor {
					found = append(found, candidate{start: start, end: start + span, label: group.first + i, score: logistic(x)})
				}
			}
		}
	}
	return found
}
