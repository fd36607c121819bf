package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"graphmill/commandline"
	"graphmill/configs"
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
		call = s.setCommand(add)
	}
	report.Hint = ontology.Hint(report.Pruned, call)
}

// setCommand is the command that adds to this graph's ontology, for a shell: an
// addition holds no single quotation mark.
func (a *app) setCommand(add ontology.Addition) string {
	return fmt.Sprintf("ingestd ontology set '%s'", add) + a.given("data_dir", "graph", "tenant")
}

// given are the flags among keys that this verb was called with, and the
// configuration file, for a command that shall find the same again.
func (a *app) given(keys ...string) string {
	flags := ""
	if file := a.Config.File; file != "" {
		if found, err := filepath.Abs(configs.DefaultFile); err != nil || found != file { // that one is read anyway
			flags = " --config " + shellWord(file)
		}
	}
	for _, setting := range a.Config.Effective() {
		flag, isFlag := strings.CutPrefix(a.Config.Origin(setting.Key), "flag --")
		if isFlag && slices.Contains(keys, setting.Key) {
			flags += " --" + flag + " " + shellWord(setting.Value)
		}
	}
	return flags
}

// shellWord is a text as a shell takes it for one argument.
func shellWord(text string) string {
	if text != "" && !strings.ContainsFunc(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("/._-:=@%+,", r)
	}) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// Bounds of what a person is shown.
const (
	mostDropped = 10   // pairs of types, with one dropped fact each
	longestCall = 2000 // bytes
)

// advice shows what was dropped and the command that keeps it.
func (a *app) advice(w io.Writer, r *pipeline.Report) {
	for _, key := range mostFrequent(r.Pruned.Patterns, mostDropped) {
		fmt.Fprintf(w, "dropped: %s, such as %s\n", commandline.Printable(key), commandline.Printable(r.Pruned.PatternExamples[key]))
	}
	if r.SetOntology == nil {
		return
	}
	call := a.setCommand(*r.SetOntology)
	if len(call) > longestCall {
		call = "ingestd ontology set, with the value of set_ontology in this verb's --output json"
	}
	fmt.Fprintf(w, "to keep: %s\n         then `ingestd reextract%s`. Take only the pairs that a relation's meaning fits; for the others, declare a better relation type\n", call, a.given("data_dir", "graph", "tenant", "root", "source"))
}
