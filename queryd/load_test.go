package main

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"graphmill/pipeline/engine/enginetest"
)

// loadClients is how many clients ask at once; both kinds are among them.
const loadClients = 64

// soakLoad is how long GRAPHMILL_SOAK lets them ask.
const soakLoad = 30 * time.Second

// few answers are enough where other work takes the processor; the benchmark
// says how many there should be.
const few = 10

// testLoad lets many clients ask without a pause: nothing fails but by being told
// to come back, memory does not grow, and nothing is left behind.
func testLoad(t *testing.T, f *enginetest.Fixture) {
	long := 3 * time.Second
	if os.Getenv("GRAPHMILL_SOAK") != "" {
		long = soakLoad
	}
	s := serveHTTP(t, f, "GRAPHMILL_MCP_MAX_REQUESTS_PER_MINUTE=10000000", "GRAPHMILL_MCP_MAX_QUEUE=48", "GRAPHMILL_MCP_AUDIT_FILE=/dev/null", "GRAPHMILL_MCP_SESSION_TIMEOUT=5s")
	s.storm(t, long/3) // until pools and caches are full
	goroutines, memory := s.value(t, "go_goroutines"), s.value(t, "process_resident_memory_bytes")
	ok, busy := s.storm(t, long)
	t.Logf("%d clients for %s: %d answers, %d times busy, resident %.0f then %.0f MB", loadClients, long, ok, busy, memory/1e6, s.value(t, "process_resident_memory_bytes")/1e6)
	if ok < few {
		t.Errorf("only %d answers", ok)
	}
	if now := s.value(t, "process_resident_memory_bytes"); now > memory*1.3+40e6 {
		t.Errorf("memory grew from %.0f to %.0f MB", memory/1e6, now/1e6)
	}
	within := time.Now().Add(30 * time.Second)
	for s.value(t, "go_goroutines") > goroutines+8 || s.value(t, `graphmill_sessions{transport="http"}`)+s.value(t, `graphmill_sessions{transport="stateless"}`) > 0 {
		if time.Now().After(within) {
			t.Fatalf("left behind: %.0f goroutines, before %.0f\n%s", s.value(t, "go_goroutines"), goroutines, s.scrape(t))
		}
		time.Sleep(200 * time.Millisecond)
	}
	if n := s.value(t, "graphmill_calls_working") + s.value(t, "graphmill_calls_waiting") + s.value(t, "graphmill_calls_abandoned"); n != 0 {
		t.Errorf("%.0f calls hold a place", n)
	}
}

// storm asks with all clients for so long.
func (s *served) storm(t *testing.T, long time.Duration) (ok, busy int64) {
	var answered, refused atomic.Int64
	var failures sync.Map
	until := time.Now().Add(long)
	var wait sync.WaitGroup
	for i := range loadClients {
		wait.Go(func() {
			version := "2025-06-18"
			if i%2 == 1 {
				version = "2026-07-28"
			}
			session := s.connect(t, version)
			defer session.Close()
			arguments := map[string]any{"question": fmt.Sprintf("Who worked with Charles Babbage? %d", i), "top_k": 3}
			for time.Now().Before(until) {
				result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "retrieve", Arguments: arguments})
				switch {
				case err != nil:
					failures.Store(err.Error(), true)
					return
				case !result.IsError:
					answered.Add(1)
					if data, _ := result.StructuredContent.(map[string]any); data["session"] != nil {
						arguments["session"] = data["session"]
					}
				case strings.Contains(textOf(result), "The server is busy"):
					refused.Add(1)
					time.Sleep(20 * time.Millisecond)
				default:
					failures.Store(textOf(result), true)
					return
				}
			}
		})
	}
	wait.Wait()
	failures.Range(func(failure, _ any) bool { t.Errorf("under load: %v", failure); return true })
	return answered.Load(), refused.Load()
}

func (s *served) value(t testing.TB, metric string) float64 {
	t.Helper()
	found := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(metric) + ` (\S+)$`).FindStringSubmatch(s.scrape(t))
	if found == nil {
		t.Fatalf("no metric %s", metric)
	}
	value, err := strconv.ParseFloat(found[1], 64)
	must(t, err)
	return value
}
