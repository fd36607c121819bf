package store_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"graphmill/pipeline/engine/enginetest"
	"graphmill/pipeline/falkor/conn"
	"graphmill/pipeline/falkor/store"
)

// shared opens the graph and takes its lock beside others.
func shared(t *testing.T, client *conn.Client, graph string) (*store.Store, *store.Lock) {
	t.Helper()
	s := opened(t, client, graph)
	lock, err := s.AcquireShared(t.Context(), owner(t), 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { lock.Release(context.Background()) })
	return s, lock
}

func isHeld(err error) bool {
	var held *store.HeldError
	return errors.As(err, &held)
}

func TestTheLockIsSharedOrHeldAlone(t *testing.T) {
	client := connect(t, enginetest.Start(t))
	_, first := shared(t, client, "g")
	_, second := shared(t, client, "g")
	alone := opened(t, client, "g")
	_, err := alone.Acquire(t.Context(), owner(t), 0, 0)
	if held := (*store.HeldError)(nil); !errors.As(err, &held) || held.Others != 1 {
		t.Fatalf("alone beside two: %v", err)
	}
	for _, lock := range []*store.Lock{first, second} {
		if err := lock.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	lock, err := alone.Acquire(t.Context(), owner(t), 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := opened(t, client, "g").AcquireShared(t.Context(), owner(t), 0, 0); !isHeld(err) {
		t.Fatalf("beside one alone: %v", err)
	}
	if err := lock.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	shared(t, client, "g")
}

// Who waits to have the lock alone is not passed by those who come later.
func TestNobodyJoinsPastWhoWaits(t *testing.T) {
	client := connect(t, enginetest.Start(t))
	_, first := shared(t, client, "g")
	got := make(chan error, 1)
	go func() {
		lock, err := opened(t, client, "g").Acquire(t.Context(), owner(t), 0, time.Minute)
		if err == nil {
			err = lock.Release(context.Background())
		}
		got <- err
	}()
	late := opened(t, client, "g")
	for deadline := time.Now().Add(time.Minute); ; {
		lock, err := late.AcquireShared(t.Context(), owner(t), 0, 0)
		if isHeld(err) {
			break
		}
		if err != nil || time.Now().After(deadline) {
			t.Fatalf("joined past who waits: %v", err)
		}
		if err := lock.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond)
	}
	if err := first.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-got; err != nil {
		t.Fatal(err)
	}
	// Nor does one who gave up keep others out.
	_, second := shared(t, client, "g")
	if _, err := opened(t, client, "g").Acquire(t.Context(), owner(t), 0, 300*time.Millisecond); !isHeld(err) {
		t.Fatal(err)
	}
	shared(t, client, "g")
	if err := second.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestWhoHasTheLockAloneFencesOffAllWhoSharedIt(t *testing.T) {
	client := connect(t, enginetest.Start(t))
	a, _ := shared(t, client, "g")
	b, _ := shared(t, client, "g")
	commit(t, a, corpus[0])
	commit(t, b, corpus[1])
	// Their leases run out unseen.
	if err := client.Redis().Del(t.Context(), "graphmill:{g}:shared").Err(); err != nil {
		t.Fatal(err)
	}
	alone := locked(t, client, "g")
	commit(t, alone, corpus[2])
	want := digest(t, alone)
	// As if the one alone came after their check.
	if err := client.Redis().Decr(t.Context(), "graphmill:{g}:fence").Err(); err != nil {
		t.Fatal(err)
	}
	for _, s := range []*store.Store{a, b} {
		if err := s.Commit(t.Context(), corpus[:1]); !errors.Is(err, store.ErrLockLost) {
			t.Errorf("Commit() = %v, want ErrLockLost", err)
		}
	}
	if digest(t, alone) != want {
		t.Error("one who shared the lock wrote")
	}
}

func TestWhoSharesTheLockFencesOffWhoHadItAlone(t *testing.T) {
	client := connect(t, enginetest.Start(t))
	former := opened(t, client, "g")
	lock, err := former.Acquire(t.Context(), owner(t), time.Hour, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Release(context.Background())
	commit(t, former, corpus[0])
	if err := client.Redis().Del(t.Context(), "graphmill:{g}:lock").Err(); err != nil {
		t.Fatal(err)
	}
	present, _ := shared(t, client, "g")
	commit(t, present, corpus[1])
	want := digest(t, present)
	if err := former.Commit(t.Context(), corpus[2:3]); !errors.Is(err, store.ErrLockLost) {
		t.Errorf("Commit() = %v, want ErrLockLost", err)
	}
	if digest(t, present) != want {
		t.Error("the former holder wrote")
	}
}

// TestCommitsSideBySideLoseNothing has several commit what names the same things,
// with turns and, as if these were lost, without.
func TestCommitsSideBySideLoseNothing(t *testing.T) {
	f := enginetest.Start(t)
	client := connect(t, f)
	changes := slices.Clone(corpus)
	for i := range 12 {
		changes = append(changes, document(fmt.Sprintf("n%d.txt", i), fmt.Sprintf("Ada Lovelace met Charles Babbage in London.\n\nNumber %d of Mary Somerville knows Ada Lovelace.", i)))
	}
	one := locked(t, client, "one")
	for _, c := range changes {
		commit(t, one, c)
	}
	want := digest(t, one)
	for _, turns := range []bool{true, false} {
		graph := fmt.Sprint("many-", turns)
		stop := make(chan struct{})
		var breaking, writing sync.WaitGroup
		if !turns {
			breaking.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
						client.Redis().Del(context.Background(), "graphmill:{"+graph+"}:turn")
					}
				}
			})
		}
		for i := range changes {
			writing.Go(func() {
				s := opened(t, client, graph)
				lock, err := s.AcquireShared(t.Context(), owner(t), 0, time.Minute)
				if err == nil {
					err = s.Commit(t.Context(), changes[i:i+1])
				}
				if err == nil {
					err = lock.Release(t.Context())
				}
				if err != nil {
					t.Error(err)
				}
			})
		}
		writing.Wait()
		close(stop)
		breaking.Wait()
		if got := digest(t, opened(t, client, graph)); got != want {
			t.Errorf("turns %v: another graph than of one after the other", turns)
		}
	}
}
