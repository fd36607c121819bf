package llm

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// Each calls work for every number below n side by side, and returns the first
// error; the limits of the models asked say how many calls are under way. A panic becomes
// an error, because no caller could catch it here.
func Each(ctx context.Context, n int, work func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	errs := make([]error, n)
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() {
			defer func() {
				if p := recover(); p != nil {
					errs[i] = fmt.Errorf("internal error: %v", p)
				}
				// Where a budget ends, calls under way are paid for all the same.
				if errs[i] != nil && !errors.Is(errs[i], ErrBudget) {
					cancel()
				}
			}()
			errs[i] = work(ctx, i)
		})
	}
	group.Wait()
	return firstCause(errs)
}

// firstCause prefers an error that is not only the cancelling of the others.
func firstCause(errs []error) error {
	var cancelled error
	for _, err := range errs {
		switch {
		case err == nil:
		case errors.Is(err, context.Canceled):
			cancelled = err
		default:
			return err
		}
	}
	return cancelled
}
