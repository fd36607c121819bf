package toolserver

import (
	"context"
	"sync"
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

// asked are the calls of one connection that are not answered yet, counted among
// all. It is safe for concurrent use.
type asked struct {
	*answers
	mu  sync.Mutex
	ids map[jsonrpc.ID]bool
}

func newAsked(a *answers) *asked { return &asked{answers: a, ids: map[jsonrpc.ID]bool{}} }

// add counts a message from the client. A subscription is answered when it ends,
// which nobody waits for. It returns false for a call with the id of one that is
// not answered yet: the SDK drops it without a word.
func (a *asked) add(message jsonrpc.Message) bool {
	call, ok := message.(*jsonrpc.Request)
	if !ok || !call.IsCall() || call.Method == "subscriptions/listen" {
		return true
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ids[call.ID] {
		return false
	}
	a.ids[call.ID] = true
	a.due.Add(1)
	return true
}

// given takes out the call that a message to the client answers. Its id is free
// at once, since the client may use it as soon as it has the answer; the call
// counts until sent is called.
func (a *asked) given(message jsonrpc.Message) (sent func()) {
	answer, ok := message.(*jsonrpc.Response)
	a.mu.Lock()
	defer a.mu.Unlock()
	if !ok || !a.ids[answer.ID] {
		return func() {}
	}
	delete(a.ids, answer.ID)
	return func() { a.due.Add(-1) }
}

// left takes out what a client that is gone will not be answered.
func (a *asked) left() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.due.Add(-int64(len(a.ids)))
	clear(a.ids)
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
	return &countedConn{connection, newAsked(c.answers)}, nil
}

type countedConn struct {
	mcp.Connection
	calls *asked
}

func (c *countedConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	message, err := c.Connection.Read(ctx)
	if err == nil {
		c.calls.add(message)
	}
	return message, err
}

func (c *countedConn) Write(ctx context.Context, message jsonrpc.Message) error {
	defer c.calls.given(message)()
	return c.Connection.Write(ctx, message)
}

func (c *countedConn) Close() error {
	defer c.calls.left()
	return c.Connection.Close()
}
