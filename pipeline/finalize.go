package pipeline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"graphmill/pipeline/falkor/store"
	"graphmill/pipeline/llm"
	"graphmill/pipeline/models"
)

// embedPage is how many texts are fetched, embedded and stored at a time: some
// seconds of work for a local model, a few megabytes of memory. embedPartSize of
// them are one call of the embedder: few, so that at a page's end no worker is
// without work for long.
const (
	embedPage     = 1024
	embedPartSize = 8
)

// FinalizeOptions say how to finalize.
type FinalizeOptions struct {
	Store    Finalizer
	Embedder models.Embedder
	Workers  int // calls of the embedder side by side; 0 means 1
	// Batch is how many texts one call has; 0 means 8, which suits a model on
	// this machine.
	Batch int
	// Reembed accepts an embedder other than the one that the graph's vectors
	// are of, and makes all of them again.
	Reembed bool
	// MustNotMerge are pairs of names that are two things', whatever a resolver
	// says.
	MustNotMerge [][2]string
	// Chat gives the language model that the resolver llm_verified asks. It is
	// called when a document wants it; nil where none does.
	Chat     func() (llm.Chat, error)
	Observer Observer // nil means Silent
}

// FinalizeReport is what finalize did.
type FinalizeReport struct {
	// Done says that the graph is searchable; the counts are set only then.
	Done     bool                     `json:"done"`
	Embedded map[store.VectorKind]int `json:"embedded"`           // vectors made
	Unusable int                      `json:"unusable,omitempty"` // texts without anything to embed
	Merged   int                      `json:"merged"`             // entities that became part of another, beyond equal ids
	Unmerged int                      `json:"unmerged,omitempty"` // entities that became one of their own again
	// Judged is what a language model was asked about names; nil when nothing was.
	Judged *Judged `json:"judged,omitempty"`
	// Described is what it was asked to describe; nil when nothing was.
	Described *Described `json:"described,omitempty"`
	// MergeGroupsSkipped counts groups of too many similar names to compare.
	MergeGroupsSkipped int          `json:"merge_groups_skipped,omitempty"`
	Counts             store.Counts `json:"counts"` // the graph's, afterwards
	Seconds            float64      `json:"seconds"`
	Embedding          string       `json:"embedding_model"`
}

// Finalize brings a graph from written to searchable: merged entities, missing
// and stale vectors, indexes, stored counts. It may be interrupted anywhere and run again: each
// page of vectors is stored before the next is made.
//
// Entities that several documents name alike share their id, so the exact
// resolver leaves nothing to merge here; what others merge, they do here.
func Finalize(ctx context.Context, o FinalizeOptions) (*FinalizeReport, error) {
	if o.Observer == nil {
		o.Observer = Silent{}
	}
	if o.Workers <= 0 {
		o.Workers = 1
	}
	if o.Batch <= 0 {
		o.Batch = embedPartSize
	}
	started := time.Now()
	report := &FinalizeReport{Embedded: map[store.VectorKind]int{}, Embedding: o.Embedder.Model()}
	indexes := store.IndexOptions{
		Model: o.Embedder.Model(), Dimension: o.Embedder.Dimension(), Reembed: o.Reembed,
		Progress: func(p store.IndexProgress) {
			o.Observer.Observe(Event{Kind: FinalizeStep, Step: "index", Done: p.Done, Total: p.Total})
		},
	}
	if err := o.Store.PrepareVectors(ctx, indexes); err != nil {
		return report, err
	}
	if err := mergeEntities(ctx, o, report); err != nil {
		return report, fmt.Errorf("merge entities: %w", err)
	}
	if _, err := describeRecorded(ctx, o); err != nil {
		return report, fmt.Errorf("describe entities: %w", err)
	}
	var overBudget error
	for _, kind := range []store.VectorKind{store.ChunkVector, store.EntityVector, store.RelationVector} {
		if err := embedKind(ctx, o, kind, report); err != nil {
			return report, fmt.Errorf("embed %s: %w", plural[kind], err)
		}
		if err := o.Store.StartIndexes(ctx, kind, indexes); err != nil {
			return report, err
		}
		if kind == store.EntityVector {
			if overBudget = mergeJudged(ctx, o, report); overBudget != nil && !errors.Is(overBudget, llm.ErrBudget) {
				return report, overBudget
			}
		}
	}
	o.Observer.Observe(Event{Kind: FinalizeStep, Step: "index"})
	if err := o.Store.EnsureIndexes(ctx, indexes); err != nil {
		return report, err
	}
	var err error
	report.Counts, err = o.Store.Finish(ctx)
	report.Done = err == nil
	if err == nil && overBudget != nil {
		// The graph is searchable, and waits for a finalize that may ask the rest.
		err = errors.Join(overBudget, o.Store.Decide(ctx, nil))
	}
	report.Seconds = time.Since(started).Seconds()
	return report, err
}

