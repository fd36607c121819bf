package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/google/jsonschema-go/jsonschema"

	"graphmill/pipeline"
	"graphmill/pipeline/corpus"
	"graphmill/pipeline/graph"
	"graphmill/pipeline/ontology"
	"graphmill/planner"
	"graphmill/toolserver"
)

const ingestName = "ingest"

const (
	// MaxFiles is how many files one call takes: about what a person can look over
	// in its result.
	MaxFiles = 50
	// maxPatterns bounds the arguments that name them; several may name one file.
	maxPatterns  = 50
	maxPathChars = 4000
	maxRules     = 100
	// maxTextChars is some hundred pages; larger documents are files.
	maxTextChars = 2_000_000
	maxIDChars   = 150 // an id is an indexed key of at most 200 bytes in most scripts
)

type ingestInput struct {
	Text       *string    `json:"text"`
	DocumentID string     `json:"document_id"`
	Files      []string   `json:"files"`
	Plan       []planRule `json:"plan"`
	Reextract  bool       `json:"reextract"`
}

// Ingested is the reply of ingest.
type Ingested struct {
	Graph     string                   `json:"graph"`
	Documents []Document               `json:"documents"`
	Status    map[pipeline.Status]int  `json:"status"` // documents by status
	Pruned    graph.Pruned             `json:"pruned"`
	Keep      *ontology.Addition       `json:"set_ontology,omitempty"` // what set_ontology takes to keep what was pruned
	Finalize  *pipeline.FinalizeReport `json:"finalize,omitempty"`
	Cost      *pipeline.Bill           `json:"cost,omitempty"` // absent when no model was asked
	// Interrupted says why the call ended before all was done; "" if it did not.
	Interrupted string   `json:"interrupted,omitempty"`
	Warnings    []string `json:"warnings,omitempty"`
	toolserver.Notice
}

// Document is what became of one document.
type Document struct {
	ID graph.DocumentID `json:"id,omitempty"` // "" for what names no document
	pipeline.DocumentReport
}

func (k *kit) ingestTool() (*toolserver.Tool, error) {
	properties := map[string]*jsonschema.Schema{
		"text": {Type: "string", Description: "The text of one document.", MinLength: jsonschema.Ptr(1), MaxLength: jsonschema.Ptr(maxTextChars)},
		"document_id": {
			Type: "string", Description: "The text's id, by which a later version replaces it. Without one it is named after what it holds. Not file:…, and not the id of a document that was read from a file.",
			MinLength: jsonschema.Ptr(1), MaxLength: jsonschema.Ptr(maxIDChars),
		},
		"reextract": {Type: "boolean", Description: "Extract again what has not changed: after the ontology was extended, say.", Default: json.RawMessage("false")},
	}
	if k.Files {
		properties["files"] = &jsonschema.Schema{
			Type: "array", Description: fmt.Sprintf("Files under the files root, at most %d a call: paths, ids (file:…), folders or globs such as reports/*.pdf.", MaxFiles),
			MinItems: jsonschema.Ptr(1), MaxItems: jsonschema.Ptr(maxPatterns),
			Items: &jsonschema.Schema{Type: "string", MinLength: jsonschema.Ptr(1), MaxLength: jsonschema.Ptr(maxPathChars)},
		}
		properties["plan"] = k.planSchema()
	}
	return toolserver.NewTool(toolserver.Spec{
		Name: ingestName, Title: "Add documents to the graph", Destructive: true, Time: k.Time,
		Description: k.ingestDescription(), Input: object(nil, properties),
	}, k.ingest)
}

func (k *kit) ingest(ctx context.Context, in ingestInput) (*Ingested, error) {
	work := Work{Files: in.Files, Text: in.Text, DocumentID: in.DocumentID, Reextract: in.Reextract}
	if err := k.checkIngest(in); err != nil {
		return nil, err
	}
	if in.Text != nil && in.DocumentID == "" {
		work.DocumentID = "text-" + graph.Hash(*in.Text)[:16]
	}
	if in.Plan != nil {
		work.Rules = []planner.Rule{}
	}
	for _, rule := range in.Plan {
		work.Rules = append(work.Rules, rule.rule())
	}
	outcome, err := k.Backend.Ingest(ctx, work)
	if err != nil {
		return nil, err
	}
	return k.newIngested(outcome, in.Text != nil), nil
}

// checkIngest refuses what the schema cannot.
func (k *kit) checkIngest(in ingestInput) error {
	takes := "Give `text`"
	if k.Files {
		takes = "Give `text`, or `files` under the files root"
	}
	switch {
	case in.Text == nil && len(in.Files) == 0:
		return usage(takes, "There is nothing to ingest")
	case in.Text != nil && len(in.Files) > 0:
		return usage("Make two calls of it", "One call takes `text` or `files`, and not both")
	case in.DocumentID != "" && in.Text == nil:
		return usage("Leave it out: a file's id is file: and its path", "`document_id` names a text; files have ids of their own")
	case in.Plan != nil && in.Text != nil:
		return usage("Leave `plan` out", "`plan` is for files")
	case strings.HasPrefix(in.DocumentID, corpus.FilePrefix):
		return usage("Choose another document_id; a file is ingested with ingest(files=[…], reextract=true)",
			"A text cannot have the id %.150q: ids that begin with file: are those of files", in.DocumentID)
	case strings.TrimSpace(in.DocumentID) != in.DocumentID || strings.ContainsFunc(in.DocumentID, unprintable):
		return usage("Use letters, digits and marks that can be seen", "The document_id %.150q begins or ends with white space, or holds a character that cannot be seen", in.DocumentID)
	}
	return nil
}

