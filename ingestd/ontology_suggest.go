package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"graphmill/commandline"
	"graphmill/configs"
	"graphmill/pipeline/corpus"
	"graphmill/pipeline/graph"
	"graphmill/pipeline/ontology"
	"graphmill/pipeline/ontology/suggest"
	"graphmill/planner"
)

// suggestChars is how much of each file is looked at: relations are rarer than
// names, and what preview shows has few.
const suggestChars = 6000

// mostSamples bounds how many files are looked at; of more, every so many-th.
const mostSamples = 400

func (a *app) ontologySuggestCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "suggest --root DIR [GLOB…]",
		Short: "propose an ontology from samples of the files, as YAML to edit",
		Long: `suggest looks at a sample from the middle of each file under the root, or of those that the arguments name, as preview
does, and proposes entity types, relation types and their pairs, with examples and counts in comments. It counts what the
local extractor finds of the built-in ontology's types, or of those of --ontology, and the verb phrases between. It needs
no graph and writes none: edit the file and declare it with ontology set. Of more than 400 files it looks at every so many-th.`,
		Example: "  ingestd ontology suggest --root corpus --out ontology.yaml\n  ingestd ontology set ontology.yaml",
	}
	var o suggestOptions
	cmd.Flags().StringVar(&o.out, "out", "", "file to write to, which must not exist; standard output without")
	cmd.Flags().IntVar(&o.chars, "chars", suggestChars, "characters of each sample")
	keys := []string{"root", "ontology", "jobs", "corpus.include", "corpus.exclude", "extractors.gliner.model_dir"}
	return a.verb(cmd, keys, func(ctx context.Context, patterns []string) error { return a.ontologySuggest(ctx, patterns, o) })
}

type suggestOptions struct {
	out   string
	chars int
}

// suggestResult is what suggest prints as JSON.
type suggestResult struct {
	*suggest.Suggestion
	Files  int    `json:"files"` // that the arguments name
	Method string `json:"method"`
	File   string `json:"file,omitempty"`
}

func (a *app) ontologySuggest(ctx context.Context, patterns []string, o suggestOptions) error {
	if err := unwritten(o.out); err != nil {
		return err
	}
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
	files, err := previewFiles(ctx, root, patterns)
	if err != nil {
		return err
	}
	samples, err := a.takeSamples(ctx, w.loader(root), files, o.chars)
	if err != nil {
		return err
	}
	if len(samples) == 0 {
		return commandline.Usage("no file under %s has text to look at", root.Dir())
	}
	result := suggestResult{Files: len(files), Method: "local", File: o.out}
	if result.Suggestion, err = w.suggestLocally(ctx, samples); err != nil {
		return err
	}
	origin := fmt.Sprintf("samples of %d of %d files under %s, by the local extractor", len(samples), len(files), root.Dir())
	return a.printSuggestion(result, origin)
}

// unwritten refuses a file that is there: somebody may have edited it.
func unwritten(out string) error {
	if out == "" {
		return nil
	}
	if _, err := os.Lstat(out); err == nil {
		return commandline.Usage("%s exists, and may have been edited; name another file with --out, or remove it", out)
	}
	return nil
}

// takeSamples reads a piece from the middle of each file, of many files from
// every so many-th. Files that hold no text are left out, and files that cannot
// be read, after the operator is told.
func (a *app) takeSamples(ctx context.Context, loader *corpus.Loader, files []corpus.File, chars int) (samples []suggest.Sample, err error) {
	n := min(len(files), mostSamples)
	for i := range n {
		file := files[i*len(files)/n]
		sample, err := loader.Preview(ctx, file, chars)
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case err != nil:
			a.Say(fmt.Sprintf("%s cannot be read: %v", commandline.Printable(file.Path), err))
		case sample.Text != "":
			samples = append(samples, suggest.Sample{Path: sample.Path, Text: sample.Text})
		}
	}
	return samples, nil
}

func (w *wired) suggestLocally(ctx context.Context, samples []suggest.Sample) (*suggest.Suggestion, error) {
	base, err := suggestFrom(w.cfg)
	if err != nil {
		return nil, err
	}
	extractor, err := w.Extractor(planner.Assignment{Extractors: []string{"pattern", "gliner"}})
	if err != nil {
		return nil, err
	}
	return suggest.Local(ctx, samples, w.pattern.Extend(base), extractor, w.cfg.Workers())
}

// suggestFrom is what the local extractor looks for: the configuration's
// ontology, else the built-in one.
func suggestFrom(cfg *configs.Config) (*graph.Ontology, error) {
	if cfg.Ontology == "" {
		return ontology.Default()
	}
	base, err := ontology.Load(cfg.Ontology)
	if err != nil {
		return nil, commandline.Usage("%v", err)
	}
	return base, nil
}

func (a *app) printSuggestion(result suggestResult, origin string) error {
	text, err := result.YAML(origin)
	if err != nil {
		return fmt.Errorf("write suggestion: %w", err)
	}
	if result.File != "" {
		if err := create(result.File, text); err != nil {
			return fmt.Errorf("write suggestion: %w", err)
		}
	}
	return a.Print(result, func(w io.Writer) {
		if result.File == "" {
			w.Write(text)
			return
		}
		o := result.Ontology()
		fmt.Fprintf(w, "%d entity types and %d relation types are in %s; edit it, and declare it with ingestd ontology set\n",
			len(o.Entities), len(o.Relations), commandline.Printable(result.File))
	})
}

// create writes a file that is not there yet.
func create(path string, text []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return unwritten(path)
	}
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	return errors.Join(err, file.Close())
}
