package store_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"graphmill/pipeline/engine/enginetest"
	"graphmill/pipeline/falkor/conn"
	"graphmill/pipeline/falkor/store"
	"graphmill/pipeline/graph"
)

// TestMain lets the test binary be a process that takes a lock and dies with it.
func TestMain(m *testing.M) {
	if text := os.Getenv("STORE_TEST_HOLD"); text != "" {
		hold(text)
		return
	}
	os.Exit(m.Run())
}

func hold(text string) {
	var options conn.Options
	err := json.Unmarshal([]byte(text), &options)
	if err == nil {
		var client *conn.Client
		if client, err = conn.Open(options); err == nil {
			var s *store.Store
			if s, err = store.Open(context.Background(), client, store.Options{Graph: "g"}); err == nil {
				var o store.LockOwner
				if o, err = store.LocalOwner("finalize"); err == nil {
					_, err = s.Acquire(context.Background(), o, time.Hour, 0)
				}
			}
		}
	}
	os.Stdout.WriteString("held " + errorText(err) + "\n")
	time.Sleep(time.Minute)
}

func errorText(err error) string {
	if err == nil {
		return "ok"
	}
	return err.Error()
}

func TestSecondHolderIsToldWhoHoldsIt(t *testing.T) {
	client := connect(t, enginetest.Start(t))
	locked(t, client, "g")
	_, err := opened(t, client, "g").Acquire(t.Context(), owner(t), 0, 0)
	var held *store.HeldError
	if !errors.As(err, &held) || held.Owner.PID != os.Getpid() || held.Owner.Verb != "run" {
		t.Errorf("Acquire() = %v", err)
	}
	locked(t, client, "another graph")
}

func TestWaitingForTheLockEndsWhenItIsReleased(t *testing.T) {
	client := connect(t, enginetest.Start(t))
	lock, err := opened(t, client, "g").Acquire(t.Context(), owner(t), 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	released := make(chan error, 1)
	go func() {
		time.Sleep(50 * time.Millisecond)
		released <- lock.Release(context.Background())
	}()
	second, err := opened(t, client, "g").Acquire(t.Context(), owner(t), 0, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if err := <-released; err != nil {
		t.Error(err)
	}
	if err := second.Release(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestDeadHolderOnThisMachineIsTakenOverAtOnce(t *testing.T) {
	f := enginetest.Start(t)
	client := connect(t, f)
	options, err := json.Marshal(conn.Options{Socket: f.Address, Username: f.Writer.User, Password: f.Writer.Secret})
	if err != nil {
		t.Fatal(err)
	}
	holder := exec.Command(os.Args[0], "-test.run=^$")
	holder.Env = append(os.Environ(), "STORE_TEST_HOLD="+string(options))
	out, err := holder.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || line != "held ok\n" {
		t.Fatalf("holder said %q, %v", line, err)
	}
	_, err = opened(t, client, "g").Acquire(t.Context(), owner(t), 0, 0)
	var held *store.HeldError
	if !errors.As(err, &held) || held.Owner.PID != holder.Process.Pid {
		t.Fatalf("while it lives: %v", err)
	}
	if err := holder.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	holder.Wait()
	lock, err := opened(t, client, "g").Acquire(t.Context(), owner(t), 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := lock.Release(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestHolderElsewhereIsTakenOverWhenItsLeaseEnds(t *testing.T) {
	client := connect(t, enginetest.Start(t))
	text, err := json.Marshal(store.LockOwner{Host: "elsewhere.example", PID: 1, Verb: "run"})
	if err != nil {
		t.Fatal(err)
	}
	if err := client.Redis().Set(t.Context(), "graphmill:{g}:lock", text, 300*time.Millisecond).Err(); err != nil {
		t.Fatal(err)
	}
	s := opened(t, client, "g")
	if _, err := s.Acquire(t.Context(), owner(t), 0, 0); err == nil || !strings.Contains(err.Error(), "elsewhere.example") {
		t.Fatalf("at once: %v", err)
	}
	lock, err := s.Acquire(t.Context(), owner(t), 0, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if err := lock.Release(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestFormerHolderWritesNothing(t *testing.T) {
	client := connect(t, enginetest.Start(t))
	former := opened(t, client, "g")
	lock, err := former.Acquire(t.Context(), owner(t), time.Hour, 0)
	if err != nil {
		t.Fatal(err)
	}
	commit(t, former, corpus[0])
	// Its lease ran out unseen.
	if err := client.Redis().Del(t.Context(), "graphmill:{g}:lock").Err(); err != nil {
		t.Fatal(err)
	}
	present := locked(t, client, "g")
	want := digest(t, present)
	for name, write := range map[string]func() error{
		"Commit": func() error { return former.Commit(t.Context(), corpus[1:2]) },
		"Remove": func() error { return former.Remove(t.Context(), []graph.DocumentID{"file:a.txt"}) },
		"SaveOntology": func() error {
			return former.SaveOntology(t.Context(), graph.Ontology{Entities: []graph.EntityType{{Label: "X"}}})
		},
	} {
		if err := write(); !errors.Is(err, store.ErrLockLost) {
			t.Errorf("%s: %v, want ErrLockLost", name, err)
		}
	}
	if digest(t, present) != want {
		t.Error("the former holder wrote")
	}
	select {
	case <-lock.Lost():
	default:
		t.Error("Lost is open")
	}
	if err := lock.Release(t.Context()); err != nil {
		t.Errorf("release: %v", err)
	}
	if _, err := opened(t, client, "g").Acquire(t.Context(), owner(t), 0, 0); err == nil {
		t.Error("the former holder's release took the lock from the present one")
	}
}

// TestFormerHolderWritesNothingBetweenItsCheckAndItsStatement lets the former
// holder believe in its lock: the token in the graph alone must stop it.
func TestFormerHolderWritesNothingBetweenItsCheckAndItsStatement(t *testing.T) {
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
	present := locked(t, client, "g")
	commit(t, present, corpus[2])
	want := digest(t, present)
	// As if the present holder came after the check.
	if err := client.Redis().Decr(t.Context(), "graphmill:{g}:fence").Err(); err != nil {
		t.Fatal(err)
	}
	if err := former.Commit(t.Context(), corpus[1:2]); !errors.Is(err, store.ErrLockLost) {
		t.Errorf("Commit() = %v, want ErrLockLost", err)
	}
	if digest(t, present) != want {
		t.Error("the former holder wrote")
	}
}

func TestLeaseIsRenewedAndItsEndIsNoticed(t *testing.T) {
	client := connect(t, enginetest.Start(t))
	lock, err := opened(t, client, "g").Acquire(t.Context(), owner(t), 300*time.Millisecond, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Release(context.Background())
	time.Sleep(time.Second)
	if client.Redis().Exists(t.Context(), "graphmill:{g}:lock").Val() != 1 {
		t.Error("the lease ran out while it was held")
	}
	if err := client.Redis().Set(t.Context(), "graphmill:{g}:lock", "{}", time.Hour).Err(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-lock.Lost():
	case <-time.After(30 * time.Second):
		t.Error("nobody noticed that another holds the lock")
	}
}

func TestWritingWithoutTheLockIsRefused(t *testing.T) {
	client := connect(t, enginetest.Start(t))
	if err := opened(t, client, "g").Commit(t.Context(), corpus[:1]); !errors.Is(err, store.ErrNotLocked) {
		t.Errorf("Commit() = %v", err)
	}
}
