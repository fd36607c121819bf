package toolserver

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type worked struct {
	Done string `json:"done"`
	Notice
}

func (w *worked) Text(limit int) string { return clipTo(w.Done, limit) }

func clipTo(text string, limit int) string {
	if len(text) > limit {
		return text[:limit]
	}
	return text
}

// patientService offers one tool that takes its time and says how it ended.
func patientService(t *testing.T, allowed time.Duration, limits Limits) (*Service, chan struct{}) {
	t.Helper()
	begun := make(chan struct{}, 10)
	tool, err := NewTool(Spec{Name: "work", Input: &jsonschema.Schema{Type: "object"}, Destructive: true, Time: allowed},
		func(ctx context.Context, _ struct{}) (*worked, error) {
			Progress(ctx, 1, 3, "begun")
			Progress(ctx, 1, 3, "still at it")
			begun <- struct{}{}
			<-ctx.Done()
			switch cause := context.Cause(ctx); {
			case errors.Is(cause, ErrStopping):
				return &worked{Done: "stopped at a boundary"}, nil
			case errors.Is(cause, context.DeadlineExceeded):
				return &worked{Done: "ran out of time"}, nil
			}
			return &worked{Done: "left"}, nil
		})
	if err != nil {
		t.Fatal(err)
	}
	set, err := NewSet([]*Tool{tool}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return NewService(About{Name: "test"}, set, func() (*Set, error) { return set, nil }, ServiceOptions{Limits: limits}), begun
}

func connectTo(t *testing.T, s *Service, told func(*mcp.ProgressNotificationParams)) *mcp.ClientSession {
	t.Helper()
	client, server := mcp.NewInMemoryTransports()
	if _, err := s.newServer(overStdio).Connect(t.Context(), server, nil); err != nil {
		t.Fatal(err)
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { told(r.Params) },
	}).Connect(t.Context(), client, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	return session
}

func workOf(t *testing.T, result *mcp.CallToolResult, err error) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(result.StructuredContent)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// A tool with a time of its own is not bound by the others', ends by itself when
// it is over, and its answer is waited for.
func TestAToolThatTakesItsTimeAnswersWhenItIsOver(t *testing.T) {
	s, _ := patientService(t, 300*time.Millisecond, Limits{CallTime: 10 * time.Millisecond})
	var mu sync.Mutex
	var told []*mcp.ProgressNotificationParams
	session := connectTo(t, s, func(p *mcp.ProgressNotificationParams) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, p)
	})
	params := &mcp.CallToolParams{Name: "work"}
	params.SetProgressToken("t")
	result, err := session.CallTool(t.Context(), params)
	if got := workOf(t, result, err); got != `{"done":"ran out of time"}` {
		t.Errorf("got %s", got)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(told) != 2 || told[0].Message != "begun" || told[1].Progress <= told[0].Progress || told[0].Total != 3 {
		t.Errorf("told %v", told)
	}
}

func TestAToolThatTakesItsTimeIsToldThatTheServerStops(t *testing.T) {
	s, begun := patientService(t, time.Hour, Limits{DrainTime: time.Minute})
	session := connectTo(t, s, func(*mcp.ProgressNotificationParams) { t.Error("nobody asked for progress") })
	go func() {
		<-begun
		s.stop()
	}()
	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "work"})
	if got := workOf(t, result, err); got != `{"done":"stopped at a boundary"}` {
		t.Errorf("got %s", got)
	}
}

func TestWithheldToolsSayWhy(t *testing.T) {
	why := &Error{Kind: ReadOnly, Message: "This server only reads", Hint: "Ask its operator"}
	set, err := NewSet(nil, Options{Withheld: map[string]*Error{"work": why}, Include: []string{"work"}})
	if err != nil {
		t.Fatal(err)
	}
	var told *Error
	if _, err := set.Call(t.Context(), "work", nil); !errors.As(err, &told) || told.Kind != ReadOnly {
		t.Errorf("a withheld tool: %v", err)
	}
	if _, err := set.Call(t.Context(), "other", nil); !errors.As(err, &told) || told.Kind != Usage || !strings.Contains(told.Hint, "offers none") {
		t.Errorf("no tool: %v", err)
	}
}

// What a wide tool returns stands whole in either part.
func TestAWideToolHasRoomInBothParts(t *testing.T) {
	long := strings.Repeat("x", 30_000)
	for wide, want := range map[bool]int{false: 8000, true: 30_000} {
		tool, err := NewTool(Spec{Name: "work", Input: &jsonschema.Schema{Type: "object"}, Wide: wide},
			func(context.Context, struct{}) (*worked, error) { return &worked{Done: long}, nil })
		if err != nil {
			t.Fatal(err)
		}
		set, err := NewSet([]*Tool{tool}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		reply, err := set.Call(t.Context(), "work", nil)
		if err != nil || len(reply.Text) != want || !strings.Contains(string(reply.JSON), long) {
			t.Errorf("wide %v: %d characters of text, %d of JSON, %v", wide, len(reply.Text), len(reply.JSON), err)
		}
	}
}
