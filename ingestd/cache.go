package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"graphmill/commandline"
	"graphmill/configs"
	"graphmill/pipeline/llm"
)

// cacheStats is what cache stats prints.
type cacheStats struct {
	Dir        string     `json:"dir"`
	Entries    int        `json:"entries"`
	Bytes      int64      `json:"bytes"`
	Oldest     *time.Time `json:"oldest,omitempty"` // last use
	Newest     *time.Time `json:"newest,omitempty"`
	Unfinished int        `json:"unfinished"` // files of processes that died
}

// cachePruned is what cache prune prints.
type cachePruned struct {
	Dir          string `json:"dir"`
	Removed      int    `json:"removed"`
	RemovedBytes int64  `json:"removed_bytes"`
	Kept         int    `json:"kept"`
	KeptBytes    int64  `json:"kept_bytes"`
}

func (a *app) cacheCommand() *cobra.Command {
	return commandline.Group(&cobra.Command{
		Use:   "cache",
		Short: "look at the kept answers of language models, and remove old ones",
		Long: `cache is about the answers and vectors that language models and remote embedders gave (llm.cache_dir). What is kept is
not paid for again. It may be removed at any time: then it is asked for again.`,
		Example: "  ingestd cache stats\n  ingestd cache prune --older-than 90d --max-size 2GiB",
	}, a.cacheStatsCommand(), a.cachePruneCommand())
}

func (a *app) cacheStatsCommand() *cobra.Command {
	return a.verb(&cobra.Command{
		Use: "stats", Short: "count what is kept", Args: cobra.NoArgs, Example: "  ingestd cache stats --output json",
	}, []string{"llm.cache_dir"}, func(ctx context.Context, _ []string) error {
		cache, err := llm.OpenCache(a.Config.LLMCacheDir(), a.Log)
		if err != nil {
			return err
		}
		s, err := cache.Stats(ctx)
		if err != nil {
			return err
		}
		result := cacheStats{Dir: s.Dir, Entries: s.Entries, Bytes: s.Bytes, Unfinished: s.Unfinished}
		if s.Entries > 0 {
			result.Oldest, result.Newest = &s.Oldest, &s.Newest
		}
		return a.Print(result, result.print)
	})
}

func (s cacheStats) print(w io.Writer) {
	fmt.Fprintf(w, "%s: %d answers and vectors, %s\n", s.Dir, s.Entries, configs.FormatSize(s.Bytes))
	if s.Oldest != nil {
		fmt.Fprintf(w, "last used between %s and %s\n", s.Oldest.Local().Format(time.DateOnly), s.Newest.Local().Format(time.DateOnly))
	}
	if s.Unfinished > 0 {
		fmt.Fprintf(w, "%d files were left unfinished by processes that died; `ingestd cache prune` removes them\n", s.Unfinished)
	}
}

func (a *app) cachePruneCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "prune",
		Short: "remove what was not used for long, or is too much",
		Long: `prune removes answers that were not used for longer than --older-than, then those that were not used for longest until
at most --max-size are left, and what processes that died left unfinished. Last use is noted once a day.`,
		Args:    cobra.NoArgs,
		Example: "  ingestd cache prune --older-than 90d\n  ingestd cache prune --max-size 2GiB --output json",
	}
	var olderThan, maxSize string
	cmd.Flags().StringVar(&olderThan, "older-than", "", "remove what was not used for so long: 90d, 36h")
	cmd.Flags().StringVar(&maxSize, "max-size", "", "then remove the oldest until so much is left: 500MiB, 2GiB")
	return a.verb(cmd, []string{"llm.cache_dir"}, func(ctx context.Context, _ []string) error {
		age, err := parseAge(olderThan)
		if err != nil {
			return err
		}
		size := int64(0)
		if maxSize != "" {
			if size, err = configs.ParseSize(maxSize); err != nil || size <= 0 {
				return commandline.Usage("--max-size %q: give a size such as 500MiB or 2GiB", maxSize)
			}
		}
		cache, err := llm.OpenCache(a.Config.LLMCacheDir(), a.Log)
		if err != nil {
			return err
		}
		r, err := cache.Prune(ctx, age, size)
		if err != nil {
			return err
		}
		result := cachePruned{a.Config.LLMCacheDir(), r.Removed, r.RemovedBytes, r.Kept, r.KeptBytes}
		return a.Print(result, func(w io.Writer) {
			fmt.Fprintf(w, "%s: removed %d files, %s; %d are left, %s\n", result.Dir, r.Removed, configs.FormatSize(r.RemovedBytes), r.Kept, configs.FormatSize(r.KeptBytes))
		})
	})
}

// parseAge reads a duration that may also be of days; "" is none.
func parseAge(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	var days int
	if n, err := fmt.Sscanf(text, "%dd", &days); err == nil && n == 1 && text == fmt.Sprintf("%dd", days) && days > 0 && days < 100_000 {
		return time.Duration(days) * 24 * time.Hour, nil
	}
	age, err := time.ParseDuration(text)
	if err != nil || age <= 0 {
		return 0, commandline.Usage("--older-than %q: give a duration such as 90d or 36h", text)
	}
	return age, nil
}
