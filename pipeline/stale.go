package pipeline

import (
	"context"
	"slices"
	"strings"

	"graphmill/pipeline/corpus"
	"graphmill/pipeline/falkor/store"
	"graphmill/planner"
)

// Reason says how a file and its document in the graph stand to each other: why
// the next run would process it. Those of [planner.Why] are the same here, but
// for what the graph does not have.
type Reason string

// The reasons that no comparison of fingerprints gives.
const (
	ReasonMissing Reason = "missing" // the graph has no document of the file
	ReasonGone    Reason = "gone"    // the document's file is gone
	ReasonFailed  Reason = "failed"  // the file cannot be read
	ReasonNone    Reason = Reason(planner.WhyNone)
)

// StaleFile is a file's or a document's reason. Detail says more of a failure, and
// of a file that is not in the graph.
type StaleFile struct {
	Path   string `json:"path"`
	Reason Reason `json:"reason"`
	Detail string `json:"detail,omitempty"`
}

// Stale says of every file of the root and every document of the graph what the
// next run would have to do with it, sorted by path. It reads each file to tell
// changed ones, and writes nothing. With a nil Root all documents are compared with
// the configuration alone, with one those of its source that are of no file.
// Documents of other sources, which a run over the root leaves alone, are counted.
func Stale(ctx context.Context, o Options) (files []StaleFile, others int, err error) {
	stored, err := o.Store.Documents(ctx)
	if err != nil {
		return nil, 0, err
	}
	meta, err := o.Store.Meta(ctx)
	if err != nil {
		return nil, 0, err
	}
	files = []StaleFile{}
	seen := map[string]bool{}
	if o.Root != nil {
		if files, err = o.staleFiles(ctx, stored, seen); err != nil {
			return nil, 0, err
		}
	}
	for path, d := range stored {
		if d.Fingerprints.Plan == "" || seen[path] {
			continue // another program's, or told of
		}
		if o.Root != nil && SourceOf(path, meta.Sources) != o.Source {
			others++
			continue
		}
		reason, err := o.staleDocument(d, meta.Sources)
		if err != nil {
			return nil, 0, err
		}
		files = append(files, StaleFile{Path: path, Reason: reason})
	}
	slices.SortFunc(files, func(a, b StaleFile) int { return strings.Compare(a.Path, b.Path) })
	return files, others, nil
}

// staleFiles compares what stands under the root, and notes what it has seen.
func (o Options) staleFiles(ctx context.Context, stored map[string]store.StoredDocument, seen map[string]bool) ([]StaleFile, error) {
	files := []StaleFile{}
	for entry, err := range o.Root.List(ctx) {
		if err != nil {
			return nil, err
		}
		if s := entry.Skipped; s != nil {
			if s.Err != nil {
				path := storedPath(o.Source, s.Path)
				seen[path] = true
				files = append(files, StaleFile{path, ReasonFailed, s.Reason})
			}
			continue
		}
		path := storedPath(o.Source, entry.File.Path)
		seen[path] = true
		planned, err := planFile(ctx, o, entry.File, stored[path])
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case isSetup(err):
			return nil, err
		case err != nil:
			files = append(files, StaleFile{path, ReasonFailed, err.Error()})
		default:
			files = append(files, StaleFile{Path: path, Reason: reasonOf(planned.Why)})
		}
	}
	return files, nil
}

// staleDocument compares a document whose file was not listed.
func (o Options) staleDocument(d store.StoredDocument, sources map[string]string) (Reason, error) {
	source := SourceOf(d.Path, sources)
	under := strings.TrimPrefix(d.Path, storedPath(source, ""))
	if o.Root != nil && d.ID == o.documentID(d.Path) {
		if o.Root.Exists(under) {
			return ReasonNone, nil // globs or ignore files leave it out today
		}
		return ReasonGone, nil
	}
	a := o.Planner.Assign(planner.File{Path: under, Format: corpus.Format(d.Format), Size: d.SizeBytes})
	current, err := fingerprints(o.Strategies, a, o.OntologyDigest)
	if err != nil {
		return "", setup(err)
	}
	current.Content = d.Fingerprints.Content
	return reasonOf(whyOf(d, current)), nil
}

func reasonOf(why planner.Why) Reason {
	if why == planner.WhyNew {
		return ReasonMissing
	}
	return Reason(why)
}
