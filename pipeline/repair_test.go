package pipeline_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"graphmill/pipeline"
)

// A model that fails in one passage of a document, after others were read, makes
// no success of it: nothing of the document is written, a version that was there
// stays, and the next run does it all.
func TestAnExtractionThatFailedIsToldAndMadeGoodByTheNextRun(t *testing.T) {
	text := strings.Repeat("Person Aa met Ada Lovelace in Place Bb, and they spoke of many things. ", 200)
	b := newBench(t, 2)
	b.write(t, "new.txt", text+"Here the model has no answer.")
	b.write(t, "old.txt", "Person Old met Ada Lovelace.")
	failing := func(_ context.Context, chunk string) error {
		if strings.Contains(chunk, "no answer") {
			return errors.New("relations: the model did not answer")
		}
		return nil
	}
	b.strategies.extract = failing
	report, err := b.run(t, t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if d := status(t, report, "new.txt"); d.Status != pipeline.Failed || !strings.Contains(d.Reason, "did not answer") || d.Entities != 0 || d.Chunks != 0 {
		t.Errorf("new.txt: %+v", d)
	}
	b.write(t, "old.txt", "Person New met Ada Lovelace. Here the model has no answer.")
	report, err = b.run(t, t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if d := status(t, report, "old.txt"); d.Status != pipeline.Failed || !strings.Contains(d.Reason, "the graph keeps the version it has") {
		t.Errorf("old.txt: %+v", d)
	}
	stored, err := b.store.Documents(t.Context())
	if err != nil || len(stored) != 3 || stored["old.txt"].Entities != 2 {
		t.Errorf("the graph holds %+v, %v", stored, err)
	}
	// Neither file has changed since.
	b.strategies.extract = nil
	report, err = b.run(t, t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if d := status(t, report, "new.txt"); d.Status != pipeline.Ingested || d.Entities != 3 || d.Relations == 0 {
		t.Errorf("new.txt, the next time: %+v", d)
	}
	if d := status(t, report, "old.txt"); d.Status != pipeline.Updated || d.Entities != 2 {
		t.Errorf("old.txt, the next time: %+v", d)
	}
	digest, err := b.store.Digest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	calm := newBench(t, 2)
	calm.write(t, "new.txt", text+"Here the model has no answer.")
	calm.write(t, "old.txt", "Person New met Ada Lovelace. Here the model has no answer.")
	if _, err := calm.run(t, t.Context()); err != nil {
		t.Fatal(err)
	}
	if want, err := calm.store.Digest(t.Context()); err != nil || want != digest {
		t.Errorf("it is not the graph of a run without failures: %v", err)
	}
}
