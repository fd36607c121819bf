package main

import (
	"context"
	"strings"

	"graphmill/commandline"
	"graphmill/pipeline"
	"graphmill/pipeline/falkor/store"
)

// checkSource refuses a second root without a name, and a name whose paths the
// graph has already: its documents would overwrite or outlive those of the
// first.
func (s *session) checkSource(ctx context.Context, meta store.Meta, rootDir string, moved bool) error {
	name, graphName := s.Config.Source, s.Config.GraphName()
	have, known := meta.Sources[name]
	switch {
	case known && (have == rootDir || moved):
		return nil
	case known && name == "":
		return commandline.Usage("graph %s was built from %s; if %s is another folder, give it a name with --source NAME or use another --graph; if it is the same one, moved, `%s` says so",
			graphName, have, rootDir, movedCall(rootDir, ""))
	case known:
		return commandline.Usage("source %q of graph %s is %s; choose another --source NAME for %s; if it is the same folder, moved, `%s` says so",
			name, graphName, have, rootDir, movedCall(rootDir, name))
	case name == "" && len(meta.Sources) > 0:
		first := firstSource(meta.Sources)
		return commandline.Usage("graph %s was built from source %q (%s); give %s a name with --source NAME, or use another --graph",
			graphName, first, meta.Sources[first], rootDir)
	case name == "":
		return nil
	}
	return s.checkSourceName(ctx, meta)
}

// movedCall is the command that tells the graph of its folder's new place: not every
// verb that needs to be told has the flag.
func movedCall(rootDir, source string) string {
	call := "ingestd run --root " + shellWord(rootDir) + " --moved"
	if source != "" {
		call += " --source " + shellWord(source)
	}
	return call
}

// checkSourceName refuses a new root's name that is that of a folder whose
// documents came from the first root.
func (s *session) checkSourceName(ctx context.Context, meta store.Meta) error {
	name := s.Config.Source
	stored, err := s.store.Documents(ctx)
	if err != nil {
		return err
	}
	for path := range stored {
		if pipeline.SourceOf(path, meta.Sources) == "" && strings.HasPrefix(path, name+"/") {
			return commandline.Usage("--source %s: graph %s holds documents of the folder %s of %s (%s); their paths would collide, choose another name",
				name, s.Config.GraphName(), name, meta.Sources[""], path)
		}
	}
	return nil
}

func firstSource(sources map[string]string) string {
	first := ""
	for name := range sources {
		if first == "" || name < first {
			first = name
		}
	}
	return first
}
