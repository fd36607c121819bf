package main

import (
	"context"
	"errors"
	"sort"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/spf13/cobra"

	"graphmill/pipeline"
	"graphmill/pipeline/corpus"
	"graphmill/pipeline/falkor/store"
	"graphmill/pipeline/graph"
)

func (a *app) forgetCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "forget PATH…",
		Short: "remove documents from the graph",
		Long: `forget removes documents, with every passage, fact and entity that no other document supports. A PATH is a document's
path as reports show it, its id (file:notes/a.md), a folder, or a glob ('drafts/**'). The files themselves are not touched;
a later run ingests those that still exist again.`,
		Example: "  ingestd forget old/notes.md\n  ingestd forget 'drafts/**'",
		Args:    cobra.MinimumNArgs(1),
	}
	return a.verb(cmd, []string{"wait", "progress", "embedder.kind", "embedder.model_dir", "jobs"}, a.forget)
}

func (a *app) forget(ctx context.Context, patterns []string) error {
	s, err := a.openSession(ctx, "forget")
	if err != nil {
		return err
	}
	started := time.Now()
	report, err := s.forget(ctx, patterns)
	report.Totals.Seconds = time.Since(started).Seconds()
	err = errors.Join(err, s.record("forget", report, started, err), s.close())
	return a.conclude(report, err)
}

func (s *session) forget(ctx context.Context, patterns []string) (*pipeline.Report, error) {
	ctx, cancel := s.untilLockLost(ctx)
	defer cancel()
	report := pipeline.NewReport(s.Config.GraphName())
	stored, err := s.store.Documents(ctx)
	if err != nil {
		return report, err
	}
	matched, unmatched := matchStored(stored, patterns)
	var ids []graph.DocumentID
	for _, path := range matched {
		ids = append(ids, stored[path].ID)
	}
	for _, pattern := range unmatched {
		report.Add(pipeline.DocumentReport{
			Path: pattern, Status: pipeline.Failed, Kind: "unmatched", Reason: "the graph holds no such document; `ingestd status` lists them",
		})
	}
	s.store.Unlisted()
	removed, err := pipeline.Forget(ctx, s.store, ids)
	for _, path := range matched[:removed] {
		report.Add(pipeline.DocumentReport{Path: path, Status: pipeline.Forgotten, Plan: stored[path].Plan})
	}
	if err == nil && removed > 0 {
		err = s.forgetExtractions(ctx)
	}
	if err == nil && removed > 0 {
		err = s.finalizeForgotten(ctx, report)
	}
	if err != nil {
		err = report.Interrupt(ctx, err)
	}
	return report, s.explain(ctx, err)
}

// finalizeForgotten makes anew what was embedded of entities that lost a
// document. Another embedder than the graph's does not undo a removal: it is
// left to a finalize with the right one.
func (s *session) finalizeForgotten(ctx context.Context, report *pipeline.Report) error {
	meta, err := s.store.Meta(ctx)
	if err != nil || meta.EmbeddingModel == "" {
		return err // never finalized: nothing to make anew
	}
	show := s.newProgress()
	defer show.done()
	w, err := newWired(s.Config)
	if err != nil {
		return err
	}
	defer w.close()
	if err := s.checkEmbedder(w, meta, false); err != nil {
		report.Warn("the documents are removed, but counts and some vectors are stale: run `ingestd finalize` with the embedder of the graph (" + err.Error() + ")")
		return nil
	}
	report.Finalize, err = s.finalize(ctx, w, true, false, show)
	return err
}

// matchStored finds the stored documents that patterns name, sorted. A pattern
// that is a document's very path means that document, whatever characters it
// holds.
func matchStored(stored map[string]store.StoredDocument, patterns []string) (matched, unmatched []string) {
	found := map[string]bool{}
	for _, pattern := range patterns {
		before := len(found)
		hit := false
		for path := range stored {
			if namesStored(pattern, path, stored) {
				found[path], hit = true, true
			}
		}
		if !hit && len(found) == before {
			unmatched = append(unmatched, pattern)
		}
	}
	for path := range found {
		matched = append(matched, path)
	}
	sort.Strings(matched)
	return matched, unmatched
}

func namesStored(pattern, path string, stored map[string]store.StoredDocument) bool {
	name := pattern
	if _, exact := stored[name]; !exact {
		name = strings.TrimPrefix(pattern, corpus.FilePrefix)
	}
	if _, exact := stored[name]; exact {
		return path == name
	}
	name = strings.TrimSuffix(name, "/")
	if strings.HasPrefix(path, name+"/") {
		return true
	}
	ok, err := doublestar.Match(name, path)
	return err == nil && ok
}
