package pipeline_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"graphmill/pipeline"
	"graphmill/pipeline/corpus"
	"graphmill/pipeline/corpus/plaintext"
)

// faultyParser is the plain text parser with places for faults.
type faultyParser struct{ plaintext.Parser }

func (p faultyParser) Parse(ctx context.Context, file corpus.File, data []byte, limits corpus.Limits) (*corpus.Document, error) {
	switch {
	case strings.Contains(string(data), "slow"):
		<-ctx.Done()
		return nil, ctx.Err()
	case strings.Contains(string(data), "broken"):
		panic("nil pointer")
	}
	return p.Parser.Parse(ctx, file, data, limits)
}

func TestParserThatHangsOrPanicsFailsItsFile(t *testing.T) {
	b := newBench(t, 6)
	b.write(t, "slow.txt", "A slow text.")
	b.write(t, "broken.txt", "A broken text.")
	b.options.Loader = corpus.NewLoader(b.options.Root.(*corpus.Root), map[corpus.Format]corpus.Parser{corpus.Text: faultyParser{}}, corpus.Limits{})
	b.options.FileTimeout = 300 * time.Millisecond
	report, err := b.run(t, t.Context())
	if err != nil || report.Totals.Status[pipeline.Ingested] != 6 || report.Totals.Status[pipeline.Failed] != 2 {
		t.Fatalf("%v, %v", err, report.Totals.Status)
	}
	if d := status(t, report, "slow.txt"); d.Kind != "timeout" || !strings.Contains(d.Reason, "corpus.file_timeout") {
		t.Errorf("slow.txt: %+v", d)
	}
	if d := status(t, report, "broken.txt"); !strings.Contains(d.Reason, "nil pointer") {
		t.Errorf("broken.txt: %+v", d)
	}
}

// Interrupting does not wait for a file's time to be over, and the file has not
// failed.
func TestInterruptionWhileAParserHangs(t *testing.T) {
	b := newBench(t, 0)
	b.write(t, "slow.txt", "A slow text.")
	b.options.Loader = corpus.NewLoader(b.options.Root.(*corpus.Root), map[corpus.Format]corpus.Parser{corpus.Text: faultyParser{}}, corpus.Limits{})
	b.options.FileTimeout = time.Hour
	ctx, cancel := context.WithCancel(t.Context())
	b.observer.act = func(e pipeline.Event) {
		if e.Kind == pipeline.ListingDone {
			cancel()
		}
	}
	report, err := b.run(t, ctx)
	if err == nil || report.Interrupted != "interrupt" || len(report.Documents) != 0 {
		t.Errorf("got %v, %+v", err, report)
	}
}
