package chunkers

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"

	"graphmill/pipeline/corpus"
	"graphmill/pipeline/graph"
)

// mustChunk cuts and checks everything that a Chunker promises.
func mustChunk(t *testing.T, name string, params Params, document *corpus.Document) []Chunk {
	t.Helper()
	chunker, err := New(name, params)
	if err != nil {
		t.Fatal(err)
	}
	chunks, err := chunker.Chunk(document)
	if err != nil {
		t.Fatal(err)
	}
	values, err := settle(name, params)
	if err != nil {
		t.Fatal(err)
	}
	checkChunks(t, document.Text, values, chunks)
	return chunks
}

func checkChunks(t *testing.T, text string, caps Params, chunks []Chunk) {
	t.Helper()
	boundaries := clusterBoundaries(text)
	covered := 0
	for i, chunk := range chunks {
		where := fmt.Sprintf("chunk %d [%d:%d] %.60q", i, chunk.Range.Start, chunk.Range.End, chunk.Text)
		switch {
		case chunk.Index != i:
			t.Fatalf("%s: index is %d", where, chunk.Index)
		case chunk.Text == "":
			t.Fatalf("%s: empty", where)
		case text[chunk.Range.Start:chunk.Range.End] != chunk.Text:
			t.Fatalf("%s: text differs from its range", where)
		case chunk.Tokens != EstimateTokens(chunk.Text):
			t.Fatalf("%s: tokens are %d, the estimate %d", where, chunk.Tokens, EstimateTokens(chunk.Text))
		case caps[ChunkTokens] > 0 && chunk.Tokens > caps[ChunkTokens]:
			t.Fatalf("%s: %d tokens are over the cap %d", where, chunk.Tokens, caps[ChunkTokens])
		case caps[ChunkChars] > 0 && utf8.RuneCountInString(chunk.Text) > caps[ChunkChars]:
			t.Fatalf("%s: %d characters are over the cap", where, utf8.RuneCountInString(chunk.Text))
		case i > 0 && (chunk.Range.Start <= chunks[i-1].Range.Start || chunk.Range.End <= chunks[i-1].Range.End):
			t.Fatalf("%s: adds nothing to the one before, %v", where, chunks[i-1].Range)
		}
		if chunk.Range.Start > covered {
			checkBlank(t, text[covered:chunk.Range.Start], where)
		}
		covered = chunk.Range.End
		checkEdges(t, text, boundaries, caps, chunk, where)
	}
	checkBlank(t, text[covered:], "the end")
}

func checkBlank(t *testing.T, lost, where string) {
	t.Helper()
	if strings.TrimSpace(lost) != "" {
		t.Fatalf("lost %.80q before %s", lost, where)
	}
}

// checkEdges checks that a chunk divides no grapheme cluster that could have
// stayed whole, and that its edges are not white space.
func checkEdges(t *testing.T, text string, boundaries []int, caps Params, chunk Chunk, where string) {
	t.Helper()
	for _, edge := range []int{chunk.Range.Start, chunk.Range.End} {
		cluster := clusterAt(boundaries, edge)
		if cluster.Start == edge {
			continue
		}
		whole := text[cluster.Start:cluster.End]
		over := caps[ChunkTokens] > 0 && EstimateTokens(whole) > caps[ChunkTokens] ||
			caps[ChunkChars] > 0 && utf8.RuneCountInString(whole) > caps[ChunkChars]
		if !over {
			t.Fatalf("%s: edge %d divides the cluster %.40q", where, edge, whole)
		}
	}
	first, _ := utf8.DecodeRuneInString(chunk.Text)
	last, _ := utf8.DecodeLastRuneInString(chunk.Text)
	if unicode.IsSpace(first) && strings.TrimSpace(firstCluster(chunk.Text)) == "" {
		t.Fatalf("%s: starts with white space", where)
	}
	if start := clusterAt(boundaries, chunk.Range.End-1).Start; unicode.IsSpace(last) && strings.TrimSpace(text[start:chunk.Range.End]) == "" {
		t.Fatalf("%s: ends with white space", where)
	}
}

func firstCluster(text string) string {
	cluster, _, _, _ := uniseg.FirstGraphemeClusterInString(text, -1)
	return cluster
}

// clusterBoundaries lists where grapheme clusters start, and the end.
func clusterBoundaries(text string) []int {
	starts, at, state := []int{0}, 0, -1
	for rest := text; rest != ""; {
		var cluster string
		cluster, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		at += len(cluster)
		starts = append(starts, at)
	}
	return starts
}

// clusterAt returns the cluster that holds the byte at place.
func clusterAt(boundaries []int, place int) graph.Range {
	low, high := 0, len(boundaries)
	for high-low > 1 {
		if middle := (low + high) / 2; boundaries[middle] <= place {
			low = middle
		} else {
			high = middle
		}
	}
	if low+1 == len(boundaries) {
		return graph.Range{Start: boundaries[low], End: boundaries[low]}
	}
	return graph.Range{Start: boundaries[low], End: boundaries[low+1]}
}

// An edit changes the chunks around it and no others: what stands after it is cut
// at the same places again.
func TestCutsComeBackAfterAnEdit(t *testing.T) {
	const most = 24
	paragraphs := make([]string, 600)
	for i := range paragraphs {
		// Lengths that repeat nowhere near, as people write.
		paragraphs[i] = fmt.Sprintf("%d. %s.", i, strings.TrimSpace(words(8+i*i%71)))
	}
	for _, name := range []string{"fixed", "sentence", "structural"} {
		before := map[string]bool{}
		for _, chunk := range mustChunk(t, name, Params{ChunkTokens: 64}, &corpus.Document{Text: strings.Join(paragraphs, "\n\n")}) {
			before[chunk.Text] = true
		}
		edited := slices.Clone(paragraphs)
		edited[200] += " One more."
		changed := 0
		for _, chunk := range mustChunk(t, name, Params{ChunkTokens: 64}, &corpus.Document{Text: strings.Join(edited, "\n\n")}) {
			if !before[chunk.Text] {
				changed++
			}
		}
		if changed == 0 || changed > most {
			t.Errorf("%s: %d of %d chunks are others after one paragraph was edited", name, changed, len(before))
		}
	}
}
