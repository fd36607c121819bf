package toolserver

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Clients of every kind at once: each is numbered by itself, and none can cite
// what another was told.
func TestNoClientCitesAnothersEvidence(t *testing.T) {
	s := run(t, twoTokens, Limits{}, nil)
	const rounds = 8
	var wait sync.WaitGroup
	for _, over := range []string{overHTTP, overSSE, overStateless} {
		for i, token := range []string{aliceToken, bobToken, aliceToken} {
			session := s.connect(t, over, token)
			wait.Go(func() {
				own := fmt.Sprintf("%s of %s %d", over, token[:3], i)
				named := map[string]any{}
				for round := 1; round <= rounds; round++ {
					told, _ := ask(t, session, "tell", with(named, "text", own))
					if over == overStateless {
						named["session"] = told["session"]
					}
					if told["n"] != float64(round) {
						t.Errorf("%s: round %d is numbered %v", own, round, told["n"])
					}
					cited, _ := ask(t, session, "cite", with(named, "n", round))
					if cited["known"] != true || cited["text"] != own {
						t.Errorf("%s: number %d is %v", own, round, cited)
					}
				}
				if beyond, _ := ask(t, session, "cite", with(named, "n", rounds+1)); beyond["known"] != false {
					t.Errorf("%s: a number of another client is known: %v", own, beyond)
				}
			})
		}
	}
	wait.Wait()
	for _, who := range []string{`"who":"alice"`, `"who":"bob"`} {
		if !strings.Contains(s.audit.String(), who) {
			t.Errorf("the audit does not say %s", who)
		}
	}
	if strings.Contains(s.audit.String(), "of ali") {
		t.Error("the audit holds arguments without being asked")
	}
}

func with(arguments map[string]any, name string, value any) map[string]any {
	out := map[string]any{name: value}
	for name, value := range arguments {
		out[name] = value
	}
	return out
}

func TestStatelessSessionsAreNamedAndOwned(t *testing.T) {
	s := run(t, twoTokens, Limits{}, nil)
	session := s.connect(t, overStateless, aliceToken)
	listed, err := session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range listed.Tools {
		if schema, _ := json.Marshal(tool.InputSchema); !strings.Contains(string(schema), `"session"`) {
			t.Errorf("%s does not advertise the session: %s", tool.Name, schema)
		}
	}
	first, result := ask(t, session, "tell", map[string]any{"text": "a"})
	id, _ := first["session"].(string)
	if text := textOf(result); id == "" || !strings.HasPrefix(text, "Session "+id) || !strings.Contains(text, "[1] a") {
		t.Fatalf("first reply: %v, %s", first, text)
	}
	for name, given := range map[string]any{"another's": id, "none's": "ABCDEFGH"} {
		text, failed := s.singleCall(t, bobToken, "cite", map[string]any{"session": given, "n": 1})
		if !failed || !strings.Contains(text, "There is no session") || !strings.Contains(text, "Leave `session` out") {
			t.Errorf("%s session: %s", name, text)
		}
	}
	if text, failed := s.singleCall(t, aliceToken, "cite", map[string]any{"session": id, "n": 1}); failed || !strings.Contains(text, `"known":true`) {
		t.Errorf("its own session: %s", text)
	}
	if text, failed := s.singleCall(t, aliceToken, "cite", map[string]any{"session": 5}); !failed || !strings.Contains(text, "session: type") {
		t.Errorf("a session that is no text: %s", text)
	}
	if text, _ := s.singleCall(t, aliceToken, "tell", map[string]any{"sesion": id}); !strings.Contains(text, `did you mean \"session\"?`) {
		t.Errorf("a mistyped session: %s", text)
	}
	if text, _ := s.singleCall(t, aliceToken, "tel", nil); !strings.Contains(text, `did you mean \"tell\"?`) {
		t.Errorf("a mistyped tool: %s", text)
	}
	for range 3 {
		s.singleCall(t, aliceToken, "cite", map[string]any{"n": "wrong"})
	}
	if counts := s.sessions.counts(); counts[overStateless] != 1 {
		t.Errorf("failed first calls left sessions: %v", counts)
	}
	legacy := s.connect(t, overHTTP, aliceToken)
	if _, result := ask(t, legacy, "tell", map[string]any{"session": id}); !result.IsError {
		t.Error("a client with a connection may name a session")
	}
}

func callOf(tool string, arguments map[string]any) *mcp.CallToolParams {
	return &mcp.CallToolParams{Name: tool, Arguments: arguments}
}

