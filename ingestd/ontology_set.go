package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"

	"github.com/spf13/cobra"

	"graphmill/commandline"
	"graphmill/pipeline/graph"
	"graphmill/pipeline/ontology"
)

func (a *app) ontologySetCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "set FILE|TEXT", Short: "add types, cues and patterns to the graph's ontology",
		Long: `set adds entity types, relation types, patterns and cues to the graph's ontology: those of a file (YAML or JSON; - reads
standard input) or of a text in braces. It only adds: nothing that is declared is taken away. Patterns may name types that
the graph declares already. Before the first document the built-in ontology gives way to yours; later it is added to, unless
--replace-builtin is given. The next run extracts again what the change concerns.`,
		Example: `  ingestd ontology set ontology.yaml
  ingestd ontology set '{"relations": [{"label": "TREATS", "patterns": [["Drug", "Disease"]]}]}'`,
		Args: cobra.ExactArgs(1),
	}
	var replace bool
	cmd.Flags().BoolVar(&replace, "replace-builtin", false, "take the built-in ontology away although documents were extracted with it")
	return a.verb(cmd, []string{"wait"}, func(ctx context.Context, args []string) error { return a.ontologySet(ctx, args[0], replace) })
}

func (a *app) ontologySet(ctx context.Context, argument string, replace bool) error {
	extra, err := readAddition(argument)
	if err != nil {
		return commandline.Usage("%v", err)
	}
	s, err := a.openSession(ctx, "ontology set")
	if err != nil {
		return err
	}
	result, err := s.setOntology(ctx, extra, replace)
	if err = errors.Join(err, s.close()); err != nil {
		return err
	}
	return a.Print(result, func(w io.Writer) {
		if len(result.Changes) == 0 {
			fmt.Fprintln(w, "nothing to add: the graph's ontology declares all of it")
			if result.builtin {
				fmt.Fprintln(w, "it is the built-in one, and it only grows here: to have what you gave in its place, say --replace-builtin")
			}
			return
		}
		for _, change := range result.Changes {
			fmt.Fprintln(w, commandline.Printable(change))
		}
		fmt.Fprintln(w, "the next `ingestd run` extracts again what this concerns")
	})
}

// readAddition reads what is to be added: a file's, standard input's, or, in
// braces, the argument itself.
func readAddition(argument string) (*graph.Ontology, error) {
	switch {
	case strings.HasPrefix(strings.TrimSpace(argument), "{"):
		return ontology.ParseAddition("in the argument", []byte(argument))
	case argument != "-":
		return ontology.LoadAddition(argument)
	}
	data, err := io.ReadAll(io.LimitReader(os.Stdin, ontology.MaxFileBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read standard input: %w", err)
	}
	return ontology.ParseAddition("standard input", data)
}

// setOntology adds extra, which [ontology.ParseAddition] read and checked, to the
// graph's ontology and says what changed. The session holds the graph's lock.
// What cannot be added is wrong usage. The built-in ontology gives way to extra
// while it has extracted nothing: afterwards it is what the graph's types come
// from, and only replace takes it away.
func (s *session) setOntology(ctx context.Context, extra *graph.Ontology, replace bool) (ontologyResult, error) {
	if !replace {
		meta, err := s.store.Meta(ctx)
		if err != nil {
			return ontologyResult{}, err
		}
		replace = meta.Counts.Documents == 0
	}
	chosen, err := s.extendOntology(ctx, extra, replace)
	if err == nil {
		err = s.saveOntology(ctx, chosen)
	}
	return ontologyResult{s.Config.GraphName(), "graph", chosen.ontology, chosen.changes, chosen.builtin && !replace}, err
}

// chosenOntology is what a run extracts with.
type chosenOntology struct {
	ontology *graph.Ontology
	changes  []string
	stored   bool // the graph has exactly this
	replaces bool // what the graph has is taken away
	builtin  bool // the graph has the built-in one
}

// chooseOntology decides what a run extracts with: the configuration's file,
// added to what the graph has; else the graph's; else the built-in one. It
// writes nothing; see store.
func (s *session) chooseOntology(ctx context.Context) (chosenOntology, error) {
	if s.Config.Ontology != "" {
		extra, err := ontology.Load(s.Config.Ontology)
		if err != nil {
			return chosenOntology{}, commandline.Usage("%v", err)
		}
		return s.extendOntology(ctx, extra, true)
	}
	stored, err := s.store.LoadOntology(ctx)
	if err != nil || !isEmpty(&stored) {
		return chosenOntology{ontology: &stored, stored: true}, err
	}
	builtin, err := ontology.Default()
	return chosenOntology{ontology: builtin}, err
}

// extendOntology adds extra to the graph's ontology. With replace, a graph that
// has nothing but the built-in one takes extra in its place: it was nobody's
// choice.
func (s *session) extendOntology(ctx context.Context, extra *graph.Ontology, replace bool) (chosenOntology, error) {
	stored, err := s.store.LoadOntology(ctx)
	if err != nil {
		return chosenOntology{}, err
	}
	builtin, err := ontology.Default()
	if err != nil {
		return chosenOntology{}, err
	}
	base := &stored
	isBuiltin := ontology.Digest(&stored) == ontology.Digest(builtin)
	replaces := replace && isBuiltin
	if replaces {
		base = &graph.Ontology{}
	}
	merged, changes, err := ontology.Merge(base, extra)
	if err != nil {
		return chosenOntology{}, commandline.Usage("extend the ontology of graph %s: %v", s.Config.GraphName(), err)
	}
	if replaces && reflect.DeepEqual(merged.Canonical(), builtin.Canonical()) {
		return chosenOntology{ontology: builtin, stored: true}, nil
	}
	return chosenOntology{ontology: merged, changes: changes, stored: len(changes) == 0, replaces: replaces, builtin: isBuiltin}, nil
}

// saveOntology stores what was chosen, before anything is extracted with it.
//
// Dies before: the next run chooses the same. Dies after: it finds it stored.
func (s *session) saveOntology(ctx context.Context, chosen chosenOntology) error {
	switch {
	case chosen.stored:
		return nil
	case chosen.replaces:
		return s.store.ReplaceOntology(ctx, *chosen.ontology)
	}
	return s.store.SaveOntology(ctx, *chosen.ontology)
}
