package pipeline

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"graphmill/pipeline/corpus"
	"graphmill/pipeline/falkor/store"
	"graphmill/pipeline/graph"
)

// Mirror makes a run over a whole root take documents out whose files are gone,
// and move those whose files got another path.
type Mirror struct {
	// MaxDelete and MaxPercent bound how many documents of the source may go, as
	// a number and as a share of them; of the two the one that is not negative
	// counts. A share below 100 never lets all of them go.
	MaxDelete  int
	MaxPercent float64
}

// allows reports whether so many documents of so many may go, and how many at
// most.
func (m Mirror) allows(gone, of int) (most int, ok bool) {
	if m.MaxDelete >= 0 {
		return m.MaxDelete, gone <= m.MaxDelete
	}
	most = int(math.Ceil(float64(of) * m.MaxPercent / 100))
	if m.MaxPercent < 100 && most >= of {
		most = max(0, of-1)
	}
	return most, gone <= most
}

// MirrorError is a mirroring run that would have removed more than it may. It
// wrote nothing.
type MirrorError struct {
	Root     string
	Gone, Of int
	Most     int
	Example  string // one of the paths
}

func (e *MirrorError) Error() string {
	return fmt.Sprintf("mirror %s: the files of %d of its %d documents are gone (%s, …), and mirror.max_delete lets %d go: nothing was changed; see that the folder is mounted and whole, or allow it with --max-delete %d",
		e.Root, e.Gone, e.Of, e.Example, e.Most, e.Gone)
}

// survey finds, before anything is written, what a mirroring run moves and
// removes. Files are hashed only if one of their size is gone.
func (r *run) survey(ctx context.Context) error {
	r.moves = map[string]store.StoredDocument{}
	present := map[string]corpus.File{}
	for entry, err := range r.Root.List(ctx) {
		if err != nil {
			return err
		}
		if s := entry.Skipped; s != nil {
			r.seen[storedPath(r.Source, s.Path)] = true
			continue
		}
		path := storedPath(r.Source, entry.File.Path)
		r.seen[path] = true
		present[path] = entry.File
	}
	gone, of := r.gone()
	if err := r.findMoves(ctx, gone, present); err != nil {
		return err
	}
	for _, d := range r.moves {
		delete(gone, d.Path)
	}
	for path := range gone {
		r.removing = append(r.removing, path)
	}
	slices.Sort(r.removing)
	if most, ok := r.Mirror.allows(len(gone), of); !ok {
		r.findMissing()
		return &MirrorError{Root: r.Root.Dir(), Gone: len(gone), Of: of, Most: most, Example: r.removing[0]}
	}
	return nil
}

// findMoves pairs documents that are gone with new files of the same content, in
// the order of their paths: which of several goes where makes no difference to
// the graph.
func (r *run) findMoves(ctx context.Context, gone map[string]store.StoredDocument, present map[string]corpus.File) error {
	sizes, byContent := map[int64]bool{}, map[string][]string{}
	for path, d := range gone {
		sizes[d.SizeBytes] = true
		byContent[d.Fingerprints.Content] = append(byContent[d.Fingerprints.Content], path)
	}
	for _, paths := range byContent {
		slices.Sort(paths)
	}
	var candidates []string
	for path, file := range present {
		if _, stored := r.stored[path]; !stored && sizes[file.Size] {
			candidates = append(candidates, path)
		}
	}
	slices.Sort(candidates)
	for _, path := range candidates {
		sum, err := r.Root.Hash(ctx, present[path])
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if from := byContent[sum]; err == nil && len(from) > 0 { // a file that cannot be read fails by itself later
			r.moves[path] = gone[from[0]]
			byContent[sum] = from[1:]
		}
	}
	return nil
}

// removeGone takes the documents out whose files are gone still.
//
// Dies anywhere: whole documents are there or not, and the next run goes on.
func (r *run) removeGone(ctx context.Context) error {
	var paths []string
	var ids []graph.DocumentID
	for _, path := range r.removing {
		if !r.Root.Exists(strings.TrimPrefix(path, storedPath(r.Source, ""))) {
			paths, ids = append(paths, path), append(ids, r.stored[path].ID)
		}
	}
	removed, err := Forget(ctx, r.Store, ids)
	for _, path := range paths[:removed] {
		r.removed[path] = true
		r.document(DocumentReport{Path: path, Status: Forgotten, Plan: r.stored[path].Plan, Reason: "its file is gone"}, graph.Pruned{})
	}
	return err
}

// gone are the documents of this source whose files are gone, and of how many. A
// file that globs or ignore files leave out today is not gone; a text, and what
// another program wrote, is of no files root.
func (r *run) gone() (gone map[string]store.StoredDocument, of int) {
	gone = map[string]store.StoredDocument{}
	for path, d := range r.stored {
		if d.Fingerprints.Plan == "" || d.ID != r.documentID(path) || SourceOf(path, r.sources) != r.Source {
			continue
		}
		of++
		if !r.seen[path] && !r.removed[path] && !r.Root.Exists(strings.TrimPrefix(path, storedPath(r.Source, ""))) {
			gone[path] = d
		}
	}
	return gone, of
}
