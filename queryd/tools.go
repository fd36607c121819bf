package main

import (
	"context"

	"github.com/spf13/cobra"
)

func (a *app) toolsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "tools",
		Short: "print the tools that are served, with their schemas",
		Args:  cobra.NoArgs,
	}
	return a.Verb(cmd, nil, func(ctx context.Context, args []string) error { return a.serving().List(ctx, args) })
}
