package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"graphmill/commandline"
	"graphmill/pipeline/corpus"
)

func (a *app) previewCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "preview --root DIR [GLOB…]",
		Short: "show a sample from the middle of each file, to design an ontology from",
		Long: `preview shows one sample from the middle of each file under the root, or of those that the arguments name. It reads a
bounded window of each file (a few pages of a PDF), never the whole file, and shows at most 30,000 characters a page;
--offset takes the next_offset of the page before.`,
		Example: "  ingestd preview --root corpus\n  ingestd preview --root corpus --offset 20 --output json",
	}
	var offset, chars int
	cmd.Flags().IntVar(&offset, "offset", 0, "number of the file to begin with: next_offset of the page before")
	cmd.Flags().IntVar(&chars, "chars", corpus.DefaultSampleChars, "characters of each sample")
	return a.verb(cmd, []string{"root", "corpus.include", "corpus.exclude"}, func(ctx context.Context, patterns []string) error {
		return a.preview(ctx, patterns, offset, chars)
	})
}

func (a *app) preview(ctx context.Context, patterns []string, offset, chars int) error {
	root, err := a.openRoot(ctx)
	if err != nil {
		return err
	}
	defer root.Close()
	w, err := newWired(a.Config)
	if err != nil {
		return err
	}
	defer w.close()
	page, err := samplePage(ctx, w.loader(root), root, patterns, offset, chars)
	if err != nil {
		return err
	}
	return a.Print(page, func(w io.Writer) { printPreview(w, page) })
}

// samplePage returns a page of samples of the files that patterns name, of all
// files without any, from the file of that number on; chars 0 means
// [corpus.DefaultSampleChars]. It needs no graph. Wrong arguments are wrong usage.
func samplePage(ctx context.Context, loader *corpus.Loader, root corpus.Tree, patterns []string, offset, chars int) (corpus.PreviewPage, error) {
	files, err := previewFiles(ctx, root, patterns)
	if err != nil {
		return corpus.PreviewPage{}, err
	}
	if offset < 0 || offset > len(files) {
		return corpus.PreviewPage{}, commandline.Usage("offset %d is not between 0 and %d, the number of files; give the next_offset of the page before", offset, len(files))
	}
	return loader.PreviewFiles(ctx, files, offset, chars)
}

// previewFiles lists the files that patterns name; all of them without any.
func previewFiles(ctx context.Context, root corpus.Tree, patterns []string) ([]corpus.File, error) {
	if len(patterns) > 0 {
		files, unmatched, err := root.Match(ctx, patterns)
		if err == nil && len(unmatched) > 0 {
			err = namesNone(unmatched[0], root.Dir())
		}
		return files, err
	}
	var files []corpus.File
	for entry, err := range root.List(ctx) {
		if err != nil {
			return nil, err
		}
		if entry.Skipped == nil {
			files = append(files, entry.File)
		}
	}
	return files, nil
}

// namesNone refuses an argument that names no file, and says its name once.
func namesNone(u corpus.Unmatched, dir string) error {
	why := u.Err.Error()
	if file := (*corpus.FileError)(nil); errors.As(u.Err, &file) {
		if why = file.Reason; file.Hint != "" {
			why += "; " + file.Hint
		}
	}
	return commandline.Usage("%s names no file under %s: %s", u.Pattern, dir, why)
}

func printPreview(w io.Writer, page corpus.PreviewPage) {
	for _, s := range page.Files {
		about := ""
		if s.CharsEstimated {
			about = "about "
		}
		fmt.Fprintf(w, "== %s (%s, %s%d characters) %s\n", commandline.Printable(s.Path), s.Format, about, s.Chars, commandline.Printable(s.Title))
		if s.Error != "" {
			fmt.Fprintf(w, "   cannot be read: %s\n\n", commandline.Printable(s.Error))
			continue
		}
		for line := range strings.Lines(s.Text) {
			fmt.Fprintf(w, "   %s\n", commandline.Printable(strings.TrimRight(line, "\r\n")))
		}
		fmt.Fprintln(w)
	}
	if page.NextOffset != nil {
		fmt.Fprintf(w, "more files: --offset %d\n", *page.NextOffset)
	}
}
