package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"graphmill/chunkers"
	"graphmill/pipeline/corpus"
)

// chunkedText is how much text is cut: some tenths of a second of work.
const chunkedText = 16 << 20

// benchChunking cuts the folder's text files, one after the other as one text,
// on one core. What counts is processor time.
func benchChunking(ctx context.Context, w *world, t *table) error {
	text, err := w.corpusText()
	if err != nil {
		return err
	}
	document := &corpus.Document{Text: strings.Repeat(text, 1+chunkedText/len(text))}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for _, name := range []string{"fixed", "sentence", "structural"} {
		chunker, err := chunkers.New(name, nil)
		if err != nil {
			return err
		}
		best := 0.0
		for range w.rounds {
			began := processorSeconds(os.Getpid())
			if _, err := chunker.Chunk(document); err != nil {
				return err
			}
			if rate := float64(len(document.Text)) / (1 << 20) / max(processorSeconds(os.Getpid())-began, 0.01); rate > best {
				best = rate
			}
		}
		l := line{what: "chunking, " + name, ours: fmt.Sprintf("%.0f MB/s", best), target: "≥ 50 MB/s", met: best >= 50, note: "a processor second"}
		if name == "structural" {
			l.target = ""
		}
		t.add(l)
	}
	return nil
}

// corpusText is the text of the folder's plain and Markdown files.
func (w *world) corpusText() (string, error) {
	var all strings.Builder
	err := filepath.WalkDir(w.corpus, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		switch filepath.Ext(path) {
		case ".txt", ".md", ".rst":
			text, err := os.ReadFile(path)
			all.Write(text)
			all.WriteString("\n\n")
			return err
		}
		return nil
	})
	if err == nil && all.Len() == 0 {
		err = fmt.Errorf("%s holds no text files", w.corpus)
	}
	return strings.ToValidUTF8(all.String(), "\uFFFD"), err
}
