package serving

import (
	"context"
	"log/slog"
	"net"
	"sync"
	"time"

	"graphmill/configs"
	"graphmill/toolserver"
)

// serveOutOfOrder is the network server while the configuration leaves unknown whom
// it serves, and how: no call gets further than the reason. It reads the
// configuration again until it is right, and returns it then; nil when ctx ended
// or not even that could be served.
func (p *Program) serveOutOfOrder(ctx context.Context, broken error, load func() (*configs.Config, error)) (*configs.Config, error) {
	safe, tokens := p.harmless()
	o := &outOfOrder{Program: safe, why: broken, known: tokens.Secrets}
	safe.Log = slog.New(toolserver.MaskLog(p.Log.Handler(), o.secrets))
	safe.Log.Error("the configuration cannot be used; every call says so until it is put right", "error", broken)
	service, closeAudit, err := safe.newService(o)
	if err != nil {
		return nil, err
	}
	defer closeAudit()
	serving, stop := context.WithCancel(ctx)
	healed := make(chan *configs.Config, 1)
	go func() {
		healed <- o.watch(serving, load)
		stop()
	}()
	err = safe.serveNetwork(serving, service, o, tokens)
	stop()
	return <-healed, err
}

// harmless is the program with what is left of its settings made safe to serve the
// reason with, and the tokens that are known: without a token it listens on
// loopback only, and so it does where a certificate cannot be used.
func (p *Program) harmless() (*Program, *toolserver.Tokens) {
	cfg := *p.Config
	tokens, err := p.tokens(true)
	if err != nil {
		tokens, _ = toolserver.NewTokens("", "", p.Log)
	}
	unusable := cfg.MCP.TLSCert != "" && toolserver.CheckCertificate(cfg.MCP.TLSCert, cfg.MCP.TLSKey) != nil
	if unusable {
		cfg.MCP.TLSCert, cfg.MCP.TLSKey = "", ""
	}
	if !tokens.Any() || unusable {
		cfg.MCP.Listen, cfg.MCP.MetricsListen = onLoopback(cfg.MCP.Listen), onLoopback(cfg.MCP.MetricsListen)
	}
	return p.with(&cfg), tokens
}

// onLoopback is an address with the same port that only this machine reaches.
func onLoopback(address string) string {
	host, port, err := net.SplitHostPort(address)
	if ip := net.ParseIP(host); err != nil || host == "localhost" || ip != nil && ip.IsLoopback() {
		return address
	}
	return net.JoinHostPort("127.0.0.1", port)
}

// outOfOrder stands in for the tools and says why there are none.
type outOfOrder struct {
	*Program
	known func() []string

	mu  sync.Mutex
	why error
}

// watch reads the configuration until it can be served by, or ctx ends.
func (o *outOfOrder) watch(ctx context.Context, load func() (*configs.Config, error)) *configs.Config {
	ticker := time.NewTicker(often)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		cfg, err := load()
		if err == nil {
			_, err = o.with(cfg).tokens(cfg.MCP.Transport == configs.TransportHTTP)
		}
		if err == nil {
			o.Log.Info("the configuration was read again and is right now")
			return cfg
		}
		o.mu.Lock()
		o.why = err
		o.mu.Unlock()
	}
}

func (o *outOfOrder) open() (*toolserver.Set, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return nil, o.configTrouble(o.why)
}

func (o *outOfOrder) trouble(context.Context) string { return o.degraded() }

func (o *outOfOrder) degraded() string {
	_, err := o.open()
	return toolserver.Mask(err.Error(), o.secrets())
}

func (o *outOfOrder) graph() string { return o.Config.GraphName() }

func (o *outOfOrder) secrets() []string { return append(Secrets(o.Config), o.known()...) }
