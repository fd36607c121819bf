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
	err = errors.Join(err, s.record("forget", report, started, err), s.close())
	if printErr := a.out.report(report); printErr != nil {
		return errors.Join(err, printErr)
	}
	return outcome(report, err)
}

func (s *session) forget(ctx context.Context, patterns []string) (*pipeline.Report, error) {
	started := time.Now()
	report := pipeline.NewReport(s.cfg.GraphName())
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
	if err := pipeline.Forget(ctx, s.store, ids); err != nil {
		return report, err
	}
	for _, path := range matched {
		report.Add(pipeline.DocumentReport{Path: path, Status: pipeline.Forgotten, Plan: stored[path].Plan})
	}
	if len(matched) == 0 {
		return report, nil
	}
	show := newProgress(s.cfg.Progress, s.cfg.Quiet, s.stderr)
	defer show.done()
	w, err := newWired(s.cfg)
	if err != nil {
		return report, err
	}
	defer w.close()
	report.Finalize, err = s.finalize(ctx, w, true, false, show)
	report.Totals.Seconds = time.Since(started).Seconds()
	return report, s.explain(ctx, err)
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
