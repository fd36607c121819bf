package pipeline

import (
	"context"
	"fmt"
	"iter"

	"graphmill/pipeline/corpus"
	"graphmill/pipeline/graph"
	"graphmill/planner"
)

// Files is where a run's documents come from: a files root, or texts that were
// given as such. [corpus.Tree] (a folder or a bucket) and [corpus.Texts] are what there is.
type Files interface {
	List(ctx context.Context) iter.Seq2[corpus.Entry, error]
	Read(ctx context.Context, file corpus.File) (data []byte, sum string, err error)
	Hash(ctx context.Context, file corpus.File) (sum string, err error)
	Exists(path string) bool
	Dir() string // for messages
}

// documentID names the document of a path.
func (o Options) documentID(path string) graph.DocumentID {
	if o.Texts {
		return graph.DocumentID(path)
	}
	return graph.FileDocumentID(path)
}

// onlyContent leaves a document alone that only other settings would change, and
// notes them.
func (w *work) onlyContent(force bool) {
	switch w.why {
	case planner.WhyPlan, planner.WhyOntology, planner.WhyModel, planner.WhyFormat:
		if !force {
			w.notes = append(w.notes, fmt.Sprintf("extracted with another %s than would be used now", w.why))
		}
		w.why = planner.WhyNone
	}
}

// TextTaken is the kind of failure of a file whose path is the id of a text.
const TextTaken = "text_id"
