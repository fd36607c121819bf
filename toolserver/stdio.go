package toolserver

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// ServeStdio speaks MCP over in and out until the client closes in or ctx ends;
// both are normal ends, and calls under way are answered first. Nothing else may
// write to out.
func (s *Service) ServeStdio(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
	transport := &lines{in: in, out: out, limit: int(s.limits.BodyBytes), patience: s.longest() + s.limits.QueueWait}
	session, err := s.newServer(overStdio).Connect(context.WithoutCancel(ctx), transport, nil)
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- session.Wait() }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	s.stop()
	transport.answers.wait(sendTime, nil)
	closed := make(chan error, 1)
	go func() { closed <- session.Close() }()
	select {
	case err := <-closed:
		return err
	case <-time.After(sendTime):
		return nil // a client that does not read what it is sent keeps nothing up
	}
}

// sendTime is how long answers that are ready may take to be sent when the
// program stops.
const sendTime = 3 * time.Second

// lines is one JSON-RPC message a line over two streams. A line that is no
// message, or is too long, is answered with an error and does not end the
// connection, as it would with the SDK's own transport.
type lines struct {
	in       io.ReadCloser
	out      io.WriteCloser
	limit    int           // bytes of one line
	patience time.Duration // for answers after the client has closed its end
	answers  answers
}

// Connect implements mcp.Transport.
func (l *lines) Connect(context.Context) (mcp.Connection, error) {
	c := &lineConn{lines: l, calls: newAsked(&l.answers), incoming: make(chan jsonrpc.Message), closed: make(chan struct{})}
	go c.read()
	return c, nil
}

type lineConn struct {
	*lines
	calls    *asked
	incoming chan jsonrpc.Message // closed at the end of input
	closed   chan struct{}
	once     sync.Once

	mu sync.Mutex // guards out
}

// SessionID implements mcp.Connection: the connection is the session.
func (c *lineConn) SessionID() string { return "" }

// Read implements mcp.Connection.
func (c *lineConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case message, ok := <-c.incoming:
		if !ok {
			return nil, io.EOF
		}
		return message, nil
	case <-c.closed:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Write implements mcp.Connection.
func (c *lineConn) Write(_ context.Context, message jsonrpc.Message) error {
	data, err := jsonrpc.EncodeMessage(message)
	if err != nil {
		return fmt.Errorf("encode message: %w", err)
	}
	defer c.calls.given(message)()
	return c.write(data)
}

func (c *lineConn) write(data []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, err := c.out.Write(append(data, '\n'))
	return err
}

// Close implements mcp.Connection.
func (c *lineConn) Close() error {
	var err error
	c.once.Do(func() {
		close(c.closed)
		err = errors.Join(c.in.Close(), c.out.Close())
	})
	return err
}

func (c *lineConn) read() {
	defer close(c.incoming)
	reader := bufio.NewReaderSize(c.in, 64<<10)
	for {
		line, tooLong, err := readLine(reader, c.limit)
		switch {
		case tooLong:
			c.complain(nil, jsonrpc.CodeInvalidRequest, fmt.Sprintf("The message is longer than %d bytes; send a shorter one", c.limit))
		case len(bytes.TrimSpace(line)) > 0:
			if !c.take(line) {
				return
			}
		}
		if err != nil {
			// The SDK would cancel what it is still working on: a client may well send
			// its calls and close its end.
			c.answers.wait(c.patience, c.closed)
			return
		}
	}
}

// readLine reads up to a newline. Of a line over limit it keeps nothing.
func readLine(reader *bufio.Reader, limit int) (line []byte, tooLong bool, err error) {
	for {
		part, err := reader.ReadSlice('\n')
		if tooLong = tooLong || len(line)+len(part) > limit; tooLong {
			line = nil
		} else {
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, tooLong, err
		}
	}
}

// take hands a line's message on, or each message of a batch; each is answered by
// itself. It returns false when the connection is closed.
func (c *lineConn) take(line []byte) bool {
	if !json.Valid(line) {
		c.complain(nil, jsonrpc.CodeParseError, "The line is not JSON; send one JSON-RPC message a line")
		return true
	}
	parts := []json.RawMessage{line}
	if bytes.HasPrefix(bytes.TrimSpace(line), []byte("[")) {
		if err := json.Unmarshal(line, &parts); err != nil || len(parts) == 0 {
			c.complain(nil, jsonrpc.CodeInvalidRequest, "The batch is empty")
			return true
		}
	}
	for _, part := range parts {
		message, err := jsonrpc.DecodeMessage(part)
		if answer, ok := message.(*jsonrpc.Response); ok && err == nil && answer.Result == nil && answer.Error == nil {
			err = errors.New("it has neither a method nor a result nor an error")
		}
		if err == nil && !exact(idOf(part)) {
			err = errors.New("a number as its id must be an integer of 64 bits")
		}
		if err != nil {
			c.complain(idOf(part), jsonrpc.CodeInvalidRequest, "This is no JSON-RPC 2.0 message: "+brief(err.Error()))
			continue
		}
		if !c.calls.add(message) {
			c.complain(nil, jsonrpc.CodeInvalidRequest, fmt.Sprintf("The id %.80s is that of a call which is not answered yet; give each call its own", idOf(part)))
			continue
		}
		if !c.hand(message) {
			return false
		}
	}
	return true
}

func (c *lineConn) hand(message jsonrpc.Message) bool {
	select {
	case c.incoming <- message:
		return true
	case <-c.closed:
		return false
	}
}

func idOf(message []byte) json.RawMessage {
	var named struct {
		ID json.RawMessage `json:"id"`
	}
	_ = json.Unmarshal(message, &named)
	switch {
	case len(named.ID) == 0 || named.ID[0] == '{' || named.ID[0] == '[' || named.ID[0] == 't' || named.ID[0] == 'f':
		return nil // no id that JSON-RPC knows
	}
	return named.ID
}

// exact reports whether an id comes back as it was given: the SDK reads numbers as
// integers of 64 bits.
func exact(id json.RawMessage) bool {
	if len(id) == 0 || id[0] == '"' || id[0] == 'n' {
		return true
	}
	_, err := strconv.ParseInt(string(id), 10, 64)
	return err == nil
}

// complain answers what is no message. When it cannot be written, the next answer
// cannot either, and ends the connection.
func (c *lineConn) complain(id json.RawMessage, code int64, text string) {
	_ = c.write(rpcError(id, code, text))
}

// rpcError is a JSON-RPC error response; a nil id is written as null.
func rpcError(id json.RawMessage, code int64, text string) []byte {
	data, _ := marshal(struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   any             `json:"error"`
	}{"2.0", id, struct {
		Code    int64  `json:"code"`
		Message string `json:"message"`
	}{code, text}}) // of these parts none fails
	return data
}
