package serving

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
)

func TestOneOpeningServesAllWhoWait(t *testing.T) {
	var opened, shut atomic.Int32
	release := make(chan struct{})
	l := Lazy[int32]{
		Open: func(context.Context) (int32, error) { <-release; return opened.Add(1), nil },
		Shut: func(int32) error { shut.Add(1); return nil },
	}
	impatient, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.Get(impatient, t.Context()); !errors.Is(err, context.Canceled) {
		t.Errorf("a caller that goes away gets %v", err)
	}
	var group sync.WaitGroup
	for range 10 {
		group.Go(func() {
			if v, err := l.Get(t.Context(), t.Context()); v != 1 || err != nil {
				t.Errorf("got %d, %v", v, err)
			}
		})
	}
	close(release)
	group.Wait()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if opened.Load() != 1 || shut.Load() != 1 {
		t.Errorf("opened %d times, shut %d times", opened.Load(), shut.Load())
	}
	if _, err := l.Get(t.Context(), t.Context()); err == nil {
		t.Error("it opens after it was closed")
	}
}

func TestWhatFailedOrBrokeIsOpenedAgain(t *testing.T) {
	tries, broken := 0, false
	l := Lazy[int]{
		Open: func(context.Context) (int, error) {
			tries++
			if tries == 1 {
				return 0, errors.New("not yet")
			}
			return tries, nil
		},
		Broken: func(v int) bool { return broken && v == 2 },
		Shut:   func(int) error { return nil },
	}
	for i, want := range []int{0, 2, 2, 3, 3} {
		broken = i >= 3
		if v, err := l.Get(t.Context(), t.Context()); v != want || (err != nil) != (i == 0) {
			t.Errorf("try %d: %d, %v", i, v, err)
		}
	}
}
