package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

func (a *app) digestCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "digest",
		Short: "print a hash over the graph's content",
		Long: `digest prints a SHA-256 over the graph's sorted content: documents, chunks, sections, entities, mentions, relations and
the ontology, without internal ids and times; vectors count by the content they were made from. Two graphs with one
digest hold the same knowledge, whatever the number of workers or the order of runs that built them.`,
		Args: cobra.NoArgs,
	}
	return a.verb(cmd, nil, func(ctx context.Context, _ []string) error {
		s, err := a.connect(ctx)
		if err != nil {
			return err
		}
		digest, err := s.store.Digest(ctx)
		if err = errors.Join(err, s.close()); err != nil {
			return err
		}
		result := struct {
			Graph  string `json:"graph"`
			Digest string `json:"digest"`
		}{a.Config.GraphName(), digest}
		return a.Print(result, func(w io.Writer) { fmt.Fprintln(w, digest) })
	})
}
