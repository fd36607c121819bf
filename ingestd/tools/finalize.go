package tools

import (
	"context"
	"fmt"

	"graphmill/pipeline"
	"graphmill/toolserver"
)

const finalizeName = "finalize"

// Finalized is the reply of finalize.
type Finalized struct {
	pipeline.FinalizeReport
	Cost *pipeline.Bill `json:"cost,omitempty"` // absent when no model was asked
	toolserver.Notice
}

func (k *kit) finalizeTool() (*toolserver.Tool, error) {
	return toolserver.NewTool(toolserver.Spec{
		Name: finalizeName, Title: "Make the graph searchable", Destructive: true, Time: k.Time,
		Description: "Merges names across documents, makes missing and stale vectors and the indexes, and counts the graph. Call it once after the last ingest of a batch: " +
			"until then new facts are not found by meaning. Doing it again costs little: what is done is not done twice.",
		Input: object(nil, nil),
	}, k.finalize)
}

type nothing struct{}

func (k *kit) finalize(ctx context.Context, _ nothing) (*Finalized, error) {
	report, cost, err := k.Backend.Finalize(ctx)
	if err != nil {
		return nil, err
	}
	return &Finalized{FinalizeReport: *report, Cost: cost}, nil
}

// Text tells the counts.
func (f *Finalized) Text(limit int) string {
	made := 0
	for _, n := range f.Embedded {
		made += n
	}
	text := fmt.Sprintf("Finalized: %d vectors made; %d documents, %d chunks, %d entities, %d relations\n",
		made, f.Counts.Documents, f.Counts.Chunks, f.Counts.Entities, f.Counts.Relations)
	text += costLine(f.Cost)
	if f.Hint != "" {
		text += f.Hint + "\n"
	}
	return clip(text, limit)
}
