package main

import (
	"context"
	"errors"
	"fmt"
	"io"
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
		Long: `export writes the graph's ontology to FILE, which must not exist: one that was edited stays. Without FILE, or with -, it goes
to standard output.`,
		Args: cobra.MaximumNArgs(1),
	}
	return commandline.Group(parent,
		a.verb(&cobra.Command{Use: "show", Short: "show the ontology in use", Args: cobra.NoArgs}, []string{"ontology"}, a.ontologyShow),
		a.ontologySetCommand(), a.ontologySuggestCommand(),
		a.verb(export, nil, a.ontologyExport),
	)
}

// ontologyResult is what show prints as JSON.
type ontologyResult struct {
	Graph    string          `json:"graph"`
	Origin   string          `json:"origin"` // "graph", "built-in"
	Ontology *graph.Ontology `json:"ontology"`
	Changes  []string        `json:"changes,omitempty"`
	builtin  bool            // it is the built-in one and stays
}

func (a *app) ontologyShow(ctx context.Context, _ []string) error {
	found, err := a.currentOntology(ctx)
	if err != nil {
		return err
	}
	return a.Print(ontologyResult{a.Config.GraphName(), found.origin, found.ontology, nil, false}, func(w io.Writer) {
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

func (a *app) ontologyExport(ctx context.Context, args []string) error {
	toFile := len(args) == 1 && args[0] != toStdout
	if toFile {
		if err := unwritten(args[0]); err != nil {
			return err
		}
	}
	found, err := a.currentOntology(ctx)
	if err != nil {
		return err
	}
	marshal := ontology.MarshalYAML
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
	if err := create(args[0], data); err != nil {
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
