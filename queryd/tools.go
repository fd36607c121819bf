package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/spf13/cobra"
)

// toolInfo is a tool as `tools` prints it.
type toolInfo struct {
	Name        string             `json:"name"`
	Title       string             `json:"title"`
	Description string             `json:"description"`
	ReadOnly    bool               `json:"read_only"`
	InputSchema *jsonschema.Schema `json:"input_schema"`
}

func (a *app) toolsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "tools",
		Short: "print the tools that are served, with their schemas",
		Args:  cobra.NoArgs,
	}
	return a.Verb(cmd, nil, a.listTools)
}

func (a *app) listTools(ctx context.Context, _ []string) error {
	set, err := a.newSet(a.newBackend(ctx), nil)
	if err != nil {
		return err
	}
	result := struct {
		Tools []toolInfo `json:"tools"`
	}{}
	for _, t := range set.Tools() {
		result.Tools = append(result.Tools, toolInfo{t.Name, t.Title, t.Description, !t.Destructive, t.Input})
	}
	return a.Print(result, func(w io.Writer) {
		for _, t := range result.Tools {
			schema, err := json.MarshalIndent(t.InputSchema, "  ", "  ")
			if err != nil {
				schema = []byte(err.Error())
			}
			fmt.Fprintf(w, "%s\n  %s\n  %s\n\n", t.Name, t.Description, schema)
		}
	})
}
