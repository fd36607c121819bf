package toolserver

import (
	"context"
	"crypto/rand"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// stream is one client's connection of the transport of 2024-11-05: a GET that
// stays open for what the server says, and POSTs for what the client says.
type stream struct {
	owner     string
	transport *mcp.SSEServerTransport
}

// serveSSE is the SDK's handler with two things more: a stream belongs to the
// token that opened it, and streams are bounded like other sessions.
func (n *network) serveSSE(w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodGet:
		n.openStream(w, r)
	case http.MethodPost:
		n.mu.Lock()
		found := n.streams[r.URL.Query().Get("sessionid")]
		n.mu.Unlock()
		if found == nil || found.owner != ownerOf(r.Context()) {
			refuse(w, http.StatusNotFound, nil, "There is no such stream, or it has ended. Hint: Open one with GET /sse.")
			return
		}
		found.transport.ServeHTTP(w, r)
	default:
		w.Header().Set("Allow", "GET, POST")
		refuse(w, http.StatusMethodNotAllowed, nil, "This takes GET and POST. Hint: Open a stream with GET /sse.")
	}
}

func (n *network) openStream(w http.ResponseWriter, r *http.Request) {
	id, owner := rand.Text(), ownerOf(r.Context())
	// The client is gone when its GET is; what it still waits for is then given up.
	gone, left := context.WithCancel(context.Background())
	defer left()
	from := &session{id: id, owner: owner, over: overSSE, gone: gone, end: left}
	opened, done := n.sessions.open(from, owner, func() *session { return from })
	if opened == nil {
		w.Header().Set("Retry-After", "60")
		refuse(w, http.StatusServiceUnavailable, nil, n.tooManySessions().Error())
		return
	}
	defer n.sessions.remove(from)
	transport := &mcp.SSEServerTransport{Endpoint: r.URL.Path + "?sessionid=" + id, Response: w, MaxRequestBodyBytes: -1}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache, no-transform")
	n.mu.Lock()
	n.streams[id] = &stream{owner, transport}
	n.mu.Unlock()
	defer func() {
		n.mu.Lock()
		delete(n.streams, id)
		n.mu.Unlock()
	}()
	connection, err := n.sse.Connect(context.WithValue(r.Context(), sessionKey{}, from), counting{transport, &n.answers}, nil)
	done() // from here on it counts as quiet
	if err != nil {
		return // the client went away
	}
	ended := make(chan struct{})
	go func() { _ = connection.Wait(); close(ended) }()
	select {
	case <-r.Context().Done():
	case <-gone.Done():
	case <-ended:
	}
	left()
	_ = connection.Close()
}
