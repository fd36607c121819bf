package llm_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"graphmill/pipeline/llm"
	"graphmill/pipeline/llm/llmtest"
)

// filled is a cache with n answers, the first used n days ago, the last a day ago.
func filled(t *testing.T, n int) (*llm.Cache, string) {
	t.Helper()
	dir := t.TempDir()
	cache := cacheIn(t, dir)
	server := llmtest.New(t, llmtest.InOrder(good))
	c := client(t, server, func(o *llm.Options) { o.Cache = cache })
	known := map[string]bool{}
	for i := range n {
		r := question()
		r.User = fmt.Sprint(i)
		if _, err := c.Ask(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		for _, path := range entries(t, dir) {
			if !known[path] {
				known[path] = true
				age(t, path, time.Duration(n-i)*24*time.Hour)
			}
		}
	}
	return cache, dir
}

func age(t *testing.T, path string, by time.Duration) {
	t.Helper()
	then := time.Now().Add(-by)
	if err := os.Chtimes(path, then, then); err != nil {
		t.Fatal(err)
	}
}

func TestPruneRemovesWhatIsLongestUnused(t *testing.T) {
	for name, test := range map[string]struct {
		olderThan time.Duration
		max       func(all int64) int64
		kept      int
	}{
		"nothing":           {0, func(int64) int64 { return 0 }, 10},
		"by age":            {4*24*time.Hour + time.Hour, func(int64) int64 { return 0 }, 4},
		"by size":           {0, func(all int64) int64 { return all / 2 }, 5},
		"by both":           {8*24*time.Hour + time.Hour, func(all int64) int64 { return all / 5 }, 2},
		"all":               {0, func(int64) int64 { return 1 }, 0},
		"room for all":      {0, func(all int64) int64 { return all }, 10},
		"one byte too many": {0, func(all int64) int64 { return all - 1 }, 9},
	} {
		t.Run(name, func(t *testing.T) {
			cache, dir := filled(t, 10)
			before, err := cache.Stats(t.Context())
			if err != nil || before.Entries != 10 || before.Dir != dir || time.Since(before.Oldest) < 9*24*time.Hour || time.Since(before.Newest) > 2*24*time.Hour {
				t.Fatalf("%+v, %v", before, err)
			}
			result, err := cache.Prune(t.Context(), test.olderThan, test.max(before.Bytes))
			if err != nil || result.Kept != test.kept || result.Removed != 10-test.kept || result.KeptBytes+result.RemovedBytes != before.Bytes {
				t.Errorf("%+v, %v", result, err)
			}
			after, err := cache.Stats(t.Context())
			if err != nil || after.Entries != test.kept || after.Bytes != result.KeptBytes {
				t.Errorf("%+v, %v", after, err)
			}
			if test.kept > 0 && time.Since(after.Newest) > 2*24*time.Hour {
				t.Error("the newest went first")
			}
			if test.kept > 0 && test.kept < 10 && time.Since(after.Oldest) > time.Duration(test.kept+1)*24*time.Hour {
				t.Error("an old one stayed")
			}
		})
	}
}

func TestPruneTakesOfADayNoMoreThanMustGo(t *testing.T) {
	cache, dir := filled(t, 10)
	noon := time.Now().Add(-100 * 24 * time.Hour).Truncate(24 * time.Hour).Add(12 * time.Hour)
	for _, path := range entries(t, dir) {
		if err := os.Chtimes(path, noon, noon); err != nil {
			t.Fatal(err)
		}
	}
	before, err := cache.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	result, err := cache.Prune(t.Context(), 0, before.Bytes*7/10)
	if err != nil || result.Kept != 7 || result.KeptBytes > before.Bytes*7/10 {
		t.Errorf("%+v, %v", result, err)
	}
}

func TestUsingAnEntryIsNotedOnceADay(t *testing.T) {
	dir := t.TempDir()
	server := llmtest.New(t, llmtest.InOrder(good))
	c := client(t, server, func(o *llm.Options) { o.Cache = cacheIn(t, dir) })
	for _, test := range []struct {
		age   time.Duration
		noted bool
	}{{0, false}, {20 * time.Hour, false}, {30 * time.Hour, true}} {
		if _, err := c.Ask(t.Context(), question()); err != nil {
			t.Fatal(err)
		}
		path := entries(t, dir)[0]
		age(t, path, test.age)
		if answer, err := c.Ask(t.Context(), question()); err != nil || !answer.Cached {
			t.Fatal(answer, err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if old := time.Since(info.ModTime()) > 10*time.Hour; old != (test.age > 0 && !test.noted) {
			t.Errorf("after %s it is noted as used at %s", test.age, info.ModTime())
		}
	}
}

func TestPruneRemovesWhatTheDeadLeftAndNothingElse(t *testing.T) {
	cache, dir := filled(t, 1)
	shard := filepath.Dir(entries(t, dir)[0])
	fresh, stale, foreign := filepath.Join(shard, ".new-1"), filepath.Join(shard, ".new-2"), filepath.Join(dir, "v2", "ab", "entry")
	if err := os.MkdirAll(filepath.Dir(foreign), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{fresh, stale, foreign} {
		if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	age(t, stale, 2*time.Hour)
	age(t, foreign, 1000*time.Hour)
	if stats, err := cache.Stats(t.Context()); err != nil || stats.Entries != 1 || stats.Unfinished != 2 {
		t.Errorf("%+v, %v", stats, err)
	}
	if _, err := cache.Prune(t.Context(), 100*time.Hour, 0); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{fresh: true, stale: false, foreign: true} {
		if _, err := os.Stat(path); (err == nil) != want {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestAnEmptyCacheHasNothingToPrune(t *testing.T) {
	cache := cacheIn(t, filepath.Join(t.TempDir(), "cache"))
	if stats, err := cache.Stats(t.Context()); err != nil || stats.Entries != 0 {
		t.Errorf("%+v, %v", stats, err)
	}
	if result, err := cache.Prune(t.Context(), time.Hour, 1); err != nil || result != (llm.PruneResult{}) {
		t.Errorf("%+v, %v", result, err)
	}
}
