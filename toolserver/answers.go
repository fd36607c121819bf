package toolserver

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// answers counts the calls of clients that are not answered yet. The SDK drops
// the answers of a connection that it was told to close, so whoever closes waits
// for them first.
type answers struct{ due atomic.Int64 }

// wait returns when none is due, or after so long, or when given is closed.
func (a *answers) wait(within time.Duration, given <-chan struct{}) {
	const often = 5 * time.Millisecond
	enough := time.After(within)
	for a.due.Load() > 0 {
		select {
		case <-time.After(often):
		case <-given:
			return
		case <-enough:
			return
		}
	}
}

// asked counts a message from the client. A subscription is answered when it
// ends, which nobody waits for.
func (a *answers) asked(message jsonrpc.Message) {
	if call, ok := message.(*jsonrpc.Request); ok && call.IsCall() && call.Method != "subscriptions/listen" {
		a.due.Add(1)
	}
}

// given counts a message to the client.
func (a *answers) given(message jsonrpc.Message) {
	if _, ok := message.(*jsonrpc.Response); ok {
		a.due.Add(-1)
	}
}

// counting is a transport whose answers are counted.
type counting struct {
	*mcp.SSEServerTransport
	answers *answers
}

// Connect implements mcp.Transport.
func (c counting) Connect(ctx context.Context) (mcp.Connection, error) {
	connection, err := c.SSEServerTransport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &countedConn{Connection: connection, answers: c.answers}, nil
}

type countedConn struct {
	mcp.Connection
	answers *answers
}

func (c *countedConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	message, err := c.Connection.Read(ctx)
	if err == nil {
		c.answers.asked(message)
	}
	return message, err
}

func (c *countedConn) Write(ctx context.Context, message jsonrpc.Message) error {
	defer c.answers.given(message)
	return c.Connection.Write(ctx, message)
}
