package tools

import (
	"context"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"

	"graphmill/queryd/evidence"
	"graphmill/queryd/retrieve"
	"graphmill/toolserver"
)

const evidenceName = "evidence"

type evidenceInput struct {
	Handle string `json:"handle"`
	N      int    `json:"n"`
}

// Resolved is the reply of evidence.
type Resolved struct {
	N     int            `json:"n,omitempty"`
	Asked string         `json:"asked"`        // the handle that was given
	Of    int            `json:"of,omitempty"` // the evidence number that was given in its place
	State retrieve.State `json:"state"`
	Place
	Content string `json:"text,omitempty"` // what stands there now
	toolserver.Notice
}

func (k *kit) evidenceTool() (*toolserver.Tool, error) {
	return toolserver.NewTool(toolserver.Spec{
		Name:  evidenceName,
		Title: "Look a piece of evidence up again",
		Description: "Finds the text that a handle names, from this conversation or an earlier one, and says whether its document has changed since, as of its last ingestion. " +
			"With `n`, an evidence number of this conversation, it tells the handle of that text, by which anybody can find it later. The result carries an evidence number.",
		Input: object(nil, map[string]*jsonschema.Schema{
			"handle": {
				Type: "string", Description: "A handle, as retrieve or evidence gave it.",
				MinLength: jsonschema.Ptr(1), MaxLength: jsonschema.Ptr(1000),
			},
			"n": {
				Type: "integer", Description: "An evidence number of this conversation, in place of a handle.", Minimum: jsonschema.Ptr(1.0),
			},
		}),
	}, k.resolve)
}

func (k *kit) resolve(ctx context.Context, in evidenceInput) (*Resolved, error) {
	handle, err := k.handle(in)
	if err != nil {
		return nil, err
	}
	store, _, err := k.open(ctx)
	if err != nil {
		return nil, err
	}
	found, err := (&retrieve.Searcher{Store: store, Graph: k.Graph()}).Resolve(ctx, handle)
	if err != nil {
		return nil, k.explain(err)
	}
	out := newResolved(handle, found)
	out.Of = in.N
	out.N = k.Ledger.Add(evidence.Item{Tool: evidenceName, Kind: evidence.Passage, Content: out.Content, Place: out.Place})[0]
	return out, nil
}

// handle is the one that is asked for, by itself or by a number.
func (k *kit) handle(in evidenceInput) (evidence.Handle, error) {
	const standing = "Give a `handle` as retrieve or evidence gave it, or as `n` an evidence number of this conversation"
	text := in.Handle
	switch {
	case (in.Handle == "") == (in.N == 0):
		return evidence.Handle{}, &toolserver.Error{Kind: toolserver.Usage, Message: "One of `handle` and `n` is needed, and not both", Hint: standing}
	case in.N > 0:
		item, ok := k.Ledger.Item(in.N)
		if !ok {
			return evidence.Handle{}, &toolserver.Error{Kind: toolserver.Usage, Message: fmt.Sprintf("[%d] is no evidence of this conversation", in.N), Hint: standing}
		}
		if text = item.Place.Handle; text == "" {
			return evidence.Handle{}, &toolserver.Error{
				Kind: toolserver.Usage, Message: fmt.Sprintf("[%d] has no handle: it is no text of one document", in.N),
				Hint: "Passages, and relations and facts that a sentence states, have one",
			}
		}
	}
	handle, err := evidence.ParseHandle(text)
	if err != nil {
		return handle, &toolserver.Error{Kind: toolserver.Usage, Message: fmt.Sprintf("%.80q is no handle: %v", text, err), Hint: standing}
	}
	return handle, nil
}

func newResolved(handle evidence.Handle, found *retrieve.Resolved) *Resolved {
	out := &Resolved{Asked: handle.String(), State: found.State, Place: place(found.Place, found.Text), Content: found.Text}
	switch found.State {
	case retrieve.DocumentChanged:
		out.Hint = "The document has changed since, but this text stands where it stood; `handle` names it in the document as it is now."
	case retrieve.Moved:
		out.Hint = "This text stands elsewhere in the document now; `handle` names the new place."
	case retrieve.TextChanged:
		out.Hint = "The document has changed since, and the text that was named is not in it any more; what is shown stands in its place."
		if out.Content == "" {
			out.Hint = "The document has changed since, and nothing stands in that place any more."
		}
	case retrieve.Altered:
		out.Hint = "The document has not changed, but what the handle names is not in it: the handle is not as retrieve gave it, or the document is read otherwise now. What is shown stands in its place."
		if out.Content == "" {
			out.Hint = "The document has not changed, but nothing stands in the place that the handle names: it is not as retrieve gave it."
		}
	case retrieve.Gone:
		out.Hint = "The document is not in the graph any more: it was forgotten, or its file has another name now. Search for its words with retrieve."
	}
	return out
}

// Text tells the state, the place, the handle unless it is the one that was given,
// and the text.
func (r *Resolved) Text(limit int) string {
	head := fmt.Sprintf("%s%s: %s\n", number(r.N), escapeLine(string(r.State)), label(r.Place))
	if r.Handle != "" && (r.Of > 0 || r.Handle != r.Asked) {
		head += fmt.Sprintf("handle: %s\n", escapeLine(r.Handle))
	}
	text := section{weight: 1}
	if r.Content != "" {
		text.items = []string{quoteBlock(r.Content, limit/2)}
	}
	return compose(head, []section{text, hint(r.Notice)}, limit)
}
