package queue

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"graphmill/pipeline"
	"graphmill/pipeline/corpus"
	"graphmill/pipeline/models"
	"graphmill/pipeline/queue/queuetest"
)

// fakeHands do what a test says; without, a document has its path as title.
type fakeHands struct {
	extract func(ctx context.Context, task pipeline.Task) (*pipeline.Extracted, error)
}

func (h fakeHands) Extract(ctx context.Context, _ *Job, task pipeline.Task) (*pipeline.Extracted, error) {
	if h.extract != nil {
		return h.extract(ctx, task)
	}
	out := &pipeline.Extracted{}
	out.Rows.Document.Title = task.Path
	return out, nil
}

func (h fakeHands) Embed(ctx context.Context, model string, texts []string) ([][]float32, error) {
	e, err := models.NewHashEmbedder(8)
	if err != nil {
		return nil, err
	}
	if model != e.Model() {
		return nil, &pipeline.Mismatch{What: "embedder", Hint: "give it the run's"}
	}
	return e.Embed(ctx, texts)
}

// bench is a Redis with one queue.
type bench struct {
	t      *testing.T
	url    string
	client *redis.Client
}

func newBench(t *testing.T) *bench {
	t.Parallel()
	url, client := queuetest.Start(t, "")
	return &bench{t, url, client}
}

func (b *bench) open(o Options) *Queue {
	b.t.Helper()
	o.URL = b.url
	if o.Name == "" {
		o.Name = "g"
	}
	q, err := Open(b.t.Context(), o)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { q.Close() })
	return q
}

func (b *bench) begin(o Options) *Run {
	b.t.Helper()
	q := b.open(o)
	run, err := q.Begin(b.t.Context(), Job{Graph: q.Name, Verb: "run"}, func(string) {})
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { run.Close() })
	return run
}

// work runs a worker until the test or stop ends it.
func (b *bench) work(o Options, h Hands, parallel int) (stop func() error) {
	b.t.Helper()
	q := b.open(o)
	ctx, cancel := context.WithCancel(b.t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- q.Work(ctx, WorkOptions{Hands: h, Parallel: parallel, Drain: time.Second, Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	}()
	stop = sync.OnceValue(func() error { cancel(); return <-ended })
	b.t.Cleanup(func() { stop() })
	return stop
}

func (b *bench) status() *Status {
	b.t.Helper()
	s, err := b.open(Options{}).Status(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	return s
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
	}
}

func TestEachTaskGetsItsOwnAnswer(t *testing.T) {
	b := newBench(t)
	run := b.begin(Options{})
	b.work(Options{}, fakeHands{}, 2)
	b.work(Options{}, fakeHands{}, 3)
	var all sync.WaitGroup
	for i := range 100 {
		all.Go(func() {
			path := fmt.Sprintf("d%d.txt", i)
			out, err := run.Extract(t.Context(), pipeline.Task{Path: path})
			if err != nil || out.Rows.Document.Title != path {
				t.Errorf("%s: %v %+v", path, err, out)
			}
		})
	}
	all.Wait()
	if err := run.Close(); err != nil {
		t.Error(err)
	}
	keys, err := b.client.Keys(t.Context(), "graphmill:*").Result()
	if err != nil || len(keys) > 0 {
		t.Errorf("left in Redis: %v %v", keys, err)
	}
	// A worker takes its task out of the queue after it has answered.
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		tasks, err := b.client.Keys(t.Context(), "asynq:*:t:*").Result()
		if err != nil {
			t.Fatal(err)
		}
		if len(tasks) == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("tasks left in Redis: %v", tasks)
		}
	}
}

func TestVectorsComeBackAsTheEmbedderMakesThem(t *testing.T) {
	b := newBench(t)
	run := b.begin(Options{})
	b.work(Options{}, fakeHands{}, 2)
	own, err := models.NewHashEmbedder(8)
	if err != nil {
		t.Fatal(err)
	}
	texts := []string{"Ada Lovelace", "the engine", "Ada Lovelace"}
	want, err := own.Embed(t.Context(), texts)
	if err != nil {
		t.Fatal(err)
	}
	remote, err := run.Embedder(t.Context(), own.Model())
	if err != nil || remote.Dimension() != 8 || remote.Model() != own.Model() {
		t.Fatalf("%v %+v", err, remote)
	}
	got, err := remote.Embed(t.Context(), texts)
	if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v %v, want %v", err, got, want)
	}
}

func TestAnotherEmbedderIsRefused(t *testing.T) {
	b := newBench(t)
	run := b.begin(Options{})
	b.work(Options{}, fakeHands{}, 1)
	if _, err := run.Embedder(t.Context(), "minilm@1"); !pipeline.IsSetup(err) || !strings.Contains(err.Error(), "embedder differs") {
		t.Error(err)
	}
}

