package queue

import (
	"context"
	"sync"
)

// window bounds how many tasks are sent and not answered. Its size follows the
// workers that are there.
type window struct {
	mu         sync.Mutex
	size, used int
	changed    chan struct{}
}

func newWindow(size int) *window { return &window{size: size, changed: make(chan struct{})} }

func (w *window) acquire(ctx context.Context) error {
	for {
		w.mu.Lock()
		if w.used < w.size {
			w.used++
			w.mu.Unlock()
			return nil
		}
		changed := w.changed
		w.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (w *window) release() { w.change(func() { w.used-- }) }

func (w *window) resize(size int) {
	w.mu.Lock()
	same := w.size == size
	w.mu.Unlock()
	if !same {
		w.change(func() { w.size = size })
	}
}

func (w *window) change(how func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	how()
	close(w.changed)
	w.changed = make(chan struct{})
}