func textOf(result *mcp.CallToolResult) string {
	text, _ := result.Content[0].(*mcp.TextContent)
	return text.Text
}

func TestAnotherTokenCannotUseAStream(t *testing.T) {
	s := run(t, twoTokens, Limits{}, nil)
	session := s.connect(t, overSSE, aliceToken)
	ask(t, session, "tell", map[string]any{"text": "a"})
	n := ""
	for _, record := range s.sessionsOf(overSSE) {
		n = record.id
	}
	status, _, _ := send(t, "POST", s.url+"/sse?sessionid="+n, `{"jsonrpc":"2.0","id":1,"method":"ping"}`, "Authorization", "Bearer "+bobToken)
	if n == "" || status != 404 {
		t.Errorf("bob's message on alice's stream %q: %d", n, status)
	}
	if status, _, _ := send(t, "POST", s.url+"/sse?sessionid="+n, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, "Authorization", "Bearer "+aliceToken); status != 202 {
		t.Errorf("alice's own message: %d", status)
	}
	web := s.connect(t, overHTTP, aliceToken)
	if status, _, _ := send(t, "POST", s.url+"/mcp", `{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"cite","arguments":{"n":1}}}`,
		"Authorization", "Bearer "+bobToken, "Mcp-Session-Id", web.ID()); status != 403 {
		t.Errorf("bob's call in alice's session: %d", status)
	}
}

func (s *running) sessionsOf(over string) []*session {
	s.sessions.mu.Lock()
	defer s.sessions.mu.Unlock()
	var found []*session
	for _, one := range s.sessions.sessions {
		if one.over == over {
			found = append(found, one)
		}
	}
	return found
}

// What was not sent cannot be cited, and its number is not given again.
func TestACancelledCallLeavesNoEvidence(t *testing.T) {
	s := run(t, "", Limits{}, nil)
	session := s.connect(t, overHTTP, "")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := session.CallTool(ctx, callOf("tell", map[string]any{"text": "late", "ms": 300})); err == nil {
		t.Fatal("it was not cancelled")
	}
	eventually(t, "abandoned", func() bool { return s.gate.load().abandoned == 1 })
	eventually(t, "done", func() bool { return s.gate.load() == load{} })
	if cited, _ := ask(t, session, "cite", map[string]any{"n": 1}); cited["known"] != false {
		t.Errorf("it can be cited: %v", cited)
	}
	if told, _ := ask(t, session, "tell", map[string]any{"text": "b"}); told["n"] != 2.0 {
		t.Errorf("its number is given again: %v", told)
	}
}

func TestSessionsAreBoundedInNumberAndTime(t *testing.T) {
	s := run(t, twoTokens, Limits{Sessions: 3, SessionIdle: 400 * time.Millisecond}, nil)
	oldest := s.connect(t, overHTTP, aliceToken)
	others := s.connect(t, overHTTP, bobToken)
	for range 3 {
		s.connect(t, overHTTP, aliceToken)
	}
	if counts := s.sessions.counts(); counts[overHTTP] != 4 {
		t.Errorf("sessions: %v", counts)
	}
	if _, err := oldest.CallTool(t.Context(), &mcp.CallToolParams{Name: "cite"}); err == nil {
		t.Error("the session that was quiet longest did not make room")
	}
	ask(t, others, "cite", nil)
	deadline := time.Now().Add(10 * time.Second)
	for len(s.sessionsOf(overHTTP)) > 0 && time.Now().Before(deadline) {
		time.Sleep(20 * time.Millisecond)
	}
	if counts := s.sessions.counts(); counts[overHTTP] != 0 {
		t.Errorf("quiet sessions stay: %v", counts)
	}
}

func TestASessionInUseDoesNotMakeRoom(t *testing.T) {
	r := newRegistry(1)
	one, done := r.open("a", "alice", func() *session { return &session{owner: "alice"} })
	if second, _ := r.open("b", "alice", func() *session { return &session{owner: "alice"} }); one == nil || second != nil {
		t.Error("a session in use was ended")
	}
	if other, _ := r.open("c", "bob", func() *session { return &session{owner: "bob"} }); other == nil {
		t.Error("one client takes another's room")
	}
	done()
	if second, _ := r.open("b", "alice", func() *session { return &session{owner: "alice"} }); second == nil {
		t.Error("no room although nothing is in use")
	}
}
