package main

import (
	"context"
	"fmt"

	"graphmill/commandline"
	"graphmill/pipeline"
	"graphmill/pipeline/ontology"
)

// mostAdvised bounds the types, and the pairs of types, that a report proposes to
// add.
const mostAdvised = 100

// advise says in the report what the ontology misses and how to have it. Nothing
// depends on it: a store that does not answer has been reported.
func (s *session) advise(ctx context.Context, report *pipeline.Report) {
	if report == nil || ontology.Hint(report.Pruned, "") == "" {
		return
	}
	stored, err := s.store.LoadOntology(ctx)
	if err != nil {
		return
	}
	call := ""
	if add := ontology.Keep(&stored, report.Pruned, mostAdvised); !add.IsEmpty() {
		report.SetOntology = &add
		call = setCommand(add)
	}
	report.Hint = ontology.Hint(report.Pruned, call)
}

// setCommand is the command that adds to the ontology, for a shell: an addition
// holds no single quotation mark.
func setCommand(add ontology.Addition) string {
	return fmt.Sprintf("ingestd ontology set '%s'", add)
}

// Bounds of what a person is shown.
const (
	mostDropped = 10   // pairs of types, with one dropped fact each
	longestCall = 2000 // bytes
)

// advice shows what was dropped and the command that keeps it.
func (p textPrinter) advice(r *pipeline.Report) {
	for _, key := range mostFrequent(r.Pruned.Patterns, mostDropped) {
		fmt.Fprintf(p.w, "dropped: %s, such as %s\n", commandline.Printable(key), commandline.Printable(r.Pruned.PatternExamples[key]))
	}
	if r.SetOntology == nil {
		return
	}
	call := setCommand(*r.SetOntology)
	if len(call) > longestCall {
		call = "ingestd ontology set, with the value of set_ontology in this verb's --output json"
	}
	fmt.Fprintf(p.w, "to keep: %s\n         then `ingestd reextract`. Take only the pairs that a relation's meaning fits; for the others, declare a better relation type\n", call)
}
