package llm_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"graphmill/pipeline/llm"
	"graphmill/pipeline/llm/llmtest"
)

func cacheIn(t *testing.T, dir string) *llm.Cache {
	t.Helper()
	cache, err := llm.OpenCache(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	return cache
}

// entries are the files of a cache's folder.
func entries(t *testing.T, dir string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			out = append(out, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestASecondRunPaysNothing(t *testing.T) {
	server := llmtest.New(t, llmtest.InOrder(spends))
	dir := filepath.Join(t.TempDir(), "made", "when", "missing")
	for run := range 2 {
		meter := llm.NewMeter(llm.Limits{Calls: 1}, llm.Limits{})
		c := client(t, server, func(o *llm.Options) { o.Cache, o.Meter = cacheIn(t, dir), meter })
		answer, err := c.Ask(t.Context(), question())
		if err != nil || answer.Text != fits || answer.Cached != (run == 1) {
			t.Fatalf("run %d: %+v, %v", run, answer, err)
		}
		total := meter.Snapshot().Total
		if run == 1 && (answer.Usage != llm.Usage{} || total.Usage != llm.Usage{} || total.Cached != 1) {
			t.Errorf("the second run paid %+v, metered %+v", answer.Usage, total)
		}
	}
	if n := server.Counts().Calls; n != 1 {
		t.Errorf("%d calls", n)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder has mode %v, %v", info.Mode(), err)
	}
}

func TestWhatChangesAnAnswerChangesItsKey(t *testing.T) {
	server := llmtest.New(t, llmtest.InOrder(spends))
	cache := cacheIn(t, t.TempDir())
	plain := func(*llm.Options) {}
	asked := 0
	for name, test := range map[string]struct {
		options func(*llm.Options)
		request func(*llm.Request)
	}{
		"as it is":          {plain, func(*llm.Request) {}},
		"version":           {plain, func(r *llm.Request) { r.Version = 2 }},
		"purpose":           {plain, func(r *llm.Request) { r.Purpose = llm.Verify }},
		"system":            {plain, func(r *llm.Request) { r.System += "!" }},
		"user":              {plain, func(r *llm.Request) { r.User += "!" }},
		"a character moved": {plain, func(r *llm.Request) { r.System, r.User = r.System+r.User[:1], r.User[1:] }},
		"schema":            {plain, func(r *llm.Request) { r.Schema = &llm.Schema{Name: "any", JSON: []byte(`{"type":"object"}`)} }},
		"bound":             {plain, func(r *llm.Request) { r.MaxTokens = 99 }},
		"model":             {func(o *llm.Options) { o.Model = "openai/other" }, func(*llm.Request) {}},
		"provider":          {func(o *llm.Options) { o.Model = "anthropic/small" }, func(*llm.Request) {}},
		"temperature":       {func(o *llm.Options) { o.Temperature = 0.5 }, func(*llm.Request) {}},
		"seed":              {func(o *llm.Options) { o.Seed = 5 }, func(*llm.Request) {}},
	} {
		c := client(t, server, func(o *llm.Options) {
			o.Cache = cache
			test.options(o)
		})
		r := question()
		test.request(&r)
		if answer, err := c.Ask(t.Context(), r); err != nil || answer.Cached {
			t.Errorf("%s: %+v, %v", name, answer, err)
		}
		asked++
		if answer, err := c.Ask(t.Context(), r); err != nil || !answer.Cached || server.Counts().Calls != asked {
			t.Errorf("%s, again: %+v, %v", name, answer, err)
		}
	}
}

func TestEqualQuestionsAtTheSameTimeArePaidForOnce(t *testing.T) {
	server := llmtest.New(t, func(llmtest.Call) llmtest.Reply { return llmtest.Reply{Text: fits, Delay: 20 * time.Millisecond} })
	c := client(t, server, func(o *llm.Options) { o.Cache = cacheIn(t, t.TempDir()) })
	var wait sync.WaitGroup
	for range 10 {
		wait.Go(func() {
			if answer, err := c.Ask(t.Context(), question()); err != nil || answer.Text != fits {
				t.Errorf("%+v, %v", answer, err)
			}
		})
	}
	wait.Wait()
	if total := c.Meter().Snapshot().Total; total.Calls != 1 || total.Cached != 9 {
		t.Errorf("%+v", total)
	}
}

func TestOneWhoIsCancelledLeavesTheQuestionToTheNext(t *testing.T) {
	hold := make(chan struct{})
	arrived := make(chan struct{}, 2)
	server := llmtest.New(t, func(c llmtest.Call) llmtest.Reply {
		arrived <- struct{}{}
		if c.N == 1 {
			return llmtest.Reply{Hold: hold}
		}
		return good
	})
	defer close(hold)
	c := client(t, server, func(o *llm.Options) { o.Cache = cacheIn(t, t.TempDir()) })
	ctx, cancel := context.WithCancel(t.Context())
	first := make(chan error)
	go func() {
		_, err := c.Ask(ctx, question())
		first <- err
	}()
	<-arrived
	second := make(chan error)
	go func() {
		_, err := c.Ask(t.Context(), question())
		second <- err
	}()
	cancel()
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Errorf("the first: %v", err)
	}
	if err := <-second; err != nil {
		t.Errorf("the second: %v", err)
	}
}

func TestFailuresAndUnusableAnswersAreNotKept(t *testing.T) {
	dir := t.TempDir()
	server := llmtest.New(t, llmtest.InOrder(llmtest.Reply{Text: "no"}))
	c := client(t, server, func(o *llm.Options) { o.Cache = cacheIn(t, dir) })
	if _, err := c.Ask(t.Context(), question()); !errors.Is(err, llm.ErrUnusable) {
		t.Fatal(err)
	}
	if got := entries(t, dir); len(got) != 0 {
		t.Errorf("kept %v", got)
	}
}

func TestAKeptAnswerMustPassTodaysCheck(t *testing.T) {
	server := llmtest.New(t, llmtest.InOrder(good, llmtest.Reply{Text: `{"name":"Bob","size":3}`}))
	c := client(t, server, func(o *llm.Options) { o.Cache = cacheIn(t, t.TempDir()) })
	r := question()
	if _, err := c.Ask(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	r.Check = func(text string) error {
		if strings.Contains(text, "Ada") {
			return errors.New("Ada is forbidden")
		}
		return nil
	}
	if answer, err := c.Ask(t.Context(), r); err != nil || !strings.Contains(answer.Text, "Bob") {
		t.Errorf("%+v, %v", answer, err)
	}
}

func TestADamagedEntryIsIgnoredAndReplaced(t *testing.T) {
	for name, damage := range map[string]func([]byte) []byte{
		"empty":        func([]byte) []byte { return nil },
		"half":         func(raw []byte) []byte { return raw[:len(raw)/2] },
		"the last bit": func(raw []byte) []byte { raw[len(raw)-2] ^= 1; return raw },
		"longer":       func(raw []byte) []byte { return append(raw, 'x') },
		"zeros":        func(raw []byte) []byte { return make([]byte, len(raw)) },
		"newer format": func(raw []byte) []byte {
			return bytes.Replace(raw, []byte("graphmill-call 1 "), []byte("graphmill-call 2 "), 1)
		},
		"another's": func(raw []byte) []byte {
			_, body, _ := bytes.Cut(raw, []byte("\n"))
			body = bytes.Replace(body, []byte(`"key":"`), []byte(`"key":"0`), 1)
			return append(fmt.Appendf(nil, "graphmill-call 1 %x %d\n", sha256.Sum256(body), len(body)), body...)
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			var log bytes.Buffer
			cache, err := llm.OpenCache(dir, slog.New(slog.NewTextHandler(&log, nil)))
			if err != nil {
				t.Fatal(err)
			}
			server := llmtest.New(t, llmtest.InOrder(good))
			c := client(t, server, func(o *llm.Options) { o.Cache = cache })
			ask := func(calls int) {
				t.Helper()
				if answer, err := c.Ask(t.Context(), question()); err != nil || answer.Text != fits || server.Counts().Calls != calls {
					t.Fatalf("%+v after %d calls, %v", answer, server.Counts().Calls, err)
				}
			}
			ask(1)
			path := entries(t, dir)[0]
			raw, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, damage(raw), 0o600); err != nil {
				t.Fatal(err)
			}
			ask(2)
			ask(2) // it was replaced
			if !strings.Contains(log.String(), "is ignored") {
				t.Errorf("the log holds %q", &log)
			}
			if stats, err := cache.Stats(t.Context()); err != nil || stats.Damaged != 1 || stats.Entries != 1 {
				t.Errorf("%+v, %v", stats, err)
			}
		})
	}
}

func TestACacheThatCannotBeWrittenIsOnlySlower(t *testing.T) {
	dir := t.TempDir()
	cache := cacheIn(t, dir)
	if err := os.WriteFile(filepath.Join(dir, "v1"), nil, 0o600); err != nil { // where the folder should be
		t.Fatal(err)
	}
	server := llmtest.New(t, llmtest.InOrder(good))
	c := client(t, server, func(o *llm.Options) { o.Cache = cache })
	for range 2 {
		if answer, err := c.Ask(t.Context(), question()); err != nil || answer.Text != fits {
			t.Errorf("%+v, %v", answer, err)
		}
	}
	if cache.Err() == nil || server.Counts().Calls != 2 {
		t.Errorf("%d calls, %v", server.Counts().Calls, cache.Err())
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := llm.OpenCache(file, nil); err == nil || !strings.Contains(err.Error(), "next: choose another") {
		t.Errorf("error %v", err)
	}
}

func TestSharedFoldersKeepTheRightsThatTheyHave(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o775); err != nil {
		t.Fatal(err)
	}
	server := llmtest.New(t, llmtest.InOrder(good))
	if _, err := client(t, server, func(o *llm.Options) { o.Cache = cacheIn(t, dir) }).Ask(t.Context(), question()); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(entries(t, dir)[0])
	if err != nil || info.Mode().Perm()&0o044 != 0o044 {
		t.Errorf("others cannot read an entry: %v, %v", info.Mode(), err)
	}
}
