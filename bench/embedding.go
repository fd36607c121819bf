package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"graphmill/pipeline/models"
	"graphmill/pipeline/models/local"
)

//go:embed embed.py
var embedScript []byte

// embeddedTexts is how many texts each side embeds a round.
const embeddedTexts = 200

// benchEmbedding embeds the same texts, one a call on one thread, here and with
// Python's onnxruntime, in turns.
func benchEmbedding(ctx context.Context, w *world, t *table) error {
	const what = "embedding, MiniLM, one thread"
	python, err := w.findPython(ctx)
	if err != nil {
		t.skip(what, err.Error())
		return nil
	}
	text, err := w.corpusText()
	if err != nil {
		return err
	}
	options := local.Options{Places: models.Places{DataDir: w.data}, Threads: 1, Parallel: 1}
	embedder, err := options.OpenAlone()
	if err != nil {
		return err
	}
	defer embedder.Close()
	dir, err := models.FindModel(local.DefaultEmbedder, options.Places)
	if err != nil {
		return err
	}
	texts := passages(text, embeddedTexts)
	var ours, theirs []float64 // wall and processor seconds
	for range w.rounds {
		began, used := time.Now(), processorSeconds(os.Getpid())
		for _, text := range texts {
			if _, err := embedder.Embed(ctx, []string{text}); err != nil {
				return err
			}
		}
		ours = leastPair(ours, time.Since(began).Seconds(), processorSeconds(os.Getpid())-used)
		wall, processor, err := python.embed(ctx, dir, texts)
		if err != nil {
			return err
		}
		theirs = leastPair(theirs, wall, processor)
	}
	rate := func(s float64) string { return fmt.Sprintf("%.1f/s", float64(len(texts))/s) }
	ratio := theirs[0] / ours[0]
	t.add(line{
		what: what, ours: rate(ours[0]), limit: rate(theirs[0]) + " (Python)", ratio: percent(ratio), target: "≥ 95 %", met: ratio >= 0.95,
		note: fmt.Sprintf("a processor second: %s and %s", rate(ours[1]), rate(theirs[1])),
	})
	return nil
}

// leastPair keeps the least of each.
func leastPair(have []float64, wall, processor float64) []float64 {
	if have == nil {
		return []float64{wall, processor}
	}
	return []float64{min(have[0], wall), min(have[1], processor)}
}

// passages cuts text into n of 80 words, which no window cuts.
func passages(text string, n int) []string {
	words := strings.Fields(text)
	var out []string
	for len(out) < n {
		for start := 0; start+80 <= len(words) && len(out) < n; start += 80 {
			out = append(out, strings.Join(words[start:start+80], " "))
		}
		if len(words) < 80 {
			words = append(words, words...)
		}
	}
	return out
}

// python runs the script with what it imports.
type python struct{ command, path, script, dir string }

// findPython finds a Python that has onnxruntime, or fetches it into the
// temporary folder.
func (w *world) findPython(ctx context.Context) (*python, error) {
	p := &python{command: w.python, path: os.Getenv("PYTHONPATH"), script: filepath.Join(w.dir, "embed.py"), dir: w.dir}
	if err := os.WriteFile(p.script, embedScript, 0o600); err != nil {
		return nil, err
	}
	imports := func() error {
		check := exec.CommandContext(ctx, p.command, "-c", "import onnxruntime, tokenizers, numpy")
		check.Env = append(os.Environ(), "PYTHONPATH="+p.path)
		return check.Run()
	}
	if imports() == nil {
		return p, nil
	}
	p.path = filepath.Join(w.dir, "python")
	fetch := exec.CommandContext(ctx, p.command, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--target", p.path, "onnxruntime==1.26.0", "tokenizers", "numpy")
	fetch.Stderr = os.Stderr
	if err := fetch.Run(); err != nil {
		return nil, fmt.Errorf("no Python with onnxruntime, and pip could not fetch it (%w)", err)
	}
	return p, imports()
}

func (p *python) embed(ctx context.Context, model string, texts []string) (wall, processor float64, err error) {
	encoded, err := json.Marshal(texts)
	if err != nil {
		return 0, 0, err
	}
	file := filepath.Join(p.dir, "texts.json")
	if err := os.WriteFile(file, encoded, 0o600); err != nil {
		return 0, 0, err
	}
	var printed bytes.Buffer
	command := exec.CommandContext(ctx, p.command, p.script, model, file, "1")
	command.Env = append(os.Environ(), "PYTHONPATH="+p.path)
	command.Stdout, command.Stderr = &printed, os.Stderr
	if err := command.Run(); err != nil {
		return 0, 0, fmt.Errorf("run %s: %w", p.script, err)
	}
	_, err = fmt.Sscan(printed.String(), &wall, &processor)
	return wall, processor, err
}
