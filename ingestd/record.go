package main

import (
	"context"
	"errors"
	"time"

	"graphmill/pipeline"
	"graphmill/pipeline/falkor/store"
	"graphmill/pipeline/faultpoint"
)

// record adds the verb to the graph's run ledger. A verb that changed nothing and
// paid nothing leaves no line: running again over an unchanged folder writes
// nothing.
func (s *session) record(verb string, report *pipeline.Report, started time.Time, outcome error) error {
	if report == nil || (!report.Wrote() && report.Finalize == nil && report.Cost == nil) || errors.Is(outcome, store.ErrLockLost) {
		return nil
	}
	// The clock may have been set meanwhile; how long it took does not depend on it.
	ended := faultpoint.Now()
	line := store.Run{Verb: verb, Started: ended.Add(-time.Since(started)), Ended: ended, Status: "done", Totals: map[string]int{}}
	for status, n := range report.Totals.Status {
		line.Totals[string(status)] = n
	}
	switch {
	case report.Interrupted != "":
		line.Status = "interrupted"
	case outcome != nil:
		line.Status, line.Message = "failed", outcome.Error()
	}
	line.Details = s.details(report)
	report.Run = s.run.ID
	err := s.saveLine(line)
	if outcome != nil {
		return nil // the verb's own error says what went wrong
	}
	return err
}

// saveLine gives a line of the ledger its id and writes it, also when the verb's
// context has ended.
func (s *session) saveLine(line store.Run) error {
	line.ID = s.run.ID
	if line.Details.Who == "" {
		line.Details = s.run.Details
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return s.store.SaveRun(ctx, line)
}
