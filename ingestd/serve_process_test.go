package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"graphmill/ingestd/tools"
	"graphmill/pipeline"
	"graphmill/pipeline/engine/enginetest"
)

// server is an `ingestd serve` process and a client of it.
type server struct {
	t       *testing.T
	process *os.Process
	session *mcp.ClientSession

	mu   sync.Mutex
	told []string
	tell chan string
}

// serve starts a server of the world's corpus.
func (w *world) serve(args ...string) *server {
	w.t.Helper()
	command := w.command(append([]string{"serve", "--files-root", w.corpus}, args...)...)
	s := &server{t: w.t, tell: make(chan string, 1000)}
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, request *mcp.ProgressNotificationClientRequest) {
			s.mu.Lock()
			s.told = append(s.told, request.Params.Message)
			s.mu.Unlock()
			select {
			case s.tell <- request.Params.Message:
			default:
			}
		},
	})
	var err error
	if s.session, err = client.Connect(w.t.Context(), &mcp.CommandTransport{Command: command}, nil); err != nil {
		w.t.Fatal(err)
	}
	s.process = command.Process
	w.t.Cleanup(func() { s.session.Close() })
	return s
}

// call runs a tool; a failure is returned as its text.
func (s *server) call(ctx context.Context, tool string, arguments any, out any) error {
	params := &mcp.CallToolParams{Name: tool, Arguments: arguments}
	params.SetProgressToken(tool)
	result, err := s.session.CallTool(ctx, params)
	if err != nil {
		return err
	}
	if result.IsError {
		return fmt.Errorf("%s: %s", tool, result.Content[0].(*mcp.TextContent).Text)
	}
	data, err := json.Marshal(result.StructuredContent)
	if err == nil && out != nil {
		err = json.Unmarshal(data, out)
	}
	return err
}

func (s *server) ingest(globs ...string) (*tools.Ingested, error) {
	out := &tools.Ingested{}
	return out, s.call(context.Background(), "ingest", map[string]any{"files": globs}, out)
}

// until waits for a progress message that holds text. It is called by the test
// itself and by what ends with it.
func (s *server) until(text string) bool {
	enough := time.After(2 * time.Minute)
	for {
		select {
		case told := <-s.tell:
			if strings.Contains(told, text) {
				return true
			}
		case <-s.t.Context().Done():
			return false
		case <-enough:
			s.mu.Lock()
			defer s.mu.Unlock()
			s.t.Errorf("nobody was told %q, but %q", text, s.told)
			return false
		}
	}
}

// corpora makes two sets of files that name the same things.
func (w *world) corpora(each int) {
	w.t.Helper()
	for i := range each {
		for _, set := range []string{"left", "right"} {
			path := filepath.Join(w.corpus, set, fmt.Sprintf("n%02d.txt", i))
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				w.t.Fatal(err)
			}
			text := fmt.Sprintf("Ada Lovelace met Charles Babbage.\n\nMary Somerville of the %s Society wrote to Ada Lovelace about Number %s.\n", strings.Title(set), strings.Repeat("X", i+1))
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				w.t.Fatal(err)
			}
		}
	}
}

func TestServersThatAddSideBySideGiveTheGraphOfOneAfterTheOther(t *testing.T) {
	t.Parallel()
	w := worldIn(t, enginetest.Start(t).DataDir)
	w.corpora(20)
	w.configure(fastConfig + "commit: {max_rows: 10, max_documents: 1}\n")
	one := w.serve("--graph", "one")
	for _, set := range []string{"left/*", "right/*"} {
		if _, err := one.ingest(set); err != nil {
			t.Fatal(err)
		}
	}
	first, second := w.serve("--graph", "two"), w.serve("--graph", "two")
	var both sync.WaitGroup
	for set, s := range map[string]*server{"left/*": first, "right/*": second} {
		both.Go(func() {
			if got, err := s.ingest(set); err != nil || got.Status[pipeline.Ingested] != 20 {
				t.Errorf("%s: %v, %v", set, got.Status, err)
			}
		})
	}
	// A third, in the first process, and calls that change something: these run alone.
	both.Go(func() {
		if err := first.call(context.Background(), "ingest", map[string]any{"text": "Ada Lovelace met Grace Hopper.", "document_id": "a"}, nil); err != nil {
			t.Error(err)
		}
		if err := first.call(context.Background(), "ingest", map[string]any{"text": "Ada Lovelace met Charles Babbage.", "document_id": "a"}, nil); err != nil {
			t.Error(err)
		}
	})
	both.Wait()
	if err := one.call(t.Context(), "ingest", map[string]any{"text": "Ada Lovelace met Charles Babbage.", "document_id": "a"}, nil); err != nil {
		t.Fatal(err)
	}
	for _, s := range []*server{one, first} {
		if err := s.call(t.Context(), "finalize", map[string]any{}, nil); err != nil {
			t.Fatal(err)
		}
	}
	if w.digest("--graph", "one") != w.digest("--graph", "two") {
		t.Error("the graph of two at once is another one")
	}
}