func unprintable(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) }

// mostKept bounds the addition that a reply proposes.
const mostKept = 30

func (k *kit) newIngested(o *Outcome, text bool) *Ingested {
	out := &Ingested{
		Graph: o.Graph, Documents: []Document{}, Status: o.Totals.Status, Pruned: o.Pruned,
		Finalize: o.Finalize, Cost: o.Cost, Interrupted: o.Interrupted, Warnings: o.Warnings,
	}
	for _, d := range o.Documents {
		document := Document{DocumentReport: d}
		if d.Kind != "unmatched" && d.Status != pipeline.Skipped {
			document.ID = graph.FileDocumentID(d.Path)
		}
		if text {
			document.ID = graph.DocumentID(d.Path)
		}
		out.Documents = append(out.Documents, document)
	}
	call := ""
	if o.Ontology != nil {
		if keep := ontology.Keep(o.Ontology, o.Pruned, mostKept); !keep.IsEmpty() {
			out.Keep = &keep
			call = "call set_ontology with " + keep.String()
		}
	}
	out.Hint = strings.Join(k.hints(o, call), " ")
	return out
}

func (k *kit) hints(o *Outcome, call string) []string {
	var hints []string
	switch {
	case errors.Is(o.Stopped, toolserver.ErrStopping):
		hints = append(hints, "The server stops: what is listed is done and whole, the rest is not begun. Make the same call again when it is back.")
	case o.Interrupted != "":
		hints = append(hints, "The call ended before all was done: what is listed is done and whole. Make the same call again to go on, with fewer files if it takes too long.")
	case o.Stopped != nil:
		hints = append(hints, "The call ended before all was done: "+sentence(o.Stopped.Error())+" What is listed is done and whole.")
	}
	if o.FailedCount() > 0 {
		hints = append(hints, "Some failed; `reason` says why, and the graph keeps the version it has of them.")
	}
	if o.IncompleteCount() > 0 {
		hints = append(hints, "Of some, a model's answer for a part could not be used; `reason` says why, and ingesting them again tries that part again.")
	}
	if o.FinalizeFailed != nil {
		hints = append(hints, "The documents are in the graph, but it could not be finalized: "+sentence(o.FinalizeFailed.Error())+" The next ingest, of whatever, tries it again.")
	}
	if hint := ontology.Hint(o.Pruned, call); hint != "" {
		hints = append(hints, hint)
		if call != "" {
			hints = append(hints, "ingest with reextract=true extracts again.")
		}
	}
	if k.FinalizePolicy == manual && o.Wrote() {
		hints = append(hints, "Call finalize after the last batch.")
	}
	return hints
}

func sentence(text string) string { return strings.TrimRight(strings.TrimSpace(text), ".") + "." }

// Text lists the documents and what was pruned.
func (r *Ingested) Text(limit int) string {
	var counts []string
	for _, status := range pipeline.Statuses() {
		if n := r.Status[status]; n > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", n, status))
		}
	}
	head := fmt.Sprintf("Graph %s: %s\n", line(r.Graph), strings.Join(counts, ", "))
	var documents []string
	for _, d := range r.Documents {
		text := fmt.Sprintf("  %s %s", d.Status, line(d.Path))
		if d.Status != pipeline.Failed && d.Status != pipeline.Skipped {
			text += fmt.Sprintf(": %d chunks, %d entities, %d relations; %s", d.Chunks, d.Entities, d.Relations, d.Plan)
		}
		if d.Reason != "" {
			text += " (" + line(d.Reason) + ")"
		}
		documents = append(documents, text)
	}
	tail := ""
	for _, pattern := range sorted(r.Pruned.PatternExamples) {
		tail += fmt.Sprintf("  dropped, pattern %s not declared (%d): %s\n", line(pattern), r.Pruned.Patterns[pattern], line(r.Pruned.PatternExamples[pattern]))
	}
	tail = clip(tail, limit/4)
	if r.Finalize != nil && r.Finalize.Done {
		tail += fmt.Sprintf("Finalized: %d documents, %d entities, %d relations\n", r.Finalize.Counts.Documents, r.Finalize.Counts.Entities, r.Finalize.Counts.Relations)
	}
	tail += costLine(r.Cost)
	for _, warning := range r.Warnings {
		tail += "Warning: " + line(warning) + "\n"
	}
	if r.Hint != "" {
		tail += clip(r.Hint, limit/2) + "\n"
	}
	return clip(head+some(documents, limit-len([]rune(head+tail)))+tail, limit)
}
