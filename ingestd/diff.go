package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"graphmill/commandline"
	"graphmill/pipeline/corpus"
	"graphmill/pipeline/falkor/store"
)

// diffResult is what diff prints; its JSON keys are in docs/json.md.
type diffResult struct {
	Graph string  `json:"graph"`
	Run   runLine `json:"run"`
	store.Diff
}

func (a *app) diffCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "diff [RUN]",
		Short: "show what a run changed in the graph",
		Long: `diff shows which documents, entities, relations and merges a run added (+), changed (~) and removed (-), for review:
from before the run's first transaction to after its last. RUN is an id of ` + "`ingestd runs`" + `, or the beginning of one;
without it the latest run that changed something is shown. An entity or relation that is only said more or less often
than before is counted and not listed. --quiet prints the counts alone.

How many runs are kept, and how much of one, is said by ledger.diff_runs and ledger.diff_bytes. A forget takes the lists of
all runs until then away and leaves the counts: what is forgotten shall not be read here.`,
		Example: "  ingestd diff\n  ingestd diff 20260102T030405Z --output json",
		Args:    cobra.MaximumNArgs(1),
	}
	return a.verb(cmd, nil, func(ctx context.Context, args []string) error {
		s, err := a.connect(ctx)
		if err != nil {
			return err
		}
		result, err := s.diff(ctx, strings.Join(args, ""))
		if err = errors.Join(err, s.close()); err != nil {
			return err
		}
		return a.Print(result, func(w io.Writer) { result.print(w, a.Config.Quiet) })
	})
}

// diff reads the record of the run that name begins the id of; of the latest that
// has one when name is empty.
func (s *session) diff(ctx context.Context, name string) (*diffResult, error) {
	runs, err := s.store.Runs(ctx, 1000)
	if err != nil {
		return nil, err
	}
	var named []store.Run
	for _, run := range runs {
		if strings.HasPrefix(run.ID, name) {
			named = append(named, run)
		}
	}
	switch {
	case len(runs) == 0:
		return nil, commandline.Usage("nothing has changed graph %s yet; `ingestd run --root DIR` fills it", s.Config.GraphName())
	case len(named) == 0:
		return nil, commandline.Usage("graph %s knows no run %s; `ingestd runs` lists them", s.Config.GraphName(), name)
	case name != "" && len(named) > 1:
		return nil, commandline.Usage("%d runs begin with %s; give more of the id that `ingestd runs` shows", len(named), name)
	}
	for _, run := range named {
		diff, ok, err := s.store.Diff(ctx, run.ID)
		if err != nil {
			return nil, err
		}
		if ok {
			return &diffResult{s.Config.GraphName(), lineOf(run), diff}, nil
		}
	}
	return nil, commandline.Usage("there is no record of what %s changed: it changed nothing that is recorded, or its record was given up for newer ones (ledger.diff_runs is %d)",
		cmp.Or(name, "any run"), s.Config.Ledger.DiffRuns)
}

func (r *diffResult) print(w io.Writer, quiet bool) {
	fmt.Fprintf(w, "%s: %s %s, %s, %s\n", r.Graph, r.Run.Verb, r.Run.ID, r.Run.Started.Local().Format(time.DateTime), r.Run.Status)
	for _, part := range []struct {
		name string
		what store.Altered
	}{{"documents", r.Documents}, {"entities", r.Entities}, {"relations", r.Relations}, {"merges", r.Merges}} {
		c := part.what.Counts
		if c == (store.AlteredCounts{}) {
			continue
		}
		line := fmt.Sprintf("%s: %d added, %d changed, %d removed", part.name, c.Added, c.Changed, c.Removed)
		if c.Support > 0 {
			line += fmt.Sprintf("; %d said more or less often", c.Support)
		}
		fmt.Fprintln(w, line)
		if quiet {
			continue
		}
		printAltered(w, "+", part.what.Added)
		printAltered(w, "~", part.what.Changed)
		printAltered(w, "-", part.what.Removed)
	}
	if !r.Complete {
		fmt.Fprintln(w, "not all of it is listed: the run changed more than ledger.diff_bytes records, or a forget came since, which takes the lists away; a thing may be counted more than once")
	}
}

func printAltered(w io.Writer, sign string, things []store.AlteredThing) {
	for _, thing := range things {
		note := ""
		if strings.HasPrefix(thing.ID, corpus.FilePrefix) { // a document: that its content is another is all there is to say
			if from, moved := thing.Fields["path"]; moved {
				note = ", moved from " + from.Before
			}
			thing.Fields = nil
		}
		fmt.Fprintf(w, "  %s %s%s\n", sign, commandline.Printable(shownAs(thing)), commandline.Printable(note))
		for _, name := range slices.Sorted(maps.Keys(thing.Fields)) {
			field := thing.Fields[name]
			fmt.Fprintf(w, "      %s: %s → %s\n", name, cmp.Or(commandline.Printable(field.Before), "nothing"), cmp.Or(commandline.Printable(field.After), "nothing"))
		}
	}
}

// shownAs is a thing's type and name; a relation's name holds its type.
func shownAs(thing store.AlteredThing) string {
	if thing.Type == "" || strings.Contains(thing.Name, " -"+thing.Type+"-> ") {
		return thing.Name
	}
	return thing.Type + " " + thing.Name
}
