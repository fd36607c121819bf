package planner

import "graphmill/pipeline/graph"

// Why is the reason for processing a file.
type Why string

// The reasons. Of several that hold, the first in this order is given.
const (
	WhyNew      Why = "new"      // the graph has no whole version of it
	WhyContent  Why = "content"  // the file changed
	WhyPlan     Why = "plan"     // strategies or their numbers changed
	WhyOntology Why = "ontology" // extraction would look for something else
	WhyModel    Why = "model"    // the models' weights changed
	WhyFormat   Why = "format"   // parser or rows changed with the program
	// WhyIncomplete: some of its chunks gave nothing the last time. No fingerprint
	// says so; the store does.
	WhyIncomplete Why = "incomplete"
	WhyNone       Why = "none" // it is current
)

// Compare says why a file must be processed, given the fingerprints stored with
// it, which are zero if there are none, and those that it would get now. The
// fingerprints are written last, so a document without one was not finished.
func Compare(stored, current graph.Fingerprints) Why {
	switch {
	case stored.Content == "":
		return WhyNew
	case stored.Content != current.Content:
		return WhyContent
	case stored.Plan != current.Plan:
		return WhyPlan
	case stored.Ontology != current.Ontology:
		return WhyOntology
	case stored.Model != current.Model:
		return WhyModel
	case stored.Format != current.Format:
		return WhyFormat
	}
	return WhyNone
}

// Planned is one file's line of a plan.
type Planned struct {
	Assignment
	Estimate Estimate
	Why      Why
}

// Plan assigns a file and says what it will take and why it would be processed.
// Of current it needs everything but Plan, which it fills in itself.
func (p *Planner) Plan(file File, stored, current graph.Fingerprints) Planned {
	planned := Planned{Assignment: p.Assign(file)}
	planned.Estimate = p.Estimate(file, planned.Assignment)
	current.Plan = planned.Fingerprint
	planned.Why = Compare(stored, current)
	return planned
}

// Totals sum up a plan file by file. The zero value is ready for use.
type Totals struct {
	Files int
	Why   map[Why]int // files by reason
	// Work is the estimate for the files that would be processed.
	Work Estimate
}

// Add counts one file.
func (t *Totals) Add(planned Planned) {
	if t.Why == nil {
		t.Why = map[Why]int{}
	}
	t.Files++
	t.Why[planned.Why]++
	if planned.Why == WhyNone {
		return
	}
	t.Work.Chunks += planned.Estimate.Chunks
	t.Work.Tokens += planned.Estimate.Tokens
	t.Work.ModelCalls += planned.Estimate.ModelCalls
	t.Work.Seconds += planned.Estimate.Seconds
	t.Work.Money += planned.Estimate.Money
}
