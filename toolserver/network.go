package toolserver

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/net/netutil"
	"golang.org/x/time/rate"
)

// Network says how a service is reached over the network.
type Network struct {
	Listen string // host:port
	// MetricsListen is the address of /metrics; "" for none.
	MetricsListen string
	// CertFile and KeyFile switch TLS on.
	CertFile, KeyFile string
	// Tokens are asked of every request but /health. Without any, the server
	// listens on loopback only.
	Tokens *Tokens
	// Hosts may stand in Host and Origin besides the names of loopback: those of a
	// proxy in front.
	Hosts []string
	// Degraded says why calls would fail now, for /health; "" when they would not.
	Degraded func() string
	// Ready is told where the server listens; the second is "" without metrics.
	Ready func(address, metrics string)
}

// network is the HTTP side of a service.
type network struct {
	*Service
	Network
	serveMCP http.Handler
	sse      *mcp.Server
	answers  answers // that are due on streams, and POSTs under way

	mu       sync.Mutex
	streams  map[string]*stream       // of SSE, by their id
	limiters map[string]*rate.Limiter // by token
}

// ErrNoToken is returned for an address beyond loopback without a token.
var ErrNoToken = errors.New("serving beyond loopback needs a bearer token")

// ListenAndServe serves MCP over HTTP until ctx ends, and then lets the calls
// under way end. An address that cannot be listened on, or not without a token,
// is an error at once.
func (s *Service) ListenAndServe(ctx context.Context, options Network) error {
	if options.Degraded == nil {
		options.Degraded = func() string { return "" }
	}
	n := &network{Service: s, Network: options, sse: s.newServer(overSSE), streams: map[string]*stream{}, limiters: map[string]*rate.Limiter{}}
	n.serveMCP = n.mcpHandler()
	main, err := n.listen(options.Listen)
	if err != nil {
		return err
	}
	defer main.Close()
	servers := []*http.Server{n.server(http.HandlerFunc(n.serve))}
	listeners := []net.Listener{main}
	metricsAddress := ""
	if options.MetricsListen != "" {
		listener, err := n.listen(options.MetricsListen)
		if err != nil {
			return err
		}
		defer listener.Close()
		metricsAddress = listener.Addr().String()
		servers, listeners = append(servers, n.server(http.HandlerFunc(n.serveMetrics))), append(listeners, listener)
	}
	failed := make(chan error, len(servers))
	for i, server := range servers {
		go func() { failed <- server.Serve(listeners[i]) }()
	}
	if options.Ready != nil {
		options.Ready(main.Addr().String(), metricsAddress)
	}
	sweeping, stopSweeping := context.WithCancel(context.Background())
	defer stopSweeping()
	go n.sweep(sweeping)
	select {
	case err := <-failed:
		err = fmt.Errorf("serve on %s: %w", options.Listen, err)
		n.shut(servers)
		return err
	case <-ctx.Done():
		n.shut(servers)
		return nil
	}
}

// listen opens an address, refuses one beyond loopback that anybody could use,
// and bounds its connections.
func (n *network) listen(address string) (net.Listener, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", address, err)
	}
	if !isLoopback(listener.Addr()) && !n.Tokens.Any() {
		listener.Close()
		return nil, fmt.Errorf("listen on %s: %w", address, ErrNoToken)
	}
	listener = netutil.LimitListener(listener, n.limits.Connections)
	if n.CertFile == "" {
		return listener, nil
	}
	certificate, err := readCertificate(n.CertFile, n.KeyFile, n.options.Log)
	if err != nil {
		listener.Close()
		return nil, err
	}
	config := certificate.config()
	config.NextProtos = []string{"http/1.1"}
	return tls.NewListener(listener, config), nil
}

func (n *network) server(handler http.Handler) *http.Server {
	return &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: n.limits.HeaderTime,
		IdleTimeout:       n.limits.IdleTime,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(n.options.Log.Handler(), slog.LevelDebug), // clients that hang up
	}
}

// mcpHandler serves /mcp: clients of 2026-07-28 and later one request at a time,
// all others with a session of the protocol's own.
func (n *network) mcpHandler() http.Handler {
	options := mcp.StreamableHTTPOptions{
		// A stream carries how far a call is; a single object is simpler.
		JSONResponse: n.longest() == n.limits.CallTime, Logger: n.options.Log, MaxRequestBodyBytes: -1, // bounded before
		DisableLocalhostProtection: true, // checked before, with the names of a proxy
	}
	server := n.newServer(overHTTP)
	stateful := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &options)
	options.Stateless, options.PropagateRequestCancellation = true, true
	single := n.newServer(overStateless)
	stateless := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return single }, &options)
	const sessionless = "2026-07-28"
	var routed http.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && r.Header.Get("Mcp-Protocol-Version") >= sessionless {
			stateless.ServeHTTP(w, r)
			return
		}
		stateful.ServeHTTP(w, r)
	})
	// The SDK binds a session to the token that began it when it knows the holder.
	holder := func(ctx context.Context, _ string, _ *http.Request) (*auth.TokenInfo, error) {
		return &auth.TokenInfo{UserID: ownerOf(ctx)}, nil
	}
	bound := auth.RequireBearerToken(holder, &auth.RequireBearerTokenOptions{AllowMissingExpiration: true})(routed)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if ownerOf(r.Context()) == "" {
			routed.ServeHTTP(w, r)
			return
		}
		bound.ServeHTTP(w, r)
	})
}

// sweep ends sessions that are quiet for too long or whose token was taken away.
func (n *network) sweep(ctx context.Context) {
	ticker := time.NewTicker(max(n.limits.SessionIdle/20, 10*time.Millisecond))
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		n.sessions.sweep(n.limits.SessionIdle, func(s *session) bool { return s.owner != "" && !n.Tokens.has(s.owner) })
	}
}

// shut lets calls end, then ends sessions and connections.
func (n *network) shut(servers []*http.Server) {
	n.stop()
	n.answers.wait(sendTime, nil)
	n.sessions.sweep(0, func(*session) bool { return true })
	ctx, cancel := context.WithTimeout(context.Background(), sendTime)
	defer cancel()
	for _, server := range servers {
		if err := server.Shutdown(ctx); err != nil {
			_ = server.Close() // whoever still hangs on has had their time
		}
	}
}

func isLoopback(address net.Addr) bool {
	tcp, ok := address.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}