func TestAFilesOwnErrorComesBackAtOnceWithItsKind(t *testing.T) {
	b := newBench(t)
	run := b.begin(Options{})
	tries := 0
	b.work(Options{}, fakeHands{func(context.Context, pipeline.Task) (*pipeline.Extracted, error) {
		tries++
		return nil, &corpus.FileError{Kind: corpus.KindEncrypted, Path: "a.pdf", Reason: "it is encrypted"}
	}}, 1)
	_, err := run.Extract(t.Context(), pipeline.Task{Path: "a.pdf"})
	var remote *pipeline.RemoteError
	if !errors.As(err, &remote) || remote.Kind != string(corpus.KindEncrypted) || !strings.Contains(remote.Reason, "it is encrypted") || tries != 1 {
		t.Errorf("%v after %d tries", err, tries)
	}
}

func TestWhatFailsAgainAndAgainIsParkedAndTriedByTheNextRun(t *testing.T) {
	b := newBench(t)
	run := b.begin(Options{Tries: 2})
	tries, healthy := 0, false
	var mu sync.Mutex
	b.work(Options{}, fakeHands{func(_ context.Context, task pipeline.Task) (*pipeline.Extracted, error) {
		mu.Lock()
		defer mu.Unlock()
		if tries++; !healthy {
			panic("poison")
		}
		return &pipeline.Extracted{}, nil
	}}, 1)
	_, err := run.Extract(t.Context(), pipeline.Task{Path: "a.txt"})
	var remote *pipeline.RemoteError
	if !errors.As(err, &remote) || remote.Kind != Parked || !strings.Contains(remote.Reason, "2 times") || !strings.Contains(remote.Reason, "poison") || tries != 2 {
		t.Fatalf("%v after %d tries", err, tries)
	}
	var parked []ParkedTask
	eventually(t, "the task is in the archive", func() bool { parked = b.status().Queues[0].Parked; return len(parked) > 0 })
	if p := parked[0]; p.Path != "a.txt" || p.Graph != "g" || !strings.Contains(p.Reason, "poison") || b.status().Queues[0].ParkedCount != 1 {
		t.Errorf("%+v", p)
	}
	run.Close()
	mu.Lock()
	healthy = true
	mu.Unlock()
	if _, err := b.begin(Options{}).Extract(t.Context(), pipeline.Task{Path: "a.txt"}); err != nil {
		t.Error(err)
	}
	if s := b.status(); s.Queues[0].ParkedCount != 0 {
		t.Errorf("still parked: %+v", s.Queues[0].Parked)
	}
}

func TestARefusalEndsTheWorkerAndARunThatHasNoOther(t *testing.T) {
	b := newBench(t)
	run := b.begin(Options{})
	stop := b.work(Options{}, fakeHands{func(context.Context, pipeline.Task) (*pipeline.Extracted, error) {
		return nil, &pipeline.Mismatch{What: "model", Hint: "give it the run's model"}
	}}, 2)
	_, err := run.Extract(t.Context(), pipeline.Task{Path: "a.txt"})
	if !pipeline.IsSetup(err) || !strings.Contains(err.Error(), "this worker's model differs") || !strings.Contains(err.Error(), "give it the run's model") {
		t.Errorf("the run: %v", err)
	}
	if err := stop(); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "model differs") {
		t.Errorf("the worker: %v", err)
	}
}

func TestAResultBeyondTheLimitFailsItsDocument(t *testing.T) {
	b := newBench(t)
	run := b.begin(Options{})
	b.work(Options{MaxBytes: 500}, fakeHands{func(context.Context, pipeline.Task) (*pipeline.Extracted, error) {
		out := &pipeline.Extracted{}
		for i := range 1000 {
			out.Notes = append(out.Notes, fmt.Sprint(i*i*i))
		}
		return out, nil
	}}, 1)
	_, err := run.Extract(t.Context(), pipeline.Task{Path: "a.txt"})
	if err == nil || !strings.Contains(err.Error(), "queue.max_bytes") {
		t.Error(err)
	}
}

func TestAnEndedRunTakesItsTasksBack(t *testing.T) {
	b := newBench(t)
	run := b.begin(Options{})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := run.Extract(ctx, pipeline.Task{Path: "a.txt"})
		ended <- err
	}()
	eventually(t, "the task waits", func() bool { s := b.status(); return len(s.Queues) > 0 && s.Queues[0].Pending == 1 })
	if s := b.status(); len(s.Queues[0].Runs) != 1 || s.Queues[0].Runs[0].Verb != "run" || s.Queues[0].Workers != 0 {
		t.Errorf("%+v", s)
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := run.Close(); err != nil {
		t.Error(err)
	}
	if s := b.status(); s.Queues[0].Pending != 0 || len(s.Queues[0].Runs) != 0 {
		t.Errorf("%+v", s)
	}
}

