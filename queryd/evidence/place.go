package evidence

import "graphmill/pipeline/graph"

// Place says where a text stands. Span counts code points of the document's text.
type Place struct {
	Document string      `json:"document"`
	Title    string      `json:"title,omitempty"`
	Span     *graph.Span `json:"span,omitempty"`
	Pages    *Extent     `json:"pages,omitempty"`
	Lines    *Extent     `json:"lines,omitempty"`
	Headings string      `json:"headings,omitempty"`
	// Handle names the text itself, for good: see [Handle].
	Handle string `json:"handle,omitempty"`
}

// Extent is a range that includes both ends.
type Extent struct {
	First int `json:"first"`
	Last  int `json:"last"`
}
