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
	"graphmill/configs"
	"graphmill/pipeline/graph"
	"graphmill/pipeline/ontology"
)

func (a *app) ontologyCommand() *cobra.Command {
	parent := &cobra.Command{
		Use:   "ontology",
		Short: "show, extend and export what extraction looks for",
		Long:  "ontology shows, extends and exports the entity and relation types that extraction looks for; they are stored with the graph.",
	}
	export := &cobra.Command{
		Use: "export [FILE]", Short: "write the graph's ontology as YAML, or as JSON to a .json file or with --output json",
		Args: cobra.MaximumNArgs(1),
	}
	set := &cobra.Command{
		Use: "set FILE", Short: "add a file's types, cues and patterns to the graph's ontology",
		Long: `set adds a file's entity types, relation types, patterns and cues to the graph's ontology (YAML or JSON; - reads standard
input). It only adds: nothing that is declared is taken away. The built-in ontology, if the graph has no other, is replaced.
The next run extracts again what the change concerns.`,
		Args: cobra.ExactArgs(1),
	}
	return commandline.Group(parent,
		a.verb(&cobra.Command{Use: "show", Short: "show the ontology in use", Args: cobra.NoArgs}, []string{"ontology"}, a.ontologyShow),
		a.verb(set, []string{"wait"}, a.ontologySet),
		a.verb(export, nil, a.ontologyExport),
	)
}

// ontologyResult is what show prints as JSON.
type ontologyResult struct {
	Graph    string          `json:"graph"`
	Origin   string          `json:"origin"` // "graph", "built-in"
	Ontology *graph.Ontology `json:"ontology"`
	Changes  []string        `json:"changes,omitempty"`
}

func (a *app) ontologyShow(ctx context.Context, _ []string) error {
	found, err := a.currentOntology(ctx)
	if err != nil {
		return err
	}
	return a.Print(ontologyResult{a.Config.GraphName(), found.origin, found.ontology, nil}, func(w io.Writer) {
		fmt.Fprintf(w, "# %s ontology of graph %s\n", found.origin, a.Config.GraphName())
		printOntology(w, found.ontology)
	})
}

func printOntology(w io.Writer, o *graph.Ontology) {
	fmt.Fprintf(w, "%d entity types\n", len(o.Entities))
	for _, t := range o.Entities {
		fmt.Fprintf(w, "  %-20s %s\n", t.Label, t.Description)
	}
	fmt.Fprintf(w, "%d relation types\n", len(o.Relations))
	for _, t := range o.Relations {
		var pairs []string
		for _, p := range t.Patterns {
			pairs = append(pairs, p[0]+" → "+p[1])
		}
		fmt.Fprintf(w, "  %-20s %s\n", t.Label, strings.Join(pairs, ", "))
		if cues := append(append([]string{}, t.Cues...), t.PassiveCues...); len(cues) > 0 {
			fmt.Fprintf(w, "  %-20s cues: %s\n", "", sample(cues, 8))
		}
	}
}

func (a *app) ontologySet(ctx context.Context, args []string) error {
	extra, err := readOntology(args[0])
	if err != nil {
		return commandline.Usage("%v", err)
	}
	s, err := a.openSession(ctx, "ontology set")
	if err != nil {
		return err
	}
	chosen, err := s.extendOntology(ctx, extra)
	if err == nil {
		err = s.saveOntology(ctx, chosen)
	}
	if err = errors.Join(err, s.close()); err != nil {
		return err
	}
	changes := chosen.changes
	return a.Print(ontologyResult{a.Config.GraphName(), "graph", chosen.ontology, changes}, func(w io.Writer) {
		if len(changes) == 0 {
			fmt.Fprintln(w, "nothing to add: the graph's ontology declares all of it")
			return
		}
		for _, change := range changes {
			fmt.Fprintln(w, commandline.Printable(change))
		}
		fmt.Fprintln(w, "the next `ingestd run` extracts again what this concerns")
	})
}

func readOntology(name string) (*graph.Ontology, error) {
	if name != "-" {
		return ontology.Load(name)
	}
	data, err := io.ReadAll(io.LimitReader(os.Stdin, ontology.MaxFileBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read standard input: %w", err)
	}
	return ontology.Parse("standard input", data)
}

func (a *app) ontologyExport(ctx context.Context, args []string) error {
	found, err := a.currentOntology(ctx)
	if err != nil {
		return err
	}
	marshal := ontology.MarshalYAML
	toFile := len(args) == 1 && args[0] != "-"
	if toFile && strings.HasSuffix(args[0], ".json") || !toFile && a.Config.Output == configs.OutputJSON {
		marshal = ontology.MarshalJSON
	}
	data, err := marshal(found.ontology)
	if err != nil {
		return err
	}
	if !toFile {
		_, err = a.Stdout.Write(data)
		return err
	}
	if err := os.WriteFile(args[0], data, 0o644); err != nil {
		return fmt.Errorf("export ontology: %w", err)
	}
	result := struct {
		Graph string `json:"graph"`
		File  string `json:"file"`
	}{a.Config.GraphName(), args[0]}
	return a.Print(result, func(w io.Writer) { fmt.Fprintf(w, "the %s ontology is in %s\n", found.origin, args[0]) })
}

// ontologyFound is an ontology and where it came from.
type ontologyFound struct {
	ontology *graph.Ontology
	origin   string
}

// currentOntology is the graph's, or the built-in one when it has none.
func (a *app) currentOntology(ctx context.Context) (ontologyFound, error) {
	s, err := a.connect(ctx)
	if err != nil {
		return ontologyFound{}, err
	}
	stored, err := s.store.LoadOntology(ctx)
	if err = errors.Join(err, s.close()); err != nil {
		return ontologyFound{}, err
	}
	builtin, err := ontology.Default()
	if err == nil && !isEmpty(&stored) && ontology.Digest(&stored) != ontology.Digest(builtin) {
		return ontologyFound{&stored, "graph"}, nil
	}
	return ontologyFound{builtin, "built-in"}, err
}

func isEmpty(o *graph.Ontology) bool { return len(o.Entities) == 0 && len(o.Relations) == 0 }

// chosenOntology is what a run extracts with.
type chosenOntology struct {
	ontology *graph.Ontology
	changes  []string
	stored   bool // the graph has exactly this
	replaces bool // what the graph has is taken away
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
		return s.extendOntology(ctx, extra)
	}
	stored, err := s.store.LoadOntology(ctx)
	if err != nil || !isEmpty(&stored) {
		return chosenOntology{ontology: &stored, stored: true}, err
	}
	builtin, err := ontology.Default()
	return chosenOntology{ontology: builtin}, err
}

// extendOntology adds extra to the graph's ontology. A graph that has nothing
// but the built-in one takes extra in its place: it was nobody's choice.
func (s *session) extendOntology(ctx context.Context, extra *graph.Ontology) (chosenOntology, error) {
	stored, err := s.store.LoadOntology(ctx)
	if err != nil {
		return chosenOntology{}, err
	}
	builtin, err := ontology.Default()
	if err != nil {
		return chosenOntology{}, err
	}
	base := &stored
	replaces := ontology.Digest(&stored) == ontology.Digest(builtin)
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
	return chosenOntology{ontology: merged, changes: changes, stored: len(changes) == 0, replaces: replaces}, nil
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
