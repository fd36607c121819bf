package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"

	"github.com/spf13/cobra"

	"graphmill/pipeline/corpus/pdf"
)

// compileVerb is the hidden verb that compiles the PDF engine.
const compileVerb = "compile-pdf"

// compileCommand reads no configuration: its only argument says all.
func (a *app) compileCommand() *cobra.Command {
	return &cobra.Command{
		Use: compileVerb + " DIR", Short: "compile the PDF engine into a cache directory", Args: cobra.ExactArgs(1), Hidden: true,
		RunE: func(cmd *cobra.Command, args []string) error { return pdf.Compile(cmd.Context(), args[0]) },
	}
}

// compileElsewhere runs the hidden verb: compiling takes several times the memory
// of a run, which this process would not give back.
func compileElsewhere(ctx context.Context, cacheDir string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	command := exec.CommandContext(ctx, self, compileVerb, cacheDir)
	command.Args[0] = "ingestd" // whatever the file is called
	_, err = command.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && len(exit.Stderr) > 0 {
		return errors.New(strings.TrimPrefix(strings.TrimSpace(string(exit.Stderr)), "ingestd: "))
	}
	return err
}
