package toolserver

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
)

// console is a service on two pipes.
type console struct {
	service *Service
	in      io.WriteCloser
	out     *bufio.Scanner
	ended   chan error
	stop    context.CancelFunc
}

func onConsole(t *testing.T, limits Limits) *console {
	t.Helper()
	service, _ := newTestService(t, limits)
	inReader, inWriter := io.Pipe()
	outReader, outWriter := io.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	c := &console{service: service, in: inWriter, out: bufio.NewScanner(outReader), ended: make(chan error, 1), stop: cancel}
	c.out.Buffer(nil, 1<<20)
	go func() { c.ended <- service.ServeStdio(ctx, inReader, outWriter) }()
	t.Cleanup(func() { cancel(); inWriter.Close() })
	return c
}

func (c *console) say(t *testing.T, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if _, err := fmt.Fprintln(c.in, line); err != nil {
			t.Fatal(err)
		}
	}
}

func (c *console) hear(t *testing.T) string {
	t.Helper()
	if !c.out.Scan() {
		t.Fatalf("the server says no more: %v", c.out.Err())
	}
	return c.out.Text()
}

func (c *console) end(t *testing.T) {
	t.Helper()
	select {
	case err := <-c.ended:
		if err != nil {
			t.Errorf("ended with %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Error("it does not end")
	}
}

const hello = `{"jsonrpc":"2.0","id":"h","method":"initialize","params":{"protocolVersion":"%s","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`

func call(id int, tool, arguments string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"%s","arguments":%s}}`, id, tool, arguments)
}

func TestALineThatIsNoMessageIsAnsweredAndTheNextOneServed(t *testing.T) {
	c := onConsole(t, Limits{BodyBytes: 2000})
	c.say(t, fmt.Sprintf(hello, "2025-06-18"))
	if reply := c.hear(t); !strings.Contains(reply, `"protocolVersion":"2025-06-18"`) || !strings.Contains(reply, "A guide.") {
		t.Fatalf("hello: %s", reply)
	}
	for name, x := range map[string][2]string{
		"no JSON":              {`{"jsonrpc":"2.0","id":1`, `"id":null,"error":{"code":-32700`},
		"two on a line":        {`{} {}`, `-32700`},
		"too long":             {`"` + strings.Repeat("x", 3000) + `"`, "longer than 2000 bytes"},
		"much too long":        {`"` + strings.Repeat("x", 300_000), "longer than 2000 bytes"},
		"a number":             {`5`, `-32600`},
		"no method":            {`{"jsonrpc":"2.0","id":4}`, `"id":4,"error":{"code":-32600`},
		"another version":      {`{"jsonrpc":"1.0","id":"x","method":"ping"}`, `"id":"x","error":{"code":-32600`},
		"an id of no kind":     {`{"jsonrpc":"2.0","id":{},"method":"ping"}`, `-32600`},
		"an id too large":      {`{"jsonrpc":"2.0","id":99999999999999999999,"method":"ping"}`, `"id":99999999999999999999,"error":{"code":-32600`},
		"an id in between":     {`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, `"id":1.5,"error":{"code":-32600`},
		"an empty batch":       {`[]`, "The batch is empty"},
		"an unknown method":    {`{"jsonrpc":"2.0","id":6,"method":"nothing"}`, `-32601`},
		"parameters of a kind": {`{"jsonrpc":"2.0","id":6,"method":"tools/call","params":5}`, `"id":6,"error"`},
	} {
		c.say(t, x[0])
		if reply := c.hear(t); !strings.Contains(reply, x[1]) {
			t.Errorf("%s: %s", name, reply)
		}
		c.say(t, "", call(9, "tell", `{"text":"still here"}`))
		if reply := c.hear(t); !strings.Contains(reply, `"id":9`) || !strings.Contains(reply, "still here") {
			t.Errorf("after %s: %s", name, reply)
		}
	}
	c.say(t, "["+call(11, "cite", `{"n":1}`)+`,{"jsonrpc":"2.0","method":"notifications/initialized"}]`)
	if reply := c.hear(t); !strings.Contains(reply, `"id":11`) || !strings.Contains(reply, `"known":true`) {
		t.Errorf("a batch: %s", reply)
	}
	c.in.Close()
	c.end(t)
}

func TestVersionsOfTheProtocol(t *testing.T) {
	for asked, want := range map[string]string{"2024-11-05": "2024-11-05", "2025-03-26": "2025-03-26", "2025-06-18": "2025-06-18", "2025-11-25": "2025-11-25", "2026-07-28": "2025-11-25", "2001-01-01": "2025-11-25"} {
		c := onConsole(t, Limits{})
		c.say(t, fmt.Sprintf(hello, asked))
		if reply := c.hear(t); !strings.Contains(reply, `"protocolVersion":"`+want+`"`) {
			t.Errorf("asked for %s: %s", asked, reply)
		}
	}
	// A client of 2026-07-28 needs no hello, and its connection is its session.
	c := onConsole(t, Limits{})
	meta := `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
	for i, want := range []string{`"n":1`, `"n":2`} {
		c.say(t, strings.TrimSuffix(call(i, "tell", `{"text":"a"}`), "}}")+meta)
		if reply := c.hear(t); !strings.Contains(reply, want) {
			t.Errorf("call %d without a hello: %s", i, reply)
		}
	}
}

func TestWhoSendsAllAndClosesIsStillAnswered(t *testing.T) {
	c := onConsole(t, Limits{})
	c.say(t, fmt.Sprintf(hello, "2025-06-18"), call(1, "sleep", `{"ms":200}`))
	c.in.Close()
	c.hear(t)
	if reply := c.hear(t); !strings.Contains(reply, `"id":1,"result"`) {
		t.Error(reply)
	}
	c.end(t)
}

// The SDK answers neither the second call nor tells anybody, so that the client
// would wait for it, and the server after the client has left.
func TestACallWithTheIDOfAnotherIsRefused(t *testing.T) {
	c := onConsole(t, Limits{})
	c.say(t, fmt.Sprintf(hello, "2025-06-18"))
	c.hear(t)
	c.say(t, call(1, "sleep", `{"ms":200}`), call(1, "cite", `{"n":1}`))
	if reply := c.hear(t); !strings.Contains(reply, `"id":null,"error":{"code":-32600,"message":"The id 1 is that of a call`) {
		t.Error(reply)
	}
	if reply := c.hear(t); !strings.Contains(reply, `"id":1,"result"`) {
		t.Error(reply)
	}
	c.say(t, call(1, "cite", `{"n":1}`)) // it is free again
	c.in.Close()
	if reply := c.hear(t); !strings.Contains(reply, `"id":1,"result"`) {
		t.Error(reply)
	}
	c.end(t)
}

func TestASignalLetsTheCallEnd(t *testing.T) {
	c := onConsole(t, Limits{})
	c.say(t, fmt.Sprintf(hello, "2025-06-18"))
	c.hear(t)
	c.say(t, call(1, "sleep", `{"ms":300}`))
	time.Sleep(100 * time.Millisecond)
	c.stop()
	time.Sleep(50 * time.Millisecond)
	c.say(t, call(2, "cite", `{}`))
	replies := c.hear(t) + c.hear(t)
	if !strings.Contains(replies, `"id":1,"result":{"content"`) || !strings.Contains(replies, "The server is stopping") {
		t.Error(replies)
	}
	c.end(t)
}

// deaf is a client that has stopped to read, at the other end of a full pipe.
type deaf chan struct{}

func (d deaf) Write([]byte) (int, error) { close(d); select {} }
func (d deaf) Close() error              { return nil }

func TestASignalEndsWhatADeafClientHoldsUp(t *testing.T) {
	service, _ := newTestService(t, Limits{})
	in, say := io.Pipe()
	defer say.Close()
	ctx, stop := context.WithCancel(t.Context())
	c, client := &console{ended: make(chan error, 1)}, make(deaf)
	go func() { c.ended <- service.ServeStdio(ctx, in, client) }()
	fmt.Fprintf(say, hello+"\n", "2025-06-18")
	<-client
	stop()
	c.end(t)
}

func TestACancelledLineIsLetGo(t *testing.T) {
	c := onConsole(t, Limits{})
	c.say(t, fmt.Sprintf(hello, "2025-06-18"))
	c.hear(t)
	release := hold(t, "a line")
	c.say(t, call(1, "sleep", `{"text":"a line"}`))
	eventually(t, "working", func() bool { return c.service.gate.load().working == 1 })
	c.say(t, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	if reply := c.hear(t); !strings.Contains(reply, "cancelled") {
		t.Error(reply)
	}
	release() // it was answered while the work went on
}
