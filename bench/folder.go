package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
)

// benchUnchanged takes generated folders of two sizes through a first run and
// one that finds nothing to do, for the time of the latter and for ingestd's
// memory in both.
func benchUnchanged(ctx context.Context, w *world, t *table) error {
	peak := map[int]float64{}
	var sizes []int
	for _, files := range []int{max(w.files/10, 1), w.files} {
		root := filepath.Join(w.dir, fmt.Sprint("files", files))
		if err := generate(root, files); err != nil {
			return err
		}
		graphName := fmt.Sprint("files", files)
		first, err := w.ingestByRule(ctx, graphName, root)
		if err != nil {
			return err
		}
		var again cost
		for range w.rounds {
			c, _, err := w.ingest(ctx, append(ruleArgs, "--root", root, "--graph", graphName)...)
			if err != nil {
				return err
			}
			peak[files] = max(peak[files], c.peak)
			again = least(again, c)
		}
		peak[files] = max(peak[files], first.peak)
		sizes = append(sizes, files)
		l := line{
			what: fmt.Sprintf("unchanged run, %d files, engine up", files), ours: seconds(again.wall),
			note: fmt.Sprintf("%s; first run %.1f s, %s, %d commands", again.processor(), first.wall, first.processor(), first.commands),
		}
		if files >= 10_000 {
			l.target, l.met = "≤ 3 s", again.wall <= 3
		}
		t.add(l)
		w.drop(ctx, graphName)
		if err := os.RemoveAll(root); err != nil {
			return err
		}
	}
	small, large := peak[sizes[0]], peak[sizes[1]]
	t.add(line{
		what: fmt.Sprintf("peak memory of ingestd, %d files", sizes[1]), ours: fmt.Sprintf("%.0f MB", large),
		limit: fmt.Sprintf("%.0f MB (%d files)", small, sizes[0]), ratio: times(large / small), target: "≤ 150 MB", met: large <= 150, note: "no model loaded",
	})
	return nil
}

// generate writes files of about 50 words, the same ones every time.
func generate(root string, files int) error {
	for i := range files {
		random := rand.New(rand.NewPCG(1, uint64(i)))
		folder := filepath.Join(root, fmt.Sprintf("part%02d", i%50))
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return err
		}
		name, text := fmt.Sprintf("f%05d.txt", i), prose(random)+"\n\n"+prose(random)+"\n"
		if i%3 == 0 {
			name, text = fmt.Sprintf("f%05d.md", i), "# "+person(random)+"\n\n"+text+"\n## "+person(random)+"\n\n"+prose(random)+"\n"
		}
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// person is one of 40,000 made-up names.
func person(random *rand.Rand) string {
	syllables := []string{"ba", "de", "fi", "go", "lu", "ma", "ne", "ri", "so", "tu"}
	word := func() string {
		s := syllables[random.IntN(10)] + syllables[random.IntN(10)]
		return strings.ToUpper(s[:1]) + s[1:] + []string{"n", "r"}[random.IntN(2)]
	}
	return word() + " " + word()
}

func prose(random *rand.Rand) string {
	var b strings.Builder
	for range 1 + random.IntN(2) {
		fmt.Fprintf(&b, "In that year %s wrote to the friends of %s, and nobody was surprised by it. ", person(random), person(random))
	}
	return strings.TrimSpace(b.String())
}
