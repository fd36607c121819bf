// Package quality measures what extraction and resolution get right on a set
// of passages that people labelled (examples/labelled), and what retrieval finds
// of the answers to a set of questions (examples/questions.md). It owns the
// reading of the sets, the measures and their tables; extractors and searches are
// its caller's. Its tests hold the default pipeline to committed figures.
package quality

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"graphmill/pipeline/graph"
)

// The parts of the set.
const (
	// Tuning passages may be looked at while rules and thresholds are chosen.
	Tuning = "tuning"
	// HeldOut passages are only measured.
	HeldOut = "held-out"
)

// Passage is one labelled text.
type Passage struct {
	ID     string `json:"id"`
	Kind   string `json:"kind"`   // of text: "news", "technical", "legal", "biography"
	Part   string `json:"part"`   // Tuning or HeldOut
	Source string `json:"source"` // the file that it was taken from, or that it was written for the set
	Text   string `json:"text"`
	// Entities are the mentions in order of the text.
	Entities  []Mention  `json:"entities"`
	Relations []Relation `json:"relations"`
}

// Mention is a place where a passage names something.
type Mention struct {
	Text string `json:"text"`
	graph.Span
	Type string `json:"type"`
	// Entity is the same for all mentions of one thing in a passage.
	Entity string `json:"entity"`
}

// Relation is what a passage states of two of its entities.
type Relation struct {
	Source string `json:"source"` // a Mention.Entity
	Type   string `json:"type"`
	Target string `json:"target"`
	// Anaphoric relations are stated only through a pronoun or a common noun
	// ("she founded", "the company's"), or across sentences.
	Anaphoric bool `json:"anaphoric,omitempty"`
}

// Load reads every .jsonl file of a folder, one passage a line, in order of
// their names. What does not fit together is an error naming the passage.
func Load(dir string) ([]Passage, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil || len(files) == 0 {
		return nil, errors.Join(fmt.Errorf("load labelled passages: no .jsonl file in %s", dir), err)
	}
	slices.Sort(files)
	var all []Passage
	for _, file := range files {
		passages, err := loadFile(file)
		if err != nil {
			return nil, fmt.Errorf("load %s: %w", file, err)
		}
		all = append(all, passages...)
	}
	seen := map[string]bool{}
	for _, p := range all {
		if seen[p.ID] {
			return nil, fmt.Errorf("load labelled passages: two have the id %s", p.ID)
		}
		seen[p.ID] = true
	}
	return all, nil
}

func loadFile(name string) ([]Passage, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var passages []Passage
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		var p Passage
		if err := json.Unmarshal(lines.Bytes(), &p); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		if err := p.check(); err != nil {
			return nil, fmt.Errorf("line %d, passage %s: %w", n, p.ID, err)
		}
		passages = append(passages, p)
	}
	return passages, lines.Err()
}

// check holds a passage to what the format promises: exact spans in code
// points, mentions in order and apart, one type an entity, relations between
// entities of the passage.
func (p Passage) check() error {
	if p.ID == "" || p.Kind == "" || p.Source == "" || p.Part != Tuning && p.Part != HeldOut {
		return errors.New("id, kind, source or part is missing or not known")
	}
	runes := []rune(p.Text)
	types := map[string]string{}
	end := 0
	for _, m := range p.Entities {
		if m.Start < end || m.End <= m.Start || m.End > len(runes) {
			return fmt.Errorf("mention %q at %d to %d is out of order or of the text", m.Text, m.Start, m.End)
		}
		end = m.End
		if got := string(runes[m.Start:m.End]); got != m.Text {
			return fmt.Errorf("mention %q at %d to %d is %q there", m.Text, m.Start, m.End, got)
		}
		if m.Entity == "" || m.Type == "" {
			return fmt.Errorf("mention %q has no entity or no type", m.Text)
		}
		if have, ok := types[m.Entity]; ok && have != m.Type {
			return fmt.Errorf("entity %s is %s and %s", m.Entity, have, m.Type)
		}
		types[m.Entity] = m.Type
	}
	seen := map[Relation]bool{}
	for _, r := range p.Relations {
		if types[r.Source] == "" || types[r.Target] == "" {
			return fmt.Errorf("relation %s %s %s joins no entities of the passage", r.Source, r.Type, r.Target)
		}
		key := r.key()
		if seen[key] {
			return fmt.Errorf("relation %s %s %s stands twice", r.Source, r.Type, r.Target)
		}
		seen[key] = true
	}
	return nil
}
