package toolserver

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Server describes a program to MCP clients.
type Server struct {
	Name, Title, Version string
	Instructions         string // the guide for the model that uses the tools
	Log                  *slog.Logger
}

// maxMessageBytes bounds one message of a client; a draft answer is some
// kilobytes.
const maxMessageBytes = 4 << 20

// ServeStdio speaks MCP over in and out until the client closes in or ctx ends;
// both are normal ends. Nothing else may write to out.
func ServeStdio(ctx context.Context, set *Set, server Server, in io.ReadCloser, out io.WriteCloser) error {
	err := newServer(set, server).Run(ctx, &mcp.IOTransport{Reader: in, Writer: out, MaxLineLength: maxMessageBytes})
	if ctx.Err() != nil {
		return nil
	}
	return err
}

func newServer(set *Set, about Server) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: about.Name, Title: about.Title, Version: about.Version}, &mcp.ServerOptions{
		Instructions: about.Instructions,
		Logger:       about.Log,
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}},
	})
	s.AddReceivingMiddleware(nameNearestTool(set))
	for _, t := range set.Tools() {
		s.AddTool(describe(t), func(ctx context.Context, request *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return answer(set.Call(ctx, t.Name, request.Params.Arguments)), nil
		})
	}
	return s
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

func answer(reply *Reply, err error) *mcp.CallToolResult {
	if err != nil {
		return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: err.Error()}}}
	}
	return &mcp.CallToolResult{
		Content:           []mcp.Content{&mcp.TextContent{Text: reply.Text}},
		StructuredContent: json.RawMessage(reply.JSON),
	}
}

// nameNearestTool answers a call of a tool that there is not; the SDK would name
// no other.
func nameNearestTool(set *Set) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, request mcp.Request) (mcp.Result, error) {
			if call, ok := request.(*mcp.CallToolRequest); ok && method == "tools/call" && !set.Has(call.Params.Name) {
				_, err := set.find(call.Params.Name)
				return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: err.Error()}
			}
			return next(ctx, method, request)
		}
	}
}
