// Package graph owns graphmill's vocabulary: documents, sections, chunks,
// mentions, entities, relations and the ontology, with their ids and names.
// It does no I/O and knows no database, model or file.
//
// Two kinds of offset exist and are two types. [Range] counts bytes of a
// document's decoded text and is what the pipeline works with; [Span] counts
// Unicode code points and is what is stored and shown. [Offsets] converts.
package graph
