package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"graphmill/commandline"
	"graphmill/pipeline/falkor/store"
)

// exportResult is what export prints; its JSON keys are in docs/json.md.
type exportResult struct {
	Graph  string `json:"graph"`
	File   string `json:"file"`
	Format string `json:"format"`
	Nodes  int    `json:"nodes"`
	Edges  int    `json:"edges"`
}

func (a *app) exportCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "export FILE", Short: "write the graph for other tools", Args: cobra.ExactArgs(1),
		Long: `export writes documents, sections, chunks, entities and what joins them, without vectors, in the order of their ids: the
same graph gives the same bytes. As jsonl it is one object a line, as graphml one XML file for Gephi, yEd or NetworkX, as csv
a folder with a file for each label and kind of edge. What stands under that name is replaced when all is written; - is
standard output, for jsonl and graphml. Nothing reads it back: a copy that can be restored is what
` + "`ingestd snapshot create`" + ` makes.`,
		Example: "  ingestd export graph.jsonl\n  ingestd export --format graphml graph.graphml\n  ingestd export --format csv tables/",
	}
	var format string
	cmd.Flags().StringVar(&format, "format", "jsonl", "jsonl, graphml or csv")
	return a.verb(cmd, []string{"wait"}, func(ctx context.Context, args []string) error {
		export := map[string]func(*session, context.Context, string) (counting, error){
			"jsonl": (*session).exportLines, "graphml": (*session).exportGraphML, "csv": (*session).exportCSV,
		}[format]
		if export == nil {
			return commandline.Usage("--format %q: give jsonl, graphml or csv", format)
		}
		streams := args[0] == toStdout
		if streams && format == "csv" {
			return commandline.Usage("csv is a folder of tables, which standard output cannot hold; name a folder, or take --format jsonl or graphml")
		}
		if !streams {
			if err := writable(strings.TrimRight(args[0], "/")); err != nil {
				return err
			}
		}
		s, err := a.openSession(ctx, "export")
		if err != nil {
			return err
		}
		ctx, cancel := s.untilLockLost(ctx)
		defer cancel()
		counts, err := export(s, ctx, args[0])
		if errors.Is(err, store.ErrNoGraph) {
			err = commandline.Usage("graph %s holds nothing yet; `ingestd run --root DIR` fills it", a.Config.GraphName())
		}
		if err = errors.Join(s.explain(ctx, err), s.close()); err != nil {
			return err
		}
		if streams { // nothing else may stand there
			a.Say(fmt.Sprintf("%s: %d nodes and %d edges", a.Config.GraphName(), counts.nodes, counts.edges))
			return nil
		}
		result := exportResult{a.Config.GraphName(), args[0], format, counts.nodes, counts.edges}
		return a.Print(result, func(w io.Writer) {
			fmt.Fprintf(w, "%s: %d nodes and %d edges are in %s\n", result.Graph, result.Nodes, result.Edges, result.File)
		})
	})
}

// exportTo writes a file beside, or standard output.
func (s *session) exportTo(name string, write func(io.Writer) error) error {
	if name == toStdout {
		return write(s.Stdout)
	}
	_, err := writeBeside(name, write)
	return err
}

func (s *session) exportLines(ctx context.Context, name string) (counts counting, err error) {
	err = s.exportTo(name, func(w io.Writer) error {
		out := bufio.NewWriterSize(w, 1<<20)
		counts.Exported = &jsonLines{out: out}
		return errors.Join(s.store.Export(ctx, &counts), out.Flush())
	})
	return counts, err
}

func (s *session) exportGraphML(ctx context.Context, name string) (counts counting, err error) {
	err = s.exportTo(name, func(w io.Writer) error {
		out := bufio.NewWriterSize(w, 1<<20)
		graph := &graphML{out: out}
		counts.Exported = graph
		return errors.Join(s.store.Export(ctx, &counts), graph.end(), out.Flush())
	})
	return counts, err
}

// exportCSV writes a folder beside and puts it, or its tables, in the place of what
// an export wrote before. A folder that holds anything else is left alone.
func (s *session) exportCSV(ctx context.Context, name string) (counts counting, err error) {
	name = filepath.Clean(name)
	before, err := tablesIn(name)
	if err != nil {
		return counts, err
	}
	beside, err := os.MkdirTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
	if err != nil {
		return counts, commandline.Usage("write %s: %v", name, plainPath(err))
	}
	defer os.RemoveAll(beside)
	tables := &csvFolder{dir: beside}
	counts.Exported = tables
	if err := errors.Join(s.store.Export(ctx, &counts), tables.end()); err != nil {
		return counts, err
	}
	if before == nil {
		return counts, os.Rename(beside, name)
	}
	// Dies here: tables of both exports stand in the folder; the next one replaces all.
	for _, table := range tables.written {
		if err := os.Rename(filepath.Join(beside, table), filepath.Join(name, table)); err != nil {
			return counts, err
		}
	}
	for _, table := range before {
		if !slices.Contains(tables.written, table) {
			if err := os.Remove(filepath.Join(name, table)); err != nil {
				return counts, err
			}
		}
	}
	return counts, nil
}

// tablesIn lists the tables of an export in a folder, and refuses one that holds
// anything else, other tables too; nil when there is no such folder.
func tablesIn(name string) ([]string, error) {
	entries, err := os.ReadDir(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, commandline.Usage("%s is no folder; csv wants one for its tables", name)
	}
	tables := []string{}
	for _, entry := range entries {
		if !entry.Type().IsRegular() || filepath.Ext(entry.Name()) != ".csv" || !exportedTable(filepath.Join(name, entry.Name())) {
			return nil, commandline.Usage("%s holds other things than the tables of an export (%s); name a folder for them alone", name, entry.Name())
		}
		tables = append(tables, entry.Name())
	}
	return tables, nil
}

// exportedTable reports whether a file begins as the tables do that are written here.
func exportedTable(name string) bool {
	file, err := os.Open(name)
	if err != nil {
		return false
	}
	defer file.Close()
	start := make([]byte, len("id,labels"))
	n, _ := io.ReadFull(file, start)
	return bytes.HasPrefix(start[:n], []byte("id,labels")) || bytes.HasPrefix(start[:n], []byte("from,to"))
}
