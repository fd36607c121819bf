package retrieve

import (
	"context"

	"graphmill/pipeline/falkor/conn"
	"graphmill/pipeline/falkor/cypher"
	"graphmill/pipeline/graph"
	"graphmill/pipeline/prose"
	"graphmill/queryd/evidence"
)

// State says what became of a text that a handle names.
type State string

// The states.
const (
	Unchanged       State = "unchanged"        // the document is as it was
	DocumentChanged State = "document_changed" // another version, in which the text stands where it stood
	Moved           State = "moved"            // another version, in which the text stands elsewhere
	TextChanged     State = "text_changed"     // the text is not in the document any more
	Altered         State = "altered"          // the document is as it was and holds no such text: the handle is not as it was given, or the document is read otherwise now
	Gone            State = "gone"             // the document is not in the graph any more
)

// Resolved is a text that a handle names, as the graph has it now.
type Resolved struct {
	State State
	// Place and Text are what stands at the handle's place, or where its text has
	// moved to; Text is "" when the document is gone or has become shorter.
	Place Place
	Text  string
}

// maxResolved bounds how many chunks of a document are looked through for a text
// that has moved.
const maxResolved = 5000

// Resolve finds the text that a handle names. A graph that does not exist is a
// *[MissingGraph].
func (s *Searcher) Resolve(ctx context.Context, handle evidence.Handle) (*Resolved, error) {
	run := &search{Searcher: s}
	chunks, known, err := run.chunksOf(ctx, handle.Document, handle.Span)
	if err != nil {
		return nil, err
	}
	if !known {
		return &Resolved{State: Gone, Place: Place{Document: string(handle.Document)}}, nil
	}
	out, gaps := at(chunks, handle.Span)
	same := handle.FromContent(out.Place.hash)
	switch {
	case same && (handle.Names(out.Text) || gaps && out.Place.Span == handle.Span): // white space that no chunk holds cannot be compared
		out.State = Unchanged
	case handle.Names(out.Text):
		out.State = DocumentChanged
	default:
		if out.State = TextChanged; same {
			out.State = Altered
		}
		whole := graph.Span{Start: 0, End: 1 << 40}
		if chunks, _, err = run.chunksOf(ctx, handle.Document, whole); err != nil {
			return nil, err
		}
		if moved, ok := lookFor(chunks, handle); ok {
			return moved, nil
		}
	}
	return out, nil
}

// chunksOf reads the chunks of a document that a span touches, in order. Of a
// document without any it gives one without text.
func (s *search) chunksOf(ctx context.Context, document graph.DocumentID, span graph.Span) (chunks []Passage, known bool, err error) {
	err = s.query(ctx, cypher.New(`MATCH (d:Document {id: $id}) WHERE d.status IS NULL OR d.status <> 'writing'
OPTIONAL MATCH (d)-[:PART_OF]->(c:Chunk) WHERE c.start_char < $end AND c.end_char > $start
RETURN c.id AS id, c.text AS text, `+placeColumns+` ORDER BY start, id LIMIT $most`,
		cypher.Params{"id": string(document), "start": span.Start, "end": span.End, "most": maxResolved}), func(rows *conn.Rows, i int) {
		chunks = append(chunks, readPassage(rows, i))
	})
	if conn.KindOf(err) == conn.NoGraph {
		err = &MissingGraph{s.Graph}
	}
	return chunks, len(chunks) > 0, err
}

// at puts together what stands at a span, which may be less than all of it. A text
// that no chunk holds alone is stitched: chunks may overlap, and leave out white
// space between them; gaps says that they did.
func at(chunks []Passage, span graph.Span) (out *Resolved, gaps bool) {
	out = &Resolved{Place: chunks[0].Place}
	out.Place.Span = span
	var text []rune
	reached := span.Start
	for i, c := range chunks {
		start, end := max(span.Start, c.Span.Start), min(span.End, c.Span.End)
		runes := []rune(c.Text)
		if start >= end || end-c.Span.Start > len(runes) {
			continue
		}
		if c.Span.Start <= span.Start && c.Span.End >= span.End {
			out.Place, out.Text = c.Place, string(runes[start-c.Span.Start:end-c.Span.Start])
			out.Place.Span = span
			return out, false
		}
		if end <= reached {
			continue
		}
		if len(text) == 0 {
			reached = start
			out.Place.Span.Start = start
		}
		for ; reached < start; reached++ {
			text, gaps = append(text, ' '), true
		}
		text = append(text, runes[reached-c.Span.Start:end-c.Span.Start]...)
		reached = end
		out.Place.Span.End = end
		out.Place.Last, out.Place.LastPage = chunks[i].Last, chunks[i].LastPage
	}
	out.Text = string(text)
	return out, gaps
}

// lookFor finds a text that is now a chunk or a sentence elsewhere.
func lookFor(chunks []Passage, handle evidence.Handle) (*Resolved, bool) {
	for _, c := range chunks {
		if handle.Names(c.Text) {
			return &Resolved{State: Moved, Place: c.Place, Text: c.Text}, true
		}
		offsets := graph.NewOffsets(c.Text)
		for _, r := range prose.Sentences(c.Text) {
			if sentence := c.Text[r.Start:r.End]; handle.Names(sentence) {
				place, span := c.Place, offsets.Span(r)
				place.Span = graph.Span{Start: c.Span.Start + span.Start, End: c.Span.Start + span.End}
				return &Resolved{State: Moved, Place: place, Text: sentence}, true
			}
		}
	}
	return nil, false
}