// die ends a run as kill -9 does: nothing is taken back.
func (r *Run) die(t *testing.T) {
	r.stop()
	r.queue.redis.RPush(t.Context(), r.queue.resultsKey(r.job.ID), "")
	r.ended.Wait()
	if err := r.queue.redis.Del(t.Context(), r.queue.runKey(r.job.ID)).Err(); err != nil { // it expires
		t.Fatal(err)
	}
	r.queue.Close()
}

func TestTheTasksOfADeadRunAreDroppedByWorkersAndByTheNextRun(t *testing.T) {
	b := newBench(t)
	leave := func(path string) {
		run := b.begin(Options{})
		s := run.add(documentTask, path, []byte("body"))
		if err := run.send(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		run.die(t)
	}
	leave("swept.txt")
	if got := b.status().Queues[0].Pending; got != 1 {
		t.Fatalf("%d tasks of the dead run", got)
	}
	b.begin(Options{}).Close()
	if got := b.status().Queues[0].Pending; got != 0 {
		t.Errorf("the next run left %d tasks", got)
	}
	leave("dropped.txt")
	worked := false
	b.work(Options{}, fakeHands{func(context.Context, pipeline.Task) (*pipeline.Extracted, error) {
		worked = true
		return &pipeline.Extracted{}, nil
	}}, 1)
	eventually(t, "the worker drops the task", func() bool {
		q := b.status().Queues[0]
		return q.Pending+q.Active+q.Retry+q.ParkedCount == 0
	})
	if worked {
		t.Error("a worker worked for a dead run")
	}
}

func TestQueuesOfTwoGraphsDoNotMix(t *testing.T) {
	b := newBench(t)
	one, two := b.begin(Options{Name: "one"}), b.begin(Options{Name: "two"})
	title := func(name string) Hands {
		return fakeHands{func(_ context.Context, task pipeline.Task) (*pipeline.Extracted, error) {
			out := &pipeline.Extracted{}
			out.Rows.Document.Title = name
			return out, nil
		}}
	}
	b.work(Options{Name: "one"}, title("one"), 2)
	b.work(Options{Name: "two"}, title("two"), 2)
	var all sync.WaitGroup
	for range 30 {
		for name, run := range map[string]*Run{"one": one, "two": two} {
			all.Go(func() {
				out, err := run.Extract(t.Context(), pipeline.Task{Path: "a.txt"})
				if err != nil || out.Rows.Document.Title != name {
					t.Errorf("%s: %v %+v", name, err, out)
				}
			})
		}
	}
	all.Wait()
}

func TestAWorkerThatEndsHandsItsTaskBackUncounted(t *testing.T) {
	b := newBench(t)
	run := b.begin(Options{Tries: 1})
	began := make(chan struct{}, 10)
	stop := b.work(Options{}, fakeHands{func(ctx context.Context, _ pipeline.Task) (*pipeline.Extracted, error) {
		began <- struct{}{}
		<-ctx.Done() // longer than the worker may take to end
		return nil, ctx.Err()
	}}, 1)
	ended := make(chan error, 1)
	go func() {
		_, err := run.Extract(t.Context(), pipeline.Task{Path: "a.txt"})
		ended <- err
	}()
	<-began
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	b.work(Options{}, fakeHands{}, 1)
	if err := <-ended; err != nil { // with one try only: the first must not have counted
		t.Error(err)
	}
}

func TestWhatRedisLosesIsSentAgain(t *testing.T) {
	if testing.Short() {
		t.Skip("waits until a task counts as lost")
	}
	b := newBench(t)
	run := b.begin(Options{})
	ended := make(chan error, 1)
	go func() {
		_, err := run.Extract(t.Context(), pipeline.Task{Path: "a.txt"})
		ended <- err
	}()
	eventually(t, "the task waits", func() bool { s := b.status(); return len(s.Queues) > 0 && s.Queues[0].Pending == 1 })
	if err := b.client.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	b.work(Options{}, fakeHands{}, 1)
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestAPasswordIsNeverSaid(t *testing.T) {
	t.Parallel()
	url, _ := queuetest.Start(t, "s3cret")
	_, err := Open(t.Context(), Options{URL: url, Name: "g", Password: "wr0ng"})
	if err == nil || strings.Contains(err.Error(), "wr0ng") || !strings.Contains(err.Error(), "queue.password") {
		t.Error(err)
	}
	q, err := Open(t.Context(), Options{URL: url, Name: "g", Password: "s3cret"})
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	if s, err := q.Status(t.Context()); err != nil || strings.Contains(fmt.Sprint(s, q.Address()), "s3cret") {
		t.Errorf("%v %v", s, err)
	}
}
