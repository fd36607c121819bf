package serving

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/google/jsonschema-go/jsonschema"

	"graphmill/commandline"
)

// maxArgumentBytes bounds arguments that are read from standard input.
const maxArgumentBytes = 4 << 20

// Call runs the tool that args name, with the arguments that they hold or that
// stand on standard input, and prints its result.
func (p *Program) Call(ctx context.Context, args []string) error {
	arguments, err := p.arguments(args)
	if err != nil {
		return err
	}
	b := p.Open(ctx, p.Program, false)
	set, err := b.Tools(nil)
	if err != nil {
		return errors.Join(err, b.Close())
	}
	reply, err := set.Call(ctx, args[0], arguments)
	if err := errors.Join(err, b.Close()); err != nil {
		return err
	}
	return p.Print(json.RawMessage(reply.JSON), func(w io.Writer) { fmt.Fprint(w, reply.Text) })
}

func (p *Program) arguments(args []string) ([]byte, error) {
	switch {
	case len(args) < 2:
		return []byte("{}"), nil
	case args[1] != "-":
		return []byte(args[1]), nil
	}
	data, err := io.ReadAll(io.LimitReader(p.Stdin, maxArgumentBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read arguments from standard input: %w", err)
	}
	if len(data) > maxArgumentBytes {
		return nil, commandline.Usage("the arguments on standard input are larger than %d bytes", maxArgumentBytes)
	}
	return data, nil
}

// toolInfo is a tool as `tools` prints it.
type toolInfo struct {
	Name        string             `json:"name"`
	Title       string             `json:"title"`
	Description string             `json:"description"`
	ReadOnly    bool               `json:"read_only"`
	InputSchema *jsonschema.Schema `json:"input_schema"`
}

// List prints the tools that are served, with their schemas.
func (p *Program) List(ctx context.Context, _ []string) error {
	set, err := p.Open(ctx, p.Program, false).Tools(nil)
	if err != nil {
		return err
	}
	result := struct {
		Tools []toolInfo `json:"tools"`
	}{Tools: []toolInfo{}}
	for _, t := range set.Tools() {
		result.Tools = append(result.Tools, toolInfo{t.Name, t.Title, t.Description, !t.Destructive, t.Input})
	}
	return p.Print(result, func(w io.Writer) {
		for _, t := range result.Tools {
			schema, err := json.MarshalIndent(t.InputSchema, "  ", "  ")
			if err != nil {
				schema = []byte(err.Error())
			}
			fmt.Fprintf(w, "%s\n  %s\n  %s\n\n", t.Name, t.Description, schema)
		}
	})
}
