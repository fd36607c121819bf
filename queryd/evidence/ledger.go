// Package evidence numbers what the tools of one session return, so that an
// answer can cite it as [n]. It knows no graph and no tool.
package evidence

import (
	"maps"
	"strings"
	"sync"
)

// DefaultCapacity is how many items a session keeps: some 50 calls' worth. The
// oldest go first.
const DefaultCapacity = 2000

// Kind says what an item is.
type Kind string

// The kinds of evidence.
const (
	Entity   Kind = "entity"
	Relation Kind = "relation"
	Fact     Kind = "fact"
	Passage  Kind = "passage"
	Graph    Kind = "graph" // a statement about the graph itself
)

// Item is one thing that may be cited.
type Item struct {
	N       int
	Tool    string
	Kind    Kind
	Content string // the whole text that supports a claim
	// Place says where Content stands; zero when it is no text of one document.
	Place Place
}

// Ledger holds the items of one session under numbers that only grow. It is safe
// for concurrent use.
type Ledger struct {
	mu       sync.Mutex
	capacity int
	last     int // the highest number given
	oldest   int // every item below it is gone
	items    map[int]Item
}

// NewLedger makes an empty ledger; a capacity of 0 means DefaultCapacity.
func NewLedger(capacity int) *Ledger {
	if capacity <= 0 {
		capacity = DefaultCapacity
	}
	return &Ledger{capacity: capacity, oldest: 1, items: map[int]Item{}}
}

// Add numbers items in their order, without gaps, whatever other calls do
// meanwhile. An item without content gets no number: 0 stands in its place.
func (l *Ledger) Add(items ...Item) []int {
	l.mu.Lock()
	defer l.mu.Unlock()
	given := make([]int, len(items))
	for i, item := range items {
		if strings.TrimSpace(item.Content) == "" {
			continue
		}
		l.last++
		item.N = l.last
		l.items[item.N] = item
		given[i] = item.N
	}
	for len(l.items) > l.capacity {
		delete(l.items, l.oldest)
		l.oldest++
	}
	return given
}

// Drop takes items out: they were not sent. Their numbers are not given again.
func (l *Ledger) Drop(numbers []int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, n := range numbers {
		delete(l.items, n)
	}
}

// Item returns the item with a number, if the session has it.
func (l *Ledger) Item(n int) (Item, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	item, ok := l.items[n]
	return item, ok
}

// snapshot is the ledger as it is now.
func (l *Ledger) snapshot() map[int]Item {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.items)
}
