package main

import (
	"crypto/rand"
	"encoding/hex"
	"os"
	"os/user"
	"strconv"

	"graphmill/commandline"
	"graphmill/configs"
	"graphmill/pipeline"
	"graphmill/pipeline/falkor/store"
	"graphmill/pipeline/faultpoint"
	"graphmill/pipeline/graph"
)

// maxFailures bounds what the ledger keeps of a run's failed files; the count is
// of all.
const maxFailures = 20

// beginRun has what is written from here on recorded as a run of verb. A verb
// that writes nothing leaves no line.
func (s *session) beginRun(verb string) error {
	var id [8]byte
	if _, err := rand.Read(id[:]); err != nil {
		return err
	}
	started := faultpoint.Now()
	s.run = store.Run{
		ID: started.UTC().Format("20060102T150405Z") + "-" + hex.EncodeToString(id[:]), Verb: verb, Started: started,
		Totals: map[string]int{},
		Details: store.RunDetails{
			Who: who(), Version: commandline.Version(), Config: configHash(s.Config), Root: s.Config.Root, Source: s.Config.Source,
		},
	}
	s.store.Track(s.run, store.DiffLimits{Bytes: s.Config.Ledger.DiffBytes, Runs: s.Config.Ledger.DiffRuns})
	return nil
}

// who is the account and the machine that a run is of.
func who() string {
	name := strconv.Itoa(os.Getuid())
	if account, err := user.Current(); err == nil {
		name = account.Username
	}
	if host, err := os.Hostname(); err == nil {
		name += "@" + host
	}
	return name
}

// apart are settings that change nothing of what a run does to the graph.
var apart = map[string]bool{"output": true, "quiet": true, "progress": true, "log.level": true, "log.format": true, "wait": true, "jobs": true, "metrics.file": true}

// configHash is the same for two runs that were configured alike. Secrets are
// masked in it.
func configHash(cfg *configs.Config) string {
	var parts []string
	for _, setting := range cfg.Effective() {
		if !apart[setting.Key] {
			parts = append(parts, setting.Key, setting.Value)
		}
	}
	return graph.Hash(parts...)[:16]
}

// details are what the ledger keeps of a report.
func (s *session) details(report *pipeline.Report) store.RunDetails {
	d := s.run.Details
	d.Chunks, d.Reused = report.Totals.Chunks, report.Totals.Reused
	if f := report.Finalize; f != nil {
		for _, n := range f.Embedded {
			d.Vectors += n
		}
		if f.Done {
			d.After = &store.RunCounts{Documents: f.Counts.Documents, Chunks: f.Counts.Chunks, Entities: f.Counts.Entities, Relations: f.Counts.Relations}
		}
	}
	if c := report.Cost; c != nil {
		d.Cost = &store.RunCost{RunCalls: callsOf(c.Cost), Currency: c.Currency, Model: c.Model, ByPurpose: map[string]store.RunCalls{}}
		for purpose, cost := range c.ByPurpose {
			d.Cost.ByPurpose[string(purpose)] = callsOf(*cost)
		}
	}
	for _, document := range report.Documents {
		if document.Status != pipeline.Failed {
			continue
		}
		if d.Failed++; d.Failed <= maxFailures {
			d.Failures = append(d.Failures, store.RunFailure{Path: document.Path, Kind: document.Kind, Reason: document.Reason})
		}
	}
	return d
}

func callsOf(c pipeline.Cost) store.RunCalls {
	return store.RunCalls{Calls: c.Calls, Cached: c.Cached, InputTokens: c.InputTokens, OutputTokens: c.OutputTokens, Money: c.Money}
}
