package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"graphmill/commandline"
	"graphmill/pipeline/falkor/store"
)

// snapshotResult is what create and restore print; its JSON keys are in
// docs/json.md.
type snapshotResult struct {
	Graph  string `json:"graph"`
	File   string `json:"file"`
	Bytes  int64  `json:"bytes"`
	Nodes  int    `json:"nodes"`
	Edges  int    `json:"edges"`
	Digest string `json:"digest"`
	// Sources are the folders that the graph was built from, by name.
	Sources map[string]string `json:"sources"`
}

func (a *app) snapshotCommand() *cobra.Command {
	parent := &cobra.Command{
		Use:   "snapshot",
		Short: "copy a graph into a file, and make one from it",
		Long: `snapshot copies a graph with its ontology and its vectors into one file, which another machine, with a local engine or a
server, restores to the same digest. create takes the graph's lock, so that the copy is of one state; readers go on.`,
	}
	create := &cobra.Command{
		Use: "create FILE", Short: "copy the graph into FILE", Args: cobra.ExactArgs(1),
		Long: `create copies the graph, its ontology and its vectors into FILE (gzip, JSON lines). FILE is written beside and renamed, so
that an older copy of that name stays until the new one is whole.`,
		Example: "  ingestd snapshot create /backup/knowledge_graph.snapshot",
	}
	var replace bool
	restore := &cobra.Command{
		Use: "restore FILE", Short: "make the graph from FILE", Args: cobra.ExactArgs(1),
		Long: `restore makes the graph and its ontology from FILE. All of FILE is read and checked first; then the graph is built beside,
with its indexes, held to the digest that the file states, and takes its place in one step. A graph that holds something
already is replaced only with --replace. The files themselves are not in the snapshot: after a move to another machine, the
first run says --moved.`,
		Example: "  ingestd snapshot restore /backup/knowledge_graph.snapshot\n  ingestd run --root corpus --moved",
	}
	restore.Flags().BoolVar(&replace, "replace", false, "put it in the place of what the graph holds")
	return commandline.Group(parent,
		a.verb(create, []string{"wait"}, a.snapshotCreate),
		a.verb(restore, []string{"wait"}, func(ctx context.Context, args []string) error { return a.snapshotRestore(ctx, args[0], replace) }),
	)
}

func (a *app) snapshotCreate(ctx context.Context, args []string) error {
	if err := writable(args[0]); err != nil {
		return err
	}
	s, err := a.openSession(ctx, "snapshot create")
	if err != nil {
		return err
	}
	result, err := s.snapshotCreate(ctx, args[0])
	if errors.Is(err, store.ErrNoGraph) {
		err = commandline.Usage("graph %s holds nothing yet; `ingestd run --root DIR` fills it", a.Config.GraphName())
	}
	if err = errors.Join(err, s.close()); err != nil {
		return err
	}
	return a.Print(result, func(w io.Writer) {
		fmt.Fprintf(w, "%s: %d nodes and %d edges are in %s (%d bytes), digest %s\n", result.Graph, result.Nodes, result.Edges, result.File, result.Bytes, result.Digest)
	})
}

func (s *session) snapshotCreate(ctx context.Context, name string) (*snapshotResult, error) {
	ctx, cancel := s.untilLockLost(ctx)
	defer cancel()
	meta, err := s.store.Meta(ctx)
	if err != nil {
		return nil, err
	}
	var end store.SnapshotEnd
	size, err := writeBeside(name, func(w io.Writer) (err error) {
		if end, err = s.store.Snapshot(ctx, w); err == nil {
			select {
			case <-s.lock.Lost():
				err = store.ErrLockLost // another may have written meanwhile
			default:
			}
		}
		return err
	})
	if err != nil {
		return nil, s.explain(ctx, err)
	}
	return &snapshotResult{s.Config.GraphName(), name, size, end.Nodes, end.Edges, end.Digest, meta.Sources}, nil
}

// writeBeside writes a file that stands under its name when it is whole and on
// disk.
func writeBeside(name string, write func(io.Writer) error) (size int64, err error) {
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		return 0, commandline.Usage("%s is no file; name one", name)
	}
	if name, err = replaceable("write", name); err != nil {
		return 0, err
	}
	file, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
	if err != nil {
		return 0, commandline.Usage("write %s: %v", name, plainPath(err))
	}
	if err = write(file); err == nil {
		err = file.Sync()
	}
	if info, statErr := file.Stat(); statErr == nil {
		size = info.Size()
	}
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(file.Name(), name)
	}
	if err != nil {
		return 0, errors.Join(err, os.Remove(file.Name()))
	}
	return size, syncFolder(filepath.Dir(name))
}

// syncFolder makes a renamed file's name last through a power cut.
func syncFolder(name string) error {
	folder, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

func (a *app) snapshotRestore(ctx context.Context, name string, replace bool) error {
	info, err := os.Stat(name)
	if err != nil || !info.Mode().IsRegular() {
		return commandline.Usage("find snapshot %s: there is no such file, or it is a pipe or folder, which cannot be read twice", name)
	}
	s, err := a.openSession(ctx, "snapshot restore")
	if err != nil {
		return err
	}
	result, err := s.snapshotRestore(ctx, name, replace)
	switch {
	case errors.Is(err, store.ErrNotEmpty), errors.Is(err, store.ErrSnapshot), errors.Is(err, store.ErrSnapshotVersion):
		err = commandline.Usage("%s: %v", name, err)
	}
	if err = errors.Join(err, s.close()); err != nil {
		return err
	}
	result.Bytes = info.Size()
	return a.Print(result, func(w io.Writer) {
		fmt.Fprintf(w, "%s: %d nodes and %d edges, digest %s\n", result.Graph, result.Nodes, result.Edges, result.Digest)
		for source, root := range result.Sources {
			flag := ""
			if source != "" {
				flag = " --source " + source
			}
			if _, err := os.Stat(root); err != nil {
				fmt.Fprintf(w, "it was built from %s, which is not here: `ingestd run --root DIR --moved%s` says where its files are now\n", commandline.Printable(root), flag)
			}
		}
	})
}

func (s *session) snapshotRestore(ctx context.Context, name string, replace bool) (*snapshotResult, error) {
	ctx, cancel := s.untilLockLost(ctx)
	defer cancel()
	started := time.Now()
	end, err := s.store.Restore(ctx, func() (io.ReadCloser, error) { return os.Open(name) }, replace)
	if err != nil {
		return nil, s.explain(ctx, err)
	}
	meta, err := s.store.Meta(ctx)
	if err != nil {
		return nil, err
	}
	line := store.Run{Verb: "snapshot restore", Started: started, Ended: time.Now(), Status: "done", Totals: map[string]int{"restored": meta.Counts.Documents}}
	return &snapshotResult{Graph: s.Config.GraphName(), File: name, Nodes: end.Nodes, Edges: end.Edges, Digest: end.Digest, Sources: meta.Sources}, s.saveLine(line)
}
