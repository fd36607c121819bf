package llm

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// CacheStats are figures about a cache.
type CacheStats struct {
	Dir     string
	Entries int
	Bytes   int64
	Oldest  time.Time // last use; zero when there is none
	Newest  time.Time
	// Unfinished files were left by processes that died.
	Unfinished int
	// Of this process:
	Hits, Misses, Writes, Damaged int64
}

// PruneResult is what a [Cache.Prune] did.
type PruneResult struct {
	Removed      int
	RemovedBytes int64
	Kept         int
	KeptBytes    int64
}

// staleTemp is how old a temporary file is when its process has surely died.
const staleTemp = time.Hour

// cacheFile is one file in a cache's folder.
type cacheFile struct {
	path string
	size int64
	used time.Time
	temp bool
}

// each calls visit for every file, folder by folder. What vanishes meanwhile,
// another process removed.
func (c *Cache) each(ctx context.Context, visit func(cacheFile) error) error {
	shards, err := os.ReadDir(c.dir)
	if err != nil {
		return ignoreMissing(err)
	}
	for _, shard := range shards {
		if !shard.IsDir() {
			continue
		}
		files, err := os.ReadDir(filepath.Join(c.dir, shard.Name()))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		for _, file := range files {
			if err := ctx.Err(); err != nil {
				return err
			}
			info, err := file.Info()
			if err != nil || !info.Mode().IsRegular() {
				continue
			}
			f := cacheFile{filepath.Join(c.dir, shard.Name(), file.Name()), info.Size(), info.ModTime(), strings.HasPrefix(file.Name(), tempPrefix)}
			if err := visit(f); err != nil {
				return err
			}
		}
	}
	return nil
}

// Stats counts the entries.
func (c *Cache) Stats(ctx context.Context) (CacheStats, error) {
	s := CacheStats{Dir: filepath.Dir(c.dir), Hits: c.hits.Load(), Misses: c.misses.Load(), Writes: c.writes.Load(), Damaged: c.damaged.Load()}
	err := c.each(ctx, func(f cacheFile) error {
		if f.temp {
			s.Unfinished++
			return nil
		}
		s.Entries++
		s.Bytes += f.size
		if s.Oldest.IsZero() || f.used.Before(s.Oldest) {
			s.Oldest = f.used
		}
		if f.used.After(s.Newest) {
			s.Newest = f.used
		}
		return nil
	})
	if err != nil {
		return s, fmt.Errorf("count call cache %s: %w", s.Dir, err)
	}
	return s, nil
}

// Prune removes entries that were last used longer than olderThan ago (0: none
// for that), then, until the rest has at most maxBytes (0: no limit), those whose
// last use is longest ago, to the day: last use is noted once a day. Entries of
// other formats are left to the programs that read them.
func (c *Cache) Prune(ctx context.Context, olderThan time.Duration, maxBytes int64) (PruneResult, error) {
	now := time.Now()
	var result PruneResult
	days := map[int64]int64{} // bytes by day: memory must not grow with the cache
	remove := func(f cacheFile) error {
		if err := ignoreMissing(os.Remove(f.path)); err != nil {
			return err
		}
		result.Removed++
		result.RemovedBytes += f.size
		return nil
	}
	err := c.each(ctx, func(f cacheFile) error {
		switch age := now.Sub(f.used); {
		case f.temp && age < staleTemp:
			return nil
		case f.temp || olderThan > 0 && age > olderThan:
			return remove(f)
		}
		result.Kept++
		result.KeptBytes += f.size
		days[day(f.used)] += f.size
		return nil
	})
	if err == nil && maxBytes > 0 && result.KeptBytes > maxBytes {
		err = c.shrink(ctx, days, maxBytes, &result, remove)
	}
	if err != nil {
		return result, fmt.Errorf("prune call cache %s: %w", filepath.Dir(c.dir), err)
	}
	return result, nil
}

func day(t time.Time) int64 { return t.Unix() / (24 * 60 * 60) }

// shrink removes the days that are longest ago, and of the last of them as much
// as must go.
func (c *Cache) shrink(ctx context.Context, days map[int64]int64, maxBytes int64, result *PruneResult, remove func(cacheFile) error) error {
	over := result.KeptBytes - maxBytes
	sorted := make([]int64, 0, len(days))
	for d := range days {
		sorted = append(sorted, d)
	}
	slices.Sort(sorted)
	last, whole := int64(0), int64(0)
	for _, d := range sorted {
		last = d
		if whole+days[d] >= over {
			break
		}
		whole += days[d]
	}
	part := over - whole // of the last day
	return c.each(ctx, func(f cacheFile) error {
		if f.temp || day(f.used) > last || day(f.used) == last && part <= 0 {
			return nil
		}
		if day(f.used) == last {
			part -= f.size
		}
		result.Kept--
		result.KeptBytes -= f.size
		return remove(f)
	})
}
