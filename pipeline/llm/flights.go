package llm

import (
	"context"
	"sync"
)

// flights let one question at a time ask for one key: who comes second finds the
// answer in the cache instead of paying for it again.
type flights struct {
	mu   sync.Mutex
	busy map[string]chan struct{}
}

// enter waits until no other holds the key.
func (f *flights) enter(ctx context.Context, key string) (leave func(), err error) {
	for {
		f.mu.Lock()
		other, taken := f.busy[key]
		if !taken {
			if f.busy == nil {
				f.busy = map[string]chan struct{}{}
			}
			mine := make(chan struct{})
			f.busy[key] = mine
			f.mu.Unlock()
			return func() {
				f.mu.Lock()
				delete(f.busy, key)
				f.mu.Unlock()
				close(mine)
			}, nil
		}
		f.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
