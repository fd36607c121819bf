package planner

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"graphmill/pipeline/graph"
	"graphmill/planner/catalogue"
)

// Assignment is the plan for one file.
type Assignment struct {
	Path       string
	Rule       int // index of the rule that matched; -1 for the format's default
	Chunker    string
	Extractors []string
	Resolver   string
	// Params are the chunker's numbers by their catalogue names. One that is
	// absent is off.
	Params      map[string]int
	MaxChunks   int
	MaxLLMPairs int
	// Reason says which rule matched and what the limits replaced.
	Reason string
	// Fingerprint changes when the plan would give other results: with the
	// strategies, their versions and their numbers, not with MaxChunks.
	Fingerprint string
}

// String is the plan in short: "structural 256 · pattern+gliner · exact".
func (a Assignment) String() string {
	if a.Chunker == "" {
		return ""
	}
	parts := []string{a.Chunker}
	if tokens := a.Params["chunk_tokens"]; tokens > 0 {
		parts = append(parts, strconv.Itoa(tokens))
	}
	if chars := a.Params["chunk_chars"]; chars > 0 {
		parts = append(parts, strconv.Itoa(chars)+" characters")
	}
	for _, name := range []string{"overlap_tokens", "overlap_chars", "overlap_sentences"} {
		if overlap := a.Params[name]; overlap > 0 {
			parts = append(parts, fmt.Sprintf("+%d", overlap))
		}
	}
	return strings.Join(parts, " ") + " · " + strings.Join(a.Extractors, "+") + " · " + a.Resolver
}

func (p *Planner) fingerprint(a Assignment) string {
	parts := []string{"plan", p.versioned(catalogue.Chunker, a.Chunker)}
	for _, name := range sortedNames(a.Params) {
		parts = append(parts, name, strconv.Itoa(a.Params[name]))
	}
	for _, name := range a.Extractors {
		parts = append(parts, p.versioned(catalogue.Extractor, name))
	}
	parts = append(parts, p.versioned(catalogue.Resolver, a.Resolver))
	if resolver, _ := p.find(catalogue.Resolver, a.Resolver); resolver.Cost.ModelCallsPerChunk > 0 {
		parts = append(parts, strconv.Itoa(a.MaxLLMPairs))
	}
	return graph.Hash(parts...)
}

func (p *Planner) versioned(kind catalogue.Kind, name string) string {
	strategy, _ := p.find(kind, name)
	return fmt.Sprintf("%s %s %d", kind, name, strategy.Version)
}

func sortedNames(params map[string]int) []string {
	return slices.Sorted(maps.Keys(params))
}

// LimitError says that a file has more of something than its plan allows.
type LimitError struct {
	Path  string
	Limit string // "max_chunks"
	Max   int
	Value int
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("plan %s: %d chunks are over max_chunks, %d; raise plan.limits.max_chunks and the rule's max_chunks, give it larger chunks, or split the file", e.Path, e.Value, e.Max)
}

// CheckChunks returns a [LimitError] when the file was cut into more chunks
// than its plan allows. Call it before extraction.
func (p *Planner) CheckChunks(a Assignment, chunks int) error {
	if chunks <= a.MaxChunks {
		return nil
	}
	return &LimitError{Path: a.Path, Limit: "max_chunks", Max: a.MaxChunks, Value: chunks}
}
