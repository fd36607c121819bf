// Command bench measures ingestion and retrieval and prints one table: each figure beside its
// limit, the same work done by the barest client there can be, or beside what
// graphrag-sdk 1.4.0 took for the same files. Ours and the limit are measured in
// turns, in one run, because a machine's pace changes from minute to minute.
//
//	go run ./bench [-corpus DIR] [-only REGEXP] [-files 10000] [-size 100000] [-rounds 3]
//
// It builds both programs, starts an engine of its own in a temporary folder and stops
// it at the end. docs/performance.md says what the rows mean.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
)

// options are the command line.
type options struct {
	corpus string
	only   *regexp.Regexp
	files  int
	size   int
	rounds int
	python string
}

// section is a group of rows that are measured together.
type section struct {
	name string
	run  func(ctx context.Context, w *world, t *table) error
}

var sections = []section{
	{"chunking", benchChunking},
	{"embedding", benchEmbedding},
	{"writing", benchWriting},
	{"protocol", benchProtocol},
	{"corpus", benchCorpus},
	{"unchanged", benchUnchanged},
	{"edited", benchEdited},
	{"models", benchModels},
	{"workers", benchWorkers},
	{"retrieval", benchRetrieval},
	{"check", benchCheck},
	{"scale", benchScale},
}

func main() {
	o := options{}
	flag.StringVar(&o.corpus, "corpus", cmp.Or(os.Getenv("BENCH_CORPUS"), "examples/corpus"), "folder to ingest ($BENCH_CORPUS)")
	only := flag.String("only", cmp.Or(os.Getenv("BENCH"), "."), "sections to run, a regular expression ($BENCH)")
	flag.IntVar(&o.files, "files", 10_000, "generated files of the largest folder")
	flag.IntVar(&o.size, "size", 100_000, "chunks, and as many entities, of the generated graph that is searched")
	flag.IntVar(&o.rounds, "rounds", 3, "times that ours and the limit take turns; the least counts")
	flag.StringVar(&o.python, "python", cmp.Or(os.Getenv("BENCH_PYTHON"), "python3"), "Python with onnxruntime, tokenizers and numpy ($BENCH_PYTHON); without them they are fetched into a temporary folder")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var err error
	if o.only, err = regexp.Compile(*only); err == nil {
		err = bench(ctx, o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func bench(ctx context.Context, o options) error {
	w, err := newWorld(ctx, o)
	if err != nil {
		return err
	}
	defer w.close()
	t := &table{}
	for _, s := range sections {
		if !o.only.MatchString(s.name) {
			continue
		}
		fmt.Fprintf(os.Stderr, "%s …\n", s.name)
		if err := s.run(ctx, w, t); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	t.print(os.Stdout)
	return nil
}