func TestAServerThatIsKilledLeavesWholeDocumentsAndTheLock(t *testing.T) {
	t.Parallel()
	w := worldIn(t, enginetest.Start(t).DataDir)
	w.corpora(25)
	w.configure(fastConfig + "commit: {max_rows: 10, max_documents: 1}\n")
	killed, other := w.serve("--graph", "two"), w.serve("--graph", "two")
	ended := make(chan error, 2)
	go func() { _, err := killed.ingest("left/*"); ended <- err }()
	killed.until("of 25 documents: left/")
	go func() { _, err := other.ingest("right/*"); ended <- err }()
	killed.process.Signal(syscall.SIGKILL)
	failed := 0
	for range 2 {
		if err := <-ended; err != nil {
			failed++
		}
	}
	if failed == 2 {
		t.Fatal("the other server's call failed, too")
	}
	// What changes needs the lock alone: that of the killed one is taken over.
	if got, err := other.ingest("left/*"); err != nil || got.Status[pipeline.Ingested]+got.Status[pipeline.Unchanged] != 25 {
		t.Fatalf("after the kill: %v, %v", got.Status, err)
	}
	calm := w.serve("--graph", "one")
	for _, set := range []string{"left/*", "right/*"} {
		if _, err := calm.ingest(set); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range []*server{other, calm} {
		if err := s.call(t.Context(), "finalize", map[string]any{}, nil); err != nil {
			t.Fatal(err)
		}
	}
	if w.digest("--graph", "one") != w.digest("--graph", "two") {
		t.Error("the graph is another one than without the kill")
	}
}

func TestWaitingForAnotherWriterIsBoundedAndSaysForWhom(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.large(40)
	run := w.startRun()
	if !run.until(1, committed) {
		t.Fatalf("the run committed nothing: %s", run.stderr)
	}
	run.command.Process.Signal(syscall.SIGSTOP)
	w.env = append(w.env, "GRAPHMILL_MCP_LOCK_TIMEOUT=500ms")
	_, err := w.serve().ingest("d001.txt")
	run.command.Process.Signal(syscall.SIGCONT)
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("written by `ingestd run` (pid %d", run.command.Process.Pid)) || !strings.Contains(err.Error(), "mcp.lock_timeout") {
		t.Errorf("ingest beside a run: %v", err)
	}
	run.wait(t)
}

func TestACancelledIngestEndsAtADocumentBoundary(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.large(50)
	s := w.serve("--jobs", "1")
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		s.until("documents: d")
		cancel()
	}()
	if err := s.call(ctx, "ingest", map[string]any{"files": []string{"*.txt"}}, nil); err == nil {
		t.Skip("SKIPPED: the call was faster than its cancellation")
	}
	// The lock is given back, what was committed is whole, and the same call goes on.
	got, err := s.ingest("*.txt")
	if err != nil {
		t.Fatal(err)
	}
	if done := got.Status[pipeline.Unchanged]; done == 0 || done+got.Status[pipeline.Ingested] != len(got.Documents) {
		t.Errorf("after a cancelled call: %v", got.Status)
	}
}

// A server that is told to end lets an ingest come to a document boundary and
// answers the call.
func TestAServerThatStopsAnswersTheIngestUnderWay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.large(50)
	s := w.serve("--jobs", "1")
	go func() {
		s.until("documents: d")
		s.process.Signal(syscall.SIGTERM)
	}()
	got, err := s.ingest("*.txt")
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Documents) == 50 {
		t.Skip("SKIPPED: the call was faster than the signal")
	}
	if len(got.Documents) == 0 || !strings.Contains(got.Hint, "The server stops") {
		t.Errorf("%d documents, hint %q", len(got.Documents), got.Hint)
	}
}