// mergeJudged has a language model judge names, once entities have the vectors by
// which it finds their neighbours, merges what it confirmed, and has it describe
// what is joined. An error of the model comes back when all else is done.
func mergeJudged(ctx context.Context, o FinalizeOptions, report *FinalizeReport) error {
	joins, stopped := judgeEntities(ctx, o, report)
	if joins {
		if err := mergeEntities(ctx, o, report); err != nil {
			return errors.Join(err, stopped)
		}
	}
	lacking, err := describeRecorded(ctx, o)
	if err != nil {
		return errors.Join(err, stopped)
	}
	if stopped == nil {
		stopped = describeJoined(ctx, o, lacking, report)
	}
	return errors.Join(embedKind(ctx, o, store.EntityVector, report), stopped)
}

var plural = map[store.VectorKind]string{
	store.ChunkVector: "chunks", store.EntityVector: "entities", store.RelationVector: "relations",
}

// embedKind makes every pending vector of one kind, page by page: while one page
// is stored, the next is embedded.
func embedKind(ctx context.Context, o FinalizeOptions, kind store.VectorKind, report *FinalizeReport) error {
	total, err := o.Store.PendingCount(ctx, kind)
	if err != nil || total == 0 {
		return err
	}
	step := "embed " + plural[kind]
	stored := make(chan error, 1)
	stored <- nil
	under := map[string]bool{} // ids of the page that is being stored
	var known textVectors      // of the page before
	again := map[string]bool{} // ids and texts of what came when all should have been done
	for done := 0; ; {
		o.Observer.Observe(Event{Kind: FinalizeStep, Step: step, Done: done, Total: max(total, done)})
		page, err := o.Store.PendingVectors(ctx, kind, embedPage+len(under))
		page = slices.DeleteFunc(page, func(p store.Pending) bool { return under[p.ID] })
		var vectors []store.Vector
		if err == nil {
			vectors, known, err = embedPending(ctx, o, page, known)
		}
		if err := errors.Join(err, <-stored); err != nil {
			return err
		}
		if len(page) == 0 && len(under) == 0 {
			return nil
		}
		if done >= total && len(page) > 0 && !anyNew(again, page) {
			return fmt.Errorf("%d of them stay without a vector however often it is stored (%s, …); next: `ingestd check --repair`", len(again), page[0].ID)
		}
		clear(under)
		for _, v := range vectors {
			under[v.ID] = true
			if v.Values == nil {
				report.Unusable++
			} else {
				report.Embedded[kind]++
			}
		}
		// Dies before: the page is pending still. Dies after: it is not, and
		// nothing of it is embedded again.
		go func() { stored <- o.Store.StoreVectors(ctx, kind, vectors) }()
		done += len(page)
	}
}

// anyNew adds what is pending to what was seen, and reports whether any of it was not.
func anyNew(seen map[string]bool, page []store.Pending) bool {
	before := len(seen)
	for _, p := range page {
		seen[p.ID+"\x00"+p.Key] = true
	}
	return len(seen) > before
}

// textVectors are vectors by the text they were made of. A vector depends on its
// text alone, and entities of one sentence often have that sentence as their
// description: four texts of ten stand twice.
type textVectors map[string][]float32

// embedPending makes the vectors of a page. It returns those of the page's texts
// too: the next page has some of them again.
func embedPending(ctx context.Context, o FinalizeOptions, page []store.Pending, before textVectors) ([]store.Vector, textVectors, error) {
	own := make([][]string, len(page))
	known := textVectors{}
	var texts []string
	for i, p := range page {
		own[i] = EmbeddingTexts(p)
		for _, text := range own[i] {
			if _, ok := known[text]; !ok {
				known[text] = before[text]
				if known[text] == nil {
					texts = append(texts, text)
				}
			}
		}
	}
	if err := embedTexts(ctx, o, texts, known); err != nil {
		return nil, nil, err
	}
	out := make([]store.Vector, len(page))
	for i, p := range page {
		out[i].Pending = p
		vectors := make([][]float32, len(own[i]))
		for k, text := range own[i] {
			vectors[k] = known[text]
		}
		if len(vectors) > 0 {
			out[i].Values = mean(vectors)
		}
	}
	return out, known, nil
}

// embedTexts adds the vectors of texts to known. The longest come first, so that
// at the end no worker waits for another's long one.
func embedTexts(ctx context.Context, o FinalizeOptions, texts []string, known textVectors) error {
	slices.SortStableFunc(texts, func(a, b string) int { return len(b) - len(a) })
	made := make([][]float32, len(texts))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(o.Workers)
	for start := 0; start < len(texts); start += o.Batch {
		end := min(start+o.Batch, len(texts))
		group.Go(func() error {
			vectors, err := o.Embedder.Embed(ctx, texts[start:end])
			if err == nil && len(vectors) != end-start {
				err = fmt.Errorf("%s returned %d vectors for %d texts", o.Embedder.Model(), len(vectors), end-start)
			}
			copy(made[start:end], vectors)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for i, text := range texts {
		known[text] = made[i]
	}
	return nil
}
