package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"graphmill/commandline"
	"graphmill/pipeline"
	"graphmill/pipeline/corpus"
	"graphmill/pipeline/corpus/bucket"
)

func (a *app) reextractCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "reextract --root DIR [GLOB…]",
		Short: "extract files again in place, changed or not",
		Long: `reextract extracts files again in place, whether or not they changed: all under the root, or those that the
arguments name (a path, a folder, an id such as file:notes/a.md, or a glob over paths under the root). Each file is extracted by the plan of
its last extraction, which the graph keeps; --replan takes the rules of today, as run does. The report says which it was.`,
		Example: "  ingestd reextract --root corpus\n  ingestd reextract --root corpus 'reports/**/*.pdf'",
	}
	var reembed, noFinalize, replan bool
	cmd.Flags().BoolVar(&reembed, "reembed", false, "accept another embedding model than the graph's and make every vector again")
	cmd.Flags().BoolVar(&noFinalize, "no-finalize", false, "leave vectors and indexes to a later finalize")
	cmd.Flags().BoolVar(&replan, "replan", false, "plan each file by the rules of today, not as it was extracted last")
	return a.verb(cmd, ingestKeys, func(ctx context.Context, patterns []string) error {
		o := ingestOptions{verb: "reextract", force: true, reembed: reembed, noFinalize: noFinalize, replan: replan}
		if len(patterns) > 0 {
			if err := a.selectFiles(ctx, patterns, &o); err != nil {
				return err
			}
		}
		return a.ingest(ctx, o)
	})
}

// selectFiles fills in the files that patterns name. When none of them names a
// file, that is wrong usage; when some do, the others are reported as failed.
func (a *app) selectFiles(ctx context.Context, patterns []string, o *ingestOptions) error {
	root, err := a.openRoot(ctx)
	if err != nil {
		return err
	}
	defer root.Close()
	files, unmatched, err := root.Match(ctx, patterns)
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return namesNone(unmatched[0], root.Dir())
	}
	o.files = map[string]bool{}
	for _, file := range files {
		o.files[file.Path] = true
	}
	for _, u := range unmatched {
		o.unmatched = append(o.unmatched, pipeline.DocumentReport{
			Path: u.Pattern, Status: pipeline.Failed, Kind: "unmatched", Reason: u.Err.Error(),
		})
	}
	return nil
}

// openRoot opens the files root of the configuration: a folder, or a bucket by its
// address.
func (a *app) openRoot(ctx context.Context) (corpus.Tree, error) {
	if a.Config.Root == "" {
		return nil, commandline.Usage("no files root: give --root DIR, or set root in the configuration")
	}
	options := corpus.Options{
		Include: a.Config.Corpus.Include, Exclude: a.Config.Corpus.Exclude, Own: a.Config.DataDir,
		MaxFileBytes: a.Config.Corpus.MaxFileBytes, MaxEntries: a.Config.Corpus.MaxEntries,
	}
	var root corpus.Tree
	var err error
	if bucket.Is(a.Config.Root) {
		root, err = bucket.Open(ctx, a.Config.Root, options)
	} else {
		root, err = corpus.Open(a.Config.Root, options)
	}
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.Is(err, bucket.ErrUnreachable):
		return nil, err
	case err != nil:
		return nil, &commandline.ExitError{Code: commandline.ExitUsage, Err: err}
	}
	return root, nil
}
