package serving

import (
	"context"
	"sync"
)

// Lazy is a thing that is opened when it is first asked for, once for all who
// wait, and again after it failed to open or broke.
type Lazy[T any] struct {
	// Open runs under the program's context: a caller that goes away does not stop
	// what others wait for.
	Open   func(ctx context.Context) (T, error)
	Broken func(T) bool // nil means it never breaks
	Shut   func(T) error

	mu      sync.Mutex
	have    bool
	value   T
	opening *opening[T]
	failed  error // of the last opening
	closed  bool
}

type opening[T any] struct {
	done  chan struct{}
	value T
	err   error
}

// Get opens the thing or waits for it, as long as ctx allows.
func (l *Lazy[T]) Get(ctx, program context.Context) (T, error) {
	l.mu.Lock()
	if l.have && (l.Broken == nil || !l.Broken(l.value)) {
		defer l.mu.Unlock()
		return l.value, nil
	}
	if l.opening == nil && !l.closed {
		l.opening = &opening[T]{done: make(chan struct{})}
		go l.run(program, l.opening)
	}
	o := l.opening
	l.mu.Unlock()
	var none T
	if o == nil {
		return none, context.Canceled
	}
	select {
	case <-o.done:
		return o.value, o.err
	case <-ctx.Done():
		return none, ctx.Err()
	}
}

func (l *Lazy[T]) run(program context.Context, o *opening[T]) {
	l.mu.Lock()
	old, had := l.value, l.have
	l.have = false
	l.mu.Unlock()
	if had {
		_ = l.Shut(old) // it broke: there is nothing to save
	}
	o.value, o.err = l.Open(program)
	l.mu.Lock()
	l.value, l.have, l.opening, l.failed = o.value, o.err == nil, nil, o.err
	l.mu.Unlock()
	close(o.done)
}

// Trouble is why the thing is not open, as far as that is known; nil when nothing
// went wrong.
func (l *Lazy[T]) Trouble() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failed
}

// Close waits for an opening under way, whose context has ended, and shuts what
// is open. Nothing is opened afterwards.
func (l *Lazy[T]) Close() error {
	l.mu.Lock()
	l.closed = true
	o := l.opening
	l.mu.Unlock()
	if o != nil {
		<-o.done
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.have {
		return nil
	}
	l.have = false
	return l.Shut(l.value)
}
