package pipeline

// EventKind says what an event tells.
type EventKind string

// The events of a run, in about the order they come.
const (
	FileListed   EventKind = "listed" // one more file is known
	ListingDone  EventKind = "listed_all"
	DocumentDone EventKind = "document" // a document reached its status
	Committed    EventKind = "committed"
	FinalizeStep EventKind = "finalize" // a step of finalize began or went on
)

// Event is one step of a run, for progress displays.
type Event struct {
	Kind     EventKind       `json:"event"`
	Document *DocumentReport `json:"document,omitempty"`
	Step     string          `json:"step,omitempty"` // finalize: "embed chunks", "index"
	Done     int             `json:"done,omitempty"`
	Total    int             `json:"total,omitempty"`
}

// Observer is told what happens. Observe is called from many goroutines and
// must return at once.
type Observer interface{ Observe(Event) }

// Silent observes nothing.
type Silent struct{}

// Observe does nothing.
func (Silent) Observe(Event) {}
