package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"graphmill/commandline"
	"graphmill/configs"
	"graphmill/pipeline"
	"graphmill/pipeline/corpus"
	"graphmill/pipeline/graph"
	"graphmill/pipeline/llm"
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
does, and proposes entity types, relation types and their pairs, with examples and counts in comments. It needs no graph and
writes none: edit the file and declare it with ontology set. Of more than 400 files it looks at every so many-th.

Without a language model it counts what the local extractor finds of the built-in ontology's types, or of those of
--ontology, and the verb phrases between. With one (--model, llm.model) it asks that, one call a sample, which may name other
types too; what the sample does not bear out is dropped. It keeps to --max-cost, --max-calls and --max-tokens: where the next
call could go beyond, it proposes what it has and ends with exit code 4. --local asks no model.`,
		Example: "  ingestd ontology suggest --root corpus --out ontology.yaml\n  ingestd ontology set ontology.yaml\n" +
			"  ingestd ontology suggest --root corpus --model openai/gpt-4.1-mini --max-cost 0.50 'reports/**'",
	}
	var o suggestOptions
	cmd.Flags().StringVar(&o.out, "out", "", "file to write to, which must not exist; standard output without")
	cmd.Flags().IntVar(&o.chars, "chars", suggestChars, "characters of each sample")
	cmd.Flags().BoolVar(&o.local, "local", false, "ask no language model, though one is set")
	keys := []string{
		"root", "ontology", "jobs", "corpus.include", "corpus.exclude", "extractors.gliner.model_dir",
		"llm.model", "limits.max_cost", "limits.max_calls", "limits.max_tokens",
	}
	return a.verb(cmd, keys, func(ctx context.Context, patterns []string) error { return a.ontologySuggest(ctx, patterns, o) })
}

type suggestOptions struct {
	out   string
	chars int
	local bool
}

// suggestResult is what suggest prints as JSON.
type suggestResult struct {
	*suggest.Suggestion
	Files       int            `json:"files"`  // that the arguments name
	Taken       int            `json:"taken"`  // pieces of them with text
	Method      string         `json:"method"` // "local", "model"
	Model       string         `json:"model,omitempty"`
	Lost        int            `json:"lost,omitempty"`
	File        string         `json:"file,omitempty"`
	Cost        *pipeline.Bill `json:"cost,omitempty"`
	Interrupted string         `json:"interrupted,omitempty"`
	Error       string         `json:"error,omitempty"`
}

func (a *app) ontologySuggest(ctx context.Context, patterns []string, o suggestOptions) error {
	if o.chars < 1 || o.chars > corpus.MaxPreviewChars {
		return commandline.Usage("--chars %d is not between 1 and %d", o.chars, corpus.MaxPreviewChars)
	}
	if o.out == toStdout {
		o.out = ""
	}
	if o.out != "" {
		if err := unwritten(o.out); err != nil {
			return err
		}
	}
	base, err := suggestFrom(a.Config)
	if err != nil {
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
	result := &suggestResult{Files: len(files), Taken: len(samples), Method: "local", File: o.out}
	if a.Config.LLM.Model == "" || o.local {
		result.Suggestion, err = w.suggestLocally(ctx, samples, base)
	} else {
		result.Method, result.Model = "model", a.Config.LLM.Model
		err = a.suggestByModel(ctx, w, samples, base, result)
	}
	if result.Suggestion == nil {
		return err
	}
	return errors.Join(a.printSuggestion(result, root.Dir()), err)
}

// suggestByModel asks the language model. With an error of the budget the result
// has what was found before, if anything was.
func (a *app) suggestByModel(ctx context.Context, w *wired, samples []suggest.Sample, base *graph.Ontology, result *suggestResult) error {
	w.asking.log = a.Log
	chat, err := w.chat()
	if err != nil {
		return err
	}
	a.Say(fmt.Sprintf("asking %s about %d samples", a.Config.LLM.Model, len(samples)))
	meter := newMeter(a.Config)
	found, err := suggest.Asked(llm.WithMeter(ctx, meter), samples, base, chat, a.Config.LLM.Concurrency, func(path string, err error) {
		result.Lost++
		a.Say(fmt.Sprintf("%s is left out: %v", commandline.Printable(path), err))
	})
	result.Cost = bill(a.Config, meter)
	if found != nil && found.Samples > 0 {
		result.Suggestion = found
	}
	switch {
	case errors.Is(err, llm.ErrBudget):
		result.Interrupted = "budget"
		err = fmt.Errorf("%w; %d of %d samples were looked at; next: a larger budget asks about the others only, where answers are kept (llm.cache)", err, found.Samples, len(samples))
		result.Error = err.Error()
	case err == nil && result.Lost == len(samples):
		return fmt.Errorf("suggest an ontology: %s gave no usable answer about any of %d samples; next: another model, or --local", a.Config.LLM.Model, len(samples))
	case err == nil && result.Lost > 0:
		return &commandline.ExitError{Code: commandline.ExitSomeFailed}
	}
	return err
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

func (w *wired) suggestLocally(ctx context.Context, samples []suggest.Sample, base *graph.Ontology) (*suggest.Suggestion, error) {
	extractor, err := w.Extractor(planner.Assignment{Extractors: []string{"pattern", "gliner"}})
	if err != nil {
		return nil, err
	}
	return suggest.Local(ctx, samples, w.pattern.Extend(base), extractor, w.cfg.Workers())
}

// suggestFrom is what a proposal begins with: the configuration's ontology, else
// the built-in one.
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

func (a *app) printSuggestion(result *suggestResult, dir string) error {
	text, err := result.YAML(result.origin(dir))
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
			w.Write(text) // a strings.Builder
			return
		}
		o := result.Ontology()
		fmt.Fprintf(w, "%d entity types and %d relation types are in %s; edit it, and declare it with ingestd ontology set\n",
			len(o.Entities), len(o.Relations), commandline.Printable(result.File))
		if result.Cost != nil {
			textPrinter{w: w}.bill(result.Cost)
		}
	})
}

// origin is what the first line of the file says.
func (r *suggestResult) origin(dir string) string {
	by := "the local extractor"
	if r.Model != "" {
		by = r.Model
	}
	text := fmt.Sprintf("samples of %d of %d files under %s, by %s", r.Samples, r.Files, dir, by)
	switch {
	case r.Cost == nil:
	case r.Cost.Unpriced > 0: // a sum of money would be too small
		text += fmt.Sprintf(" (%s)", took(r.Cost.Cost))
	default:
		text += fmt.Sprintf(" (%s; %s)", took(r.Cost.Cost), r.Cost)
	}
	if r.Interrupted != "" {
		text += "; its budget ended before the other samples"
	}
	return text
}
