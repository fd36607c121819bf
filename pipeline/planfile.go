package pipeline

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"graphmill/pipeline/corpus"
	"graphmill/pipeline/graph"
	"graphmill/planner"
)

// planFormat is raised when a plan file's meaning changes; other versions are
// refused.
const planFormat = 1

// PlanFile is a plan on disk: what a run was said to do, and all that decided it.
type PlanFile struct {
	Format  int       `json:"format"`
	Made    time.Time `json:"made"`
	Program string    `json:"program"` // its version
	Root    string    `json:"root"`
	Source  string    `json:"source,omitempty"`
	// Ontology is the digest of what extraction reads of it.
	Ontology string `json:"ontology"`
	// Settings are those that decide what a run does, as `doctor` shows them.
	Settings map[string]string `json:"settings"`
	// Files are the fingerprints of the planned files, by path.
	Files map[string]graph.Fingerprints `json:"files"`
	PlanReport
}

// File makes a report ready to be kept. The caller adds Program and Settings.
func (r *PlanReport) File(o Options) *PlanFile {
	return &PlanFile{
		Format: planFormat, Made: time.Now().UTC().Truncate(time.Second), Root: o.Root.Dir(), Source: o.Source,
		Ontology: r.ontology, Files: r.fingerprints, PlanReport: *r,
	}
}

// Write puts the plan into a file, whole or not at all.
func (p *PlanFile) Write(name string) error {
	text, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err
	}
	temp, err := os.CreateTemp(filepath.Dir(name), ".plan-*")
	if err != nil {
		return fmt.Errorf("write plan: %w", err)
	}
	_, err = temp.Write(append(text, '\n'))
	if err = errors.Join(err, temp.Sync(), temp.Close()); err == nil {
		err = os.Rename(temp.Name(), name)
	}
	if err != nil {
		return fmt.Errorf("write plan: %w", errors.Join(err, os.Remove(temp.Name())))
	}
	return nil
}

// maxPlanBytes bounds a plan file: some hundred thousand files' worth.
const maxPlanBytes = 1 << 28

// ReadPlanFile reads what Write wrote.
func ReadPlanFile(name string) (*PlanFile, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, fmt.Errorf("read plan: %w", err)
	}
	if !info.Mode().IsRegular() || info.Size() > maxPlanBytes {
		return nil, fmt.Errorf("read plan %s: it is no file of at most %d MiB", name, maxPlanBytes>>20)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("read plan: %w", err)
	}
	p := new(PlanFile)
	if err := json.Unmarshal(text, p); err != nil {
		return nil, fmt.Errorf("read plan %s: it is no plan: %w", name, err)
	}
	if p.Format != planFormat {
		return nil, fmt.Errorf("read plan %s: it has format %d, this program reads %d; make it again with `ingestd plan --out`", name, p.Format, planFormat)
	}
	listed := p.byPath()
	for path := range p.Files {
		if _, ok := listed[path]; !ok {
			return nil, fmt.Errorf("read plan %s: it was edited: %s stands among its files and not among its documents; make it again with `ingestd plan --out`", name, path)
		}
	}
	return p, nil
}

// ToDo are the paths of the files that the plan would process.
func (p *PlanFile) ToDo() map[string]bool {
	todo := map[string]bool{}
	for _, d := range p.Documents {
		if d.Why != "" && d.Why != planner.WhyNone {
			todo[d.Path] = true
		}
	}
	return todo
}

// Moved says what is not as it was when the plan was made; now is the same plan
// made anew. What the plan has had done since is no movement.
func (p *PlanFile) Moved(now *PlanFile) []string {
	var moved []string
	say := func(format string, args ...any) { moved = append(moved, fmt.Sprintf(format, args...)) }
	for _, c := range []struct{ what, was, is string }{
		{"graph", p.Graph, now.Graph}, {"root", p.Root, now.Root}, {"source", p.Source, now.Source}, {"model", p.Model, now.Model},
	} {
		if c.was != c.is {
			say("%s: it was %q and is %q", c.what, c.was, c.is)
		}
	}
	if p.Ontology != now.Ontology {
		say("ontology: it was extended or replaced")
	}
	if was, is := p.Price.String(), now.Price.String(); was != is {
		say("price: it was %s and is %s", was, is)
	}
	for _, key := range slices.Sorted(maps.Keys(now.Settings)) {
		if was, known := p.Settings[key]; !known || was != now.Settings[key] {
			say("config: %s was %q and is %q", key, was, now.Settings[key])
		}
	}
	return append(moved, p.movedFiles(now)...)
}

// String is what a price costs in words.
func (p *PlanPrice) String() string {
	if p == nil {
		return "none"
	}
	return fmt.Sprintf("%g and %g %s a million tokens in and out", p.Input, p.Output, p.Currency)
}

// mostNamed bounds how many files of one kind are named.
const mostNamed = 5

func (p *PlanFile) movedFiles(now *PlanFile) []string {
	kinds := map[string][]string{}
	then, whys := p.byPath(), now.byPath()
	for path, is := range now.Files {
		was, known := p.Files[path]
		switch {
		case !known:
			kinds["corpus: added"] = append(kinds["corpus: added"], path)
		case was.Content != is.Content:
			kinds["corpus: changed"] = append(kinds["corpus: changed"], path)
		case was.Plan != is.Plan:
			kinds["config: other strategies or numbers for"] = append(kinds["config: other strategies or numbers for"], path)
		case was.Model != is.Model:
			kinds["model: another for"] = append(kinds["model: another for"], path)
		case was.Format != is.Format:
			kinds["program: other rows for"] = append(kinds["program: other rows for"], path)
		case then[path] == planner.WhyNone && whys[path] != planner.WhyNone && was == is:
			kinds["graph: it lacks what it had of"] = append(kinds["graph: it lacks what it had of"], path)
		}
	}
	for path := range p.Files {
		if _, there := now.Files[path]; !there {
			kinds["corpus: gone, or not to be read,"] = append(kinds["corpus: gone, or not to be read,"], path)
		}
	}
	var moved []string
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		paths := kinds[kind]
		slices.Sort(paths)
		text := kind + " " + strings.Join(paths[:min(mostNamed, len(paths))], ", ")
		if more := len(paths) - mostNamed; more > 0 {
			text += fmt.Sprintf(" and %d more", more)
		}
		moved = append(moved, text)
	}
	return moved
}

func (r *PlanReport) byPath() map[string]planner.Why {
	whys := make(map[string]planner.Why, len(r.Documents))
	for _, d := range r.Documents {
		whys[d.Path] = d.Why
	}
	return whys
}

// asPlanned refuses a file that changed after the plan was checked.
func (o Options) asPlanned(path string, current graph.Fingerprints) error {
	if want, ok := o.Planned[path]; o.Planned != nil && (!ok || want != current) {
		return &corpus.FileError{Kind: corpus.KindChanged, Verb: "read", Path: path, Reason: "it changed after the plan was checked", Hint: "make the plan again"}
	}
	return nil
}
