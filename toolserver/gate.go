package toolserver

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
)

// gate lets a bounded number of calls work at once, in the order they came. A
// place is held until the work has ended, also when nobody waits for it any more:
// the store cannot be interrupted, and what it still does is load all the same.
type gate struct {
	places *semaphore.Weighted
	size   int
	queue  int
	wait   time.Duration

	mu        sync.Mutex
	waiting   int
	working   int
	abandoned int // of those working
	draining  bool
	typical   time.Duration // a call's usual time, for the estimate
	idle      chan struct{} // closed when nothing works or waits while draining
}

func newGate(l Limits) *gate {
	return &gate{
		places: semaphore.NewWeighted(int64(l.CallsAtOnce)), size: l.CallsAtOnce, queue: l.Queue, wait: l.QueueWait,
		typical: 100 * time.Millisecond, idle: make(chan struct{}),
	}
}

// enter waits for a place. The error is an *Error or that of ctx.
func (g *gate) enter(ctx context.Context) error {
	g.mu.Lock()
	if g.draining {
		g.mu.Unlock()
		return &Error{Kind: Busy, Message: "The server is stopping", Hint: "Connect again and repeat the call"}
	}
	if g.places.TryAcquire(1) {
		g.working++
		g.mu.Unlock()
		return nil
	}
	if g.waiting >= g.queue {
		defer g.mu.Unlock()
		return g.busy("too many calls are waiting")
	}
	g.waiting++
	g.mu.Unlock()

	waiting, cancel := context.WithTimeout(ctx, g.wait)
	err := g.places.Acquire(waiting, 1)
	cancel()

	g.mu.Lock()
	defer g.mu.Unlock()
	defer g.settle()
	g.waiting--
	switch {
	case err == nil:
		g.working++
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return g.busy(fmt.Sprintf("no place became free within %s", g.wait))
}

// busy tells the caller when a place should be free. The gate is locked.
func (g *gate) busy(why string) error {
	estimate := time.Duration(g.waiting+g.working) * g.typical / time.Duration(g.size)
	seconds := int(math.Ceil(min(max(estimate, time.Second), time.Minute).Seconds()))
	return &Error{Kind: Busy, Message: fmt.Sprintf("The server is busy: %s", why), Hint: fmt.Sprintf("Retry in %d s", seconds), RetryAfter: time.Duration(seconds) * time.Second}
}

// leave gives the place back after work that took so long.
func (g *gate) leave(took time.Duration, abandoned bool) {
	g.places.Release(1)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.working--
	if abandoned {
		g.abandoned--
	}
	g.typical += (took - g.typical) / 16
	g.settle()
}

// abandon notes that nobody waits for one of the working calls any more.
func (g *gate) abandon() {
	g.mu.Lock()
	g.abandoned++
	g.mu.Unlock()
}

func (g *gate) settle() {
	if g.draining && g.working == 0 && g.waiting == 0 {
		select {
		case <-g.idle:
		default:
			close(g.idle)
		}
	}
}

// drain refuses new calls and waits for those that are there to end. It reports
// whether they did.
func (g *gate) drain(ctx context.Context) bool {
	g.mu.Lock()
	g.draining = true
	g.settle()
	g.mu.Unlock()
	select {
	case <-g.idle:
		return true
	case <-ctx.Done():
		return false
	}
}

type load struct {
	waiting, working, abandoned int
	draining                    bool
}

func (g *gate) load() load {
	g.mu.Lock()
	defer g.mu.Unlock()
	return load{g.waiting, g.working, g.abandoned, g.draining}
}
