package extractors

import (
	"slices"
	"unicode/utf8"

	"graphmill/pipeline/graph"
	"graphmill/pipeline/models"
)

// modelWord is a word of a text with its pieces' ids.
type modelWord struct {
	at  graph.Range
	ids []int64
}

// window is a run of words that fits one call. Spans that begin in [own, ownEnd)
// are taken from it, so that each span of a text comes from exactly one window,
// one that shows it whole.
type window struct {
	start, end  int // words
	own, ownEnd int
	pieces      int
	group       int // which labels are asked for
}

// longWordRunes is the length of the parts into which a word is cut that would
// fill half a window: base64, or prose of a script without spaces.
const longWordRunes = 64

// modelWords cuts text into words and these into pieces. A word of more than
// limit pieces becomes several words, so that no text is left out. A word
// without pieces (a zero-width joiner) is none to the model; the reference
// engine counts it all the same and then reports every later span of the text
// one word early.
func modelWords(text string, tokenizer models.Tokenizer, limit int) []modelWord {
	ranges := glinerWords(text)
	words := make([]modelWord, 0, len(ranges))
	for _, at := range ranges {
		ids := pieceIDs(tokenizer, text[at.Start:at.End])
		if len(ids) == 0 {
			continue
		}
		if len(ids) <= limit {
			words = append(words, modelWord{at, ids})
			continue
		}
		for _, part := range splitLong(text, at) {
			ids := pieceIDs(tokenizer, text[part.Start:part.End])
			words = append(words, modelWord{part, ids[:min(len(ids), limit)]})
		}
	}
	return words
}

func pieceIDs(tokenizer models.Tokenizer, word string) []int64 {
	pieces := tokenizer.Encode(word)
	ids := make([]int64, len(pieces))
	for i, p := range pieces {
		ids[i] = p.ID
	}
	return ids
}

func splitLong(text string, at graph.Range) []graph.Range {
	var parts []graph.Range
	start, runes := at.Start, 0
	for i := at.Start; i < at.End; {
		_, size := utf8.DecodeRuneInString(text[i:])
		i += size
		if runes++; runes == longWordRunes || i == at.End {
			parts = append(parts, graph.Range{Start: start, End: i})
			start, runes = i, 0
		}
	}
	return parts
}

// limits bound one window.
type limits struct {
	pieces  int // of words, without labels and special tokens
	words   int
	overlap int // words that two neighbours share
}

// windowsOfBlocks is [windowsOf] for each block by itself; blocks are the words
// that begin one, but for the first.
func windowsOfBlocks(words []modelWord, starts, blocks []int, l limits) []window {
	var out []window
	first := 0
	for i := 0; i <= len(blocks); i++ {
		end := len(words)
		if i < len(blocks) {
			end = blocks[i]
		}
		var inside []int
		for _, start := range starts {
			if start > first && start < end {
				inside = append(inside, start-first)
			}
		}
		for _, w := range windowsOf(words[first:end], inside, l) {
			w.start, w.end, w.own, w.ownEnd = w.start+first, w.end+first, w.own+first, w.ownEnd+first
			out = append(out, w)
		}
		first = end
	}
	return out
}

// windowsOf covers words with windows of whole sentences, as many as fit: no
// name reaches over the end of one, so that neighbours need share nothing.
// starts are the words that begin a sentence; what stands before the first is
// one too. A sentence that does not fit is cut.
func windowsOf(words []modelWord, starts []int, l limits) []window {
	var out []window
	var open window
	shut := func() {
		if open.end > open.start {
			open.own, open.ownEnd = open.start, open.end
			out = append(out, open)
		}
		open = window{start: open.end, end: open.end}
	}
	for i := 0; i <= len(starts); i++ {
		first, end := 0, len(words)
		if i > 0 {
			first = starts[i-1]
		}
		if i < len(starts) {
			end = starts[i]
		}
		pieces := 0
		for _, word := range words[first:end] {
			pieces += len(word.ids)
		}
		if open.pieces+pieces > l.pieces || end-open.start > l.words {
			shut()
		}
		if pieces <= l.pieces && end-first <= l.words {
			open.end, open.pieces = end, open.pieces+pieces
			continue
		}
		for _, w := range cutSentence(words[first:end], l) {
			w.start, w.end, w.own, w.ownEnd = w.start+first, w.end+first, w.own+first, w.ownEnd+first
			out = append(out, w)
		}
		open = window{start: end, end: end}
	}
	shut()
	return out
}

// cutSentence cuts what does not fit into windows of about equal size that
// overlap, because a short last one would see little context and cost a call.
func cutSentence(words []modelWord, l limits) []window {
	greedy := cutWindows(words, l)
	if len(greedy) < 2 {
		return greedy
	}
	total := 0
	for _, w := range greedy {
		total += w.pieces
	}
	even := l
	even.pieces = min(l.pieces, total/len(greedy)+total/len(greedy)/16+1)
	if cut := cutWindows(words, even); len(cut) == len(greedy) {
		return cut
	}
	return greedy
}

func cutWindows(words []modelWord, l limits) []window {
	var out []window
	for start := 0; start < len(words); {
		w := window{start: start, end: start}
		for w.end < len(words) && w.end-start < l.words {
			n := len(words[w.end].ids)
			if w.end > start && w.pieces+n > l.pieces {
				break
			}
			w.pieces += n
			w.end++
		}
		out = append(out, w)
		if w.end == len(words) {
			break
		}
		start = nextStart(words, w, l)
	}
	for i := range out {
		out[i].ownEnd = len(words)
		if i > 0 {
			seam := (out[i].start + out[i-1].end) / 2
			out[i].own, out[i-1].ownEnd = seam, seam
		}
	}
	return out
}

// nextStart lets the next window share l.overlap words with w, or as many as
// fill a third of it.
func nextStart(words []modelWord, w window, l limits) int {
	next, pieces := w.end, 0
	for next > w.start+1 && w.end-next < l.overlap {
		pieces += len(words[next-1].ids)
		if pieces > l.pieces/3 {
			break
		}
		next--
	}
	return next
}

// batches groups one text's windows for calls: one a call where the model needs
// that, else neighbours in length, so that little is padding. Windows of
// different texts never share a call, so that a chunk's result does not depend
// on other chunks to the last bit.
func batches(windows []window, single bool) [][]window {
	sorted := slices.Clone(windows)
	slices.SortStableFunc(sorted, func(a, b window) int {
		if a.group != b.group {
			return a.group - b.group
		}
		return a.pieces - b.pieces
	})
	var out [][]window
	for i, w := range sorted {
		if n := len(out); !single && i > 0 {
			last := out[n-1]
			if last[0].group == w.group && len(last) < maxBatch {
				out[n-1] = append(last, w)
				continue
			}
		}
		out = append(out, []window{w})
	}
	return out
}

// maxBatch is the number of windows in one call: on a CPU larger batches are no
// faster and only take memory.
const maxBatch = 8
