package toolserver

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// codeBusy is the JSON-RPC error of what is refused for now, and of what a token
// may not do; the protocol leaves -32000 to -32099 to servers.
const (
	codeBusy    = -32000
	codeRefused = -32001
)

// sessionKey and ownerKey carry a request's session and its token's name.
type (
	sessionKey struct{}
	ownerKey   struct{}
)

func ownerOf(ctx context.Context) string {
	owner, _ := ctx.Value(ownerKey{}).(string)
	return owner
}

// newServer speaks MCP for the service over one transport.
func (s *Service) newServer(over string) *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: s.about.Name, Title: s.about.Title, Version: s.about.Version}, &mcp.ServerOptions{
		Instructions: s.about.Instructions,
		Logger:       s.options.Log,
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}},
	})
	set := s.template
	if over == overStateless {
		set = set.withSession()
	}
	server.AddReceivingMiddleware(s.admit(over))
	for _, t := range set.Tools() {
		server.AddTool(describe(t), func(ctx context.Context, request *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			ctx, end := withProgress(ctx, request)
			defer end()
			return answer(s.callFrom(ctx, over, t.Name, request.Params.Arguments)), nil
		})
	}
	return server
}

// admit finds the session of each request, names the nearest tool for one that
// there is not (the SDK would name none), and tells a client that connects what
// keeps the tools from working.
func (s *Service) admit(over string) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, request mcp.Request) (mcp.Result, error) {
			if over != overStateless {
				from, done, err := s.sessionOf(ctx, over, request)
				if err != nil {
					return nil, err
				}
				defer done()
				ctx = context.WithValue(ctx, sessionKey{}, from)
				if from.gone != nil {
					var cancel context.CancelFunc
					ctx, cancel = context.WithCancel(ctx)
					defer cancel()
					defer context.AfterFunc(from.gone, cancel)()
				}
			}
			if call, ok := request.(*mcp.CallToolRequest); ok && method == "tools/call" && !s.template.Has(call.Params.Name) {
				_, err := s.callFrom(ctx, over, call.Params.Name, call.Params.Arguments)
				return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: err.Error()}
			}
			result, err := next(ctx, method, request)
			return s.tellTrouble(ctx, result), err
		}
	}
}

// sessionOf is the session of the connection that a request came over.
func (s *Service) sessionOf(ctx context.Context, over string, request mcp.Request) (*session, func(), error) {
	if from, ok := ctx.Value(sessionKey{}).(*session); ok { // of a stream
		if from, done := s.sessions.begin(from); from != nil {
			return from, done, nil
		}
		return nil, nil, &jsonrpc.Error{Code: codeRefused, Message: "The session has ended. Hint: Connect again."}
	}
	connection, ok := request.GetSession().(*mcp.ServerSession)
	if !ok {
		return nil, nil, errors.New("find session: the request has none")
	}
	from, done := s.sessions.open(connection, ownerOf(ctx), func() *session {
		id := connection.ID()
		if id == "" {
			id = newSessionID()
		}
		go func() {
			_ = connection.Wait() // however it ended
			s.sessions.remove(connection)
		}()
		return &session{id: id, owner: ownerOf(ctx), over: over, end: func() { _ = connection.Close() }}
	})
	if from == nil {
		return nil, nil, &jsonrpc.Error{Code: codeBusy, Message: s.tooManySessions().Error()}
	}
	return from, done, nil
}

func (s *Service) tooManySessions() *Error {
	return &Error{Kind: Busy, Message: "The server is busy: all sessions of this client are in use", Hint: "Close one, or raise mcp.max_sessions"}
}

func (s *Service) tellTrouble(ctx context.Context, result mcp.Result) mcp.Result {
	add := func(instructions string) string {
		if trouble := s.options.Trouble(ctx); trouble != "" {
			return instructions + "\nWhen you connected, the tools did not work: " + trouble + " They will work without a new connection once that is put right."
		}
		return instructions
	}
	switch r := result.(type) {
	case *mcp.InitializeResult:
		if r != nil {
			r.Instructions = add(r.Instructions)
		}
	case *mcp.DiscoverResult:
		if r != nil {
			r.Instructions = add(r.Instructions)
		}
	}
	return result
}

// callFrom runs a tool for the session of the request.
func (s *Service) callFrom(ctx context.Context, over, tool string, arguments []byte) (*Reply, error) {
	if over == overStateless {
		return s.callStateless(ctx, tool, arguments)
	}
	from, _ := ctx.Value(sessionKey{}).(*session)
	return s.call(ctx, from, tool, arguments)
}

func describe(t *Tool) *mcp.Tool {
	no := false
	return &mcp.Tool{
		Name: t.Name, Title: t.Title, Description: t.Description, InputSchema: t.Input,
		Annotations: &mcp.ToolAnnotations{
			Title: t.Title, ReadOnlyHint: !t.Destructive, IdempotentHint: !t.Destructive,
			DestructiveHint: &t.Destructive, OpenWorldHint: &no,
		},
	}
}

// Failed is the structured part of a call's failure.
type Failed struct {
	Kind         Kind   `json:"kind"`
	Error        string `json:"error"`
	Hint         string `json:"hint,omitempty"`
	RetrySeconds int    `json:"retry_after_seconds,omitempty"` // the same call may succeed then
}

func answer(reply *Reply, err error) *mcp.CallToolResult {
	if err == nil {
		return &mcp.CallToolResult{
			Content:           []mcp.Content{&mcp.TextContent{Text: reply.Text}},
			StructuredContent: json.RawMessage(reply.JSON),
		}
	}
	told := asError(err)
	return &mcp.CallToolResult{
		IsError:           true,
		Content:           []mcp.Content{&mcp.TextContent{Text: told.Error()}},
		StructuredContent: Failed{told.Kind, told.Message, told.Hint, int(told.RetryAfter.Seconds())},
	}
}
